/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training of a list of operators. */
#include "ask/bind/bind.h"
#include "ask/train/train.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/kernel/kernel.h"
#include "model/train/train.h"

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
	SCOPE_I (sh, "parts", i) {
		TELL(sh, part, title);
		TAKE(sh, part_s, value);
		TAKE(sh, whole_s, whole);
		CALL(sh, part_frac, roofline_share(sh, part_s, whole_s));
		SHOW(sh, part_s, time_s);
		SHOW(sh, part_frac, share_frac);
	}
}

/* A list of operators has no layers to divide: every GPU has all of it, but for embedding tables. */
static bool
bind_replicas(struct run *r, const struct train_question *q, struct train_list_job *job)
{
	const struct memory_in *in = q->memory.memory;
	struct layout l;

	if (!run_layout(r, q->memory.layout, in->gpus, NULL, &l))
		return false;
	if (l.tp * l.pp * l.vp * l.cp * l.ep * l.etp > 1 || l.zero > 0 || l.sp ||
	    datum_given(q->memory.layout->shard)) {
		diag_error(r->diag, (struct source){0}, "an operator list supports only data parallelism");
		diag_hint(r->diag, "leave --layout out; --gpus is the number of replicas");
		return false;
	}
	job->n_gpus = l.dp;
	job->n_samples = in->batch.value;
	if (!datum_given(in->global_batch))
		return true;
	const bool both = in->batch.from.file != inputs_default;
	const double global = in->global_batch.value, unit = job->n_gpus * (both ? in->batch.value : 1);
	if (both ? global != unit : fmod(global, unit) != 0) {
		diag_error(r->diag, in->global_batch.from, "a global batch of %g is not %s%g GPUs%s", global,
		    both ? "" : "a multiple of ", job->n_gpus, both ? " x --batch" : "");
		diag_hint(r->diag, "nearest: %g", both ? unit : fmax(unit, unit * floor(global / unit + 0.5)));
		return false;
	}
	job->n_samples = global / job->n_gpus;
	return true;
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
	    !run_whole(r, "--global-batch", in->global_batch, 1) || !train_is_training(r, in) ||
	    !bind_replicas(r, q, &job) || !run_train_machine_of(r, q, &b))
		return REFUSED;
	job.machine = b.ask.machine;
	job.dtype = dtype_find(run_word(r, "dtype", in->dtype));
	if (b.gpu->lacks[dtype_peak(job.dtype)]) {
		run_peak(r, b.gpu, job.dtype, in->dtype, &ignored);
		return REFUSED;
	}
	if (!gemm_calibrated(job.machine.kernels, job.dtype == DTYPE_FP16 ? DTYPE_BF16 : job.dtype)) {
		diag_error(r->diag, in->dtype.from, "no GEMM measurements in %s", dtype_name(job.dtype));
		return REFUSED;
	}
	r->title = arena_printf(r->arena, "%s trained on %g x %s, %g samples each", job.model->name, job.n_gpus,
	    b.gpu->name, job.n_samples);
	CALL(sh, step_s, train_list_step(sh, &job, &t));
	SHOW(sh, step_s, step_s);
	BETWEEN(sh, step_s, step_s / 1.5, step_s * 1.5, "order of magnitude: operators one by one");
	TAKE(sh, n_global_samples, job.n_gpus * job.n_samples);
	CALL(sh, rate_sample_per_s, train_sample_rate(sh, n_global_samples, step_s));
	SHOW(sh, rate_sample_per_s, sample_per_s);
	show_part(r, 0, "convolutions and GEMMs", t.products_s, step_s);
	show_part(r, 1, "elementwise, norms, pooling", t.other_s, step_s);
	show_part(r, 2, "embedding tables", t.tables_s, step_s);
	show_part(r, 3, "embedding exchange", t.exchange_s, step_s);
	show_part(r, 4, "gradient communication (exposed)", t.reduce_s, step_s);
	show_part(r, 5, "optimizer and step overhead", t.optimizer_s, step_s);
	run_warn(r, "order of magnitude: convolutions and lookups not calibrated, input pipeline not counted");
	return ANSWERED;
}
