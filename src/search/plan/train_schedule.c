/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "search/plan/plan.h"

#include <stdio.h>

static double
step_of(const struct train_job *job)
{
	struct train_terms t;

	return train_step(NULL, job, &t);
}

static struct train_schedule
evaluate(const struct train_job *job, const struct memory_job *memory, bool modelled)
{
	struct train_schedule s = {.step_s = step_of(job), .need_byte = NAN, .verdict = FITS};
	char layout[120];

	if (modelled) {
		s.need_byte = memory_peak(NULL, memory, NULL);
		if (datum_given(memory->card_byte))
			s.verdict = memory_verdict(memory, s.need_byte);
	}
	fit_layout_text(memory, layout, sizeof layout);
	snprintf(s.change, sizeof s.change, "--layout %s%s", layout, job->zero_bubble ? " --zero-bubble" : "");
	return s;
}

static struct train_schedule
interleaved(const struct train_job *job, const struct memory_job *memory, bool modelled, double vp)
{
	struct train_job other = *job;
	struct memory_job held = *memory;

	other.layout.vp = held.layout.vp = vp;
	return evaluate(&other, &held, modelled);
}

int
train_schedules(const struct train_job *job, const struct memory_job *memory, bool modelled,
    struct train_schedule out[MOST_SCHEDULES])
{
	const struct layout *l = &job->layout;
	const double now_s = step_of(job), finest = layout_finest_chunks(job->model, l->pp);
	int n = 0;

	if (!(l->pp > 1))
		return 0;
	for (double vp = finest; vp > l->vp && job->n_stage_layers == 0 && !memory->gpipe; vp--) {
		if (!layout_splits_evenly(job->model, l->pp * vp))
			continue;
		const struct train_schedule s = interleaved(job, memory, modelled, vp);
		/* the finest in any case, then the finest that fits */
		if (s.step_s < now_s && (n == 0 || s.verdict != DOES_NOT_FIT))
			out[n++] = s;
		if (n > 1 || s.verdict != DOES_NOT_FIT)
			break;
	}
	if (!memory->stack->zero_bubble || job->zero_bubble)
		return n;
	struct train_job filled = *job;
	filled.zero_bubble = true;
	const struct train_schedule s = evaluate(&filled, memory, modelled);
	if (s.step_s < now_s)
		out[n++] = s;
	return n;
}
