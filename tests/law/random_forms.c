/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "law/random_forms.h"

#include "base/base.h"
#include "cli/cli.h"
#include "law/law.h"
#include "law/random.h"
#include "unit/split.h"

#include <cJSON.h>
#include <stdlib.h>
#include <string.h>

/* --- the same rows --------------------------------------------------------------------------------------- */

/* Every row of one sheet is in the other, to the last bit. */
static void
same_rows(struct trial *t, const char *line, const char *other, const struct told_sheet *a, const struct told_sheet *b)
{
	trial_count(t);
	for (size_t i = 0; i < a->n; i++) {
		const struct told *one = &a->rows[i], *two = sheet_told(b, one->path);
		if (!two) {
			trial_broken(t, line, other, "only the first has %s", one->path);
			return;
		}
		if (one->word ? !two->word || strcmp(one->word, two->word) != 0 : !same_bits(one->value, two->value)) {
			trial_broken(t, line, other, "%s: %.17g%s and %.17g%s", one->path, one->value,
			    one->word ? one->word : "", two->value, two->word ? two->word : "");
			return;
		}
	}
	if (a->n != b->n)
		trial_broken(t, line, other, "%zu rows and %zu", a->n, b->n);
}

/* --- JSON ------------------------------------------------------------------------------------------------ */

void
answer_is_json(struct trial *t, const char *line)
{
	const char *other = arena_printf(trial_arena(t), "%s --json --explain", line);
	const struct reply *x = trial_ask(t, line), *y = trial_ask(t, other);

	trial_count(t);
	if (y->status != x->status || x->n_sheets == 0) {
		trial_broken(t, line, other, "status %d and %d", x->status, y->status);
		return;
	}
	cJSON *root = cJSON_Parse(y->out);
	const cJSON *trace = cJSON_GetObjectItemCaseSensitive(root, "trace"),
	            *intervals = cJSON_GetObjectItemCaseSensitive(root, "intervals");
	for (size_t i = 0; i < x->sheets[0].n; i++) {
		const struct told *row = &x->sheets[0].rows[i];
		/* JSON has no name for what `finite` complains of */
		if (!row->word && !isfinite(row->value))
			continue;
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(trace, row->path);
		const char *word = cJSON_GetStringValue(item);
		if (row->word ? !word || strcmp(word, row->word) != 0
		              : !cJSON_IsNumber(item) || !same_bits(item->valuedouble, row->value)) {
			trial_broken(t, other, NULL, "%s is %.17g%s, and not in the JSON", row->path, row->value,
			    row->word ? row->word : "");
			break;
		}
		const cJSON *band = row->id ? cJSON_GetObjectItemCaseSensitive(intervals, row->id) : NULL;
		if (row->why && row->id &&
		    (!band || !same_bits(cJSON_GetNumberValue(cJSON_GetObjectItem(band, "low")), row->low) ||
		        !same_bits(cJSON_GetNumberValue(cJSON_GetObjectItem(band, "high")), row->high))) {
			trial_broken(t, other, NULL, "the interval of %s is not in the JSON", row->path);
			break;
		}
	}
	cJSON_Delete(root);
}

/* --- text ------------------------------------------------------------------------------------------------ */

/* `GiB`, `ms`, `GB/s`, `%`; 0 where the unit is none of these. */
static double
unit_scale(const char *unit, size_t n)
{
	static const struct {
		const char *name;
		double scale;
	} units[] = {{"", 1}, {"%", 0.01}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"B", 1}, {"FLOP", 1},
	    {"W", 1}, {"Hz", 1}, {"token", 1}, {"tokens", 1}, {"params", 1}, {"request", 1}, {"sample", 1},
	    {"samples", 1}, {"years", 31557600}};
	static const char si[] = "numkMGTPE";
	static const double power[] = {1e-9, 1e-6, 1e-3, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18};
	const char *slash = memchr(unit, '/', n);

	if (slash) {
		const double top = unit_scale(unit, (size_t)(slash - unit)),
		             bottom = unit_scale(slash + 1, n - 1 - (size_t)(slash - unit));
		return bottom > 0 ? top / bottom : 0;
	}
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == n && strncmp(units[i].name, unit, n) == 0)
			return units[i].scale;
	const char *prefix = n > 1 ? strchr(si, unit[0]) : NULL;
	if (!prefix)
		return 0;
	if (unit[1] == 'i')
		return exp2(10.0 * (double)(prefix - si - 2)) * unit_scale(unit + 2, n - 2);
	return power[prefix - si] * unit_scale(unit + 1, n - 1);
}

/* A number as people read it, and half of its last digit.  False where it is none that we can read. */
static bool
read_printed(const char *text, double *value, double *half)
{
	const bool money = *text == '$';
	char digits[40];
	size_t n = 0, behind = 0;
	bool point = false;

	text += money;
	for (; n + 1 < sizeof digits && *text && strchr("0123456789.,-+eE", *text); text++) {
		/* an e belongs to the number when digits follow */
		if ((*text == 'e' || *text == 'E') && !(text[1] == '-' || text[1] == '+'))
			break;
		if (*text == ',')
			continue;
		if (*text == 'e')
			point = false;
		behind += point;
		point = point || *text == '.';
		digits[n++] = *text;
	}
	digits[n] = '\0';
	char *end, *e = strchr(digits, 'e');
	*value = strtod(digits, &end);
	if (end == digits || *end)
		return false;
	text += *text == ' ';
	const double scale = unit_scale(text, strcspn(text, " \n"));
	*half = 0.5 * pow(10, -(double)behind) * (e ? pow(10, strtod(e + 1, NULL)) : 1) * scale;
	*value *= scale;
	/* whole numbers of three digits and more are rounded to three: 1490 */
	if (!behind && !e && fabs(*value) >= 1000 * scale)
		*half = fmax(*half, 0.005 * fabs(*value));
	return scale > 0;
}

/* The line `LABEL  VALUE` of a text; NULL where there is none, or several (a table). */
static const char *
line_of(const char *text, const char *label)
{
	const size_t n = strlen(label);
	const char *found = NULL;

	for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		if (strncmp(p, label, n) != 0 || strncmp(p + n, "  ", 2) != 0)
			continue;
		if (found)
			return NULL;
		found = p + n + strspn(p + n, " ");
	}
	return found;
}

void
answer_is_text(struct trial *t, const char *line)
{
	const struct reply *x = trial_ask(t, line);

	if (x->n_sheets != 1)
		return;
	for (size_t i = 0; i < x->sheets[0].n; i++) {
		const struct told *row = &x->sheets[0].rows[i];
		/* items of tables have their label above their column */
		const char *text = row->label && !strpbrk(row->path, "0123456789") ? line_of(x->out, row->label) : NULL;
		double value, half;
		if (!text)
			continue;
		if (row->word) {
			trial_count(t);
			if (strncmp(text, row->word, strlen(row->word)) != 0)
				trial_broken(t, line, NULL, "%s is '%s', printed '%.*s'", row->path, row->word,
				    (int)strcspn(text, "\n"), text);
		} else if (read_printed(text, &value, &half)) {
			trial_count(t);
			if (!(fabs(value - row->value) <= half * (1 + 1e-9) + 1e-9 * fabs(value)))
				trial_broken(t, line, NULL, "%s (%s) is %.9g, printed '%.*s'", row->path, row->label,
				    row->value, (int)strcspn(text, "\n"), text);
		}
	}
}

/* --- the point of a sweep -------------------------------------------------------------------------------- */

/* A number of this line that can be swept, by its option and its path. */
static const char *
swept(struct trial *t, const char *line, const char **path)
{
	static const char *const options[] = {"--seq", "--batch", "--isl", "--osl", "--users", "--tokens", "--rate",
	    "--m", "--size", "--gpus", "--launch", "--k", "--microbatches", "--storage", "--rows", "--c", "--step",
	    "--base"};
	struct arena *a = trial_arena(t);
	const struct command *c = command_find(arena_copy(a, line, strcspn(line, " ")));

	for (size_t i = 0; c && i < sizeof options / sizeof *options; i++) {
		const struct option *o = command_option_named(c, options[i] + 2);
		if (line_value(a, line, options[i]) && o && o->kind == KIND_QUANTITY) {
			*path = o->path;
			return options[i];
		}
	}
	return NULL;
}

void
answer_is_point(struct trial *t, const char *line)
{
	struct arena *a = trial_arena(t);
	const char *path, *option = swept(t, line, &path);
	char *unit;

	if (!option)
		return;
	const char *value = line_value(a, line, option);
	const double x = strtod(value, &unit);
	const char *next = arena_printf(a, "%.15g%s", 2 * x, unit);
	const char *second = line_with(a, line, option, next);
	const char *sweep = arena_printf(a, "%s --sweep %s=%s,%s", line_with(a, line, option, NULL), path, value, next);
	const struct reply *all = trial_ask(t, sweep), *two = trial_ask(t, second);
	if (two->status > 1)
		return;
	if (all->status > 1 || all->n_sheets != 2) {
		trial_broken(t, line, sweep, "the sweep has %zu points, status %d", all->n_sheets, all->status);
		return;
	}
	same_rows(t, line, sweep, &trial_ask(t, line)->sheets[0], &all->sheets[0]);
	same_rows(t, second, sweep, &two->sheets[0], &all->sheets[1]);
}

/* --- a line of JSON -------------------------------------------------------------------------------------- */

/* tp=8,sp: {"layout.tp": "8", "layout.sp": true} */
static void
add_layout(struct arena *a, cJSON *object, const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, ","), name = strcspn(text, "=,");
		const char *key = arena_printf(a, "layout.%.*s", (int)name, text);
		if (name < n)
			cJSON_AddStringToObject(object, key, arena_copy(a, text + name + 1, n - name - 1));
		else
			cJSON_AddBoolToObject(object, key, true);
		text += n + (text[n] == ',');
	}
}

/* The words of a line as one object; false where they cannot be said so (lists, --set). */
static bool
as_object(struct arena *a, const struct command *c, char **words, int n, cJSON *object)
{
	char **operands;
	size_t n_operands, k = 0;

	operands = text_split(a, c->operands ? c->operands : "", ' ', &n_operands);
	for (int i = 2; i < n; i++) {
		if (words[i][0] != '-') {
			if (k >= n_operands || strstr(operands[k], "..."))
				return false;
			cJSON_AddStringToObject(object, operands[k++], words[i]);
			continue;
		}
		if (strcmp(words[i], "--layout") == 0) {
			add_layout(a, object, words[++i]);
			continue;
		}
		const struct option *o = command_option_named(c, words[i] + 2);
		if (!o || o->kind == KIND_WORDS || o->kind == KIND_NODE)
			return false;
		if (o->kind == KIND_FLAG)
			cJSON_AddBoolToObject(object, o->path, true);
		else if (i + 1 < n)
			cJSON_AddStringToObject(object, o->path, words[++i]);
	}
	return true;
}

void
answer_is_line(struct trial *t, const char *line)
{
	struct arena *a = trial_arena(t);
	const struct command *c = command_find(arena_copy(a, line, strcspn(line, " ")));
	char *words[128];
	const int n = split_line(a, line, words, 128);
	cJSON *object = cJSON_CreateObject();

	if (c && as_object(a, c, words, n, object)) {
		char *text = cJSON_PrintUnformatted(object);
		const char *path = asker_file(trial_asker(t), arena_printf(a, "%s\n", text));
		const char *asked = arena_printf(a, "%s --jsonl %s", c->name, path);
		const char *shown = arena_printf(a, "%s --jsonl - <<<'%s'", c->name, text);
		const struct reply *y = trial_ask(t, asked);
		free(text);
		if (y->n_sheets != 1)
			trial_broken(t, line, shown, "status %d: %.200s", y->status, y->err);
		else
			same_rows(t, line, shown, &trial_ask(t, line)->sheets[0], &y->sheets[0]);
	}
	cJSON_Delete(object);
}

/* What was asked before leaves no trace in an answer. */
void
answer_is_cold(struct trial *t, const char *line)
{
	const struct reply *x = trial_ask(t, line), *y = asker_ask_cold(trial_asker(t), line);

	if (y->n_sheets != 1 || strcmp(x->out, y->out) != 0 || strcmp(x->err, y->err) != 0)
		trial_broken(t, line, NULL, "cold, it answers otherwise");
	else
		same_rows(t, line, NULL, &x->sheets[0], &y->sheets[0]);
}
