/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One replica at a given load, in closed form: means are those of what requests meet (model/serve/flow.c), percentiles
 * follow from the chances of an arrival.
 *
 * A step that takes k prompts in lasts t(k).  A request that arrives meets a step in proportion to its length, waits
 * for the rest of it, and shares the next step with all others that arrived meanwhile, a Poisson number.  Step by step
 * the number that run is Poisson too (M/G/infinity), and an answer sees its average over its own time.
 */
#include "search/plan/plan.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

enum { N_KNOTS = 5, N_COMPANY = 12, HALVINGS = 30 };
static const double knots[N_KNOTS] = {0, 1, 2, 4, 8};
static const double shares[N_PLAN_STATISTICS] = {
#define STATISTIC(id, name, share) [PLAN_##id] = share,
    PLAN_STATISTICS(STATISTIC)
#undef STATISTIC
};

/* Steps of a replica by the prompts that they take in. */
struct steps {
	double time_s[N_KNOTS];
	double most; /* prompts that fit a step, not always whole */
};

/* Latencies that somebody asks for. */
struct wanted {
	bool latency[N_PLAN_MEASURES][N_PLAN_STATISTICS];
};

/* All, or those of the objectives; a percentile of the answer is made of those of its tokens. */
static struct wanted
wanted_of(const struct plan_load *objectives)
{
	struct wanted w = {{{false}}};

	for (int i = 0; !objectives && i < N_PLAN_STATISTICS; i++)
		w.latency[PLAN_TTFT][i] = w.latency[PLAN_TPOT][i] = true;
	for (size_t i = 0; objectives && i < objectives->n_objectives; i++) {
		const struct plan_objective *o = &objectives->objectives[i];
		if (o->measure != PLAN_TPOT)
			w.latency[PLAN_TTFT][o->statistic] = true;
		if (o->measure != PLAN_TTFT)
			w.latency[PLAN_TPOT][o->statistic] = true;
	}
	return w;
}

double
plan_share(enum plan_statistic s)
{
	return shares[s];
}

struct serve_load
plan_serve_load(const struct plan_load *l)
{
	return (struct serve_load){.isl = l->isl_token,
	    .osl = l->osl_token,
	    .cached_frac = l->cached_frac,
	    .n_requests = datum_absent(),
	    .n_concurrent = datum_absent(),
	    .n_drafts = l->n_drafts,
	    .n_accepted = l->n_accepted,
	    .draft_s = l->draft_s,
	    .isl_cv = l->isl_cv,
	    .osl_cv = l->osl_cv};
}

static void
steps_set(struct steps *t, const struct serve_setup *s, const struct plan_load *l, double n_running)
{
	const struct serve_load load = plan_serve_load(l);
	const double isl = l->isl_token * (1 - l->cached_frac);

	for (int i = 0; i < N_KNOTS; i++)
		t->time_s[i] = serve_mixed_step(NULL, s, &load, knots[i], n_running);
	t->most = fmax(serve_token_limit(NULL, s, &load) - n_running * (1 + l->n_drafts), 1) / isl;
	if (!s->engine->chunked)
		t->most = fmax(1, floor(t->most));
}

/* Straight between the knots, and on beyond the last. */
static double
knotted(const struct steps *t, double n_prompts)
{
	int i = 1;

	while (i < N_KNOTS - 1 && n_prompts > knots[i])
		i++;
	const double part = (n_prompts - knots[i - 1]) / (knots[i] - knots[i - 1]);
	return t->time_s[i - 1] + part * (t->time_s[i] - t->time_s[i - 1]);
}

/* Time to prefill n prompts; more than fit into one step take several. */
static double
through(const struct steps *t, double n_prompts)
{
	return n_prompts <= t->most ? knotted(t, n_prompts) : n_prompts / t->most * knotted(t, t->most);
}

static double
poisson(double mean, int n)
{
	return exp(n * log(fmax(mean, 1e-300)) - mean - lgamma(n + 1.0));
}

/* Probabilities of a Poisson number, in at most N_COMPANY places. */
struct places {
	int n, first, stride;
};

static struct places
places_of(double mean)
{
	const double reach = 4 * sqrt(mean) + 2;
	const int first = (int)fmax(0, floor(mean - reach)), last = (int)ceil(mean + reach);
	const int stride = (last - first) / N_COMPANY + 1;

	return (struct places){(last - first) / stride + 1, first + (stride - 1) / 2, stride};
}

/* --- the first token ------------------------------------------------------------------------------------- */

/* A case of an arrival: it waits for up to wait_s, evenly, then its own step lasts own_s. */
struct chance {
	double share, wait_s, own_s;
};

/* What lengths that vary come to: of one prompt, by shares that are narrow where the tail is; and of the sum of
 * several, by three points with the right mean and variance (Gauss and Hermite). */
enum { N_ONE = 7, N_SEVERAL = 3 };
static const double one_share[N_ONE] = {0.4, 0.3, 0.15, 0.08, 0.04, 0.02, 0.01};
static const double several_share[N_SEVERAL] = {1.0 / 6, 2.0 / 3, 1.0 / 6},
                    several_at[N_SEVERAL] = {-1.7320508075688772, 0, 1.7320508075688772};

enum { CHANCES_MOST = N_ONE + N_SEVERAL * N_SEVERAL * N_ONE * N_COMPANY * N_COMPANY };

struct first {
	const struct steps *steps;
	double rate, isl_cv;
	int n_one, n_several;
	double one[N_ONE]; /* a prompt's length over the mean */
	struct chance *chances;
	size_t n;
	double sum;
};

static void
add(struct first *f, double share, double wait_s, double own_s)
{
	f->chances[f->n++] = (struct chance){share, wait_s, own_s};
	f->sum += share;
}

/* n prompts, in units of the mean one. */
static double
several(const struct first *f, int n, int point)
{
	return f->n_several == 1 || point >= N_SEVERAL ? n : fmax(0, n + several_at[point] * f->isl_cv * sqrt(n));
}

/* A request arrives during a step and shares the next one with everything else that arrived in it. */
static void
add_own(struct first *f, double share, double step_s)
{
	const double company = f->rate * step_s;
	const struct places at = places_of(company);

	for (int j = 0; j < at.n; j++) {
		const int m = at.first + j * at.stride;
		const double here = share * poisson(company, m) * at.stride;
		for (int k = 0; here > 1e-7 && k < (m ? f->n_several : 1); k++)
			for (int i = 0; i < f->n_one; i++)
				add(f,
				    here * (m && f->n_several > 1 ? several_share[k] : 1) *
				        (f->n_one > 1 ? one_share[i] : 1),
				    step_s, through(f->steps, f->one[i] + several(f, m, k)));
	}
}

static void
add_busy(struct first *f, double starting, double busy)
{
	const struct places at = places_of(starting);
	double length_s = 0;

	for (int j = 0; j < at.n; j++)
		length_s += poisson(starting, at.first + j * at.stride) * at.stride *
		    through(f->steps, at.first + j * at.stride);
	for (int j = 0; j < at.n; j++) {
		const int k = at.first + j * at.stride;
		const double share = poisson(starting, k) * at.stride;
		for (int i = 0; share > 1e-7 && i < (k ? f->n_several : 1) && i < N_SEVERAL; i++) {
			const double step_s = through(f->steps, several(f, k, i)),
			             part = k && f->n_several > 1 ? several_share[i] : 1;
			add_own(f, busy * share * part * step_s / length_s, step_s);
		}
	}
}

static void
add_idle(struct first *f, const struct steps *empty, double idle)
{
	for (int i = 0; i < f->n_one; i++)
		add(f, idle * (f->n_one > 1 ? one_share[i] : 1), 0, through(empty, f->one[i]));
}

/* The share of requests that have their first token after at most x seconds. */
static double
share_within(const struct first *f, double x)
{
	double sum = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct chance *c = &f->chances[i];
		if (x >= c->own_s + c->wait_s)
			sum += c->share;
		else if (x > c->own_s)
			sum += c->share * (x - c->own_s) / c->wait_s;
	}
	return sum / f->sum;
}

static double
first_quantile(const struct first *f, double share)
{
	double low = 0, high = 0;

	for (size_t i = 0; i < f->n; i++)
		high = fmax(high, f->chances[i].own_s + f->chances[i].wait_s);
	for (int i = 0; i < HALVINGS; i++) {
		const double middle = (low + high) / 2;
		*(share_within(f, middle) < share ? &low : &high) = middle;
	}
	return high;
}

static void
set_first(struct plan_point *out, const struct steps *t, const struct steps *empty, const struct plan_load *l,
    double starting, const struct wanted *wanted)
{
	struct chance chances[CHANCES_MOST]; /* those below f.n are written */
	struct first f = {.steps = t,
	    .rate = out->rate_request_per_s,
	    .isl_cv = l->isl_cv,
	    .n_one = l->isl_cv > 0 ? N_ONE : 1,
	    .n_several = l->isl_cv > 0 ? N_SEVERAL : 1,
	    .one = {1},
	    .chances = chances};
	const double idle = exp(-out->n_running);
	double below = 0, mean = 0;

	for (int i = 0; f.n_one > 1 && i < N_ONE; below += one_share[i++])
		f.one[i] = num_log_normal_quantile(below + one_share[i] / 2, 1, l->isl_cv);
	add_idle(&f, empty, idle);
	add_busy(&f, starting, 1 - idle);
	for (size_t i = 0; i < f.n; i++)
		mean += f.chances[i].share * (f.chances[i].own_s + f.chances[i].wait_s / 2);
	out->latency_s[PLAN_TTFT][PLAN_MEAN] = mean / f.sum;
	for (int i = PLAN_P50; i < N_PLAN_STATISTICS; i++)
		if (wanted->latency[PLAN_TTFT][i])
			out->latency_s[PLAN_TTFT][i] = first_quantile(&f, shares[i]);
}

/* Requests that begin with each step: as many as end. */
static double
starting_of(const struct plan_load *l, double n_running)
{
	const struct serve_load load = plan_serve_load(l);

	return n_running / (1 + serve_decode_steps(NULL, &load));
}

/* --- tokens and answers ---------------------------------------------------------------------------------- */

/* Average step: as many prompts are taken in as answers end. */
static double
usual_step(const struct steps *t, double starting)
{
	return starting <= t->most ? knotted(t, starting) : starting / t->most * knotted(t, t->most);
}

static void
set_tokens(struct plan_point *out, const struct serve_setup *s, const struct plan_load *l, const struct steps *usual,
    double step_s, const struct wanted *wanted)
{
	double *const tpot = out->latency_s[PLAN_TPOT];
	/* the average of an M/D/infinity number over one service time has 2/3 of its variance; of varying answers the
	 * short ones see nearly all of it */
	const double n = fmax(out->n_running, 1), spread = sqrt(n * (l->osl_cv > 0 ? 1 : 2.0 / 3));
	const double usual_s = usual_step(usual, starting_of(l, n));

	tpot[PLAN_MEAN] = tpot[PLAN_P50] = step_s;
	for (int i = PLAN_P50 + 1; i < N_PLAN_STATISTICS; i++) {
		const double more = n + num_normal_quantile(shares[i]) * spread;
		struct steps t;
		if (!wanted->latency[PLAN_TPOT][i])
			continue;
		steps_set(&t, s, l, more);
		tpot[i] = step_s * fmax(1, usual_step(&t, starting_of(l, more)) / usual_s);
	}
}

static void
set_answers(struct plan_point *out, const struct plan_load *l)
{
	const double *ttft = out->latency_s[PLAN_TTFT], *tpot = out->latency_s[PLAN_TPOT];
	double *const e2e = out->latency_s[PLAN_E2E];

	e2e[PLAN_MEAN] = ttft[PLAN_MEAN] + (l->osl_token - 1) * tpot[PLAN_MEAN];
	for (int i = PLAN_P50; i < N_PLAN_STATISTICS; i++) {
		const double osl =
		    l->osl_cv > 0 ? num_log_normal_quantile(shares[i], l->osl_token, l->osl_cv) : l->osl_token;
		/* three things that vary by themselves */
		const double length_s = (osl - l->osl_token) * tpot[PLAN_MEAN], first_s = ttft[i] - ttft[PLAN_MEAN],
		             token_s = l->osl_token * (tpot[i] - tpot[PLAN_MEAN]);
		e2e[i] = e2e[PLAN_MEAN] +
		    (i == PLAN_P50 ? length_s : sqrt(length_s * length_s + first_s * first_s + token_s * token_s));
	}
}

/* A point of what requests meet; of latencies, those that are wanted and all means. */
static void
set_point(const struct serve_setup *s, const struct plan_load *l, const struct serve_flow *f,
    const struct wanted *wanted, struct plan_point *out)
{
	const struct serve_load load = plan_serve_load(l);
	const double first_s = serve_flow_first(NULL, s, &load, f), step_s = serve_flow_step(NULL, s, &load, f);
	struct steps t, empty;

	*out = (struct plan_point){.n_running = f->n_running, .rate_request_per_s = f->rate_request_per_s};
	/* a step that decodes has at least one sequence, though it may seldom run */
	steps_set(&t, s, l, fmax(f->n_running, 1));
	steps_set(&empty, s, l, 0);
	set_first(out, &t, &empty, l, starting_of(l, f->n_running), wanted);
	/* chances know the shape; how long it is on average is known better */
	const double front_s = serve_front(NULL, s),
	             factor = (first_s - front_s) / out->latency_s[PLAN_TTFT][PLAN_MEAN];
	for (int i = 0; i < N_PLAN_STATISTICS; i++)
		out->latency_s[PLAN_TTFT][i] = front_s + factor * out->latency_s[PLAN_TTFT][i];
	out->latency_s[PLAN_TTFT][PLAN_MEAN] = first_s;
	set_tokens(out, s, l, &t, step_s, wanted);
	set_answers(out, l);
	out->load = isnan(l->rate_request_per_s)
	    ? out->rate_request_per_s * (l->think_s + out->latency_s[PLAN_E2E][PLAN_MEAN])
	    : out->rate_request_per_s;
}

void
plan_point_of(
    const struct serve_setup *s, const struct plan_load *l, const struct serve_flow *f, struct plan_point *out)
{
	const struct wanted all = wanted_of(NULL);

	set_point(s, l, f, &all, out);
}

void
plan_latencies(const struct serve_setup *s, const struct serve_load *load, const struct serve_flow *f,
    double latency_s[N_PLAN_MEASURES][N_PLAN_STATISTICS])
{
	const struct plan_load l = {.rate_request_per_s = f->rate_request_per_s,
	    .isl_token = load->isl,
	    .osl_token = load->osl,
	    .isl_cv = load->isl_cv,
	    .osl_cv = load->osl_cv,
	    .cached_frac = load->cached_frac,
	    .n_drafts = load->n_drafts,
	    .n_accepted = load->n_accepted,
	    .draft_s = load->draft_s};
	struct plan_point p;

	plan_point_of(s, &l, f, &p);
	memcpy(latency_s, p.latency_s, sizeof p.latency_s);
}

bool
plan_glance(const struct serve_setup *s, const struct plan_load *l, double rate_request_per_s, struct serve_flow *f,
    struct plan_point *out)
{
	const struct serve_load load = plan_serve_load(l);
	const struct wanted wanted = wanted_of(l);

	if (!serve_flow_open(s, &load, rate_request_per_s, f))
		return false;
	set_point(s, l, f, &wanted, out);
	return true;
}

bool
plan_point(const struct serve_setup *s, const struct plan_load *l, double rate_request_per_s, struct plan_point *out)
{
	const struct serve_load load = plan_serve_load(l);
	struct serve_flow f;

	if (!serve_flow_open(s, &load, rate_request_per_s, &f))
		return false;
	plan_point_of(s, l, &f, out);
	return true;
}

bool
plan_point_users(const struct serve_setup *s, const struct plan_load *l, double n_users, struct plan_point *out)
{
	const struct serve_load load = plan_serve_load(l);
	struct serve_flow f;

	if (!serve_flow_closed(s, &load, n_users, l->think_s, &f))
		return false;
	plan_point_of(s, l, &f, out);
	return true;
}
