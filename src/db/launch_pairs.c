/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options and their values, from a shell's command line, TOML, JSON or YAML. */
#include "db/launch.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20 };

static void
add(struct arena *a, struct launch_pairs *out, const char *key, const char *value)
{
	out->list = arena_grow(a, out->list, out->n, out->n + 1, sizeof *out->list);
	out->list[out->n++] = (struct launch_pair){key, value, false};
}

/* --- files of keys --------------------------------------------------------------------------------------- */

static void
add_tree(struct arena *a, struct launch_pairs *out, const char *prefix, const struct node *n)
{
	const char *list = NULL;

	switch (n->kind) {
	case NODE_SCALAR:
		add(a, out, prefix, n->text ? n->text : "");
		break;
	case NODE_LIST:
		for (size_t i = 0; i < n->n; i++)
			if (n->items[i]->kind == NODE_SCALAR)
				list = arena_printf(a, "%s%s%s", list ? list : "", list ? "," : "", n->items[i]->text);
		add(a, out, prefix, list ? list : "");
		break;
	case NODE_MAP:
		for (size_t i = 0; i < n->n; i++)
			add_tree(a, out,
			    *prefix ? arena_printf(a, "%s.%s", prefix, n->keys[i]->text) : n->keys[i]->text,
			    n->items[i]);
		break;
	}
}

/* A scalar or a list of TOML without its quotes and brackets: `["a", "b"]` is `a,b`. */
static const char *
toml_value(struct arena *a, const char *s)
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
			add(a, out, *section ? arena_printf(a, "%s.%s", section, key) : key, toml_value(a, equals + 1));
		}
	}
}

/* --- command lines --------------------------------------------------------------------------------------- */

/* The next word of a shell without its quotes; NULL at the end. */
static const char *
next_word(struct arena *a, const char **at)
{
	const char *s = *at;

	for (;;) {
		s += strspn(s, " \t\r\n;&|");
		if (*s == '\\' && (s[1] == '\n' || s[1] == '\r'))
			s += 2;
		else if (*s == '#')
			s += strcspn(s, "\n");
		else
			break;
	}
	if (!*s)
		return NULL;
	char *out = arena_take(a, strlen(s) + 1), *to = out, quote = 0;
	for (; *s && (quote || !strchr(" \t\r\n;", *s)); s++)
		if (*s == quote)
			quote = 0;
		else if (!quote && (*s == '"' || *s == '\''))
			quote = *s;
		else if (*s == '\\' && quote != '\'' && s[1])
			*to++ = *++s;
		else
			*to++ = *s;
	*to = '\0';
	*at = s;
	return out;
}

static bool
is_option(const char *word)
{
	return word[0] == '-' && word[1] && !strchr("0123456789.", word[1]);
}

/* `--key value...`, `--key=value`, `key=value`. */
static void
add_words(struct arena *a, struct launch_pairs *out, const char *text)
{
	const char *at = text, *word = next_word(a, &at);

	while (word) {
		const char *equals = strchr(word, '=');
		if (!is_option(word)) {
			if (equals && equals > word &&
			    strspn(word, "abcdefghijklmnopqrstuvwxyz_.0123456789") >= (size_t)(equals - word))
				add(a, out, arena_copy(a, word, (size_t)(equals - word)), toml_value(a, equals + 1));
			word = next_word(a, &at);
			continue;
		}
		if (equals) {
			add(a, out, arena_copy(a, word, (size_t)(equals - word)), equals + 1);
			word = next_word(a, &at);
			continue;
		}
		const char *key = word, *value = NULL;
		while ((word = next_word(a, &at)) != NULL && !is_option(word) &&
		    !(strchr(word, '=') && strchr(word, '.') && !strchr(word, '{')))
			value = value ? arena_printf(a, "%s,%s", value, word) : word;
		add(a, out, key, value);
	}
}

/* What stands between `<<'END'` and END is a file; the rest is command lines. */
static bool
add_script(struct arena *a, struct diag *d, const char *path, struct launch_pairs *out, const char *text)
{
	const char *here = strstr(text, "<<'");

	if (!here) {
		add_words(a, out, text);
		return true;
	}
	const char *name = here + 3, *first = strchr(name, '\n');
	const char *mark = arena_printf(a, "\n%s\n", arena_copy(a, name, strcspn(name, "'")));
	const char *end = first ? strstr(first, mark) : NULL;
	if (!end) {
		add_words(a, out, text);
		return true;
	}
	const struct node *n = tree_read_text(a, d, path, first + 1, (size_t)(end + 1 - first - 1));
	if (!n)
		return false;
	add_tree(a, out, "", n);
	add_words(a, out, end + strlen(mark));
	return true;
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
	if (!text_ends(path, ".json") && !text_ends(path, ".yaml") && !text_ends(path, ".yml") && first != '{')
		return add_script(a, d, path, out, *text);
	const struct node *n = tree_read_text(a, d, path, *text, strlen(*text));
	if (n)
		add_tree(a, out, "", n);
	return n != NULL;
}
