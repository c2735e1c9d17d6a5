/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Select the output format. */
#include "report/report.h"

#include "report/parts.h"

#include <string.h>

static const struct {
	const char *name;
	bool (*print)(FILE *to, const struct report *r, char *why, size_t size);
} formats[] = {
    {"text", report_text},
    {"json", report_json},
    {"csv", report_csv},
    {"md", report_md},
    {"explain", report_explain},
    {"get", report_get},
};

bool
report_print(FILE *to, const char *format, const struct report *r, char *why, size_t size)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (strcmp(formats[i].name, format) == 0)
			return formats[i].print(to, r, why, size);
	return false;
}
