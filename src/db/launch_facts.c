/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a launch file says of a run: the rules of hwdb/launchers backwards, from options to facts. */

#include "base/base.h"
#include "db/parts.h"

#include <string.h>

/* Engines take `--max_num_seqs` for `--max-num-seqs`. */
static bool
same_key(const char *x, const char *y, size_t n)
{
	size_t i = 0;

	for (; i < n && x[i]; i++)
		if (x[i] != y[i] && !((x[i] == '_' || x[i] == '-') && (y[i] == '_' || y[i] == '-')))
			return false;
	return i == n && !x[i];
}

bool
launch_is_key(const struct launcher_rule *rule, const char *key)
{
	/* `--training.seq_len` is seq_len of [training] */
	if (rule->key && *rule->key != '-' && strncmp(key, "--", 2) == 0 && strchr(key, '.'))
		key += 2;
	if (rule->key && same_key(key, rule->key, strlen(rule->key)))
		return true;
	for (const char *p = rule->also; p && *p;) {
		const size_t n = strcspn(p, " ");
		if (same_key(key, p, n))
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

struct launch_pair *
launch_pair_of(struct launch_pairs *pairs, const struct launcher_rule *rule)
{
	struct launch_pair *found = NULL;

	for (size_t i = 0; i < pairs->n; i++)
		if (launch_is_key(rule, pairs->list[i].key))
			found = &pairs->list[i];
	return found;
}

/* Whether a value is what a rule writes, or another word that it reads as that; what stands where it has another fact
 * is that fact's, and what a shell replaces may be anything. */
static bool
matches(struct launch_reading *r, const struct launcher_rule *rule, const char *form, const char *value,
    const char *inside[N_LAUNCH_FACTS])
{
	if (strncmp(form, "${", 2) == 0 || (rule->read && text_lists(rule->read, value)))
		return true;
	while (*form) {
		if (*form != '@') {
			if (*form == ' ' || *value == ' ') {
				form += strspn(form, " ");
				value += strspn(value, " ");
			} else if (*form++ != *value++)
				return false;
			continue;
		}
		const size_t n = strcspn(form + 1, "@"), length = strspn(value, "0123456789.");
		if (length == 0)
			return false;
		inside[launch_fact_named(form + 1, n)] = arena_copy(r->arena, value, length);
		form += n + 2;
		value += length;
	}
	return !*value;
}

/* A value as JSON: what stands for a fact is a text. */
static const char *
quoted_facts(struct arena *a, const char *value)
{
	const char *out = "", *at;

	while ((at = strchr(value, '@')) != NULL) {
		const size_t n = strcspn(at + 1, "@");
		out = arena_printf(a, "%s%.*s\"%.*s\"", out, (int)(at - value), value, (int)n + 2, at);
		value = at + n + 2;
	}
	return arena_printf(a, "%s%s", out, value);
}

/* Whether an object has all keys of the one that a rule writes, in any order. */
static bool
matches_object(
    struct launch_reading *r, const struct launcher_rule *rule, const char *value, const char *inside[N_LAUNCH_FACTS])
{
	struct diag *quiet = diag_new(r->arena);
	const char *text = quoted_facts(r->arena, rule->value);
	const struct node *form = tree_read_text(r->arena, quiet, "form.json", text, strlen(text)),
	                  *said = tree_read_text(r->arena, quiet, "value.json", value, strlen(value));
	bool all = form && said && form->kind == NODE_MAP;

	for (size_t i = 0; all && i < form->n; i++) {
		const struct node *has = tree_get(said, form->keys[i]->text);
		all = has && has->kind == NODE_SCALAR && matches(r, rule, form->items[i]->text, has->text, inside);
	}
	return all;
}

static const char *
plain_bool(const char *value)
{
	return strcmp(value, "True") == 0 ? "true" : strcmp(value, "False") == 0 ? "false" : value;
}

/* What a rule reads: NULL if it does not hold. */
static const char *
rule_text(struct launch_reading *r, const struct launcher_rule *rule, const char *inside[N_LAUNCH_FACTS])
{
	const struct launch_pair *p = launch_pair_of(&r->pairs, rule);

	if (!p)
		return NULL;
	const char *value = plain_bool(p->value ? p->value : "true");
	if (rule->is_switch)
		return strcmp(value, "false") == 0 ? NULL : rule->is ? rule->is : "";
	if (rule->value) {
		const bool same = *rule->value == '{' ? matches_object(r, rule, value, inside)
		                                      : matches(r, rule, rule->value, value, inside);
		return same ? rule->is ? rule->is : "" : NULL;
	}
	return !rule->is || strcmp(rule->is, value) == 0 ? value : NULL;
}

/* Rules that hold together; each that is only read holds by itself. */
static bool
is_alike(const struct launcher_rule *x, const struct launcher_rule *y)
{
	if (x->only == LAUNCH_READ || y->only == LAUNCH_READ)
		return x == y;
	return y->only == LAUNCH_BOTH && x->fact == y->fact &&
	    (x->is && y->is ? strcmp(x->is, y->is) == 0 : x->is == y->is);
}

void
launch_read_fact(struct launch_reading *r, enum launch_fact fact)
{
	const char *inside[N_LAUNCH_FACTS] = {NULL}, *best_inside[N_LAUNCH_FACTS] = {NULL};
	const struct launcher_rule *best = NULL;
	int most = 0;

	for (int i = 0; i < r->by->n_rules; i++) {
		const struct launcher_rule *rule = &r->by->rules[i];
		const char *text = NULL;
		int n = 0;
		if (rule->fact != fact || !rule->key || rule->only == LAUNCH_WRITE)
			continue;
		for (int k = 0; k < r->by->n_rules; k++) {
			const struct launcher_rule *other = &r->by->rules[k];
			if (!other->key || !is_alike(rule, other))
				continue;
			const char *here = rule_text(r, other, inside);
			if (!here) {
				n = 0;
				break;
			}
			text = !text || !*text ? here : text;
			n++;
		}
		if (n <= most)
			continue;
		most = n;
		best = rule;
		memcpy(best_inside, inside, sizeof inside);
		r->facts[fact] = *text ? text : rule->is ? rule->is : "true";
	}
	if (!best)
		return;
	for (int f = 0; f < N_LAUNCH_FACTS; f++)
		if (best_inside[f])
			r->facts[f] = best_inside[f];
	for (int k = 0; k < r->by->n_rules; k++)
		for (size_t i = 0; r->by->rules[k].key && is_alike(best, &r->by->rules[k]) && i < r->pairs.n; i++)
			if (launch_is_key(&r->by->rules[k], r->pairs.list[i].key))
				r->pairs.list[i].used = true;
}

bool
launch_can_say(const struct launcher *by, enum launch_fact fact, const char *is)
{
	for (int i = 0; i < by->n_rules; i++)
		if (by->rules[i].fact == fact && by->rules[i].key && by->rules[i].only != LAUNCH_READ &&
		    (!by->rules[i].is || strcmp(by->rules[i].is, is) == 0))
			return true;
	return false;
}
