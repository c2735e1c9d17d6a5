/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/sheet.h"

#include <string.h>

const struct answer_entry answer_table[N_ANSWERS] = {
#define ANSWER(id, label, meaning) {#id, label, meaning},
#define WORD ANSWER
#include "base/answers.def"
#undef WORD
#undef ANSWER
};

const struct answer_entry *
answer_find(const char *id)
{
	for (size_t i = 0; i < N_ANSWERS; i++)
		if (strcmp(answer_table[i].id, id) == 0)
			return &answer_table[i];
	return NULL;
}
