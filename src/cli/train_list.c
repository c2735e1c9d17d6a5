/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training of a list of operators. */
#include "ridge/train_list.h"
#include "cli/inputs.h"
#include "cli/shape.h"
#include "cli/train_show.h"
#include "data/database.h"
#include "ridge/roofline.h"

#include <string.h>

bool
train_is_list(struct run *r, const struct train_question *q)
{
	struct database *quiet = database_reporting_to(r->database, diag_new(r->arena));
	const struct node *overlay = inputs_overlay(r->arena, r->command, r->inputs, "model");
	const char *said;
	const struct workload *w =
	    database_model(quiet, q->memory.memory->model.text, overlay, q->memory.memory->model.from, &said);

	return w && w->kind == MODEL_OPERATORS;
}

static void
show_part(struct run *r, int i, const char *title, double value, double whole)
{
	struct sheet *sh = r->sheet;

	if (!(value > 0))
		return;
	SCOPE_I (sh, "part", i) {
		TELL(sh, part, "part of a step", title);
		TAKE(sh, part_s, value);
		TAKE(sh, whole_s, whole);
		CALL(sh, part_frac, roofline_share(sh, part_s, whole_s));
		SHOW(sh, part_s, "time");
		SHOW(sh, part_frac, "share");
	}
}

enum answer
answer_train_list(struct run *r, const struct train_question *q)
{
	struct sheet *sh = r->sheet;
	const struct memory_in *in = q->memory.memory;
	struct train_bound b = {0};
	struct train_list_job job = {.tables_spread = true};
	struct train_list_terms t;
	struct datum ignored;

	job.model = run_model(r, in->model);
	if (!job.model || !run_whole(r, "--batch", in->batch, 1) || !run_whole(r, "--gpus", in->gpus, 1) ||
	    !run_train_machine_of(r, q, &b))
		return REFUSED;
	job.machine = b.ask.machine;
	job.dtype = dtype_find(run_word(r, "dtype", in->dtype));
	if (b.gpu->lacks[dtype_peak(job.dtype)]) {
		run_peak(r, b.gpu, job.dtype, in->dtype, &ignored);
		return REFUSED;
	}
	if (!gemm_calibrated(job.machine.kernels, job.dtype == DTYPE_FP16 ? DTYPE_BF16 : job.dtype)) {
		diag_error(r->diag, in->dtype.from, "no products of %s were measured", dtype_name(job.dtype));
		return REFUSED;
	}
	job.n_gpus = datum_or(in->gpus, 1);
	job.n_samples = in->batch.value;
	if (datum_given(in->global_batch))
		job.n_samples = in->global_batch.value / job.n_gpus;
	r->title = arena_printf(r->arena, "%s trained on %g x %s, %g samples each", job.model->name, job.n_gpus,
	    b.gpu->name, job.n_samples);
	CALL(sh, step_s, train_list_step(sh, &job, &t));
	SHOW(sh, step_s, "time of a step");
	BETWEEN(sh, step_s, step_s / 1.5, step_s * 1.5, "an order of magnitude: operators by themselves");
	TAKE(sh, n_global_samples, job.n_gpus * job.n_samples);
	CALL(sh, rate_sample_per_s, train_sample_rate(sh, n_global_samples, step_s));
	SHOW(sh, rate_sample_per_s, "samples per second");
	show_part(r, 0, "convolutions and products", t.products_s, step_s);
	show_part(r, 1, "element-wise, norms, pooling", t.other_s, step_s);
	show_part(r, 2, "embedding tables", t.tables_s, step_s);
	show_part(r, 3, "rows to their samples", t.exchange_s, step_s);
	show_part(r, 4, "gradients, exposed", t.reduce_s, step_s);
	show_part(r, 5, "optimizer and step overhead", t.optimizer_s, step_s);
	run_warn(
	    r, "an order of magnitude: convolutions and lookups are not calibrated, the input pipeline is left out");
	return ANSWERED;
}
