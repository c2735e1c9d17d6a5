/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts as options of a framework or an engine, by the rules of hwdb/launchers. */
#include "ask/launch/launch.h"

#include "db/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THIS struct launch_from_in
const struct option launch_from_rows[] = {LAUNCH_FROM_OPTIONS(OPTION_ROW)};
#undef THIS

struct fact
fact_count(struct run *r, double n, double plain)
{
	return (struct fact){arena_printf(r->arena, "%.15g", n), n == plain, false};
}

struct fact
fact_derived(struct run *r, double n, double plain)
{
	return (struct fact){arena_printf(r->arena, "%.15g", n), n == plain, true};
}

struct fact
fact_word(const char *text, bool plain)
{
	return (struct fact){text, plain, false};
}

/* --- values ---------------------------------------------------------------------------------------------- */

static const char *
list_text(struct run *r, const char *text, const char *before, const char *between, const char *after)
{
	const char *out = before;

	for (const char *p = text; *p;) {
		const size_t n = strcspn(p, ",");
		out = arena_printf(r->arena, "%s%s%.*s", out, p == text ? "" : between, (int)n, p);
		p += n + (p[n] == ',');
	}
	return arena_printf(r->arena, "%s%s", out, after);
}

/* A value with what stands for other facts. */
static const char *
filled(const struct launch *l, const char *value)
{
	const char *out = "", *at;

	while ((at = strchr(value, '@')) != NULL) {
		const size_t n = strcspn(at + 1, "@");
		const enum launch_fact f = launch_fact_named(at + 1, n);
		out = arena_printf(l->r->arena, "%s%.*s%s", out, (int)(at - value), value,
		    f < N_LAUNCH_FACTS && l->facts[f].text ? l->facts[f].text : "");
		value = at + 1 + n + (at[1 + n] == '@');
	}
	return arena_printf(l->r->arena, "%s%s", out, value);
}

/* One word of a shell; ${NAME} stays what the shell replaces. */
static const char *
shell_word(struct run *r, const char *text)
{
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:,=+-";
	const char *out = "\"";

	if (*text && text[strspn(text, safe)] == '\0')
		return text;
	if (!strstr(text, "${") && !strchr(text, '\''))
		return arena_printf(r->arena, "'%s'", text);
	for (const char *p = text; *p; p++)
		out = arena_printf(
		    r->arena, "%s%s%c", out, strchr("\"\\`", *p) || (*p == '$' && p[1] != '{') ? "\\" : "", *p);
	return arena_printf(r->arena, "%s\"", out);
}

static void
add_key(struct launch *l, const char *key, const char *value)
{
	l->tree = tree_with(l->r->arena, l->tree, key, tree_scalar(l->r->arena, value, (struct source){0}));
}

static void
add_option(struct launch *l, const struct launcher_rule *rule, const char *text)
{
	struct run *r = l->r;
	const char *value = rule->value ? filled(l, rule->value) : text, *words = l->words;

	if (rule->in_file) {
		add_key(l, rule->key, value);
		return;
	}
	switch ((enum launch_form)l->by->form) {
	case LAUNCH_ARGV:
		if (*rule->key != '-') { /* a variable of the environment */
			l->environment = arena_printf(r->arena, "%s%s=%s ", l->environment, rule->key, value);
			break;
		}
		l->words = rule->is_switch
		    ? arena_printf(r->arena, "%s %s", words, rule->key)
		    : arena_printf(r->arena, "%s %s %s", words, rule->key,
		          rule->is_list ? list_text(r, value, "", " ", "") : shell_word(r, value));
		break;
	case LAUNCH_OVERRIDES:
		/* quote what the override parser would take for syntax */
		if (strpbrk(value, "|*()"))
			value = arena_printf(r->arena, "\"%s\"", value);
		l->words = arena_printf(r->arena, "%s %s=%s", words, rule->key,
		    rule->is_list ? list_text(r, value, "'[", ",", "]'") : shell_word(r, value));
		break;
	case LAUNCH_TOML:
	case LAUNCH_JSON:
		add_key(l, rule->key,
		    rule->is_list         ? list_text(r, value, "[\"", "\", \"", "\"]")
		        : rule->is_string ? arena_printf(r->arena, "\"%s\"", value)
		                          : value);
		break;
	}
}

/* --- rules ----------------------------------------------------------------------------------------------- */

/* Whether another rule has this value for the same option. */
static bool
is_special(const struct launch *l, const struct launcher_rule *rule, const char *text)
{
	for (int i = 0; !rule->is && rule->key && i < l->by->n_rules; i++) {
		const struct launcher_rule *other = &l->by->rules[i];
		if (other->fact == rule->fact && other->is && strcmp(other->is, text) == 0 && other->key &&
		    strcmp(other->key, rule->key) == 0)
			return true;
	}
	return false;
}

static void
say_fact(struct launch *l, enum launch_fact fact, const struct fact *f)
{
	const char *name = launch_fact_name(fact);
	const bool over_recipe = l->by->form == LAUNCH_OVERRIDES;
	bool mapped = false, said = false;

	for (int i = 0; i < l->by->n_rules; i++) {
		const struct launcher_rule *rule = &l->by->rules[i];
		if (rule->fact != fact || rule->only == LAUNCH_READ)
			continue;
		mapped = true;
		/* what a framework does by itself a recipe may have changed */
		if (rule->is ? strcmp(rule->is, f->text) != 0 : f->plain && !over_recipe)
			continue;
		if (is_special(l, rule, f->text))
			continue;
		said = true;
		if (rule->key)
			add_option(l, rule, f->text);
		if (rule->say)
			run_warn(l->r, "%s does not take %s=%s here: %s", l->by->name, name, f->text, rule->say);
		l->incomplete = l->incomplete || (rule->say && !rule->elsewhere);
	}
	if (said || f->plain || (f->derived && !mapped))
		return;
	run_warn(l->r, "%s has no option for %s=%s", l->by->name, name, f->text);
	l->incomplete = true;
}

bool
launch_maps(const struct launch *l, enum launch_fact fact)
{
	for (int i = 0; i < l->by->n_rules; i++)
		if (l->by->rules[i].fact == fact && l->by->rules[i].only != LAUNCH_READ)
			return true;
	return false;
}

void
launch_say(struct launch *l, const struct fact facts[N_LAUNCH_FACTS])
{
	l->facts = facts;
	for (int f = 0; f < N_LAUNCH_FACTS; f++)
		if (facts[f].text)
			say_fact(l, (enum launch_fact)f, &facts[f]);
}

void
launch_nothing(struct run *r)
{
	run_warn(r, "nothing is emitted: no row meets what was asked");
	r->document = "";
}

void
launch_lacks(struct launch *l, const char *what)
{
	run_warn(l->r, "not emitted: %s", what);
	l->incomplete = true;
}

/* --- files ----------------------------------------------------------------------------------------------- */

static const char *
file_value(struct run *r, const char *text)
{
	char *end;

	(void)strtod(text, &end);
	const bool bare = (!*end && end != text) || *text == '[' || *text == '"' || strcmp(text, "true") == 0 ||
	    strcmp(text, "false") == 0;
	return bare ? text : arena_printf(r->arena, "\"%s\"", text);
}

static const char *
toml_text(struct run *r, const struct node *n, const char *path)
{
	const char *own = "", *below = "";

	for (size_t i = 0; i < n->n; i++) {
		const char *key = n->keys[i]->text;
		const struct node *item = n->items[i];
		if (item->kind == NODE_SCALAR)
			own = arena_printf(r->arena, "%s%s = %s\n", own, key, file_value(r, item->text));
		else
			below = arena_printf(r->arena, "%s%s", below,
			    toml_text(r, item, *path ? arena_printf(r->arena, "%s.%s", path, key) : key));
	}
	return *path && *own ? arena_printf(r->arena, "[%s]\n%s\n%s", path, own, below)
	                     : arena_printf(r->arena, "%s%s", own, below);
}

static const char *
json_text(struct run *r, const struct node *n, int depth)
{
	const char *out = "{\n";

	for (size_t i = 0; i < n->n; i++) {
		const struct node *item = n->items[i];
		out = arena_printf(r->arena, "%s%*s\"%s\": %s%s\n", out, 2 * depth + 2, "", n->keys[i]->text,
		    item->kind == NODE_SCALAR ? file_value(r, item->text) : json_text(r, item, depth + 1),
		    i + 1 < n->n ? "," : "");
	}
	return arena_printf(r->arena, "%s%*s}", out, 2 * depth, "");
}

static const char *
yaml_text(struct run *r, const struct node *n, int depth)
{
	const char *out = "";

	for (size_t i = 0; i < n->n; i++) {
		const struct node *item = n->items[i];
		out = item->kind == NODE_SCALAR
		    ? arena_printf(r->arena, "%s%*s%s: %s\n", out, 2 * depth, "", n->keys[i]->text, item->text)
		    : arena_printf(r->arena, "%s%*s%s:\n%s", out, 2 * depth, "", n->keys[i]->text,
		          yaml_text(r, item, depth + 1));
	}
	return out;
}

const char *
launch_text(const struct launch *l)
{
	struct run *r = l->r;
	const char *launch = l->hybrid && l->by->launch_hybrid ? l->by->launch_hybrid
	    : l->by->launch                                    ? l->by->launch
	                                                       : "";

	switch ((enum launch_form)l->by->form) {
	case LAUNCH_ARGV:
	case LAUNCH_OVERRIDES:
		break;
	case LAUNCH_TOML:
		return toml_text(r, l->tree, "");
	case LAUNCH_JSON:
		return json_text(r, l->tree, 0);
	}
	if (l->tree->n == 0)
		return arena_printf(r->arena, "%s%s%s", l->environment, launch, l->words);
	return arena_printf(r->arena, "cat >%s <<'END'\n%sEND\n%s%s %.*s %s", l->file, yaml_text(r, l->tree, 0), launch,
	    l->words, (int)strcspn(l->by->config, " "), l->by->config, l->file);
}

/* --- the answer ------------------------------------------------------------------------------------------ */

bool
launch_is_of(const struct launch *l, const char *stack)
{
	for (const char *p = l->by->stacks ? l->by->stacks : stack; *p;) {
		const size_t n = strcspn(p, " ");
		if (strncmp(stack, p, n) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}

bool
launch_begin(struct run *r, struct word name, enum launch_use use, struct launch *out)
{
	*out = (struct launch){.r = r,
	    .by = database_launcher(r->database, r->arena, r->diag, name.text, name.from),
	    .tree = tree_map(r->arena, (struct source){0}),
	    .words = "",
	    .environment = "",
	    .file = "engine.yaml"};
	if (!out->by || (enum launch_use)out->by->use == use)
		return out->by != NULL;
	diag_error(r->diag, name.from, "%s is launched for %s, not for %s", out->by->name,
	    use == LAUNCH_TRAIN ? "serving" : "training", use == LAUNCH_TRAIN ? "training" : "serving");
	diag_hint(r->diag, "write --emit %s",
	    use == LAUNCH_TRAIN ? "megatron, bridge, torchtitan or deepspeed" : "vllm, sglang or trtllm");
	return false;
}

enum answer
launch_end(struct launch *l, const char *text)
{
	struct run *r = l->r;
	size_t n = strlen(text);

	while (n > 0 && text[n - 1] == '\n')
		n--;
	text = arena_copy(r->arena, text, n);
	r->document = arena_printf(r->arena, "%s\n", text);
	TELL_HIDDEN(r->sheet, launcher, l->by->name);
	TELL_HIDDEN(r->sheet, launch_options, text);
	return l->incomplete ? ANSWERED_NO : ANSWERED;
}
