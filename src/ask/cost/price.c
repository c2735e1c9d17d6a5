/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The price base: which of the prices that are known is paid. */
#include "ask/cost/cost.h"

#include "base/base.h"
#include "cli/cli.h"
#include "model/calc/calc.h"

#include <string.h>

static const struct price *
find_price(const struct cost_in *in, const struct price *list, int n, const char *per)
{
	for (int i = 0; i < n; i++)
		if (strcmp(list[i].per ? list[i].per : "gpu", per) == 0 &&
		    (!in->provider.text || text_mentions(list[i].source, in->provider.text)))
			return &list[i];
	return NULL;
}

static void
tell_base(struct run *r, const char *what, const struct price *p)
{
	char buf[40];
	const char *source = p->source ? p->source : "no source";

	value_write("x_usd_per_s", p->usd_per_s.value, buf, sizeof buf);
	TELL(r->sheet, price_base,
	    arena_printf(r->arena, "%s for %s: %.*s, %s", buf, what, (int)strcspn(source, ","), source, p->on));
}

static bool
no_price(struct run *r, const struct cost_in *in, struct word name)
{
	diag_error(r->diag, name.from,
	    in->provider.text ? "no price of '%s' from '%s'" : "no price of '%s' in the database", name.text,
	    in->provider.text ? in->provider.text : "");
	diag_hint(r->diag, "'ridge hw show %s' lists prices; or give --price", name.text);
	return false;
}

/* A node's price, shared by its GPUs. */
static bool
price_of_node(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct datum price = in->node_price, gpus = in->node_gpus;

	if (f->system && !datum_given(price)) {
		run_reads(r, &in->provider, NULL);
		const struct price *found = find_price(in, f->system->prices, f->system->n_prices, "node");
		if (!found)
			return in->own ? true : no_price(r, in, in->system);
		price = found->usd_per_s;
		tell_base(r, f->system->id, found);
	} else
		TELL(sh, price_base, "a node, as given");
	if (f->system && !datum_given(gpus))
		gpus = f->system->n_gpus;
	if (!datum_given(gpus))
		return run_refuse(r, in->node_price.from, "GPUs per node missing", "add --node-gpus 8");
	TAKE(sh, node_usd_per_s, price);
	TAKE(sh, n_node_gpus, gpus);
	CALL(sh, gpu_usd_per_s, cost_gpu_price(sh, node_usd_per_s, n_node_gpus));
	SHOW(sh, node_usd_per_s, node_usd_per_s);
	SHOW(sh, gpu_usd_per_s, gpu_usd_per_s);
	f->gpu_usd_per_s = gpu_usd_per_s;
	return true;
}

static bool
price_of_gpu(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct datum price = in->price;

	const struct gpu *gpu = in->gpu.text ? run_gpu(r, in->gpu) : NULL;

	if (in->gpu.text && !gpu)
		return false;
	if (datum_given(in->price))
		TELL(sh, price_base, gpu ? arena_printf(r->arena, "one %s, as given", gpu->id) : "one GPU, as given");
	else {
		run_reads(r, &in->provider, NULL);
		const struct price *found = gpu ? find_price(in, gpu->prices, gpu->n_prices, "gpu") : NULL;
		if (!found)
			return no_price(r, in, in->gpu);
		tell_base(r, gpu->id, found);
		price = found->usd_per_s;
	}
	TAKE(sh, gpu_usd_per_s, price);
	SHOW(sh, gpu_usd_per_s, gpu_usd_per_s);
	f->gpu_usd_per_s = gpu_usd_per_s;
	return true;
}

/* Its GPUs are counted, or its price is paid, or it is bought. */
static bool
needs_system(const struct cost_in *in)
{
	const bool priced = datum_given(in->price) || datum_given(in->bill);

	return in->own || (!datum_given(in->gpus) && !in->capacity.text) ||
	    (datum_given(in->node_price) ? !datum_given(in->node_gpus) : !priced);
}

/* One base: what was given, else the node's entry, else the GPU's. */
bool
cost_find_base(struct run *r, const struct cost_in *in, struct fleet *f)
{
	if (in->system.text && needs_system(in) && !(f->system = run_system(r, in->system)))
		return false;
	if (datum_given(in->price))
		return price_of_gpu(r, in, f);
	if (datum_given(in->node_price) || (f->system && !datum_given(in->bill)))
		return price_of_node(r, in, f);
	return in->gpu.text && !datum_given(in->bill) ? price_of_gpu(r, in, f) : true;
}
