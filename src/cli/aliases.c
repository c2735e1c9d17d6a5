/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Aliases of options: names in earlier versions and in other programs. */
#include "cli/cli.h"
#include "cli/parts.h"

#include <ctype.h>
#include <string.h>

const struct alias aliases[] = {
#define ALIAS(name, of, commands, number) {name, of, commands, number},
#include "cli/aliases.def"
#undef ALIAS
};
const size_t n_aliases = sizeof aliases / sizeof *aliases;

const struct option *
alias_option(const struct alias *alias, const struct command *c)
{
	if (*alias->commands && !text_lists(alias->commands, c->name))
		return NULL;
	return text_begins(alias->of, "layout.") ? command_option_at(c, alias->of) : command_option_named(c, alias->of);
}

const struct option *
alias_find(const struct command *c, const char *name, const char *value)
{
	const struct option *o = NULL;

	for (size_t i = 0; i < n_aliases && !o; i++)
		if (strcmp(aliases[i].name, name) == 0 &&
		    (!aliases[i].number || (value && isdigit((unsigned char)*value))))
			o = alias_option(&aliases[i], c);
	return o;
}

/* `--tp` is a word of --layout. */
static void
print_canonical(FILE *to, const struct alias *alias, const char *dash)
{
	if (text_begins(alias->of, "layout."))
		fprintf(to, "%slayout %s", dash, alias->of + strlen("layout."));
	else
		fprintf(to, "%s%s", dash, alias->of);
}

void
aliases_print(FILE *to)
{
	for (size_t i = 0; i < n_aliases; i++) {
		fprintf(to, "--%-32s ", aliases[i].name);
		print_canonical(to, &aliases[i], "--");
		fprintf(to, *aliases[i].commands ? " (%s)\n" : "%s\n", aliases[i].commands);
	}
}

void
aliases_mdoc(FILE *to)
{
	for (size_t i = 0; i < n_aliases; i++) {
		fprintf(to, ".It Fl \\-%s Ta Fl \\-", aliases[i].name);
		print_canonical(to, &aliases[i], "");
		fprintf(to, " Ta %s\n", aliases[i].commands);
	}
}
