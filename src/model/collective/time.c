/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time of a collective: fitted if measured, else by the textbook. */
#include "model/collective/collective.h"

static double
network_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	GIVEN(sh, size_byte);
	FROM_STRUCT(sh, plan->ask, n_ranks, n_nodes);
	FROM_STRUCT(sh, plan->ask, nic_byte_per_s);
	CALL(sh, network_s,
	    collective_network(sh, plan->ask.collective, plan->network, n_ranks, n_nodes, size_byte, nic_byte_per_s));
	return network_s;
}

/* What was fitted under CUDA graphs inside a node. */
static double
ramp_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	const enum collective c = plan->ask.collective;

	GIVEN(sh, size_byte);
	TAKE(sh, n_ranks, plan->ask.n_ranks);
	double ramp_s;
	if (plan->form == FORM_NVLS_RAMP)
		SET_CALL(sh, ramp_s, allreduce_nvls_ramp(sh, plan->ramp, n_ranks, size_byte));
	else if (plan->form == FORM_RING_RAMP)
		SET_CALL(sh, ramp_s, collective_ring_ramp(sh, c, plan->ramp, n_ranks, size_byte));
	else
		SET_CALL(sh, ramp_s, collective_ramp(sh, c, plan->ramp, n_ranks, size_byte));
	return ramp_s;
}

/* By the form alone. */
static double
form_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	GIVEN(sh, size_byte);
	struct collective_ask ask = plan->ask;
	ask.size_byte = size_byte;
	double planned_s = 0;
	switch (plan->form) {
	case FORM_TEXTBOOK:
		SET_CALL(sh, planned_s, collective_textbook(sh, &ask));
		break;
	case FORM_RAMP:
	case FORM_RING_RAMP:
	case FORM_NVLS_RAMP:
		if (plan->launch_s.value > 0) {
			TAKE(sh, call_s, plan->launch_s);
			CALL(sh, replayed_s, ramp_time(sh, plan, size_byte));
			SET(sh, planned_s, replayed_s + call_s);
		} else
			SET_CALL(sh, planned_s, ramp_time(sh, plan, size_byte));
		break;
	case FORM_CUSTOM:
		SET_CALL(sh, planned_s, allreduce_engine(sh, plan->custom, plan->ramp, ask.n_ranks, size_byte));
		break;
	case FORM_NETWORK:
		if (plan->launch_s.value > 0) {
			TAKE(sh, call_s, plan->launch_s);
			CALL(sh, called_s, network_time(sh, plan, size_byte));
			SET(sh, planned_s, called_s + call_s);
		} else
			SET_CALL(sh, planned_s, network_time(sh, plan, size_byte));
		break;
	}
	return planned_s;
}

/* What the links inside a node take of a collective over several, at the rate that they reach among the node's ranks:
 * of a ring through all nodes the volume of all ranks, of sums that switches make the buffer itself. */
static double
inside_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	const enum collective c = plan->ask.collective;

	GIVEN(sh, size_byte);
	double node_byte;
	if (plan->rings) {
		TAKE(sh, n_ranks, plan->ask.n_ranks);
		TAKE(sh, n_local, plan->inside->ask.n_ranks);
		CALL(sh, ring_byte, bus_volume(sh, c, n_ranks, size_byte));
		CALL(sh, local_byte, bus_volume(sh, c, n_local, size_byte));
		SET(sh, node_byte, size_byte * ring_byte / local_byte);
	} else
		SET(sh, node_byte, size_byte);
	CALL(sh, node_s, form_time(sh, plan->inside, node_byte));
	return node_s;
}

double
collective_time(struct sheet *sh, const struct collective_plan *plan, double size_byte)
{
	GIVEN(sh, size_byte);
	double collective_s;
	if (plan->inside) {
		CALL(sh, across_s, form_time(sh, plan, size_byte));
		CALL(sh, inside_s, inside_time(sh, plan, size_byte));
		SET(sh, collective_s, fmax(across_s, inside_s));
	} else
		SET_CALL(sh, collective_s, form_time(sh, plan, size_byte));
	return collective_s;
}

/* --- what was fitted ------------------------------------------------------------------------------------- */

enum collective
collective_measured(const struct calibration *fit, enum collective c)
{
	return fit->has_collective[c]                    ? c
	    : fit->has_collective[COLLECTIVE_ALL_GATHER] ? COLLECTIVE_ALL_GATHER
	                                                 : COLLECTIVE_ALL_REDUCE;
}

enum collective_form
collective_ramp_form(
    enum collective c, const struct collective_calibration *fit, enum algorithm asked, bool sharp, double n_ranks)
{
	if (!nvls_fitted(c, fit, n_ranks))
		return FORM_RAMP;
	if (asked == ALGORITHM_RING || !sharp)
		return FORM_RING_RAMP;
	return asked == ALGORITHM_NVLS ? FORM_NVLS_RAMP : FORM_RAMP;
}

bool
network_rings(enum collective c, bool mesh, bool sharp)
{
	return !mesh &&
	    (c == COLLECTIVE_ALL_GATHER || c == COLLECTIVE_REDUCE_SCATTER || (c == COLLECTIVE_ALL_REDUCE && !sharp));
}

static struct collective_plan
plan_in_node(const struct collective_ground *g, enum collective c, double n_ranks)
{
	const struct collective_calibration *ramp = &g->kernels->collective[collective_measured(g->kernels, c)];

	return (struct collective_plan){.form = collective_ramp_form(c, ramp, ALGORITHM_AUTO, g->sharp, n_ranks),
	    .ramp = ramp,
	    .ask = {.collective = c, .n_ranks = n_ranks, .n_nodes = 1}};
}

struct collective_plan
collective_plan_fitted(const struct collective_ground *g, enum collective c, double n_ranks, double n_nodes,
    struct collective_plan *inside)
{
	if (n_nodes <= 1)
		return plan_in_node(g, c, n_ranks);
	*inside = plan_in_node(g, c, n_ranks / n_nodes);
	return (struct collective_plan){.form = FORM_NETWORK,
	    .network = &g->network[c],
	    .ask = {.collective = c, .n_ranks = n_ranks, .n_nodes = n_nodes, .nic_byte_per_s = g->nic_byte_per_s},
	    .inside = n_ranks > n_nodes ? inside : NULL,
	    .rings = network_rings(c, g->mesh, g->sharp)};
}
