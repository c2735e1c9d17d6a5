/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory that a job gets of a GPU. */
#include "ask/bind/bind.h"

#include "model/memory/memory.h"

struct datum
bind_card(struct run *r, const struct gpu *gpu, struct datum given)
{
	if (datum_given(given) || !gpu)
		return given;
	if (!datum_given(gpu->mem_usable_byte))
		run_assume(r, "%s: usable memory 99%% of %g GiB", gpu->id, gpu->mem_label_byte.value / 1e9);
	return memory_of_gpu(gpu);
}
