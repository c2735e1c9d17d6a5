/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regression of one value against a baseline or a limit. */
#include "model/calc/calc.h"

double
compare_lost(struct sheet *sh, double baseline, double current)
{
	GIVEN(sh, baseline, current);
	LET(sh, worse_frac, (baseline - current) / baseline);
	return worse_frac;
}

double
compare_least(struct sheet *sh, double baseline, double threshold_frac)
{
	GIVEN(sh, baseline, threshold_frac);
	LET(sh, limit, baseline * (1 - threshold_frac));
	return limit;
}

double
compare_added(struct sheet *sh, double baseline, double current)
{
	GIVEN(sh, baseline, current);
	LET(sh, worse_frac, (current - baseline) / baseline);
	return worse_frac;
}

double
compare_most(struct sheet *sh, double baseline, double threshold_frac)
{
	GIVEN(sh, baseline, threshold_frac);
	LET(sh, limit, baseline * (1 + threshold_frac));
	return limit;
}

double
compare_of_limit(struct sheet *sh, double current, double limit)
{
	GIVEN(sh, current, limit);
	LET(sh, of_limit_frac, current / limit);
	return of_limit_frac;
}

/* Mann and Whitney, Annals of Mathematical Statistics 18(1), 1947; U over the number of pairs. */
double
compare_worse_frac(struct sheet *sh, double n_worse_pairs, double n_baseline, double n_current)
{
	GIVEN(sh, n_worse_pairs, n_baseline, n_current);
	LET(sh, n_pairs, n_baseline * n_current);
	LET(sh, worse_pair_frac, n_worse_pairs / n_pairs);
	return worse_pair_frac;
}
