/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the options of training frameworks and serving engines: which of them say what of a run. */
#include "db/parts.h"

#include "base/base.h"

#include <string.h>

static const char *const names[N_LAUNCH_FACTS] = {
#define LAUNCH(id, name) name,
#include "db/launcher.def"
#undef LAUNCH
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
    FLAG("switch", is_switch, "an option without a value"),
    FLAG("list", is_list, "several values, separated by commas"),
    FLAG("file", in_file, "a key of the file that `config` names, not of the command line"),
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
    TEXT("config", config, "option of the command line that takes a YAML file"),
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
bind_rule(struct binder *b, const struct node *n, struct launcher_rule *rule)
{
	rule->fact = launch_fact_named(rule->from, strlen(rule->from));
	if (rule->fact == N_LAUNCH_FACTS) {
		const char *near = text_nearest(rule->from, names, N_LAUNCH_FACTS);
		diag_error(b->diag, tree_get(n, "from")->at, "nothing of a run is called '%s'", rule->from);
		diag_hint(
		    b->diag, near ? "did you mean '%s'?" : "ridge-hwdb(5) lists what there is%s", near ? near : "");
		return false;
	}
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
