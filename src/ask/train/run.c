/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Length and cost of a training run, and the memory of its layout. */
#include "ask/train/train.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "db/db.h"
#include "model/calc/calc.h"
#include "model/kernel/kernel.h"
#include "model/train/train.h"
#include "search/plan/plan.h"

#include <string.h>

/* --- list ---------------------------------------------------------------------------------------------------- */

/* Training of a list of operators. */

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
	run_reads(r, &in->gpus, &in->batch, &in->global_batch, NULL);
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
	if (gpu_lacks(b.gpu, job.dtype)) {
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

/* --- the run --------------------------------------------------------------------------------------------- */

struct datum
run_train_price(struct run *r, const struct train_question *q, const struct train_bound *b)
{
	const struct system *s = q->memory.memory->system.text ? b->system : NULL;

	if (datum_given(q->train->price))
		return q->train->price;
	for (int i = 0; s && i < s->n_prices; i++)
		if (s->prices[i].per && strcmp(s->prices[i].per, "node") == 0) {
			struct datum d = s->prices[i].usd_per_s;
			d.value /= s->n_gpus.value;
			run_assume(r, "price of %s, %s", s->id, s->prices[i].on);
			return d;
		}
	if (b->gpu->n_prices > 0) {
		run_assume(r, "price of %s, %s", b->gpu->id, b->gpu->prices[0].on);
		return b->gpu->prices[0].usd_per_s;
	}
	return datum_absent();
}

double
train_goodput_of(const struct train_in *in, double n_gpus)
{
	if (!datum_given(in->mtbf) && !datum_given(in->gpu_mtbf))
		return 1;
	const double mtbf_s = datum_given(in->mtbf) ? in->mtbf.value : job_mtbf(NULL, in->gpu_mtbf.value, n_gpus);
	const struct failing f = {{mtbf_s, {NULL, 0, 0, NULL, false}}, in->write, in->write, in->restart};
	return goodput(NULL, &f, daly_interval(NULL, in->write.value, mtbf_s));
}

/* Failures: what of the time trains; NaN where nothing was said of them. */
static double
show_goodput(struct run *r, const struct train_in *in, const struct train_answer *a)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(in->mtbf) && !datum_given(in->gpu_mtbf))
		return NAN;
	double mtbf_s;
	if (datum_given(in->mtbf)) {
		TAKE(sh, stated_s, in->mtbf);
		SET(sh, mtbf_s, stated_s);
	} else {
		TAKE(sh, gpu_mtbf_s, in->gpu_mtbf);
		TAKE(sh, n_failing_gpus, a->job.n_gpus);
		SET_CALL(sh, mtbf_s, job_mtbf(sh, gpu_mtbf_s, n_failing_gpus));
	}
	const struct datum mean = {mtbf_s, {NULL, 0, 0, NULL, false}};
	const struct failing f = {mean, in->write, in->write, in->restart};
	TAKE(sh, stall_s, in->write);
	CALL(sh, interval_s, daly_interval(sh, stall_s, mtbf_s));
	CALL(sh, goodput_frac, goodput(sh, &f, interval_s));
	SHOW(sh, mtbf_s, mtbf_s);
	SHOW(sh, interval_s, checkpoint_interval_s);
	SHOW(sh, goodput_frac, goodput_frac);
	return goodput_frac;
}

/* A job that fails before its checkpoint is written never gets on. */
static bool
check_failures(struct run *r, const struct train_in *in, double n_gpus)
{
	const struct datum given = datum_given(in->mtbf) ? in->mtbf : in->gpu_mtbf;
	const double mtbf_s = datum_given(in->mtbf) ? given.value : given.value / n_gpus;

	if (!datum_given(given) || mtbf_s > in->write.value)
		return true;
	diag_error(r->diag, given.from, "the MTBF of the job, %.3g s, is below the checkpoint time, %.3g s", mtbf_s,
	    in->write.value);
	diag_hint(r->diag, "use a longer MTBF, or a shorter --checkpoint-time");
	return false;
}

bool
train_run_is_whole(struct run *r, const struct train_in *in, double n_gpus)
{
	const bool fails = datum_given(in->mtbf) || datum_given(in->gpu_mtbf);
	const struct {
		bool said, belongs;
		struct source at;
		const char *what, *hint;
	} rows[] = {
	    {datum_given(in->price), datum_given(in->tokens), in->price.from, "--price needs the training tokens",
	        "add --tokens 1T"},
	    {in->write.from.file != inputs_default, fails, in->write.from, "--checkpoint-time needs a failure rate",
	        "add --gpu-mtbf 50000h"},
	    {in->restart.from.file != inputs_default, fails, in->restart.from, "--restart needs a failure rate",
	        "add --gpu-mtbf 50000h"},
	    {datum_given(in->mtbf) && datum_given(in->gpu_mtbf), false, in->mtbf.from,
	        "--mtbf and --gpu-mtbf exclude each other", "keep one"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].said && !rows[i].belongs) {
			diag_error(r->diag, rows[i].at, "%s", rows[i].what);
			diag_hint(r->diag, "%s", rows[i].hint);
			return false;
		}
	return run_positive(r, "--tokens", in->tokens) && run_positive(r, "--mtbf", in->mtbf) &&
	    run_positive(r, "--gpu-mtbf", in->gpu_mtbf) && run_positive(r, "--checkpoint-time", in->write) &&
	    check_failures(r, in, n_gpus);
}

static void
show_cost(struct run *r, const struct train_question *q, const struct train_bound *b, const struct train_answer *a,
    double wall_s)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, paid_s, wall_s);
	TAKE(sh, n_paid_gpus, a->job.n_gpus);
	CALL(sh, gpu_time_s, cost_gpu_time(sh, n_paid_gpus, paid_s));
	SHOW(sh, gpu_time_s, gpu_s);
	const struct datum price = run_train_price(r, q, b);
	if (datum_given(price)) {
		TAKE(sh, gpu_usd_per_s, price);
		LET(sh, run_usd, gpu_time_s * gpu_usd_per_s);
		SHOW(sh, gpu_usd_per_s, gpu_usd_per_s);
		SHOW(sh, run_usd, run_usd);
	} else
		run_warn(r, "no price of %s in the database: add --price", b->gpu->id);
	if (datum_given(b->tdp_watt)) {
		TAKE(sh, gpu_watt, b->tdp_watt);
		CALL(sh, energy_joule, train_energy(sh, n_paid_gpus, gpu_watt, paid_s));
		SHOW(sh, energy_joule, energy_joule);
	}
}

void
show_train_run(struct run *r, const struct train_question *q, const struct train_bound *b, const struct train_answer *a,
    double step_s)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(q->train->tokens)) {
		show_goodput(r, q->train, a);
		return;
	}
	TAKE(sh, budget_token, q->train->tokens);
	const double per_step_token = train_step_tokens(NULL, a->job.n_global_sequences, a->job.seq_length);
	TAKE(sh, each_step_token, per_step_token);
	CALL(sh, n_steps, train_steps_needed(sh, budget_token, each_step_token));
	CALL(sh, run_s, train_run_time(sh, n_steps, step_s));
	SHOW(sh, n_steps, n_steps);
	SHOW(sh, run_s, run_s);
	const double goodput_frac = show_goodput(r, q->train, a);
	if (isnan(goodput_frac)) {
		show_cost(r, q, b, a, run_s);
		return;
	}
	CALL(sh, wall_s, run_wall(sh, run_s, goodput_frac));
	SHOW(sh, wall_s, wall_s);
	show_cost(r, q, b, a, wall_s);
}

/* --- memory ---------------------------------------------------------------------------------------------- */

enum answer
show_train_memory(struct run *r, const struct train_question *q, const struct train_bound *b)
{
	struct sheet *sh = r->sheet;
	const struct memory_job *job = &b->memory;

	run_reads(r, &q->train->no_memory, NULL);
	if (q->train->no_memory)
		return ANSWERED;
	if (b->no_memory) {
		run_reads(r, &q->memory.training->optimizer_in_backward, NULL);
		run_warn(r, "memory not counted: %s", b->no_memory);
		TELL(sh, verdict, "memory not modeled");
		return ANSWERED;
	}
	struct memory_use use;
	memory_reads(r, &q->memory, job);
	CALL(sh, expected_byte, memory_peak(sh, job, &use));
	SHOW(sh, expected_byte, peak_byte);
	memory_show_host(r, job);
	if (!datum_given(job->card_byte))
		return ANSWERED;
	TAKE(sh, card_byte, job->card_byte);
	CALL(sh, free_byte, memory_free(sh, card_byte, expected_byte));
	SHOW(sh, free_byte, free_byte);
	const enum verdict verdict = memory_verdict(job, expected_byte);
	TELL(sh, verdict, verdict_name(verdict));
	if (verdict == DOES_NOT_FIT)
		memory_show_fixes(r, job, bind_node_gpus(r, q->memory.memory), 3, false);
	return verdict == DOES_NOT_FIT ? ANSWERED_NO : ANSWERED;
}
