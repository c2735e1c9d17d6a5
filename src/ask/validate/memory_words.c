/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of published tables of memory as what the inputs call it. */
#include "ask/validate/validate.h"

#include "base/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* --- notes ----------------------------------------------------------------------------------------------- */

/* A number that the note gives behind some words: `gradient accumulation 8`. */
double
row_noted(const struct validate_row *row, const char *words)
{
	const char *note = row_text(row, "note"), *at = note ? strstr(note, words) : NULL;
	char *end;

	while (at && at > note && isalpha((unsigned char)at[-1])) /* inside of another word */
		at = strstr(at + 1, words);
	if (!at)
		return NAN;
	const double value = strtod(at + strlen(words), &end);
	return end == at + strlen(words) ? NAN : value;
}

/* Whether the text has these words, which are written small here. */
static bool
text_says(const char *text, const char *words)
{
	const size_t n = strlen(words);

	for (size_t i = 0; text && text[i]; i++) {
		size_t k = 0;
		while (k < n && tolower((unsigned char)text[i + k]) == words[k])
			k++;
		if (k == n)
			return true;
	}
	return false;
}

bool
row_notes(const struct validate_row *row, const char *words)
{
	return text_says(row_text(row, "note"), words);
}

/* The card as its driver reports it: `RTX 3090 (23.58 GiB)`; 0 where it is not printed. */
double
row_card_gib(const struct validate_row *row)
{
	const char *label = row_text(row, "gpu"), *open = label ? strchr(label, '(') : NULL;
	char *end;
	const double gib = open ? strtod(open + 1, &end) : 0;

	return open && end > open + 1 && text_begins(end, " GiB") ? gib : 0;
}

/* --- formats and parts ----------------------------------------------------------------------------------- */

const char *
memory_quant_said(const char *text)
{
	static const struct {
		const char *word, *quant;
	} words[] = {{"nf4-dq", "nf4-dq"}, {"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"nf4", "nf4"}, {"int8", "int8"},
	    {"w8a8", "int8"}, {"int4", "int4"}, {"w4a16", "int4"}, {"awq", "int4"}, {"8-bit", "int8"}, {"gptq", "int4"},
	    {"4-bit", "nf4"}, {"fp8", "fp8"}};

	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
		if (text_says(text, words[i].word))
			return words[i].quant;
	return NULL;
}

/* Types of products of quantised training. */
const char *
memory_dtype_said(const char *text)
{
	static const struct {
		const char *word, *dtype;
	} words[] = {{"mxfp8", "mxfp8"}, {"nvfp4", "nvfp4"}, {"float8", "fp8"}, {"fp8", "fp8"}, {"blockwise", "fp8"}};

	for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
		if (text_says(text, words[i].word))
			return words[i].dtype;
	return NULL;
}

/* `q_proj,v_proj` is q,v; what trainers call all linear maps is all. */
const char *
memory_targets_said(struct arena *a, const char *text)
{
	if (!text)
		return NULL;
	if (strstr(text, "all"))
		return "all";
	size_t n;
	char **words = text_split(a, text, ',', &n);
	const char *out = NULL;
	for (size_t i = 0; i < n; i++) {
		char *suffix = strstr(words[i], "_proj"), *plus = strchr(words[i], '+');
		const bool mlp = strstr(words[i], "mlp") != NULL;
		if (suffix)
			*suffix = '\0';
		if (plus) {
			while (plus > words[i] && plus[-1] == ' ')
				plus--;
			*plus = '\0';
		}
		out = arena_printf(a, "%s%s%s%s", out ? out : "", out ? "," : "", words[i], mlp ? ",gate,up,down" : "");
	}
	return out;
}

/* Modules of a layer that are named, in a list; NULL: none is. */
const char *
memory_modules_said(struct arena *a, const char *text)
{
	const char *out = NULL;

	for (int m = 0; text && m < N_MODULES; m++) {
		const char *name = module_name((enum module)m), *at = strstr(text, name);
		if (at && !isalnum((unsigned char)at[strlen(name)]) && at[strlen(name)] != '_' &&
		    (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')))
			out = arena_printf(a, "%s%s%s", out ? out : "", out ? "," : "", name);
	}
	return out;
}
