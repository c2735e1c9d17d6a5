/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shell scripts that launch a framework: their variables, here-documents and options. */
#include "db/parts.h"

#include "base/base.h"

#include <ctype.h>
#include <string.h>

/* --- variables ------------------------------------------------------------------------------------------- */

/* Variables that double each other end here. */
enum { EXPANDED_MOST = 1 << 20, VALUE_MOST = 1 << 14, VARIABLES_MOST = 512, UNENDED_MOST = 16, NESTED_MOST = 16 };

struct variable {
	const char *name, *value; /* NULL: not known */
	bool in_branch;           /* set between if and fi, or case and esac */
};

/* Branches are not followed: the last value counts. */
struct branches {
	int depth;
	const char *used; /* names of variables that they set and something takes; NULL: none */
};

/* A text that grows, and the variables that it set so far. */
struct expansion {
	struct arena *arena;
	char *text;
	size_t n, room, n_variables;
	int depth;     /* of values inside values */
	size_t *n_all; /* bytes of this text and of those inside it */
	struct branches *branches;
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

static void
note_branch(struct expansion *e, const struct variable *v)
{
	struct branches *b = e->branches;

	if (v->in_branch && !(b->used && text_lists(b->used, v->name)))
		b->used = b->used ? arena_printf(e->arena, "%s %s", b->used, v->name) : v->name;
}

/* What `$NAME`, `${NAME}` or `${NAME:-otherwise}` comes to, and where the text goes on; NULL: not known. */
static const char *
reference(struct expansion *e, const char *s, const char **end)
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
	if (set)
		note_branch(e, set);
	if (!braced || rest == to)
		return set ? set->value : NULL;
	rest += *rest == ':';
	if (*rest != '-' || (set && !set->value))
		return NULL;
	return set && *set->value ? set->value : arena_copy(e->arena, rest + 1, (size_t)(to - rest - 1));
}

static const char *expanded(struct expansion *e, const char *text, size_t n);

/* `NAME=value` or `NAME+=value` at the start of a word.  What a command gives is not known; the words of a list in
 * parentheses are read where they stand. */
static void
set_variable(struct expansion *e, const char *word)
{
	const size_t n = name_length(word);
	const bool adds = word[n] == '+';
	const char *from = word + n + 1 + adds, quote = strchr("\"'", *from) ? *from : '\0';
	const char *value = from + (quote != '\0');
	size_t length = strcspn(value, quote == '"' ? "\"" : quote ? "'" : " \t\r\n;&|");

	while (quote == '"' && length > 0 && value[length - 1] == '\\' && value[length])
		length += 1 + strcspn(value + length + 1, "\"");

	if (e->n_variables == VARIABLES_MOST)
		return;
	const bool known = *from != '(' && strncmp(value, "$(", 2) != 0 && e->depth < NESTED_MOST;
	value = !known ? NULL : quote == '\'' ? arena_copy(e->arena, value, length) : expanded(e, value, length);
	const struct variable *before = adds ? variable_of(e, word, n) : NULL;
	if (before && value)
		value = before->value ? arena_printf(e->arena, "%s%s", before->value, value) : NULL;
	if (value && strlen(value) > VALUE_MOST)
		value = NULL;
	const bool branched = e->branches->depth > 0 || (before && before->in_branch);
	e->variables = arena_grow(e->arena, e->variables, e->n_variables, e->n_variables + 1, sizeof *e->variables);
	e->variables[e->n_variables++] = (struct variable){arena_copy(e->arena, word, n), value, branched};
}

static bool
is_word(const char *text, const char *word)
{
	const size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && (!text[n] || strchr(" \t\r\n;", text[n]));
}

/* Count the branches that a command begins or ends. */
static void
follow(struct branches *b, const char *all, const char *text)
{
	const char *before = text;

	while (before > all && (before[-1] == ' ' || before[-1] == '\t'))
		before--;
	if (before > all && !strchr("\r\n;&|(", before[-1]))
		return;
	b->depth += is_word(text, "if") || is_word(text, "case");
	b->depth -= b->depth > 0 && (is_word(text, "fi") || is_word(text, "esac"));
}

static void
add_expanded(struct expansion *e, const char *text)
{
	const char *const all = text;
	char quote = 0;
	bool starts = true; /* a word */

	while (*text) {
		const size_t n = starts && !quote ? name_length(text) : 0;
		const char *end = text + 1, *value = NULL;
		if (n > 0)
			follow(e->branches, all, text);
		if (n > 0 && (text[n] == '=' || (text[n] == '+' && text[n + 1] == '=')))
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

	inner.depth++;
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

/* A command in one word, as `bash -c`, `ssh` and `sbatch --wrap` take it, and not the value of a variable. */
static bool
is_command(const char *word)
{
	const char *set = word + name_length(word);
	bool blank = false, option = false;

	if (*set == '=' || strncmp(set, "+=", 2) == 0)
		return false;
	for (const char *at = word; *at;) {
		if (strncmp(at, "$(", 2) == 0) {
			at = after_command(at + 1);
			continue;
		}
		const bool starts = at == word || isspace((unsigned char)at[-1]);
		blank = blank || isspace((unsigned char)*at);
		option = option || (starts && *at == '-' && isalpha((unsigned char)at[1 + (at[1] == '-')]));
		at++;
	}
	return blank && option;
}

/* Add an option with its values, and return the word after them.  A value may be a command itself. */
static const char *
add_option(struct words_at *w, struct launch_pairs *out, const char *key, char *values, bool *starts)
{
	struct arena *a = w->arena;
	const char *equals = strchr(key, '='), *word;
	size_t n_values = 0, n_text = 0;

	if (equals && is_command(equals + 1))
		launch_add_command(a, out, equals + 1);
	else if (equals)
		launch_add(a, out, arena_copy(a, key, (size_t)(equals - key)), equals + 1);
	if (equals)
		return next_word(w, starts);
	while ((word = next_word(w, starts)) != NULL && !*starts && !is_option(word) && !is_command(word) &&
	    !(strchr(word, '=') && strchr(word, '.') && !strchr(word, '{'))) {
		const size_t n = strlen(word);
		if (n_values++ > 0)
			values[n_text++] = LAUNCH_BETWEEN;
		memcpy(values + n_text, word, n + 1);
		n_text += n;
	}
	if (n_values > 0 || !word || !is_command(word))
		launch_add(a, out, key, n_values > 0 ? arena_copy(a, values, n_text) : NULL);
	return word;
}

/* `key=value`, as overrides are written. */
static void
add_override(struct arena *a, struct launch_pairs *out, const char *word)
{
	const char *equals = strchr(word, '=');

	if (equals && equals > word &&
	    strspn(word, "abcdefghijklmnopqrstuvwxyz_.0123456789") >= (size_t)(equals - word))
		launch_add(a, out, arena_copy(a, word, (size_t)(equals - word)), launch_bare(a, equals + 1));
}

/* `--key value...`, `--key=value`, `key=value`, and those of commands inside. */
void
launch_add_command(struct arena *a, struct launch_pairs *out, const char *text)
{
	bool starts, first = true, is_said = false; /* by echo or a test, and not run */
	const size_t most = strlen(text) + 1;
	struct words_at w = {a, text, arena_take(a, most)};
	char *values = arena_take(a, most); /* of one option: words and what stands between them */
	const char *word = next_word(&w, &starts);

	while (word) {
		if (starts || first)
			is_said = text_lists("echo printf test [ [[", word);
		first = text_lists("if elif while until then else do !", word);
		if (!is_said && is_option(word) && !is_command(word)) {
			word = add_option(&w, out, word, values, &starts);
			continue;
		}
		/* not one that is a word by itself, as `$(command --option)` is */
		if (!is_said && is_command(word) && strcmp(word, text) != 0)
			launch_add_command(a, out, word);
		else if (!is_said)
			add_override(a, out, word);
		word = next_word(&w, &starts);
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

	if (!root || root->kind != NODE_MAP) {
		if (strstr(text, " --"))
			launch_add_command(e->arena, out, text);
		return;
	}
	launch_add_tree(e->arena, out, "", root);
	out->wrote_file = true;
}

static void
add_commands(struct expansion *e, struct launch_pairs *out, const char *text)
{
	e->text = NULL;
	e->n = e->room = 0;
	add_expanded(e, text);
	launch_add_command(e->arena, out, e->text ? e->text : "");
}

bool
launch_add_script(struct arena *a, struct launch_pairs *out, const char *path, const char *text)
{
	size_t n_all = 0;
	struct branches branches = {0, NULL};
	struct expansion e = {.arena = a, .n_all = &n_all, .branches = &branches};
	struct document here;

	while (next_document(text, &here)) {
		add_commands(&e, out, arena_copy(a, text, (size_t)(here.text - text)));
		add_document(&e, out, path, &here);
		text = here.after;
	}
	add_commands(&e, out, text);
	out->branched = branches.used;
	return n_all <= EXPANDED_MOST;
}
