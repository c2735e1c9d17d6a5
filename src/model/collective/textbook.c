/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Textbook formulas of collective algorithms. */
#include "model/collective/collective.h"

/* No textbook has the kernels of serving engines. */
static double
collective_custom(struct sheet *sh, const struct collective_ask *ask)
{
	(void)ask;
	LET(sh, custom_s, 0);
	return custom_s;
}

double
collective_textbook(struct sheet *sh, const struct collective_ask *ask)
{
	FROM(sh, ask, base_s);
	TAKE(sh, n_all, ask->n_ranks);
	double moving_s = 0;
	switch (ask->algorithm) {
#define ALGORITHM(id, text, collectives, nodes, form, scheme, title)                                                   \
	case ALGORITHM_##id:                                                                                           \
		SET_CALL(sh, moving_s, form(sh, ask));                                                                 \
		break;
#include "model/collective/algorithm.def"
#undef ALGORITHM
	case ALGORITHM_AUTO:
	case N_ALGORITHMS:
		break;
	}
	LET(sh, textbook_s, fmin(1, n_all - 1) * base_s + moving_s);
	return textbook_s;
}
