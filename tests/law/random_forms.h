/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One answer in every form: as text, as JSON, as the point of a sweep, as a line of JSON. */
#ifndef RIDGE_TESTS_RANDOM_FORMS_H
#define RIDGE_TESTS_RANDOM_FORMS_H

struct trial;

void answer_is_json(struct trial *t, const char *line);
void answer_is_text(struct trial *t, const char *line);
void answer_is_point(struct trial *t, const char *line);
void answer_is_line(struct trial *t, const char *line);
void answer_is_cold(struct trial *t, const char *line);

#endif
