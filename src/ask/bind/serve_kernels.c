/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels and wires of a serving setup. */
#include "ask/bind/bind.h"

/* GPUs of one replica that reach each other over NVLink. */
static bool
is_linked(const struct gpu *gpu, const struct system *system)
{
	if (system)
		return system->domain == DOMAIN_NVSWITCH || system->domain == DOMAIN_NVLINK_MESH ||
		    system->domain == DOMAIN_HYBRID_CUBE_MESH;
	return datum_given(gpu->link_byte_per_s) && !gpu->link_bridge;
}

void
bind_serve_kernels(struct run *r, const struct system *system, struct serve_parts *p)
{
	p->linked = is_linked(p->gpu, system);
	p->consensus = bind_kernels(r, p->gpu, system, KERNELS_SERVE, p->engine->backend);
	if (p->consensus && p->consensus->transfer_note)
		run_assume(r, "kernels %s", p->consensus->transfer_note);
}
