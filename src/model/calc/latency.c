/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipelines: stages that share a deadline, and a host that launches what a GPU runs. */
#include "model/calc/calc.h"

#include "base/base.h"

/* --- stages ---------------------------------------------------------------------------------------------- */

/*
 * Latency budgets.  The longest path through a pipeline of stages is the critical path (Kelley and Walker, EJCC 1959);
 * the float of a stage is how much longer it may take before its path becomes critical.
 */

struct datum
stage_takes(const struct stage *s, enum stage_time which)
{
	return datum_given(s->time_s[which]) ? s->time_s[which] : s->time_s[STAGE_NOW];
}

/* --- the way through ------------------------------------------------------------------------------------- */

struct way {
	const struct stages *p;
	enum stage_time which;
	int leg, branch;
};

static int
first_of(const struct way *w)
{
	int i = 0;

	while (i < w->p->n && (w->p->list[i].leg != w->leg || w->p->list[i].branch != w->branch))
		i++;
	return i;
}

static int
length_of(const struct way *w)
{
	int n = 0;

	for (int i = 0; i < w->p->n; i++)
		n += w->p->list[i].leg == w->leg && w->p->list[i].branch == w->branch;
	return n;
}

static int
branches_of(const struct stages *p, int leg)
{
	int n = 0;

	for (int i = 0; i < p->n; i++)
		if (p->list[i].leg == leg && p->list[i].branch >= n)
			n = p->list[i].branch + 1;
	return n;
}

static double
stage_time(struct sheet *sh, const struct way *w, int stage)
{
	TAKE(sh, stage_s, stage_takes(&w->p->list[stage], w->which));
	return stage_s;
}

static double
branch_time(struct sheet *sh, const struct way *w)
{
	const int first = first_of(w), n = length_of(w);

	SUM(sh, branch_s, i, n, stage_time(sh, w, first + i));
	return branch_s;
}

static double
leg_time(struct sheet *sh, const struct stages *p, enum stage_time which, int leg)
{
	const int n = branches_of(p, leg);

	MOST(sh, leg_s, i, n, branch_time(sh, &(const struct way){p, which, leg, i}));
	return leg_s;
}

double
latency_total(struct sheet *sh, const struct stages *p, enum stage_time which)
{
	SUM(sh, total_s, i, p->n_legs, leg_time(sh, p, which, i));
	return total_s;
}

double
latency_allowed(struct sheet *sh, const struct stages *p, enum stage_time which, int stage, double slack_s)
{
	const struct way own = {p, which, p->list[stage].leg, p->list[stage].branch};

	GIVEN(sh, slack_s);
	CALL(sh, stage_s, stage_time(sh, &own, stage));
	CALL(sh, branch_s, branch_time(sh, &own));
	CALL(sh, leg_s, leg_time(sh, p, which, own.leg));
	LET(sh, float_s, leg_s - branch_s);
	LET(sh, allowed_s, stage_s + float_s + slack_s);
	return allowed_s;
}

bool
stage_is_critical(const struct stages *p, enum stage_time which, int stage)
{
	const struct way own = {p, which, p->list[stage].leg, p->list[stage].branch};

	return branch_time(NULL, &own) >= leg_time(NULL, p, which, own.leg);
}

/* Time of the group without this stage: the longest other branch, or the rest of its own. */
bool
stage_suffices(const struct stages *p, enum stage_time which, int stage, double budget_s)
{
	const struct way own = {p, which, p->list[stage].leg, p->list[stage].branch};
	double leg_s = branch_time(NULL, &own) - stage_time(NULL, &own, stage);

	for (int i = 0; i < branches_of(p, own.leg); i++)
		if (i != own.branch)
			leg_s = fmax(leg_s, branch_time(NULL, &(const struct way){p, which, own.leg, i}));
	const double rest_s = latency_total(NULL, p, which) - leg_time(NULL, p, which, own.leg);
	return rest_s + leg_s < budget_s * (1 - 1e-9); /* no time at all is no stage */
}

/* --- the budget ------------------------------------------------------------------------------------------ */

double
latency_budget(struct sheet *sh, double frame_hertz)
{
	GIVEN(sh, frame_hertz);
	LET(sh, budget_s, 1 / frame_hertz);
	return budget_s;
}

double
latency_rate(struct sheet *sh, double total_s)
{
	GIVEN(sh, total_s);
	LET(sh, rate_hertz, 1 / total_s);
	return rate_hertz;
}

double
latency_slack(struct sheet *sh, double budget_s, double total_s)
{
	GIVEN(sh, budget_s, total_s);
	LET(sh, slack_s, budget_s - total_s);
	return slack_s;
}

double
latency_over(struct sheet *sh, double slack_s)
{
	GIVEN(sh, slack_s);
	LET(sh, over_s, fmax(0, 0 - slack_s));
	return over_s;
}

double
latency_share(struct sheet *sh, double stage_s, double total_s)
{
	GIVEN(sh, stage_s, total_s);
	LET(sh, share_frac, stage_s / total_s);
	return share_frac;
}

double
latency_proportional(struct sheet *sh, double stage_s, double budget_s, double total_s)
{
	GIVEN(sh, stage_s, budget_s, total_s);
	LET(sh, proportional_s, stage_s * budget_s / total_s);
	return proportional_s;
}

double
latency_saving(struct sheet *sh, double before_s, double after_s)
{
	GIVEN(sh, before_s, after_s);
	LET(sh, saved_frac, 1 - after_s / before_s);
	return saved_frac;
}

/* --- the tail -------------------------------------------------------------------------------------------- */

double
latency_tail(struct sheet *sh, double p50_s, double p99_s)
{
	GIVEN(sh, p50_s, p99_s);
	LET(sh, tail_ratio, p99_s / p50_s);
	return tail_ratio;
}

/* The square of how far a stage's P99 lies behind its usual time, in units of the whole; nothing beside the longest
 * way. */
static double
spread(struct sheet *sh, const struct stages *p, int stage, double total_s)
{
	const struct stage *s = &p->list[stage];

	GIVEN(sh, total_s);
	TAKE(sh, usual_s, s->time_s[STAGE_NOW]);
	TAKE(sh, tail_s, stage_takes(s, STAGE_TAIL));
	WHEN(sh, spread_frac, stage_is_critical(p, STAGE_NOW, stage), (tail_s - usual_s) / total_s);
	LET(sh, square, spread_frac * spread_frac);
	return square;
}

/* Variances of independent delays add, and a normal spread keeps its percentile's distance. */
double
latency_tail_independent(struct sheet *sh, const struct stages *p)
{
	CALL(sh, usual_s, latency_total(sh, p, STAGE_NOW));
	SUM(sh, squares, i, p->n, spread(sh, p, i, usual_s));
	LET(sh, tail_s, usual_s * (1 + sqrt(squares)));
	return tail_s;
}

double
latency_percentile(struct sheet *sh, double p50_s, double p99_s, double share_frac)
{
	GIVEN(sh, p50_s, p99_s);
	TAKE(sh, distance, num_normal_quantile(share_frac) / num_normal_quantile(0.99));
	LET(sh, percentile_s, p50_s + (p99_s - p50_s) * distance);
	return percentile_s;
}

/* A percentile is as sure as the number of samples beyond it. */
double
latency_runs(struct sheet *sh, double percentile_frac, double n_beyond)
{
	GIVEN(sh, percentile_frac, n_beyond);
	LET(sh, beyond_frac, 1 - percentile_frac);
	LET(sh, n_runs, ceil(n_beyond / beyond_frac - 1e-9));
	return n_runs;
}

/* --- on the road ----------------------------------------------------------------------------------------- */

double
latency_metres_per_hour(struct sheet *sh, double n_units_per_hour, double n_metres_per_unit)
{
	GIVEN(sh, n_units_per_hour, n_metres_per_unit);
	LET(sh, n_metres_per_hour, n_units_per_hour * n_metres_per_unit);
	return n_metres_per_hour;
}

double
latency_travelled(struct sheet *sh, double n_metres_per_hour, double time_s)
{
	GIVEN(sh, n_metres_per_hour, time_s);
	TAKE(sh, hour_s, 3600);
	LET(sh, n_metres, n_metres_per_hour * time_s / hour_s);
	return n_metres;
}

/* --- kernels --------------------------------------------------------------------------------------------- */

/*
 * A host that launches kernels asynchronously and a GPU that runs them are a pipeline of two: the slower one sets the
 * pace.  CUDA graphs: NVIDIA, CUDA C++ Programming Guide, chapter CUDA Graphs.
 */

double
launch_count(struct sheet *sh, double n_layers, double n_kernels_per_layer)
{
	GIVEN(sh, n_layers, n_kernels_per_layer);
	LET(sh, n_launches, n_layers * n_kernels_per_layer);
	return n_launches;
}

double
launch_times(struct sheet *sh, const struct op *op)
{
	TAKE(sh, n_times, op->count);
	return n_times;
}

double
launch_host(struct sheet *sh, double n_launches, double launch_s)
{
	GIVEN(sh, n_launches, launch_s);
	LET(sh, host_s, n_launches * launch_s);
	return host_s;
}

double
launch_graph(struct sheet *sh, double n_launches, double node_s, double graph_s)
{
	GIVEN(sh, n_launches, node_s, graph_s);
	LET(sh, host_s, n_launches * node_s + graph_s);
	return host_s;
}

/* --- a step ---------------------------------------------------------------------------------------------- */

double
launch_step(struct sheet *sh, double host_s, double device_s)
{
	GIVEN(sh, host_s, device_s);
	LET(sh, step_s, fmax(host_s, device_s));
	return step_s;
}

double
launch_step_blocking(struct sheet *sh, double host_s, double device_s)
{
	GIVEN(sh, host_s, device_s);
	LET(sh, step_s, host_s + device_s);
	return step_s;
}

double
launch_exposed(struct sheet *sh, double step_s, double device_s)
{
	GIVEN(sh, step_s, device_s);
	LET(sh, exposed_s, step_s - device_s);
	return exposed_s;
}

double
launch_idle(struct sheet *sh, double exposed_s, double step_s)
{
	GIVEN(sh, exposed_s, step_s);
	LET(sh, idle_frac, exposed_s / step_s);
	return idle_frac;
}

double
launch_kernel(struct sheet *sh, double device_s, double n_launches)
{
	GIVEN(sh, device_s, n_launches);
	LET(sh, kernel_s, device_s / n_launches);
	return kernel_s;
}

double
launch_hidden(struct sheet *sh, double device_s, double launch_s)
{
	GIVEN(sh, device_s, launch_s);
	LET(sh, n_hidden, floor(device_s / launch_s + 1e-9));
	return n_hidden;
}

double
launch_fewer(struct sheet *sh, double n_before, double n_after)
{
	GIVEN(sh, n_before, n_after);
	LET(sh, fewer, n_before / n_after);
	return fewer;
}

double
launch_fused(struct sheet *sh, double n_launches, double n_before, double n_after)
{
	GIVEN(sh, n_launches, n_before, n_after);
	LET(sh, n_fused, n_launches * n_after / n_before);
	return n_fused;
}

/* --- fusion ---------------------------------------------------------------------------------------------- */

bool
fusion_takes(enum op_kind kind)
{
	return kind == OP_gemm || kind == OP_norm || kind == OP_norm_unfused || kind == OP_softmax ||
	    kind == OP_elementwise;
}

/* The dimensions are those of op.def, in that order. */
double
fusion_in(struct sheet *sh, const struct op *op)
{
	if (op->kind == OP_elementwise) {
		TAKE(sh, elements, op->dim[0]);
		LET(sh, n_in, elements);
		return n_in;
	}
	if (op->kind == OP_gemm) {
		TAKE(sh, m, op->dim[0]);
		TAKE(sh, k, op->dim[2]);
		LET(sh, n_in, m * k);
		return n_in;
	}
	TAKE(sh, rows, op->dim[0]);
	TAKE(sh, width, op->dim[1]);
	LET(sh, n_in, rows * width);
	return n_in;
}

double
fusion_out(struct sheet *sh, const struct op *op)
{
	if (op->kind == OP_gemm) {
		TAKE(sh, m, op->dim[0]);
		TAKE(sh, n, op->dim[1]);
		LET(sh, n_out, m * n);
		return n_out;
	}
	CALL(sh, n_in, fusion_in(sh, op));
	LET(sh, n_out, n_in);
	return n_out;
}

double
fusion_own(struct sheet *sh, const struct op *op)
{
	TAKE(sh, elem_byte, op->elem_byte);
	if (op->kind == OP_gemm) {
		TAKE(sh, n, op->dim[1]);
		TAKE(sh, k, op->dim[2]);
		LET(sh, own_byte, k * n * elem_byte);
		return own_byte;
	}
	if (op->kind == OP_elementwise) {
		TAKE(sh, elements, op->dim[0]);
		TAKE(sh, reads, op->dim[1]);
		TAKE(sh, writes, op->dim[2]);
		LET(sh, own_byte, fmax(0, reads + writes - 2) * elements * elem_byte);
		return own_byte;
	}
	LET(sh, own_byte, 0 * elem_byte);
	return own_byte;
}

double
fusion_apart(struct sheet *sh, const struct chain *c)
{
	SUM(sh, apart_byte, i, c->n, op_total_byte(sh, &c->ops[i]));
	return apart_byte;
}

double
fusion_together(struct sheet *sh, const struct chain *c)
{
	TAKE(sh, elem_byte, c->ops[0].elem_byte);
	CALL(sh, n_in, fusion_in(sh, &c->ops[0]));
	CALL(sh, n_out, fusion_out(sh, &c->ops[c->n - 1]));
	SUM(sh, own_byte, i, c->n, fusion_own(sh, &c->ops[i]));
	LET(sh, together_byte, (n_in + n_out) * elem_byte + own_byte);
	return together_byte;
}

double
fusion_saved(struct sheet *sh, double apart_byte, double together_byte)
{
	GIVEN(sh, apart_byte, together_byte);
	LET(sh, saved_byte, apart_byte - together_byte);
	return saved_byte;
}

double
fusion_saved_frac(struct sheet *sh, double apart_byte, double together_byte)
{
	GIVEN(sh, apart_byte, together_byte);
	LET(sh, saved_frac, 1 - together_byte / apart_byte);
	return saved_frac;
}

double
fusion_time(struct sheet *sh, double size_byte, double mem_byte_per_s)
{
	GIVEN(sh, size_byte, mem_byte_per_s);
	LET(sh, time_s, size_byte / mem_byte_per_s);
	return time_s;
}
