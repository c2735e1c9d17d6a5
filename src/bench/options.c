/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool
number(const char *text, unsigned long long most, unsigned long long *out)
{
	char *end;

	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *out <= most;
}

static bool
set_device(struct options *o, char *value)
{
	unsigned long long gpu;

	o->device_given = true;
	o->gpu = -1;
	if (strcmp(value, "host") == 0)
		return true;
	if (!number(value, 4095, &gpu)) {
		fprintf(stderr,
		    "ridge-bench: error: --device: '%s' is no device\n  hint: host, or the number of a GPU: 0, 1, "
		    "...\n",
		    value);
		return false;
	}
	o->gpu = (int)gpu;
	return true;
}

static bool
set_seed(struct options *o, char *value)
{
	unsigned long long seed;

	if (!number(value, UINT64_MAX, &seed)) {
		fprintf(stderr, "ridge-bench: error: --seed: '%s' is no whole number\n", value);
		return false;
	}
	o->seed = seed;
	return true;
}

static bool
set_only(struct options *o, char *value)
{
	char *rest = value;

	for (char *name = strtok_r(value, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (o->n_only == ONLY_MAX) {
			fputs("ridge-bench: error: --only: too many subjects\n", stderr);
			return false;
		}
		o->only[o->n_only++] = name;
	}
	if (o->n_only == 0)
		fputs("ridge-bench: error: --only: no subject\n  hint: --list has them\n", stderr);
	return o->n_only > 0;
}

static const struct option {
	const char *name, *metavar;
	bool (*set)(struct options *, char *); /* NULL: the flag at `flag` */
	size_t flag;
	const char *help;
} options[] = {
    {"device", "host|N", set_device, 0,
        "the host, or a GPU by its number (default: 0, or the host where there is no GPU)"},
    {"only", "NAMES", set_only, 0, "these subjects alone, a comma between two"},
    {"quick", NULL, NULL, offsetof(struct options, quick),
        "fewer points, in less than 20 seconds (default: less than 90)"},
    {"seed", "N", set_seed, 0, "of the random operands (default: 1)"},
    {"list", NULL, NULL, offsetof(struct options, list), "the subjects, and what is absent"},
    {"help", NULL, NULL, offsetof(struct options, help), "this text"},
    {"version", NULL, NULL, offsetof(struct options, version), "the version"},
};

enum { N_OPTIONS = sizeof options / sizeof *options };

void
options_print(FILE *to)
{
	fputs("usage: ridge-bench [options]\n\nRuns microbenchmarks and prints a measurement file on standard "
	      "output.\n\n",
	    to);
	for (size_t i = 0; i < N_OPTIONS; i++)
		fprintf(to, "  --%s%s%-*s%s\n", options[i].name, options[i].metavar ? " " : "",
		    (int)(20 - strlen(options[i].name) - (options[i].metavar ? 1 : 0)),
		    options[i].metavar ? options[i].metavar : "", options[i].help);
}

static const struct option *
find(const char *word)
{
	const size_t length = strcspn(word, "=");

	for (size_t i = 0; i < N_OPTIONS; i++)
		if (strlen(options[i].name) == length && strncmp(options[i].name, word, length) == 0)
			return &options[i];
	return NULL;
}

bool
options_read(int argc, char **argv, struct options *out)
{
	*out = (struct options){.gpu = -1, .seed = 1};
	for (int i = 1; i < argc; i++) {
		char *const word = argv[i];
		const struct option *const o = strncmp(word, "--", 2) == 0 ? find(word + 2) : NULL;
		char *value = strchr(word, '=');
		if (!o) {
			fprintf(
			    stderr, "ridge-bench: error: there is no option '%s'\n  hint: --help lists them\n", word);
			return false;
		}
		if (!o->metavar && value) {
			fprintf(stderr, "ridge-bench: error: --%s takes no value\n", o->name);
			return false;
		}
		if (o->metavar && !value && i + 1 == argc) {
			fprintf(stderr, "ridge-bench: error: --%s needs a value: %s\n", o->name, o->metavar);
			return false;
		}
		if (o->metavar)
			value = value ? value + 1 : argv[++i];
		if (!o->set)
			*(bool *)((char *)out + o->flag) = true;
		else if (!o->set(out, value))
			return false;
	}
	return true;
}
