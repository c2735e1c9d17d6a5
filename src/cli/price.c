/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/price.h"

#include <string.h>

struct datum
run_gpu_price(struct run *r, struct datum given, const struct gpu *gpu)
{
	char buf[40];

	if (datum_given(given) || !gpu)
		return given;
	for (int i = 0; i < gpu->n_prices; i++)
		if (!gpu->prices[i].per || strcmp(gpu->prices[i].per, "gpu") == 0) {
			const struct price *price = &gpu->prices[i];
			value_write("x_usd_per_s", price->usd_per_s.value, buf, sizeof buf);
			const char *source = price->source ? price->source : "no source";
			run_assume(
			    r, "%s at %s (%.*s, %s)", gpu->id, buf, (int)strcspn(source, ","), source, price->on);
			return price->usd_per_s;
		}
	return datum_absent();
}
