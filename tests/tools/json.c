/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * json [FILE]     print every value of a JSON file (or of standard input) as `PATH<tab>VALUE`, for the shell and awk
 * json -l [FILE]  the same for one document per line; a path begins with the number of its line, from 0
 *
 * Steps of a path are keys and numbers of elements with `/` between them.  Texts are printed as they are, all else as
 * JSON; an empty list is `[]`, an empty object `{}`.  Exits with 1 where the input is not JSON.
 */
#include <cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTE = 4000 };

static void
print_scalar(const cJSON *v, const char *path)
{
	char *text = cJSON_IsString(v) ? NULL : cJSON_PrintUnformatted(v);

	printf("%s\t%s\n", path, text ? text : cJSON_GetStringValue(v));
	free(text);
}

static void
print_leaves(const cJSON *v, const char *path)
{
	char below[PATH_MAX_BYTE];
	const cJSON *item;
	int i = 0;

	if (!v->child) {
		print_scalar(v, path);
		return;
	}
	cJSON_ArrayForEach(item, v)
	{
		const char *stroke = path[0] ? "/" : "";
		if (cJSON_IsArray(v))
			snprintf(below, sizeof below, "%s%s%d", path, stroke, i++);
		else
			snprintf(below, sizeof below, "%s%s%s", path, stroke, item->string);
		print_leaves(item, below);
	}
}

static bool
print_document(const char *text, const char *path)
{
	cJSON *v = cJSON_ParseWithOpts(text, NULL, true);

	if (v)
		print_leaves(v, path);
	else
		fprintf(stderr, "json: %s: not JSON: %.60s\n", path[0] ? path : "input", text);
	cJSON_Delete(v);
	return v != NULL;
}

static bool
print_lines(char *text)
{
	char path[20];
	bool ok = true;
	int n = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		snprintf(path, sizeof path, "%d", n++);
		ok &= print_document(line, path);
	}
	return ok && n > 0;
}

static char *
read_all(FILE *file)
{
	size_t room = 1 << 16, n = 0, got;
	char *text = malloc(room);

	while (text && (got = fread(text + n, 1, room - n - 1, file)) > 0) {
		n += got;
		if (room - n < 2) {
			char *more = realloc(text, room *= 2);
			if (!more)
				free(text);
			text = more;
		}
	}
	if (text)
		text[n] = '\0';
	return text;
}

int
main(int argc, char **argv)
{
	const bool lines = argc > 1 && strcmp(argv[1], "-l") == 0;
	const char *name = argv[lines ? 2 : 1];
	FILE *file = name ? fopen(name, "r") : stdin;

	if (!file) {
		perror(name);
		return 2;
	}
	char *text = read_all(file);
	const bool ok = text && (lines ? print_lines(text) : print_document(text, ""));
	free(text);
	fclose(file);
	return ok && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
