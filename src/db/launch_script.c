/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shell scripts that launch a framework: their variables, here-documents and options. */
#include "db/parts.h"

#include "base/base.h"

#include <ctype.h>
#include <string.h>

/* --- variables ------------------------------------------------------------------------------------------- */

/* Variables that double each other end here. */
enum { EXPANDED_MOST = 1 << 20, VALUE_MOST = 1 << 14, VARIABLES_MOST = 512, UNENDED_MOST = 16 };

struct variable {
	const char *name, *value; /* NULL: not known */
};

/* A text that grows, and the variables that it set so far. */
struct expansion {
	struct arena *arena;
	char *text;
	size_t n, room, n_variables;
	size_t *n_all; /* bytes of this text and of those inside it */
	struct variable *variables;
};

static void
put(struct expansion *e, const char *text, size_t n)
{
	*e->n_all += n;
	if (*e->n_all > EXPANDED_MOST)
		return;
	if (e->n + n >= e->room) {
		e->room = 2 * (e->n + n) + 64;
		e->text = arena_grow(e->arena, e->text, e->n, e->room, 1);
	}
	memcpy(e->text + e->n, text, n);
	e->n += n;
	e->text[e->n] = '\0';
}

/* The length of a variable's name. */
static size_t
name_length(const char *s)
{
	size_t n = 0;

	while (isalpha((unsigned char)s[n]) || s[n] == '_' || (n > 0 && isdigit((unsigned char)s[n])))
		n++;
	return n;
}

static const struct variable *
variable_of(const struct expansion *e, const char *name, size_t n)
{
	for (size_t i = e->n_variables; i-- > 0;)
		if (strlen(e->variables[i].name) == n && strncmp(e->variables[i].name, name, n) == 0)
			return &e->variables[i];
	return NULL;
}

/* What `$NAME`, `${NAME}` or `${NAME:-otherwise}` comes to, and where the text goes on; NULL: not known. */
static const char *
reference(const struct expansion *e, const char *s, const char **end)
{
	const bool braced = s[1] == '{';
	const char *name = s + 1 + braced, *to = braced ? strchr(s, '}') : NULL;
	/* `${1:-8}` is an argument of the script */
	const size_t n = braced && isdigit((unsigned char)*name) ? strspn(name, "0123456789") : name_length(name);
	const struct variable *set = n > 0 ? variable_of(e, name, n) : NULL;
	const char *rest = name + n;

	if (n == 0 || (braced && !to))
		return NULL;
	*end = braced ? to + 1 : rest;
	if (!braced || rest == to)
		return set ? set->value : NULL;
	rest += *rest == ':';
	if (*rest != '-' || (set && !set->value))
		return NULL;
	return set && *set->value ? set->value : arena_copy(e->arena, rest + 1, (size_t)(to - rest - 1));
}

static const char *expanded(struct expansion *e, const char *text, size_t n);

/* `NAME=value` at the start of a word.  What a command gives is not known; the words of a list in parentheses are read
 * where they stand. */
static void
set_variable(struct expansion *e, const char *word)
{
	const size_t n = name_length(word);
	const char *from = word + n + 1, quote = strchr("\"'", *from) ? *from : '\0';
	const char *value = from + (quote != '\0');
	const size_t length = strcspn(value, quote == '"' ? "\"" : quote ? "'" : " \t\r\n;&|");

	if (e->n_variables == VARIABLES_MOST)
		return;
	const bool known = *from != '(' && strncmp(value, "$(", 2) != 0;
	value = !known ? NULL : quote == '\'' ? arena_copy(e->arena, value, length) : expanded(e, value, length);
	if (value && strlen(value) > VALUE_MOST)
		value = NULL;
	e->variables = arena_grow(e->arena, e->variables, e->n_variables, e->n_variables + 1, sizeof *e->variables);
	e->variables[e->n_variables++] = (struct variable){arena_copy(e->arena, word, n), value};
}

static void
add_expanded(struct expansion *e, const char *text)
{
	char quote = 0;
	bool starts = true; /* a word */

	while (*text) {
		const size_t n = starts && !quote ? name_length(text) : 0;
		const char *end = text + 1, *value = NULL;
		if (n > 0 && text[n] == '=')
			set_variable(e, text);
		if (*text == '#' && starts && !quote)
			end = text + strcspn(text, "\n");
		else if (*text == '\\' && quote != '\'' && text[1])
			end = text + 2;
		else if (*text == '$' && quote != '\'')
			value = reference(e, text, &end);
		else if (quote ? *text == quote : *text == '"' || *text == '\'')
			quote = quote ? 0 : *text;
		if (value)
			put(e, value, strlen(value));
		else
			put(e, text, (size_t)(end - text));
		starts = strchr(" \t\r\n;", end[-1]) != NULL;
		text = end;
	}
}

/* A text with the variables that are known by now. */
static const char *
expanded(struct expansion *e, const char *text, size_t n)
{
	struct expansion inner = *e;

	inner.text = NULL;
	inner.n = inner.room = 0;
	add_expanded(&inner, arena_copy(e->arena, text, n));
	return inner.text ? inner.text : "";
}

/* --- options --------------------------------------------------------------------------------------------- */

/* The end of `$(command)` and `$((sum))`. */
static const char *
after_command(const char *s)
{
	int depth = 0;

	for (; *s; s++) {
		depth += (*s == '(') - (*s == ')');
		if (*s == ')' && depth == 0)
			return s + 1;
	}
	return s;
}

/* A text that is read word by word; `word` has room for the longest. */
struct words_at {
	struct arena *arena;
	const char *at;
	char *word;
};

/* The next word without its quotes, and whether a command starts with it; NULL at the end. */
static const char *
next_word(struct words_at *w, bool *starts)
{
	const char *s = w->at;

	*starts = false;
	for (;;) {
		const size_t n = strspn(s, " \t\r\n;&|()");
		*starts = *starts || strcspn(s, "\n;&|()") < n;
		s += n;
		if (*s == '\\' && (s[1] == '\n' || s[1] == '\r'))
			s += 2;
		else if (*s == '#')
			s += strcspn(s, "\n");
		else
			break;
	}
	if (!*s)
		return NULL;
	char *to = w->word, quote = 0;
	for (; *s && (quote || !strchr(" \t\r\n;&|()", *s)); s++)
		if (*s == quote)
			quote = 0;
		else if (!quote && (*s == '"' || *s == '\''))
			quote = *s;
		else if (*s == '\\' && quote != '\'' && s[1])
			*to++ = *++s;
		else if (*s == '$' && s[1] == '(' && quote != '\'') {
			const char *end = after_command(s + 1);
			memcpy(to, s, (size_t)(end - s));
			to += end - s;
			s = end - 1;
		} else
			*to++ = *s;
	w->at = s;
	return arena_copy(w->arena, w->word, (size_t)(to - w->word));
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
	bool starts;
	const size_t most = strlen(text) + 1;
	struct words_at w = {a, text, arena_take(a, most)};
	char *values = arena_take(a, most); /* of one option: words and what stands between them */
	const char *word = next_word(&w, &starts);

	while (word) {
		const char *equals = strchr(word, '=');
		if (!is_option(word)) {
			if (equals && equals > word &&
			    strspn(word, "abcdefghijklmnopqrstuvwxyz_.0123456789") >= (size_t)(equals - word))
				launch_add(
				    a, out, arena_copy(a, word, (size_t)(equals - word)), launch_bare(a, equals + 1));
			word = next_word(&w, &starts);
			continue;
		}
		if (equals) {
			launch_add(a, out, arena_copy(a, word, (size_t)(equals - word)), equals + 1);
			word = next_word(&w, &starts);
			continue;
		}
		const char *key = word;
		size_t n_values = 0, n_text = 0;
		while ((word = next_word(&w, &starts)) != NULL && !starts && !is_option(word) &&
		    !(strchr(word, '=') && strchr(word, '.') && !strchr(word, '{'))) {
			const size_t n = strlen(word);
			if (n_values++ > 0)
				values[n_text++] = ',';
			memcpy(values + n_text, word, n + 1);
			n_text += n;
		}
		launch_add(a, out, key, n_values > 0 ? arena_copy(a, values, n_text) : NULL);
	}
}

/* --- here-documents -------------------------------------------------------------------------------------- */

/* `<<END`, `<<-END`, `<<'END'` or `<<"END"`: where its text starts and ends, and where the script goes on. */
struct document {
	const char *text, *end, *after;
	bool quoted; /* variables stay as they are */
};

static bool
is_document(const char *s, struct document *out)
{
	const bool tabs = s[2] == '-';
	const char *mark = s + 2 + tabs;

	mark += strspn(mark, " \t");
	out->quoted = *mark == '\'' || *mark == '"' || *mark == '\\';
	mark += out->quoted;
	const size_t n = name_length(mark);
	const char *line = strchr(mark, '\n');
	if (n == 0 || !line)
		return false;
	out->text = line + 1;
	while (line) {
		const char *start = line + 1;
		if (tabs)
			start += strspn(start, "\t");
		if (strncmp(start, mark, n) == 0 && strchr("\r\n", start[n])) {
			out->end = line + 1;
			out->after = start + n;
			return true;
		}
		line = strchr(start, '\n');
	}
	return false;
}

static const char *
next_document(const char *text, struct document *out)
{
	int n_unended = 0;

	for (const char *s = strstr(text, "<<"); s && n_unended < UNENDED_MOST; s = strstr(s + 2, "<<"), n_unended++)
		if (is_document(s, out))
			return s;
	return NULL;
}

/* Keys and values; what is no such file, a program or a list of hosts, says nothing of a run. */
static void
add_document(struct expansion *e, struct launch_pairs *out, const char *path, const struct document *here)
{
	const size_t n = (size_t)(here->end - here->text);
	const char *text = here->quoted ? arena_copy(e->arena, here->text, n) : expanded(e, here->text, n);
	const struct node *root = tree_read_text(e->arena, diag_new(e->arena), path, text, strlen(text));

	if (!root || root->kind != NODE_MAP)
		return;
	launch_add_tree(e->arena, out, "", root);
	out->wrote_file = true;
}

static void
add_commands(struct expansion *e, struct launch_pairs *out, const char *text)
{
	e->text = NULL;
	e->n = e->room = 0;
	add_expanded(e, text);
	add_words(e->arena, out, e->text ? e->text : "");
}

bool
launch_add_script(struct arena *a, struct launch_pairs *out, const char *path, const char *text)
{
	size_t n_all = 0;
	struct expansion e = {.arena = a, .n_all = &n_all};
	struct document here;

	while (next_document(text, &here)) {
		add_commands(&e, out, arena_copy(a, text, (size_t)(here.text - text)));
		add_document(&e, out, path, &here);
		text = here.after;
	}
	add_commands(&e, out, text);
	return n_all <= EXPANDED_MOST;
}
