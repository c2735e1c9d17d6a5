/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests, how long they are, and who sends them: a rate, or clients that think between an answer and the next. */
#include "ask/bind/bind.h"

#include "cli/cli.h"

static bool
check_numbers(struct run *r, const struct load_in *in)
{
	const struct {
		const char *name;
		struct datum value;
	} shares[] = {{"isl-cv", in->isl_cv}, {"osl-cv", in->osl_cv}, {"think-cv", in->think_cv}, {"think", in->think}};

	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
		if (datum_given(shares[i].value) && !(shares[i].value.value >= 0 && isfinite(shares[i].value.value)))
			return run_refuse(r, shares[i].value.from,
			    arena_printf(r->arena, "--%s is not negative", shares[i].name), "write 0, 1 or 2.5");
	return run_whole(r, "isl", in->isl, 1) & run_whole(r, "osl", in->osl, 1) &
	    run_whole(r, in->clients_option + 2, in->clients, 1) & run_whole(r, "requests", in->requests, 1) &
	    run_whole(r, "drafts", in->drafts, 1) & run_positive(r, "rate", in->rate) &
	    run_fraction(r, "cached", in->cached) & run_positive(r, "accepted", in->accepted);
}

static bool
check_together(struct run *r, const struct load_in *in)
{
	if (datum_given(in->rate) && datum_given(in->clients))
		return run_refuse(r, in->rate.from,
		    arena_printf(r->arena, "--rate and %s exclude each other", in->clients_option),
		    arena_printf(r->arena, "--rate: requests come when they come; %s: each client waits for its answer",
		        in->clients_option));
	if (datum_given(in->cached) && in->cached.value >= 1)
		return run_refuse(r, in->cached.from, "the last token of a prompt is never cached", "--cached 0.9");
	if (in->think.value > 0 && !datum_given(in->clients))
		return run_refuse(r, in->think.from, "only clients think",
		    arena_printf(r->arena, "add %s, or leave --think out", in->clients_option));
	if (datum_given(in->drafts) != datum_given(in->accepted))
		return run_refuse(r, datum_given(in->drafts) ? in->drafts.from : in->accepted.from,
		    "speculative decoding needs --draft-tokens and --accepted", "--draft-tokens 4 --accepted 2.3");
	if (datum_given(in->accepted) && in->accepted.value > in->drafts.value)
		return run_refuse(
		    r, in->accepted.from, "more tokens are accepted than drafted", "--draft-tokens 4 --accepted 2.3");
	return true;
}

bool
bind_load(struct run *r, const struct load_in *in, struct load *out)
{
	if (!check_numbers(r, in) || !check_together(r, in))
		return false;
	const struct datum read[] = {in->isl, in->osl, in->cached, in->isl_cv, in->osl_cv, in->rate, in->clients,
	    in->think, in->drafts, in->accepted, datum_given(in->drafts) ? in->draft_time : datum_absent()};
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		run_read_from(r, read[i].from);
	*out = (struct load){
	    .each = {.isl = in->isl.value,
	        .osl = datum_or(in->osl, 1),
	        .cached_frac = datum_or(in->cached, 0),
	        .n_requests = in->requests,
	        .n_concurrent = in->clients,
	        .n_drafts = datum_or(in->drafts, 0),
	        .n_accepted = datum_or(in->accepted, 0),
	        .draft_s = datum_given(in->drafts) ? datum_or(in->draft_time, 0) : 0,
	        .isl_cv = datum_or(in->isl_cv, 0),
	        .osl_cv = datum_or(in->osl_cv, 0)},
	    .rate_request_per_s = in->rate.value,
	    .n_clients = in->clients.value,
	    .think_s = datum_given(in->clients) ? datum_or(in->think, in->usual_think_s) : 0,
	    .think_cv = datum_or(in->think_cv, 1),
	};
	if (datum_given(in->clients) && !datum_given(in->think) && in->usual_think_s > 0)
		run_assume_value(r, "think", "%g s", in->usual_think_s);
	return true;
}
