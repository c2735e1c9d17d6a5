/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The serving engine: of its database, by name, or what people run on the GPU. */
#include "ask/bind/bind.h"

#include "cli/cli.h"
#include "db/db.h"

#include <string.h>

static struct word
usual_engine(const struct gpu *gpu)
{
	const bool amd = gpu && gpu->vendor && strcmp(gpu->vendor, "AMD") == 0;

	return (struct word){amd ? "vllm" : "trtllm", {inputs_default, 0, 0, NULL, false}};
}

const struct engine *
bind_engine(struct run *r, struct word name, const struct gpu *gpu)
{
	const struct word asked = name.text ? name : usual_engine(gpu);
	const char *said;
	const struct engine *e =
	    database_engine(r->database, r->arena, r->diag, asked.text, run_overlay(r, "engine"), asked.from, &said);

	if (e && said)
		run_assume_as(r, "engine", e->id, "%s", said);
	if (e)
		run_word(r, "engine", asked);
	return e;
}
