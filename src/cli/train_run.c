/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The whole run, and the memory of the same layout. */
#include "cli/train_show.h"

#include "cli/inputs.h"
#include "engine/memory_fit.h"
#include "ridge/cost.h"
#include "ridge/reliability.h"

#include <string.h>

enum { MOST_FIXES = 3 };

/* --- the run --------------------------------------------------------------------------------------------- */

/* What a GPU costs: as stated, the system's price, the GPU's; NaN when none is known. */
static struct datum
price_of(struct run *r, const struct train_question *q, const struct train_bound *b)
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

static double
show_goodput(struct run *r, const struct train_question *q, const struct train_answer *a, double run_s)
{
	struct sheet *sh = r->sheet;
	const struct train_in *in = q->train;

	if (!datum_given(in->mtbf) && !datum_given(in->gpu_mtbf))
		return run_s;
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
	CALL(sh, wall_s, run_wall(sh, run_s, goodput_frac));
	SHOW(sh, mtbf_s, "between failures of the job");
	SHOW(sh, interval_s, "best interval between checkpoints");
	SHOW(sh, goodput_frac, "goodput");
	SHOW(sh, wall_s, "the run with failures");
	return wall_s;
}

bool
show_train_run(struct run *r, const struct train_question *q, const struct train_bound *b, const struct train_answer *a,
    double step_s)
{
	struct sheet *sh = r->sheet;

	if (!datum_given(q->train->tokens))
		return true;
	TAKE(sh, budget_token, q->train->tokens);
	const double per_step_token = train_step_tokens(NULL, a->job.n_global_sequences, a->job.seq_length);
	TAKE(sh, each_step_token, per_step_token);
	CALL(sh, n_steps, train_steps_needed(sh, budget_token, each_step_token));
	CALL(sh, run_s, train_run_time(sh, n_steps, step_s));
	SHOW(sh, n_steps, "steps of the run");
	SHOW(sh, run_s, "the run");
	const double wall_s = show_goodput(r, q, a, run_s);
	TAKE(sh, paid_s, wall_s);
	TAKE(sh, n_paid_gpus, a->job.n_gpus);
	CALL(sh, gpu_time_s, cost_gpu_time(sh, n_paid_gpus, paid_s));
	SHOW(sh, gpu_time_s, "GPU time");
	const struct datum price = price_of(r, q, b);
	if (datum_given(price)) {
		TAKE(sh, gpu_usd_per_s, price);
		LET(sh, run_usd, gpu_time_s * gpu_usd_per_s);
		SHOW(sh, gpu_usd_per_s, "price of a GPU");
		SHOW(sh, run_usd, "cost of the run");
	} else
		run_warn(r, "no price of %s is known: --price gives one", b->gpu->id);
	if (datum_given(b->tdp_watt)) {
		TAKE(sh, gpu_watt, b->tdp_watt);
		CALL(sh, energy_joule, train_energy(sh, n_paid_gpus, gpu_watt, paid_s));
		SHOW(sh, energy_joule, "energy of the GPUs at their power limit");
	}
	return true;
}

/* --- memory ---------------------------------------------------------------------------------------------- */

/* The same job for the memory model, or NULL with why not. */
static const char *
memory_job_of(struct run *r, const struct train_question *q, const struct train_answer *a, struct memory_job *job)
{
	struct run quiet = *r;
	const struct gpu *gpu;
	enum severity severity;
	struct source at;
	const char *hint;

	quiet.diag = diag_new(r->arena);
	if (!run_memory_job(&quiet, &q->memory, job, &gpu)) {
		const char *text = diag_message(quiet.diag, 0, &at, &hint, &severity);
		return text ? text : "no rule";
	}
	job->layout = a->job.layout;
	job->batch.value = a->job.n_sequences;
	job->n_microbatches.value = a->terms.n_microbatches;
	job->seq.value = a->job.seq_length;
	job->recompute = a->job.recompute;
	job->recompute_n = a->job.recompute_n;
	job->modules = a->job.modules;
	return memory_lacks_rule(job);
}

static void
show_fixes(struct run *r, const struct memory_job *job, double n_node)
{
	struct sheet *sh = r->sheet;
	struct memory_fix *fixes = ARENA_ARRAY(r->arena, struct memory_fix, MOST_FIXES);
	const int n = fit_fixes(job, n_node, fixes, MOST_FIXES);

	for (int i = 0; i < n; i++)
		SCOPE_I (sh, "fix", i) {
			TELL(sh, change, "what makes it fit", fixes[i].change);
			TAKE(sh, n_fixed_gpus, fixes[i].n_gpus);
			TAKE(sh, fixed_byte, fixes[i].need_byte);
			SHOW(sh, n_fixed_gpus, "GPUs");
			SHOW(sh, fixed_byte, "expected");
		}
}

enum answer
show_train_memory(
    struct run *r, const struct train_question *q, const struct train_bound *b, const struct train_answer *a)
{
	struct sheet *sh = r->sheet;
	struct memory_job job;

	(void)b;
	if (q->train->no_memory)
		return ANSWERED;
	const char *why = memory_job_of(r, q, a, &job);
	if (why) {
		run_warn(r, "memory was not counted: %s", why);
		return ANSWERED;
	}
	struct memory_use use;
	CALL(sh, expected_byte, memory_peak(sh, &job, &use));
	SHOW(sh, expected_byte, "memory of a GPU, expected peak");
	if (!datum_given(job.card_byte))
		return ANSWERED;
	TAKE(sh, card_byte, job.card_byte);
	CALL(sh, free_byte, memory_free(sh, card_byte, expected_byte));
	SHOW(sh, free_byte, "free");
	const enum verdict verdict = memory_verdict(&job, expected_byte);
	TELL(sh, verdict, "verdict", verdict_name(verdict));
	if (verdict == DOES_NOT_FIT)
		show_fixes(r, &job, a->job.machine.n_domain);
	return verdict == DOES_NOT_FIT ? ANSWERED_NO : ANSWERED;
}
