/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mark rows of a toy sheet as answers that answers.def does not have. */
#ifndef RIDGE_TOY_ANSWERS_H
#define RIDGE_TOY_ANSWERS_H

#include "base/sheet.h"

#define TOY_SHOW(sh, name, label)                                                                                      \
	((sh) ? sheet_show((sh), #name, &(const struct answer_entry){#name, (label), ""}) : (void)0)
#define TOY_TELL(sh, name, label, word)                                                                                \
	((sh) ? sheet_word((sh), &(const struct answer_entry){#name, (label), ""}, (word)) : (void)0)

#endif
