/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fill structs from YAML by tables of fields: types, units, bounds, unknown keys. */
#include "db/tree.h"

#include "base/base.h"
#include "model/hw/hw.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void
clear_field(const struct field *f, char *out)
{
	switch (f->kind) {
	case FIELD_QUANTITY:
	case FIELD_PEAK:
		*(struct datum *)(void *)(out + f->offset) = datum_absent();
		break;
	case FIELD_MAP:
		schema_clear(f->sub, out + f->offset);
		break;
	case FIELD_TEXT:
	case FIELD_DATE:
	case FIELD_FLAG:
	case FIELD_CHOICE:
	case FIELD_LIST:
	case FIELD_CUSTOM:
	case FIELD_IGNORED:
		break;
	}
}

/* Fields of a nested map can be anywhere in the outer struct; only datums need an "absent" mark. */
void
schema_clear(const struct schema *s, void *out)
{
	for (size_t i = 0; i < s->n; i++)
		clear_field(&s->fields[i], out);
}

/* --- quantities ------------------------------------------------------------------------------------------ */

static bool
fault(struct binder *b, const struct node *n, const char *what, const char *hint)
{
	diag_error(b->diag, n->at, "%s", what);
	if (hint)
		diag_hint(b->diag, "%s", hint);
	return false;
}

static const char *
citation(struct binder *b, const struct node *n, bool *ok)
{
	if (n->kind != NODE_SCALAR || !n->text) {
		*ok = fault(b, n, "a source must be a key of 'sources'",
		    "write [VALUE, key], and sources: {key: \"citation\"}");
		return NULL;
	}
	const struct node *text = tree_get(b->sources, n->text);
	if (text && text->kind == NODE_SCALAR && text->text)
		return text->text;
	if (strchr(n->text, ' '))
		return n->text; /* a citation written in place */
	diag_error(b->diag, n->at, "the source '%s' is not in 'sources'", n->text);
	if (b->sources && b->sources->kind == NODE_MAP) {
		const char *keys[64];
		size_t n_keys = 0;
		for (size_t i = 0; i < b->sources->n && n_keys < 64; i++)
			keys[n_keys++] = b->sources->keys[i]->text;
		const char *near = text_nearest(n->text, keys, n_keys);
		if (near)
			diag_hint(b->diag, "did you mean '%s'?", near);
	} else
		diag_hint(b->diag, "add it there, or write the citation itself");
	*ok = false;
	return NULL;
}

static bool
truth(const char *text, bool *out)
{
	static const char *const yes[] = {"true", "yes", "on"}, *const no[] = {"false", "no", "off"};

	for (size_t i = 0; i < 3; i++)
		if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
			*out = strcmp(text, yes[i]) == 0;
			return true;
		}
	return false;
}

static bool
in_range(struct binder *b, const struct node *n, double min, double max, double value)
{
	char what[200], one[40];

	if (value < min) {
		snprintf(what, sizeof what, min > 0 ? "%s is below the minimum %s" : "%s is negative", n->text,
		    number_write(min, one, sizeof one));
		return fault(b, n, what, min > 0 ? "check the unit" : "write 0 or more");
	}
	if (max > 0 && value > max) {
		snprintf(what, sizeof what, "%s exceeds the maximum %s in base units", n->text,
		    number_write(max, one, sizeof one));
		return fault(b, n, what, "check the unit");
	}
	return true;
}

/* [0.829, 0.821..0.836]: a fitted value with its interval. */
static bool
is_range(const struct node *n)
{
	return n->kind == NODE_LIST && n->n == 2 && n->items[1]->kind == NODE_SCALAR && n->items[1]->text &&
	    strstr(n->items[1]->text, "..");
}

static void
note_range(struct binder *b, const struct source *at, double low, double high)
{
	struct fitted_ranges *r = b->ranges;

	if (r->n == r->n_room) {
		const int room = r->n_room ? 2 * r->n_room : 32;

		r->list = arena_grow(b->arena, r->list, (size_t)r->n, (size_t)room, sizeof *r->list);
		r->n_room = room;
	}
	r->list[r->n++] = (struct fitted_range){*at, low, high};
}

static bool
bind_range(struct binder *b, const struct node *n, enum quantity q, const struct datum *d)
{
	const char *text = n->text, *dots = strstr(text, "..");
	struct quantity_fault qf;
	double low, high;

	if (!quantity_read(arena_copy(b->arena, text, (size_t)(dots - text)), q, &low, &qf) ||
	    !quantity_read(dots + 2, q, &high, &qf))
		return fault(b, n, qf.what, qf.hint[0] ? qf.hint : NULL);
	if (!(low <= d->value && d->value <= high))
		return fault(b, n, "the value must be inside its interval", "write [VALUE, LOW..HIGH]");
	if (b->ranges && d->value > 0)
		note_range(b, &d->from, low / d->value, high / d->value);
	return true;
}

bool
schema_quantity(struct binder *b, const struct node *n, enum quantity q, double min, double max, struct datum *out)
{
	const struct node *value = n;
	struct quantity_fault qf;
	bool ok = true;

	*out = datum_absent();
	if (n->kind == NODE_LIST && n->n == 2) {
		value = n->items[0];
		if (!is_range(n))
			out->from.cite = citation(b, n->items[1], &ok);
	} else if (n->kind == NODE_MAP) {
		value = tree_get(n, "value");
		for (size_t i = 0; i < n->n; i++) {
			const char *key = n->keys[i]->text;
			bool mark = false;
			if (strcmp(key, "source") == 0)
				out->from.cite = citation(b, n->items[i], &ok);
			else if (strcmp(key, "unconfirmed") == 0 && n->items[i]->kind == NODE_SCALAR &&
			    n->items[i]->text && truth(n->items[i]->text, &mark))
				out->from.unconfirmed = mark;
			else if (strcmp(key, "value") != 0)
				ok = fault(b, n->keys[i], "a figure takes only the keys value, source and unconfirmed",
				    "write {value: , source: , unconfirmed: true}");
		}
	}
	if (!value || value->kind != NODE_SCALAR || !value->text) {
		char what[160];
		snprintf(what, sizeof what, "expected %s", quantity_name(q));
		return fault(b, n, what, "write VALUE, [VALUE, source], or {value: , source: , unconfirmed: true}");
	}
	if (!quantity_read(value->text, q, &out->value, &qf)) {
		out->value = NAN;
		return fault(b, value, qf.what, qf.hint[0] ? qf.hint : NULL);
	}
	const char *cite = out->from.cite ? out->from.cite : b->cite;
	const bool unconfirmed = out->from.unconfirmed;
	out->from = value->at;
	out->from.cite = cite;
	out->from.unconfirmed = unconfirmed;
	if (!in_range(b, value, min, max, out->value)) {
		out->value = NAN;
		return false;
	}
	if (is_range(n))
		ok = bind_range(b, n->items[1], q, out) && ok;
	return ok;
}

/* --- fields ---------------------------------------------------------------------------------------------- */

static bool
bind_text(struct binder *b, const struct node *n, const char **out)
{
	if (n->kind != NODE_SCALAR || !n->text)
		return fault(b, n, "expected a word or a sentence", "quote what has ': ' or '#' in it");
	*out = n->text;
	return true;
}

bool
schema_date(struct binder *b, const struct node *n, const char **out)
{
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	if (!bind_text(b, n, out))
		return false;
	static const char *const form = "dddd-dd-dd";
	const size_t length = strlen(n->text);
	bool ok = length == 4 || length == 7 || length == 10;
	for (size_t i = 0; ok && i < length; i++)
		ok = form[i] == 'd' ? isdigit((unsigned char)n->text[i]) != 0 : n->text[i] == '-';
	int month = 1, day = 1;
	if (ok && length >= 7)
		month = (n->text[5] - '0') * 10 + n->text[6] - '0';
	if (ok && length == 10)
		day = (n->text[8] - '0') * 10 + n->text[9] - '0';
	if (!ok || month < 1 || month > 12 || day < 1 || day > days[month - 1]) {
		char what[120];
		snprintf(what, sizeof what, "'%.40s' is not a date", n->text);
		return fault(b, n, what, "write YYYY-MM-DD, YYYY-MM or YYYY");
	}
	return true;
}

static bool
bind_flag(struct binder *b, const struct node *n, bool *out)
{
	if (n->kind == NODE_SCALAR && n->text && truth(n->text, out))
		return true;
	return fault(b, n, "expected true or false", "leave it out for false");
}

static bool
bind_choice(struct binder *b, const struct node *n, const char *choices, int *out)
{
	size_t n_choices;

	if (n->kind != NODE_SCALAR || !n->text)
		return fault(b, n, "expected one word", choices);
	char **list = text_split(b->arena, choices, '|', &n_choices);
	for (size_t i = 0; i < n_choices; i++)
		if (strcmp(list[i], n->text) == 0) {
			*out = (int)i;
			return true;
		}
	diag_error(b->diag, n->at, "'%s' is not one of %s", n->text, choices);
	const char *near = text_nearest(n->text, (const char *const *)list, n_choices);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	return false;
}

static bool
bind_list(struct binder *b, const struct field *f, const struct node *n, char *out)
{
	bool ok = true;

	if (n->kind != NODE_LIST)
		return fault(b, n, "expected a list", "write '- ' before each entry");
	char *array = arena_take(b->arena, n->n * f->sub->size + 1);
	for (size_t i = 0; i < n->n; i++)
		ok = schema_bind(b, f->sub, n->items[i], array + i * f->sub->size) && ok;
	*(void **)(void *)(out + f->offset) = array;
	*(int *)(void *)(out + f->extra) = (int)n->n;
	return ok;
}

static bool
bind_field(struct binder *b, const struct field *f, const struct node *n, char *out)
{
	struct datum *datum = (struct datum *)(void *)(out + f->offset);

	switch (f->kind) {
	case FIELD_PEAK:
		if (n->kind == NODE_SCALAR && n->text && strcmp(n->text, "none") == 0) {
			*(bool *)(void *)(out + f->extra) = true;
			return true;
		}
		return schema_quantity(b, n, f->quantity, f->min, f->max, datum);
	case FIELD_QUANTITY:
		/* many numbers of files are shares, and may be written in percent */
		return schema_quantity(b, n, f->quantity == Q_NUMBER ? Q_FRACTION : f->quantity, f->min, f->max, datum);
	case FIELD_TEXT:
		return bind_text(b, n, (const char **)(void *)(out + f->offset));
	case FIELD_DATE:
		return schema_date(b, n, (const char **)(void *)(out + f->offset));
	case FIELD_FLAG:
		return bind_flag(b, n, (bool *)(void *)(out + f->offset));
	case FIELD_CHOICE:
		return bind_choice(b, n, f->choices, (int *)(void *)(out + f->offset));
	case FIELD_MAP:
		return schema_bind(b, f->sub, n, out + f->offset);
	case FIELD_LIST:
		return bind_list(b, f, n, out);
	case FIELD_CUSTOM:
		return f->custom(b, n, out + f->offset);
	case FIELD_IGNORED:
		return true;
	}
	return true;
}

static bool
unknown_key(struct binder *b, const struct schema *s, const struct node *key)
{
	const char *names[96];
	size_t n = 0;

	for (size_t i = 0; i < s->n && n < sizeof names / sizeof *names; i++)
		names[n++] = s->fields[i].key;
	diag_error(b->diag, key->at, "%s has no key '%s'", s->name, key->text);
	const char *near = text_nearest(key->text, names, n);
	if (near)
		diag_hint(b->diag, "did you mean '%s'?", near);
	else {
		char list[400] = "";
		for (size_t i = 0; i < n && strlen(list) + strlen(names[i]) + 3 < sizeof list; i++) {
			if (i)
				strcat(list, " ");
			strcat(list, names[i]);
		}
		diag_hint(b->diag, "its keys: %s", list);
	}
	return false;
}

bool
schema_bind(struct binder *b, const struct schema *s, const struct node *map, void *out)
{
	bool ok = true;

	schema_clear(s, out);
	if (map->kind != NODE_MAP) {
		diag_error(b->diag, map->at, "expected a map: %s has named values", s->name);
		diag_hint(b->diag, "write 'name: value' lines or {name: value, ...}");
		return false;
	}
	for (size_t k = 0; k < map->n; k++) {
		const struct field *f = NULL;
		for (size_t i = 0; i < s->n && !f; i++)
			if (strcmp(s->fields[i].key, map->keys[k]->text) == 0)
				f = &s->fields[i];
		if (!f)
			ok = unknown_key(b, s, map->keys[k]) && ok;
		else
			ok = bind_field(b, f, map->items[k], out) && ok;
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->fields[i].required && !tree_get(map, s->fields[i].key)) {
			diag_error(b->diag, map->at, "%s needs the key '%s'", s->name, s->fields[i].key);
			diag_hint(b->diag, "%s", s->fields[i].help ? s->fields[i].help : "add it");
			ok = false;
		}
	return ok;
}
