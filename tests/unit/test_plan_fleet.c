/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fleets of several setups: what is cheapest for a request goes first, never more GPUs than there are. */
#include "search/plan/plan.h"

#include <check.h>
#include <stdlib.h>

static struct plan_candidate
setup(double n_gpus, double load, double gpu_usd_per_s, const double *n_most_gpus)
{
	return (struct plan_candidate){.n_replica_gpus = n_gpus,
	    .n_unit_gpus = 1,
	    .gpu_usd_per_s = gpu_usd_per_s,
	    .gpu_watt = 700,
	    .n_most_gpus = n_most_gpus,
	    .most = {.load = load, .rate_request_per_s = load}};
}

static struct plan_load
asked(double rate, double n_spare)
{
	return (struct plan_load){.rate_request_per_s = rate, .n_spare = n_spare};
}

static double
cost(const struct plan_fleet *f)
{
	double usd_per_s = 0;

	for (int i = 0; i < f->n_parts; i++)
		usd_per_s += f->parts[i].n_replicas * f->parts[i].c->n_replica_gpus * f->parts[i].c->gpu_usd_per_s;
	return usd_per_s;
}

static double
gpus_of(const struct plan_fleet *f, const double *n_most_gpus)
{
	double n = 0;

	for (int i = 0; i < f->n_parts; i++)
		if (f->parts[i].c->n_most_gpus == n_most_gpus)
			n += f->parts[i].n_replicas * f->parts[i].c->n_replica_gpus;
	return n;
}

START_TEST(cheapest_first)
{
	/* 4 small GPUs at 0.5 USD a request, then larger ones at 0.75: 4 x 2 = 8 of 10, the rest on one of the others
	 */
	const double n_small = 4, n_large = 8;
	const struct plan_candidate small = setup(1, 2, 1, &n_small), large = setup(2, 8, 3, &n_large);
	const struct plan_candidate *list[] = {&small, &large};
	const struct plan_load load = asked(10, 0);
	struct plan_fleet f;

	ck_assert(plan_fleet_fill(list, 2, &load, PLAN_RANK_COST, &f));
	ck_assert_int_eq(f.n_parts, 2);
	ck_assert_ptr_eq(f.parts[0].c, &small);
	ck_assert_double_eq_tol(f.parts[0].n_replicas, 4, 1e-12);
	ck_assert_double_eq_tol(f.parts[1].n_replicas, 1, 1e-12);
	ck_assert_double_eq_tol(f.load, 16, 1e-12);
}
END_TEST

START_TEST(rest_goes_where_it_costs_least)
{
	/* 2 large replicas carry 8 of 9; a third costs 4 USD, one small replica 1.5 */
	const double n_large = 64;
	const struct plan_candidate large = setup(4, 4, 1, &n_large), small = setup(1, 1, 1.5, NULL);
	const struct plan_candidate *list[] = {&large, &small};
	const struct plan_load load = asked(9, 0);
	struct plan_fleet f;

	ck_assert(plan_fleet_fill(list, 2, &load, PLAN_RANK_COST, &f));
	ck_assert_double_eq_tol(cost(&f), 2 * 4 + 1.5, 1e-12);
	/* in instances of 8 GPUs the small one costs 12 USD: a third large replica is cheaper */
	struct plan_candidate by_eight = small;
	by_eight.n_unit_gpus = 8;
	list[1] = &by_eight;
	ck_assert(plan_fleet_fill(list, 2, &load, PLAN_RANK_COST, &f));
	ck_assert_int_eq(f.n_parts, 1);
	ck_assert_double_eq_tol(f.parts[0].n_replicas, 3, 1e-12);
}
END_TEST

START_TEST(setups_of_a_gpu_share_its_number)
{
	const double n = 6;
	const struct plan_candidate four = setup(4, 10, 1, &n), two = setup(2, 4, 1, &n);
	const struct plan_candidate *list[] = {&four, &two};
	const struct plan_load few = asked(14, 0), many = asked(15, 0);
	struct plan_fleet f;

	ck_assert(plan_fleet_fill(list, 2, &few, PLAN_RANK_COST, &f));
	ck_assert_double_eq_tol(gpus_of(&f, &n), 6, 1e-12);
	/* too few GPUs: all of them, and what they take */
	ck_assert(!plan_fleet_fill(list, 2, &many, PLAN_RANK_COST, &f));
	ck_assert_double_eq_tol(gpus_of(&f, &n), 6, 1e-12);
	ck_assert_double_eq_tol(f.load, 14, 1e-12);
}
END_TEST

START_TEST(spares_are_the_largest)
{
	const double n_small = 8, n_large = 16;
	const struct plan_candidate small = setup(1, 2, 1, &n_small), large = setup(4, 7, 1.5, &n_large);
	const struct plan_candidate *list[] = {&small, &large};
	const struct plan_load load = asked(18, 1);
	struct plan_fleet f;

	ck_assert(plan_fleet_fill(list, 2, &load, PLAN_RANK_COST, &f));
	double all = 0, most = 0;
	for (int i = 0; i < f.n_parts; i++) {
		all += f.parts[i].n_replicas * f.parts[i].c->most.load;
		most = fmax(most, f.parts[i].c->most.load);
	}
	ck_assert_double_eq_tol(f.load, all - most, 1e-12);
	ck_assert_double_ge(f.load, 18);
}
END_TEST

START_TEST(growth_is_planned_for)
{
	const double n = 8;
	const struct plan_candidate one = setup(1, 2, 1, &n);
	const struct plan_candidate *list[] = {&one};
	struct plan_load load = asked(10, 0);
	struct plan_fleet f;

	load.growth_frac = 0.5;
	ck_assert(plan_fleet_fill(list, 1, &load, PLAN_RANK_COST, &f));
	ck_assert_double_eq_tol(f.load, 16, 1e-12);
}
END_TEST

/* --- against all fleets there are ------------------------------------------------------------------------ */

enum { N_SETUPS = 4 };

/* The least cost of carrying the load, over all numbers of replicas; infinite where nothing does. */
static double
least_cost(const struct plan_candidate *c, int n_setups, double *left, double load)
{
	if (load <= 1e-9)
		return 0;
	if (n_setups == 0)
		return INFINITY;
	double *own = &left[c->n_most_gpus == left + 2 ? 0 : 1], least = INFINITY;
	for (double n = 0; n * c->n_replica_gpus <= *own; n++) {
		*own -= n * c->n_replica_gpus;
		const double rest = least_cost(c + 1, n_setups - 1, left, load - n * c->most.load);
		*own += n * c->n_replica_gpus;
		least = fmin(least, rest + n * c->n_replica_gpus * c->gpu_usd_per_s);
	}
	return least;
}

static double
chance(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) / 9007199254740992.0;
}

static int
by_price(const void *x, const void *y)
{
	const double a = plan_fleet_price(*(const struct plan_candidate *const *)x, PLAN_RANK_COST),
	             b = plan_fleet_price(*(const struct plan_candidate *const *)y, PLAN_RANK_COST);

	return (a > b) - (a < b);
}

START_TEST(carries_what_can_be_carried_near_the_least_cost)
{
	uint64_t seed = 7;
	double worst = 1;
	int filled = 0, missed = 0;

	for (int k = 0; k < 400; k++) {
		/* what is left of two GPUs, and how many there are */
		double of[4];
		of[2] = of[0] = floor(1 + 11 * chance(&seed));
		of[3] = of[1] = floor(1 + 11 * chance(&seed));
		struct plan_candidate c[N_SETUPS];
		const struct plan_candidate *list[N_SETUPS];
		const double price[] = {1 + chance(&seed), 1 + chance(&seed)};
		for (int i = 0; i < N_SETUPS; i++) {
			const double n_gpus = i % 2 ? 2 : 1;
			c[i] = setup(n_gpus, n_gpus * (0.7 + chance(&seed)), price[i / 2], &of[2 + i / 2]);
			list[i] = &c[i];
		}
		qsort(list, N_SETUPS, sizeof *list, by_price);
		const struct plan_load load = asked(1 + 12 * chance(&seed), 0);
		struct plan_fleet f;
		const bool fits = plan_fleet_fill(list, N_SETUPS, &load, PLAN_RANK_COST, &f);
		const double least = least_cost(c, N_SETUPS, of, load.rate_request_per_s);
		ck_assert(gpus_of(&f, &of[2]) <= of[2] && gpus_of(&f, &of[3]) <= of[3]);
		if (!fits) {
			missed += isfinite(least);
			continue;
		}
		filled++;
		ck_assert_double_ge(f.load, load.rate_request_per_s * (1 - 1e-9));
		ck_assert_double_ge(cost(&f), least * (1 - 1e-9));
		worst = fmax(worst, cost(&f) / least);
	}
	ck_assert_msg(filled > 150 && missed <= 20 && worst < 1.2,
	    "%d filled, %d missed, at most %.3f times the least cost", filled, missed, worst);
}
END_TEST

Suite *plan_fleet_suite(void);

Suite *
plan_fleet_suite(void)
{
	Suite *s = suite_create("plan_fleet");
	TCase *t = tcase_create("plan_fleet");

	tcase_add_test(t, cheapest_first);
	tcase_add_test(t, rest_goes_where_it_costs_least);
	tcase_add_test(t, setups_of_a_gpu_share_its_number);
	tcase_add_test(t, spares_are_the_largest);
	tcase_add_test(t, growth_is_planned_for);
	tcase_add_test(t, carries_what_can_be_carried_near_the_least_cost);
	suite_add_tcase(s, t);
	return s;
}
