/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a launch file claims of its model, and where its words stand. */

#include "base/base.h"
#include "db/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Where a word stands, the last of several; without a line if it is not written like this. */
static struct source
place_of(const struct launch_reading *r, const char *text, const char *word)
{
	const size_t n = strlen(word);
	struct source at = r->at;
	int line = 1, column = 1;

	for (const char *p = text; *p; p++, column++) {
		if (strncmp(p, word, n) == 0 && (p == text || strchr(" \t\n\"'", p[-1])) &&
		    strchr(" \t\r\n=:\"'\\", p[n])) {
			at.line = line;
			at.column = column;
		}
		if (*p == '\n') {
			line++;
			column = 0;
		}
	}
	return at;
}

struct source
launch_place(const struct launch_reading *r, const char *text, const char *key)
{
	const char *dot = strrchr(key, '.');
	const struct source at = place_of(r, text, key);

	return at.line == 0 && dot ? place_of(r, text, dot + 1) : at;
}

static void
claim(struct launch_reading *r, struct launch_claims *out, struct launch_claim c)
{
	out->list = arena_grow(r->arena, out->list, out->n, out->n + 1, sizeof *out->list);
	out->list[out->n++] = c;
}

/* The word in the place of ${MODEL}: `vllm serve NAME`. */
static void
claim_operand(struct launch_reading *r, const char *text, struct launch_claims *out)
{
	const char *operand = r->by->launch ? strstr(r->by->launch, " ${MODEL}") : NULL;
	if (!operand)
		return;
	const char *command = arena_copy(r->arena, r->by->launch, (size_t)(operand - r->by->launch));
	const char *found = strstr(text, command);
	size_t length = strlen(command);

	if (!found && strncmp(command, "trtllm-serve ", 13) == 0) { /* its `serve` may be left out */
		length = strcspn(command, " ");
		found = strstr(text, "trtllm-serve");
	}
	const char *word = found ? found + length : "";
	word += strspn(word, " \t\"'\\\r\n");
	const size_t n = strcspn(word, " \t\r\n\"'\\");
	if (n == 0 || strchr("-$", *word))
		return;
	const char *name = arena_copy(r->arena, word, n);
	claim(r, out, (struct launch_claim){LAUNCH_MODEL_NAME, command, NAN, name, place_of(r, text, name)});
}

/* `8B` and `30B-A3B` as a number of parameters; NaN: no such name. */
static double
named_size(const char *text)
{
	char *end;
	const double value = strtod(text, &end);
	const double unit = *end == 'B' || *end == 'b' ? 1e9 : *end == 'M' || *end == 'm' ? 1e6 : NAN;

	return end == text || (end[1] && end[1] != '-') ? NAN : value * unit;
}

/* Names of checkpoints say how they are stored: Llama-3.1-70B-Instruct-FP8, -AWQ-INT4, .w4a16. */
static void
note_type(struct launch_reading *r, const char *name)
{
	static const struct {
		const char *word, *type;
	} rows[] = {{"fp8", "fp8"}, {"nvfp4", "nvfp4"}, {"fp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"awq", "int4"},
	    {"gptq", "int4"}, {"int4", "int4"}, {"w4a16", "int4"}, {"int8", "int8"}, {"w8a8", "int8"}};
	const char *base = strrchr(name, '/');

	for (const char *p = base ? base + 1 : name; *p && !r->facts[LAUNCH_QUANTIZE];) {
		const size_t n = strcspn(p, "-_.");
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
			if (strlen(rows[i].word) == n && strncasecmp(p, rows[i].word, n) == 0) {
				launch_miss(r,
				    arena_printf(r->arena, "weights in %s, by the model's name: add --dtype %s",
				        rows[i].type, rows[i].type));
				return;
			}
		p += n + (p[n] != '\0');
	}
}

void
launch_read_claims(struct launch_reading *r, const char *text, struct launch_claims *out)
{
	for (int i = 0; i < r->by->n_rules; i++) {
		const struct launcher_rule *rule = &r->by->rules[i];
		const bool names = rule->fact == LAUNCH_MODEL_NAME;
		const struct launch_pair *pair = launch_pair_of(&r->pairs, rule);
		if (rule->fact < LAUNCH_MODEL_LAYERS || !pair)
			continue;
		const char *said = pair->value ? pair->value : "";
		const double value =
		    rule->fact == LAUNCH_MODEL_PARAMS ? named_size(said) : launch_number(r, rule->fact, NAN);
		if (names || value > 0)
			claim(r, out,
			    (struct launch_claim){
			        rule->fact, pair->key, value, names ? said : NULL, launch_place(r, text, pair->key)});
		else
			launch_miss(r, arena_printf(r->arena, "%s %s", pair->key, said));
	}
	claim_operand(r, text, out);
	for (size_t i = 0; i < out->n; i++)
		if (out->list[i].name)
			note_type(r, out->list[i].name);
}
