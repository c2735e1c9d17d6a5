/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The price base: which of the prices that are known is paid. */
#include "cli/cost_in.h"

#include "base/text.h"
#include "cli/values.h"
#include "ridge/cost.h"

#include <ctype.h>
#include <string.h>

/* Does the text contain the word, whatever its case? */
static bool
mentions(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (; text && *text; text++) {
		size_t k = 0;
		while (k < n && tolower((unsigned char)text[k]) == tolower((unsigned char)word[k]))
			k++;
		if (k == n)
			return true;
	}
	return false;
}

static const struct price *
find_price(const struct cost_in *in, const struct price *list, int n, const char *per)
{
	for (int i = 0; i < n; i++)
		if (strcmp(list[i].per ? list[i].per : "gpu", per) == 0 &&
		    (!in->provider.text || mentions(list[i].source, in->provider.text)))
			return &list[i];
	return NULL;
}

static void
tell_base(struct run *r, const char *what, const struct price *p)
{
	char buf[40];
	const char *source = p->source ? p->source : "no source";

	value_write("x_usd_per_s", p->usd_per_s.value, buf, sizeof buf);
	TELL(r->sheet, price_base, "price base",
	    arena_printf(r->arena, "%s for %s: %.*s, %s", buf, what, (int)strcspn(source, ","), source, p->on));
}

static bool
no_price(struct run *r, const struct cost_in *in, struct word name)
{
	diag_error(r->diag, name.from,
	    in->provider.text ? "no price of '%s' is from '%s'" : "no price of '%s' is known", name.text,
	    in->provider.text ? in->provider.text : "");
	diag_hint(r->diag, "'ridge hw show %s' lists the prices; or give --price", name.text);
	return false;
}

/* A node's price, shared by its GPUs. */
static bool
price_of_node(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct datum price = in->node_price, gpus = in->node_gpus;

	if (f->system && !datum_given(price)) {
		const struct price *found = find_price(in, f->system->prices, f->system->n_prices, "node");
		if (!found)
			return in->own ? true : no_price(r, in, in->system);
		price = found->usd_per_s;
		tell_base(r, f->system->id, found);
	} else
		TELL(sh, price_base, "price base", "a node, as given");
	if (f->system && !datum_given(gpus))
		gpus = f->system->n_gpus;
	if (!datum_given(gpus))
		return run_refuse(r, in->node_price.from, "how many GPUs has a node?", "add --node-gpus 8");
	TAKE(sh, node_usd_per_s, price);
	TAKE(sh, n_node_gpus, gpus);
	CALL(sh, gpu_usd_per_s, cost_gpu_price(sh, node_usd_per_s, n_node_gpus));
	SHOW(sh, node_usd_per_s, "price of a node");
	SHOW(sh, gpu_usd_per_s, "price of one GPU");
	f->gpu_usd_per_s = gpu_usd_per_s;
	return true;
}

static bool
price_of_gpu(struct run *r, const struct cost_in *in, struct fleet *f)
{
	struct sheet *sh = r->sheet;
	struct datum price = in->price;

	if (datum_given(in->price))
		TELL(sh, price_base, "price base", "one GPU, as given");
	else {
		const struct gpu *gpu = run_gpu(r, in->gpu);
		const struct price *found = gpu ? find_price(in, gpu->prices, gpu->n_prices, "gpu") : NULL;
		if (!gpu || (!found && !no_price(r, in, in->gpu)))
			return false;
		tell_base(r, gpu->id, found);
		price = found->usd_per_s;
	}
	TAKE(sh, gpu_usd_per_s, price);
	SHOW(sh, gpu_usd_per_s, "price of one GPU");
	f->gpu_usd_per_s = gpu_usd_per_s;
	return true;
}

/* One base: what was given, else the node's entry, else the GPU's. */
bool
cost_find_base(struct run *r, const struct cost_in *in, struct fleet *f)
{
	if (in->system.text && !(f->system = run_system(r, in->system)))
		return false;
	if (datum_given(in->price))
		return price_of_gpu(r, in, f);
	if (datum_given(in->node_price) || (f->system && !datum_given(in->bill)))
		return price_of_node(r, in, f);
	return in->gpu.text && !datum_given(in->bill) ? price_of_gpu(r, in, f) : true;
}
