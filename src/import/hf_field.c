/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Look up fields of a configuration, with defaults from its family. */
#include "import/parts.h"

#include "base/base.h"
#include "base/sheet.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, FLAG, WORD };

static const struct {
	const char *id;
	enum kind kind;
	double low, high;
	const char *names;
} fields[N_HF_FIELDS] = {
#define FIELD(id, kind, low, high, names) {#id, kind, low, high, names},
#include "import/hf.def"
#undef FIELD
};

static const struct hf_family families[] = {
#define FAMILY(...) {__VA_ARGS__},
#include "import/hf.def"
#undef FAMILY
};

/* Values of fields whose word decides sizes; other words are checked where they are used. */
static const struct {
	enum hf_field field;
	const char *words;
} known_words[] = {
    {HF_qk_norm_type, "per_layer per_head"},
    {HF_state_dtype, "float32 bfloat16 float16"},
    {HF_mlp, "relu gelu gelu_new silu gated-relu gated-gelu gated-gelu_new gated-silu"},
};

enum { N_FAMILIES = sizeof families / sizeof *families, MAX_NAME = 96 };

/* --- the table ------------------------------------------------------------------------------------------- */

static const struct hf_family *
row_of(const char *type)
{
	for (size_t i = 0; type && i < N_FAMILIES; i++)
		if (strcmp(families[i].type, type) == 0)
			return &families[i];
	return NULL;
}

const struct hf_family *
hf_family_find(const char *type)
{
	char buf[MAX_NAME];
	const struct hf_family *f = type && strcmp(type, "base") != 0 ? row_of(type) : NULL;

	if (f || !type || !text_ends(type, "_text") || strlen(type) >= sizeof buf)
		return f;
	snprintf(buf, sizeof buf, "%.*s", (int)(strlen(type) - strlen("_text")), type);
	return row_of(buf);
}

const char **
hf_types(struct arena *a, size_t *n)
{
	const char **types = ARENA_ARRAY(a, const char *, N_FAMILIES);

	*n = 0;
	for (size_t i = 1; i < N_FAMILIES; i++) /* the first is the base of all others */
		types[(*n)++] = families[i].type;
	return types;
}

const char *
hf_layer_rules(const struct hf_family *f)
{
	for (; f; f = row_of(f->like))
		if (f->layers)
			return f->layers;
	return "";
}

const char *
hf_remark(const struct hf_family *f)
{
	for (; f; f = row_of(f->like))
		if (f->remark)
			return f->remark;
	return NULL;
}

/* The value of `key=value` among the words of a cell; false when it is not there. */
static bool
cell(const char *words, const char *key, char *buf, size_t size)
{
	const size_t length = strlen(key);

	for (const char *p = words; p && *p; p += strspn(p, " ")) {
		const size_t n = strcspn(p, " ");
		if (n > length && strncmp(p, key, length) == 0 && p[length] == '=') {
			snprintf(buf, size, "%.*s", (int)(n - length - 1), p + length + 1);
			return true;
		}
		p += n;
	}
	return false;
}

/* Default of the family for a missing field. */
enum saying { SILENT, FIXED, QUIET, DEFAULT };

static enum saying
family_says(const struct hf_family *f, const char *id, char *buf, size_t size)
{
	for (; f; f = row_of(f->like)) {
		if (cell(f->fixed, id, buf, size))
			return FIXED;
		if (cell(f->quiet, id, buf, size))
			return QUIET;
		if (cell(f->defaults, id, buf, size))
			return DEFAULT;
	}
	return SILENT;
}

/* The names of a field in this family, separated by `,` or blanks. */
static const char *
names_of(const struct hf *h, enum hf_field f, char *buf, size_t size)
{
	for (const struct hf_family *row = h->family; row; row = row_of(row->like))
		if (cell(row->fields, fields[f].id, buf, size))
			return buf;
	snprintf(buf, size, "%s", fields[f].names);
	return buf;
}

const char *
hf_name(const struct hf *h, enum hf_field f)
{
	char buf[200];

	names_of(h, f, buf, sizeof buf);
	buf[strcspn(buf, " ,")] = '\0';
	return *buf && strcmp(buf, "-") != 0 ? arena_text(h->arena, buf) : fields[f].id;
}

/* --- messages -------------------------------------------------------------------------------------------- */

void
hf_fault(struct hf *h, struct source at, const char *format, ...)
{
	char buf[400];
	va_list list;

	va_start(list, format);
	vsnprintf(buf, sizeof buf, format, list);
	va_end(list);
	diag_error(h->diag, at, "%s", buf);
	diag_hint(h->diag, "check that the file is complete and unmodified, or write a model file: ridge-workload(5)");
	h->failed = true;
}

static void
add(struct arena *a, const char ***list, size_t *n, const char *text)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*list)[i], text) == 0)
			return;
	*list = arena_grow(a, *list, *n, *n + 1, sizeof **list);
	(*list)[(*n)++] = arena_text(a, text);
}

void
hf_assume(struct hf *h, const char *format, ...)
{
	char buf[300];
	va_list list;

	va_start(list, format);
	vsnprintf(buf, sizeof buf, format, list);
	va_end(list);
	add(h->arena, &h->notes->assumed, &h->notes->n_assumed, buf);
}

void
hf_remember(struct hf *h, const char *format, ...)
{
	char buf[300];
	va_list list;

	va_start(list, format);
	vsnprintf(buf, sizeof buf, format, list);
	va_end(list);
	add(h->arena, &h->notes->remarks, &h->notes->n_remarks, buf);
}

/* --- the file -------------------------------------------------------------------------------------------- */

const char *
hf_text(const struct node *n)
{
	return n && n->kind == NODE_SCALAR ? n->text : NULL;
}

const struct node *
hf_node(struct hf *h, enum hf_field f)
{
	char names[200], name[MAX_NAME];

	h->read[f] = true;
	names_of(h, f, names, sizeof names);
	for (const char *p = names; *p; p += strspn(p, " ,")) {
		const size_t n = strcspn(p, " ,");
		snprintf(name, sizeof name, "%.*s", (int)n, p);
		const struct node *node = tree_at(h->config, name);
		/* a wrapper may say for all its parts whether embedding and head are one */
		if (!node && f == HF_tied)
			node = tree_at(h->outer, name);
		if (node)
			return node;
		p += n;
	}
	return NULL;
}

struct datum
hf_whole(struct hf *h, const struct node *n, const char *name, double low, double high)
{
	char *end = NULL;
	const char *text = hf_text(n);
	const double value = text && !n->quoted ? strtod(text, &end) : NAN;

	if (!text || n->quoted || end == text || *end) {
		if (text)
			hf_fault(h, n->at, "'%s' is %s%.60s%s, not a whole number", name,
			    n->quoted ? "the text \"" : "'", text, n->quoted ? "\"" : "'");
		else
			hf_fault(h, n->at, "'%s' is %s, not a whole number", name,
			    n->kind == NODE_LIST      ? "a list"
			        : n->kind == NODE_MAP ? "a map"
			                              : "null");
		return datum_absent();
	}
	if (!(value >= low && value <= high) || value != floor(value)) {
		hf_fault(h, n->at, "'%s' is %s", name, text);
		diag_hint(h->diag, "a whole number from %g to %g is expected", low, high);
		return datum_absent();
	}
	return (struct datum){value, n->at};
}

/* A value of the table: a number, a field, `4*hidden`, `hidden/heads`, or none. */
static struct datum
table_number(struct hf *h, enum hf_field f, const char *text)
{
	char *end;
	const double number = strtod(text, &end);
	struct datum d = {number, h->config->at};

	if (strcmp(text, "none") == 0)
		return datum_absent();
	if (end != text && !*end)
		return d;
	const double times = *end == '*' ? number : 1;
	const char *rest = *end == '*' ? end + 1 : text, *slash = strchr(rest, '/');
	const size_t length = slash ? (size_t)(slash - rest) : strlen(rest);
	struct datum above = datum_absent(), below = {1, h->config->at};
	for (int i = 0; i < N_HF_FIELDS; i++) {
		if (strlen(fields[i].id) == length && strncmp(fields[i].id, rest, length) == 0)
			above = hf_number(h, (enum hf_field)i);
		if (slash && strcmp(fields[i].id, slash + 1) == 0)
			below = hf_number(h, (enum hf_field)i);
	}
	if (!datum_given(above) || !datum_given(below))
		return datum_absent();
	d.value = times * above.value / below.value;
	if (d.value != floor(d.value)) {
		if (!h->reported[f])
			hf_fault(h, above.from, "'%s' %g does not divide by '%s' %g, and there is no '%s'",
			    hf_name(h, HF_hidden), above.value, hf_name(h, HF_heads), below.value, hf_name(h, f));
		h->reported[f] = true;
		return datum_absent();
	}
	return d;
}

static bool
is_derived(const char *text)
{
	return strcmp(text, "none") != 0 && !(*text >= '0' && *text <= '9' && !strchr(text, '*'));
}

struct datum
hf_number(struct hf *h, enum hf_field f)
{
	char said[MAX_NAME] = "";
	char buf[40];
	const enum saying how = family_says(h->family, fields[f].id, said, sizeof said);

	if (how == FIXED) {
		h->read[f] = true;
		return table_number(h, f, said);
	}
	const struct node *n = hf_node(h, f);
	if (n && !(n->kind == NODE_SCALAR && !n->text)) {
		if (h->reported[f])
			return datum_absent();
		const struct datum d = hf_whole(h, n, hf_name(h, f), fields[f].low, fields[f].high);
		h->reported[f] = !datum_given(d);
		return d;
	}
	/* null switches a thing off, or asks for what follows from other fields */
	if (how == SILENT || (n && !is_derived(said)))
		return datum_absent();
	const struct datum d = table_number(h, f, said);
	if (how == DEFAULT && datum_given(d) && strcmp(said, "hidden/heads") != 0)
		hf_assume(h, "%s %s", hf_name(h, f), number_write(d.value, buf, sizeof buf));
	return d;
}

struct datum
hf_need(struct hf *h, enum hf_field f)
{
	const struct datum d = hf_number(h, f);
	char names[200];

	if (datum_given(d) || h->reported[f])
		return d;
	h->reported[f] = true;
	hf_fault(h, h->config->at, "'%s' is missing", hf_name(h, f));
	diag_hint(h->diag, "add it; these names are understood: %s", names_of(h, f, names, sizeof names));
	return d;
}

bool
hf_flag(struct hf *h, enum hf_field f)
{
	char said[MAX_NAME] = "false";
	const enum saying how = family_says(h->family, fields[f].id, said, sizeof said);
	const bool otherwise = strcmp(said, "true") == 0;

	if (how == FIXED) {
		h->read[f] = true;
		return otherwise;
	}
	const struct node *n = hf_node(h, f);
	const char *text = hf_text(n);
	if (text && !n->quoted && strcmp(text, "true") == 0)
		return true;
	if (text && !n->quoted && strcmp(text, "false") == 0)
		return false;
	if (n && (text || n->kind != NODE_SCALAR)) {
		if (!h->reported[f])
			hf_fault(h, n->at, "'%s' is neither true nor false", hf_name(h, f));
		h->reported[f] = true;
		return otherwise;
	}
	if (how == DEFAULT)
		hf_assume(h, "%s %s", hf_name(h, f), said);
	return otherwise;
}

const char *
hf_word(struct hf *h, enum hf_field f)
{
	char said[MAX_NAME] = "";
	const enum saying how = family_says(h->family, fields[f].id, said, sizeof said);
	const struct node *n = how == FIXED ? NULL : hf_node(h, f);

	if (n && n->kind != NODE_SCALAR) {
		if (!h->reported[f])
			hf_fault(h, n->at, "'%s' is not a word", hf_name(h, f));
		h->reported[f] = true;
		return NULL;
	}
	if (hf_text(n)) {
		for (size_t i = 0; i < sizeof known_words / sizeof *known_words && !h->reported[f]; i++)
			if (known_words[i].field == f)
				h->reported[f] = !hf_one_of(h, n, hf_name(h, f), known_words[i].words);
		return n->text;
	}
	if (how == SILENT || strcmp(said, "none") == 0)
		return NULL;
	if (how == DEFAULT)
		hf_assume(h, "%s %s", hf_name(h, f), said);
	return arena_text(h->arena, said);
}

bool
hf_one_of(struct hf *h, const struct node *n, const char *name, const char *words)
{
	const char *text = hf_text(n);
	const size_t length = text ? strlen(text) : 0;

	if (!n || (n->kind == NODE_SCALAR && !text))
		return true;
	for (const char *p = words; text && *p; p += strspn(p, " ")) {
		const size_t k = strcspn(p, " ");
		if (k == length && strncmp(p, text, k) == 0)
			return true;
		p += k;
	}
	hf_fault(h, n->at, "'%s' has the unknown value '%.60s'", name, text ? text : "a list or map");
	diag_hint(h->diag, "known values: %s", words);
	return false;
}

/* --- what is refused ------------------------------------------------------------------------------------- */

/* The one value that is known: as the table says it, or of another field that it names. */
static const char *
known_value(struct hf *h, const char *value)
{
	char buf[40];

	for (int i = 0; i < N_HF_FIELDS; i++)
		if (strcmp(fields[i].id, value) == 0)
			return arena_text(
			    h->arena, number_write(hf_number(h, (enum hf_field)i).value, buf, sizeof buf));
	return arena_text(h->arena, value);
}

static bool
agrees(const struct node *n, const char *value)
{
	char *end;
	const char *text = hf_text(n);
	const double number = strtod(value, &end);

	if (n->kind == NODE_SCALAR && !text)
		return true;
	return text && (strcmp(text, value) == 0 || (!*end && strtod(text, NULL) == number));
}

void
hf_check_only(struct hf *h)
{
	char name[MAX_NAME], value[MAX_NAME];
	const struct hf_family *row = h->family;

	while (row && !row->only)
		row = row_of(row->like);
	for (const char *p = row ? row->only : ""; *p; p += strspn(p, " ")) {
		const size_t n = strcspn(p, " "), equals = strcspn(p, "=");
		snprintf(name, sizeof name, "%.*s", (int)equals, p);
		snprintf(value, sizeof value, "%.*s", (int)(n - equals - 1), p + equals + 1);
		const struct node *node = tree_get(h->config, name);
		const char *known = known_value(h, value);
		if (node && !agrees(node, known)) {
			hf_fault(h, node->at, "'%s' is '%s', an unsupported form of %s", name,
			    hf_text(node) ? node->text : "a list or map", h->family->type);
			diag_hint(
			    h->diag, "only '%s: %s' is supported; otherwise write a model file by hand", name, known);
		}
		p += n;
	}
}

void
hf_check_unread(struct hf *h)
{
	static const enum hf_field foreign[] = {HF_experts, HF_kv_lora, HF_index_heads, HF_mamba_heads, HF_key_heads,
	    HF_latent, HF_o_lora, HF_ple, HF_full_kv_heads, HF_window_kv_heads};

	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		const enum hf_field f = foreign[i];
		if (h->read[f])
			continue;
		const struct node *n = hf_node(h, f);
		if (!hf_text(n) || !(strtod(n->text, NULL) > 1))
			continue;
		hf_fault(h, n->at, "'%s' is %s, but %s does not support it", hf_name(h, f), n->text, h->family->type);
		diag_hint(h->diag, "check model_type, or write a model file by hand");
	}
}
