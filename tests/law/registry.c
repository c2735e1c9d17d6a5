/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the headers of the models, so that no model is forgotten in models.def. */
#include "law/law.h"

#include "base/base.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static char *
read_file(struct arena *a, const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t n = 0, room = 4096;
	char *text = arena_take(a, room);

	if (!file)
		return NULL;
	for (size_t got; (got = fread(text + n, 1, room - n - 1, file)) > 0;) {
		n += got;
		if (room - n < 2) {
			text = arena_grow(a, text, n, 2 * room, 1);
			room *= 2;
		}
	}
	fclose(file);
	text[n] = '\0';
	return text;
}

/* Comments become blanks. */
static void
strip_comments(char *text)
{
	for (char *p = text; (p = strstr(p, "/*"));) {
		char *end = strstr(p, "*/");
		while (p < (end ? end + 2 : p + strlen(p)))
			*p++ = ' ';
	}
}

/* `double name(struct sheet *sh, parameters)` at p; false when something else stands there. */
static bool
read_prototype(struct arena *a, const char *p, struct prototype *out)
{
	const char *type = "double", *before = "(struct sheet *sh";

	if (strncmp(p, type, strlen(type)) != 0 || !isspace((unsigned char)p[strlen(type)]))
		return false;
	p += strlen(type);
	while (isspace((unsigned char)*p))
		p++;
	const char *name = p;
	while (isalnum((unsigned char)*p) || *p == '_')
		p++;
	out->name = arena_copy(a, name, (size_t)(p - name));
	const char *end = strchr(p, ')');
	if (*p != '(' || !end)
		return false;
	/* blanks squeezed: headers break lines anywhere */
	char *squeezed = arena_take(a, (size_t)(end - p) + 1);
	size_t n = 0;
	for (; p < end; p++) {
		const bool blank = isspace((unsigned char)*p) != 0;
		if (!blank)
			squeezed[n++] = *p;
		else if (n && squeezed[n - 1] != ' ' && squeezed[n - 1] != '(')
			squeezed[n++] = ' ';
	}
	if (!text_begins(squeezed, before))
		return false;
	out->parameters = squeezed + strlen(before) + (squeezed[strlen(before)] == ',' ? 2 : 0);
	return true;
}

static void
add_prototypes(struct arena *a, const char *header, struct prototype **list, size_t *n)
{
	char *text = read_file(a, header);

	if (!text)
		return;
	strip_comments(text);
	for (const char *p = text; (p = strstr(p, "double")); p++) {
		struct prototype found = {.header = arena_text(a, header)};
		if ((p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_')) || !read_prototype(a, p, &found))
			continue;
		*list = arena_grow(a, *list, *n, *n + 1, sizeof **list);
		(*list)[(*n)++] = found;
	}
}

struct prototype *
prototypes(struct arena *a, size_t *n)
{
	struct prototype *list = NULL;
	DIR *dir = opendir("src/model");

	*n = 0;
	for (const struct dirent *e; dir && (e = readdir(dir));)
		add_prototypes(a, arena_printf(a, "src/model/%s/%s.h", e->d_name, e->d_name), &list, n);
	add_prototypes(a, "src/search/plan/plan.h", &list, n);
	add_prototypes(a, "src/search/simulate/simulate.h", &list, n);
	if (dir)
		closedir(dir);
	return list;
}

static const struct model *
model_find(const char *name)
{
	for (size_t i = 0; i < n_models; i++)
		if (!models[i].section && strcmp(models[i].name, name) == 0)
			return &models[i];
	return NULL;
}

/* `double a, double b` as `a, b`; NULL when a parameter is no number. */
static const char *
names_of(struct arena *a, const char *parameters)
{
	size_t n;
	char **each = text_split(a, parameters, ',', &n);
	const char *names = "";

	for (size_t i = 0; i < n; i++) {
		if (!text_begins(each[i], "double "))
			return NULL;
		names = arena_printf(a, "%s%s%s", names, i ? ", " : "", each[i] + strlen("double "));
	}
	return names;
}

static void
check_prototype(struct faults *f, const struct prototype *p)
{
	const struct model *m = model_find(p->name);
	const char *names = names_of(f->arena, p->parameters);

	if (!m)
		fault_report(f, p->name, "is missing in tests/law/models.def: add %s(%s, ...)",
		    names ? "MODEL" : "SHAPED", p->name);
	else if (names && !m->parameters)
		fault_report(f, p->name, "takes numbers alone: MODEL, not SHAPED, in tests/law/models.def");
	else if (names && strcmp(names, m->parameters) != 0)
		fault_report(
		    f, p->name, "has the parameters %s, but tests/law/models.def says %s", names, m->parameters);
}

void
model_registry(struct faults *f)
{
	size_t n;
	const struct prototype *list = prototypes(f->arena, &n);

	f->where = "src/model";
	if (n == 0)
		fault_report(f, f->where, "no prototypes found: run the test from the root of the repository");
	for (size_t i = 0; i < n; i++) {
		f->where = list[i].header;
		check_prototype(f, &list[i]);
	}
	for (size_t i = 0; i < n_models; i++) {
		bool declared = models[i].section != NULL;
		for (size_t k = 0; k < n && !declared; k++)
			declared = strcmp(list[k].name, models[i].name) == 0;
		f->where = "tests/law/models.def";
		if (!declared)
			fault_report(f, models[i].name, "no header of a model declares it");
	}
}
