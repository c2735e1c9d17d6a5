/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Disaggregated serving: the layout of the replicas that decode. */
#include "ask/serve/serve.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static bool
wrong_degree(struct run *r, struct word w)
{
	return run_refuse(r, w.from,
	    arena_printf(r->arena, "'%s' is not a parallel degree of a decode replica", w.text),
	    "write for example --decode-layout tp=32,ep=32,adp");
}

/* One of `tp=8`, `ep=8`, `pp=2`, `adp`, `across`. */
static bool
read_degree(struct run *r, struct word w, struct layout_in *out)
{
	const struct {
		const char *name;
		struct datum *to;
	} degrees[] = {{"tp=", &out->tp}, {"pp=", &out->pp}, {"ep=", &out->ep}};
	char *end;

	if (strcmp(w.text, "adp") == 0)
		return out->adp = true;
	if (strcmp(w.text, "across") == 0)
		return out->across = true;
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
		const size_t n = strlen(degrees[i].name);
		if (strncmp(w.text, degrees[i].name, n) != 0)
			continue;
		const double value = strtod(w.text + n, &end);
		if (end == w.text + n || *end)
			return wrong_degree(r, w);
		*degrees[i].to = (struct datum){value, w.from};
		return true;
	}
	return wrong_degree(r, w);
}

bool
serve_decode_layout(struct run *r, const struct serve_in *in, const struct workload *model, struct serve_layout *out)
{
	struct layout_in asked = {.dp = datum_absent(),
	    .tp = datum_absent(),
	    .pp = datum_absent(),
	    .vp = datum_absent(),
	    .cp = datum_absent(),
	    .ep = datum_absent(),
	    .etp = datum_absent(),
	    .zero = datum_absent(),
	    .shard = datum_absent()};
	struct layout l;

	for (size_t i = 0; i < in->decode_layout.n; i++)
		if (!read_degree(r, in->decode_layout.list[i], &asked))
			return false;
	if (!run_layout(r, &asked, datum_absent(), model, &l))
		return false;
	run_reads(r, &in->decode_layout, NULL);
	if (l.ep > l.tp || fmod(l.tp, l.ep) != 0)
		return run_refuse(r, in->decode_layout.list[0].from, "ep must divide tp",
		    "write for example --decode-layout tp=8,ep=8");
	*out = (struct serve_layout){l.tp, l.pp, l.ep, l.adp && l.tp > 1};
	return true;
}
