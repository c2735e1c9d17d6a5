/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A launch file as inputs of a job. */

#include "base/base.h"
#include "db/parts.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- inputs ---------------------------------------------------------------------------------------------- */

void
launch_put(struct launch_reading *r, const char *path, const char *text)
{
	struct source at = r->at;

	at.file = arena_text(r->arena, at.file);
	r->inputs = tree_with(r->arena, r->inputs, path, tree_scalar(r->arena, text, at));
}

double
launch_number(const struct launch_reading *r, enum launch_fact f, double otherwise)
{
	char *end;

	if (!r->facts[f])
		return otherwise;
	const double value = strtod(r->facts[f], &end);
	return end == r->facts[f] || *end ? otherwise : value;
}

void
launch_put_number(struct launch_reading *r, const char *path, double value)
{
	launch_put(r, path, arena_printf(r->arena, "%.15g", value));
}

void
launch_miss(struct launch_reading *r, const char *what)
{
	r->unmapped = arena_printf(r->arena, "%s%s%s", r->unmapped ? r->unmapped : "", r->unmapped ? ", " : "", what);
}

/* --- whose options --------------------------------------------------------------------------------------- */

/* Values that are read as numbers; `auto`, `none` and `true` of one say that it is open. */
static bool
is_number(enum launch_fact fact)
{
	static const enum launch_fact list[] = {LAUNCH_TP, LAUNCH_PP, LAUNCH_VP, LAUNCH_CP, LAUNCH_EP, LAUNCH_ETP,
	    LAUNCH_CHUNKS, LAUNCH_COPIES, LAUNCH_INSTANCES, LAUNCH_ADP, LAUNCH_ATTENTION_TP, LAUNCH_MAX_SEQUENCES,
	    LAUNCH_ALL_SEQUENCES, LAUNCH_STEP_TOKENS, LAUNCH_ALL_STEP_TOKENS, LAUNCH_UTILIZATION, LAUNCH_CACHE_SHARE};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i] == fact)
			return true;
	return false;
}

/* Whether an option says how a run is laid out: one of a trainer's that many programs have, such as --bf16, does not.
 */
static bool
is_layout(enum launch_fact fact)
{
	return is_number(fact) || fact == LAUNCH_ZERO || fact == LAUNCH_MICRO_BATCH || fact == LAUNCH_GLOBAL_BATCH;
}

/* Keys of an engine's YAML file are its options without the dashes. */
static const char *
dashed(struct arena *a, const struct launcher *by, const struct launch_pairs *pairs, const char *key)
{
	return (pairs->is_tree || pairs->wrote_file) && by->form == LAUNCH_ARGV && *key != '-'
	    ? arena_printf(a, "--%s", key)
	    : NULL;
}

static const struct launcher_rule *
rule_of(const struct launcher *by, const char *key)
{
	for (int k = 0; key && k < by->n_rules; k++)
		if (launch_is_key(&by->rules[k], key))
			return &by->rules[k];
	return NULL;
}

/* Blank what is behind a # at the start of a word, so that places stay. */
static char *
without_comments(struct arena *a, const char *text)
{
	char *out = arena_take(a, strlen(text) + 1);
	bool comment = false;

	strcpy(out, text);
	for (size_t i = 0; out[i]; i++) {
		comment =
		    out[i] != '\n' && (comment || (out[i] == '#' && (i == 0 || isspace((unsigned char)text[i - 1]))));
		if (comment)
			out[i] = ' ';
	}
	return out;
}

/* What a program says: 2, an image or a path, which may be one beside others: 1. */
static int
names_program(const struct launcher *by, const char *text)
{
	int most = 0;

	for (const char *p = by->programs; p && *p;) {
		const size_t n = strcspn(p, ",");
		const int weight = memchr(p, '/', n) ? 1 : 2;
		for (const char *at = text; (at = strchr(at, *p)) != NULL; at++)
			if (strncmp(at, p, n) == 0)
				most = weight > most ? weight : most;
		p += n + strspn(p + n, ", ");
	}
	return most;
}

/* Options that a launcher knows, by the thousand where its program is named; 0: it is not this one's. */
static int
score(struct arena *a, const struct launcher *by, struct launch_pairs *pairs, const char *text)
{
	const int named = names_program(by, text);
	bool has_layout = by->form != LAUNCH_ARGV;
	int n = 0;

	for (size_t i = 0; i < pairs->n; i++) {
		const char *key = pairs->list[i].key;
		const struct launcher_rule *rule = rule_of(by, key);
		rule = rule ? rule : rule_of(by, dashed(a, by, pairs, key));
		n += rule != NULL;
		has_layout = has_layout || (rule && is_layout(rule->fact));
	}
	if (named && (n > 0 || (by->use == LAUNCH_SERVE && !pairs->is_tree)))
		return 1000 * named + n;
	return has_layout ? n : 0;
}

static const struct launcher *
launcher_of(struct database *db, struct arena *a, struct diag *d, struct launch_pairs *pairs, const char *text)
{
	const struct launcher *best = NULL;
	const char **names;
	int most = 0;
	size_t n;

	names = database_list(db, ENTRY_LAUNCHER, &n);
	for (size_t i = 0; i < n; i++) {
		const struct launcher *by = database_launcher(db, a, d, names[i], (struct source){0});
		const int here = by ? score(a, by, pairs, text) : 0;
		if (here > most) {
			most = here;
			best = by;
		}
	}
	for (size_t i = 0; best && i < pairs->n; i++) {
		const char *key = rule_of(best, pairs->list[i].key) ? NULL : dashed(a, best, pairs, pairs->list[i].key);
		if (rule_of(best, key))
			pairs->list[i].key = key;
	}
	return best;
}

/* No framework's: what may have been meant. */
static bool
refuse(struct launch_reading *r, struct diag *d, struct source at)
{
	static const struct launcher_rule config = {.key = "--deepspeed", .also = "--deepspeed_config"};
	const struct launch_pair *file = launch_pair_of(&r->pairs, &config);

	diag_error(d, at, "%s has no layout option of a framework that is known", r->at.file);
	diag_hint(d,
	    file && file->value ? "give '%s', DeepSpeed's own file"
	                        : "give a command line, a TOML or a JSON file; hwdb/launchers has the options%s",
	    file && file->value ? file->value : "");
	return false;
}

/* `torchrun --nnodes 2 --nproc-per-node 8`. */
static void
put_gpus(struct launch_reading *r)
{
	static const struct launcher_rule nodes = {.key = "--nnodes"}, each = {.key = "--nproc-per-node"};
	struct launch_pair *n = launch_pair_of(&r->pairs, &nodes), *k = launch_pair_of(&r->pairs, &each);
	if (!k || !k->value)
		return;
	const double gpus = (n && n->value ? strtod(n->value, NULL) : 1) * strtod(k->value, NULL);
	if (!(gpus >= 1))
		return;
	launch_put_number(r, "gpus", gpus);
	if (isnan(r->known.n_gpus))
		r->known.n_gpus = gpus;
	k->used = true;
	if (n)
		n->used = true;
}

/* --- values ---------------------------------------------------------------------------------------------- */

static const char *
with_commas(struct arena *a, const char *value)
{
	char *out = arena_take(a, strlen(value) + 1);

	strcpy(out, value);
	for (char *p = out; *p; p++)
		*p = *p == LAUNCH_BETWEEN ? ',' : *p;
	return out;
}

/* 16k is 16,000 and 16K 16 Ki, as vLLM reads numbers. */
static double
multiple_of(const char *suffix)
{
	static const struct {
		const char *text;
		double times;
	} rows[] = {{"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"K", 1024}, {"M", 1048576}, {"G", 1073741824}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(suffix, rows[i].text) == 0)
			return rows[i].times;
	return NAN;
}

/* The first word of a value, but of lists: `--tensor-parallel-size 4 MODEL` has two.  A switch has none. */
static void
trim_values(struct launch_reading *r)
{
	static const char between[] = {LAUNCH_BETWEEN, '\0'};

	for (size_t i = 0; i < r->pairs.n; i++) {
		struct launch_pair *pair = &r->pairs.list[i];
		const struct launcher_rule *rule = rule_of(r->by, pair->key);
		if (!pair->value)
			continue;
		const size_t length = strcspn(pair->value, between);
		if (rule && rule->is_switch && !text_lists("true false True False", pair->value))
			pair->value = NULL;
		else if (rule && !rule->is_list)
			pair->value = arena_copy(r->arena, pair->value, length);
		else if (pair->value[length])
			pair->value = with_commas(r->arena, pair->value);
		if (!pair->value || !rule || !is_number(rule->fact))
			continue;
		char *end;
		const double n = strtod(pair->value, &end) * (end > pair->value ? multiple_of(end) : NAN);
		if (!isnan(n))
			pair->value = arena_printf(r->arena, "%.15g", n);
	}
}

static bool
is_known(enum launch_fact fact, const char *value)
{
	static const char open[] = "auto none None null true false True False";
	char *end;

	if (strchr(value, '$'))
		return false;
	if (!is_number(fact) || text_lists(open, value))
		return true;
	strtod(value, &end);
	return end > value && !*end;
}

/* Whether all that the options say of the run is known: no variable that the script does not set.  False with errors.
 */
static bool
values_are_known(struct launch_reading *r, struct diag *d, const char *text)
{
	bool known = true;

	for (size_t i = 0; i < r->pairs.n; i++) {
		const struct launch_pair *pair = &r->pairs.list[i];
		for (int k = 0; pair->value && k < r->by->n_rules; k++) {
			const struct launcher_rule *rule = &r->by->rules[k];
			if (rule->fact >= LAUNCH_MODEL_LAYERS || !launch_is_key(rule, pair->key) ||
			    launch_pair_of(&r->pairs, rule) != pair || is_known(rule->fact, pair->value))
				continue;
			diag_error(d, launch_place(r, text, pair->key), "%s: the value of '%s' is not known", pair->key,
			    pair->value);
			diag_hint(d, "write the value in its place, or set the variable in the file");
			known = false;
			break;
		}
	}
	return known;
}

/* The file that a script writes is read with it, another is not. */
static void
use_config(struct launch_reading *r)
{
	const size_t n = r->by->config ? strcspn(r->by->config, " ") : 0;
	if (n == 0)
		return;
	const struct launcher_rule config = {.key = arena_copy(r->arena, r->by->config, n), .also = r->by->config};
	struct launch_pair *pair = launch_pair_of(&r->pairs, &config);

	if (!pair)
		return;
	pair->used = true;
	if (!r->pairs.wrote_file && pair->value)
		launch_miss(r, arena_printf(r->arena, "options in %s: name them beside it", pair->value));
}

/* Whether the option is known but its value is not: the answer leaves it out. */
static bool
has_rule(const struct launch_reading *r, const struct launch_pair *pair)
{
	const struct launcher_rule *rule = rule_of(r->by, pair->key);

	/* what is written to undo something says nothing */
	for (int k = 0; pair->value && k < r->by->n_rules; k++) {
		const struct launcher_rule *other = &r->by->rules[k];
		if (other->only == LAUNCH_WRITE && other->value && launch_is_key(other, pair->key) &&
		    strcmp(other->value, pair->value) == 0)
			return false;
	}
	return rule && rule->fact < LAUNCH_MODEL_LAYERS && !(pair->value && strcmp(pair->value, "auto") == 0);
}

static void
miss_values(struct launch_reading *r)
{
	for (size_t i = 0; i < r->pairs.n; i++) {
		const struct launch_pair *pair = &r->pairs.list[i];
		if (!pair->used && has_rule(r, pair))
			launch_miss(r,
			    arena_printf(
			        r->arena, "%s%s%s", pair->key, pair->value ? " " : "", pair->value ? pair->value : ""));
	}
}

/* The options that no rule is about, as far as people read a list; NULL: none. */
static const char *
unread_of(const struct launch_reading *r)
{
	enum { NAMED_MOST = 20 };
	const char *list = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->pairs.n; i++)
		if (!r->pairs.list[i].used && !has_rule(r, &r->pairs.list[i]) && n++ < NAMED_MOST)
			list =
			    arena_printf(r->arena, "%s%s%s", list ? list : "", list ? ", " : "", r->pairs.list[i].key);
	return n <= NAMED_MOST ? list : arena_printf(r->arena, "%s and %zu more", list, n - NAMED_MOST);
}

bool
launcher_read(struct database *db, struct arena *a, struct diag *d, const char *path, struct source at,
    struct launch_known known, struct launch_file *out)
{
	struct launch_reading r = {.arena = a, .at = {path, 0, 0, NULL, false}, .known = known};
	const char *text;

	*out = (struct launch_file){0};
	if (!launch_pairs_read(a, d, path, at, &r.pairs, &text))
		return false;
	r.inputs = tree_map(a, r.at);
	if (!text_ends(path, ".json"))
		text = without_comments(a, text);
	r.by = out->by = launcher_of(db, a, d, &r.pairs, text);
	if (!r.by)
		return refuse(&r, d, at);
	trim_values(&r);
	if (!values_are_known(&r, d, text))
		return false;
	use_config(&r);
	for (int f = 0; f < N_LAUNCH_FACTS; f++)
		if (!r.facts[f])
			launch_read_fact(&r, (enum launch_fact)f);
	if (r.by->use == LAUNCH_SERVE)
		launch_put_serving(&r);
	else {
		put_gpus(&r);
		launch_put_training(&r);
	}
	if (r.pairs.branched)
		launch_miss(
		    &r, arena_printf(a, "branches, which set %s: their last values are taken", r.pairs.branched));
	launch_read_claims(&r, text, &out->claims);
	miss_values(&r);
	out->unread = unread_of(&r);
	out->inputs = r.inputs;
	out->unmapped = r.unmapped;
	return true;
}
