/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of training frameworks and serving engines: which of them say what of a run, and reading them from files. */
#include "db/parts.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_LAUNCH_FACTS] = {
#define LAUNCH_FACT(id, name) name,
    LAUNCH_FACTS(LAUNCH_FACT)
#undef LAUNCH_FACT
};

const char *
launch_fact_name(enum launch_fact f)
{
	return names[f];
}

#define AT(member) offsetof(struct launcher_rule, member)
static const struct field rule_fields[] = {
    {.key = "from", .kind = FIELD_TEXT, .offset = AT(from), .required = true, .help = "input of the run"},
    TEXT("is", is, "only where it has this value"),
    TEXT("key", key, "the framework's option; absent: it needs none"),
    TEXT("also", also, "other spellings that are read, separated by blanks"),
    TEXT("value", value, "what is written (default: the value itself); @NAME@ stands for what NAME says"),
    TEXT("read", read, "other values that are read, separated by blanks"),
    {.key = "only",
        .kind = FIELD_CHOICE,
        .offset = AT(only),
        .choices = "both|read|write",
        .help = "a spelling that is read and not written, or the reverse (default: both)"},
    FLAG("switch", is_switch, "an option without a value"),
    FLAG("list", is_list, "several values, separated by commas"),
    FLAG("string", is_string, "a string in a file, even where it is a number"),
    FLAG("file", in_file, "a key of the file that `config` names, not of the command line"),
    TEXT("absent", absent,
        "what the framework takes where no option says it: a number, that of another input, or the rule's own `is`"),
    TEXT("say", say, "why it cannot be said"),
    FLAG("elsewhere", elsewhere, "it can, but not here: no fault of the answer"),
};
#undef AT
SCHEMA(rule_schema, "a rule of a launcher", struct launcher_rule, rule_fields);

#define AT(member) offsetof(struct launcher, member)
static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "name", .kind = FIELD_TEXT, .offset = AT(name), .required = true, .help = "name of the framework"},
    {.key = "version", .kind = FIELD_TEXT, .offset = AT(version), .required = true, .help = "release or commit"},
    {.key = "source",
        .kind = FIELD_TEXT,
        .offset = AT(source),
        .required = true,
        .help = "where its options are defined"},
    {.key = "form",
        .kind = FIELD_CHOICE,
        .offset = AT(form),
        .choices = "argv|overrides|toml|json",
        .required = true,
        .help = "options of a command line, key=value words, or a file"},
    {.key = "use",
        .kind = FIELD_CHOICE,
        .offset = AT(use),
        .choices = "train|serve",
        .help = "training (default) or serving"},
    TEXT("launch", launch, "the command line before the options"),
    TEXT("launch_hybrid", launch_hybrid, "the same for models with state-space layers, where it differs"),
    TEXT("programs", programs, "programs and images by which a command line is known, separated by commas"),
    TEXT("config", config, "option of the command line that takes a YAML file; other spellings behind it"),
    TEXT("stacks", stacks, "stacks or engines whose layouts it runs, separated by blanks"),
    {.key = "map",
        .kind = FIELD_LIST,
        .offset = AT(rules),
        .extra = AT(n_rules),
        .sub = &rule_schema,
        .required = true,
        .help = "rules: all that hold are written, in this order"},
    TEXT("notes", notes, "caveats"),
};
#undef AT
SCHEMA(launcher_schema, "a launcher", struct launcher, fields);

enum launch_fact
launch_fact_named(const char *name, size_t n)
{
	int f = 0;

	while (f < N_LAUNCH_FACTS && (strncmp(names[f], name, n) != 0 || names[f][n]))
		f++;
	return (enum launch_fact)f;
}

/* Every @NAME@ of a value is something of a run. */
static bool
check_value(struct binder *b, const struct node *n, const char *value)
{
	const char *at = value ? strchr(value, '@') : NULL;

	while (at) {
		const char *end = strchr(at + 1, '@');
		if (!end || launch_fact_named(at + 1, (size_t)(end - at - 1)) == N_LAUNCH_FACTS) {
			diag_error(b->diag, tree_get(n, "value")->at, "nothing of a run is called '%s'", at);
			diag_hint(b->diag, "write for example @n_drafts@");
			return false;
		}
		at = strchr(end + 1, '@');
	}
	return true;
}

static bool
bind_fact(struct binder *b, const struct node *at, const char *name, enum launch_fact *out)
{
	*out = launch_fact_named(name, strlen(name));
	if (*out != N_LAUNCH_FACTS)
		return true;
	const char *near = text_nearest(name, names, N_LAUNCH_FACTS);
	diag_error(b->diag, at->at, "nothing of a run is called '%s'", name);
	diag_hint(b->diag, near ? "did you mean '%s'?" : "ridge-hwdb(5) lists what there is%s", near ? near : "");
	return false;
}

static bool
bind_rule(struct binder *b, const struct node *n, struct launcher_rule *rule)
{
	rule->stand_in = N_LAUNCH_FACTS;
	const bool number = !rule->absent || !rule->absent[strspn(rule->absent, "0123456789")],
	           refers = !number && !(rule->is && strcmp(rule->absent, rule->is) == 0);
	if (!bind_fact(b, tree_get(n, "from"), rule->from, &rule->fact) ||
	    (refers && !bind_fact(b, tree_get(n, "absent"), rule->absent, &rule->stand_in)))
		return false;
	if (rule->key && rule->say) {
		diag_error(b->diag, tree_get(n, "say")->at, "a rule needs a key, or a reason why there is none");
		diag_hint(b->diag, "remove one of them");
		return false;
	}
	return check_value(b, n, rule->value);
}

bool
launcher_bind(struct binder *b, const struct node *root, const char *id, struct launcher *out)
{
	const struct node *map = tree_get(root, "map");
	bool ok = schema_bind(b, &launcher_schema, root, out);

	out->id = id;
	for (int i = 0; ok && i < out->n_rules; i++)
		ok = bind_rule(b, map->items[i], &out->rules[i]) && ok;
	return ok;
}

const struct launcher *
database_launcher(struct database *db, struct arena *a, struct diag *d, const char *name, struct source at)
{
	const char *id, *ignored;
	const struct node *root = database_open(db, ENTRY_LAUNCHER, name, at, &id, &ignored);
	struct launcher *out = ARENA_NEW(a, struct launcher);
	struct binder b = {.arena = a, .diag = d};

	return root && launcher_bind(&b, root, id, out) ? out : NULL;
}

/* --- options and their values ----------------------------------------------------------------------------------- */

/* From TOML, JSON or YAML. */

/* Longer ones are no launch files, and would take long to read. */
enum { FILE_MOST = 1 << 17 };

void
launch_add(struct arena *a, struct launch_pairs *out, const char *key, const char *value)
{
	if (out->n == out->room) {
		out->room = 2 * out->room + 64;
		out->list = arena_grow(a, out->list, out->n, out->room, sizeof *out->list);
	}
	out->list[out->n++] = (struct launch_pair){key, value, false};
}

/* The scalars of a list in one text; `quoted`: as words of a shell. */
static const char *
list_text(struct arena *a, const struct node *n, char between, bool quoted)
{
	size_t room = 1, used = 0;

	for (size_t i = 0; i < n->n; i++)
		room += n->items[i]->kind == NODE_SCALAR ? strlen(n->items[i]->text) + 3 : 0;
	char *out = arena_take(a, room);
	for (size_t i = 0; i < n->n; i++) {
		const char *text = n->items[i]->kind == NODE_SCALAR ? n->items[i]->text : NULL;
		const bool quotes = text && quoted && strpbrk(text, " \t\n") && !strchr(text, '\'');
		if (text)
			used += (size_t)snprintf(
			    out + used, room - used, quotes ? "%.*s'%s'" : "%.*s%s", used > 0, &between, text);
	}
	out[used] = '\0';
	return out;
}

/* --- files of keys --------------------------------------------------------------------------------------- */

void
launch_add_tree(struct arena *a, struct launch_pairs *out, const char *prefix, const struct node *n)
{
	switch (n->kind) {
	case NODE_SCALAR:
		launch_add(a, out, prefix, n->text ? n->text : "");
		break;
	case NODE_LIST:
		launch_add(a, out, prefix, list_text(a, n, ',', false));
		for (size_t i = 0; i < n->n; i++)
			if (n->items[i]->kind == NODE_MAP)
				launch_add_tree(a, out, prefix, n->items[i]);
		break;
	case NODE_MAP:
		for (size_t i = 0; i < n->n; i++) {
			const char *key = n->keys[i]->text;
			const struct node *item = n->items[i];
			/* of a container */
			if (text_lists("command args entrypoint", key) && item->kind != NODE_MAP)
				launch_add_command(
				    a, out, item->kind == NODE_LIST ? list_text(a, item, ' ', true) : item->text);
			else
				launch_add_tree(a, out, *prefix ? arena_printf(a, "%s.%s", prefix, key) : key, item);
		}
		break;
	}
}

/* A scalar or a list of TOML without its quotes and brackets: `["a", "b"]` is `a,b`. */
const char *
launch_bare(struct arena *a, const char *s)
{
	char *out = arena_take(a, strlen(s) + 1), *to = out, quote = 0;

	for (; *s && (quote || *s != '#'); s++)
		if (*s == quote)
			quote = 0;
		else if (!quote && (*s == '"' || *s == '\''))
			quote = *s;
		else if (quote || !strchr(" \t\r[]", *s))
			*to++ = *s;
	*to = '\0';
	return out;
}

static void
add_toml(struct arena *a, struct launch_pairs *out, const char *text)
{
	const char *section = "";

	for (const char *p = text; *p;) {
		const size_t n = strcspn(p, "\n");
		const char *line =
		    arena_copy(a, p + strspn(p, " \t"), n - (strspn(p, " \t") < n ? strspn(p, " \t") : n));
		const char *equals = strchr(line, '=');
		p += n + (p[n] == '\n');
		if (*line == '[' && strchr(line, ']'))
			section = arena_copy(a, line + 1, strcspn(line + 1, "]"));
		else if (equals && *line != '#') {
			size_t length = (size_t)(equals - line);
			while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t'))
				length--;
			const char *key = arena_copy(a, line, length);
			launch_add(a, out, *section ? arena_printf(a, "%s.%s", section, key) : key,
			    launch_bare(a, equals + 1));
		}
	}
}

/* --- the file -------------------------------------------------------------------------------------------- */

static const char *
whole_file(struct arena *a, struct diag *d, const char *path, struct source at)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	char *text = arena_take(a, FILE_MOST + 1);

	if (!f) {
		diag_error(d, at, "%s: %s", path, strerror(errno));
		diag_hint(d, "give a command line, a TOML or a JSON file of a framework");
		return NULL;
	}
	const size_t n = fread(text, 1, FILE_MOST, f);
	const bool failed = ferror(f);
	if (f != stdin)
		fclose(f);
	text[n] = '\0';
	if (!failed && n < FILE_MOST && strlen(text) == n)
		return text;
	if (n == FILE_MOST)
		diag_error(d, at, "%s is longer than %d KiB", path, FILE_MOST >> 10);
	else
		diag_error(d, at, "%s cannot be read as text", path);
	diag_hint(d, "give a command line, a TOML or a JSON file of a framework");
	return NULL;
}

bool
launch_pairs_read(
    struct arena *a, struct diag *d, const char *path, struct source at, struct launch_pairs *out, const char **text)
{
	*out = (struct launch_pairs){0};
	*text = whole_file(a, d, path, at);
	if (!*text)
		return false;
	const char first = (*text)[strspn(*text, " \t\r\n")];
	if (text_ends(path, ".toml") || first == '[') {
		add_toml(a, out, *text);
		return true;
	}
	if (!text_ends(path, ".json") && !text_ends(path, ".yaml") && !text_ends(path, ".yml") && first != '{') {
		if (launch_add_script(a, out, path, *text))
			return true;
		diag_error(d, at, "%s: its variables grow without end", path);
		diag_hint(d, "write the values in their place");
		return false;
	}
	const struct node *n = tree_read_text(a, d, path, *text, strlen(*text));
	out->is_tree = true;
	if (n)
		launch_add_tree(a, out, "", n);
	return n != NULL;
}
