/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recipes that published tables name and do not print. */
#include "ask/validate/validate.h"

#include "base/base.h"

/* Lightning-AI/litgpt, config_hub/finetune: adapters on every map of the small models, on queries and values of the
 * others.  The first whose model fits counts. */
static const struct memory_recipe recipes[] = {
    {"gemma2b", "gemma-2-2b", 8, 16, "all"},
    {"gemma", NULL, 8, 16, "all"},
    {"phi", NULL, 8, 8, "all"},
    {"tiny", NULL, 32, 32, "all"},
    {"", NULL, 32, 32, "q,v"},
};

const struct memory_recipe *
memory_recipe_of_hub(const char *model)
{
	size_t i = 0;

	while (!text_begins(model, recipes[i].folder))
		i++;
	return &recipes[i];
}
