/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of collectives, algorithms and protocols. */
#include "model/collective/collective.h"

#include <string.h>

static const struct {
	const char *name, *title;
} collectives[N_COLLECTIVES] = {
#define COLLECTIVE(id, text, key, title) [COLLECTIVE_##id] = {text, title},
#include "model/hw/collective.def"
#undef COLLECTIVE
};

static const char letters[N_COLLECTIVES + 1] = {
    [COLLECTIVE_ALL_REDUCE] = 'R',
    [COLLECTIVE_ALL_GATHER] = 'G',
    [COLLECTIVE_REDUCE_SCATTER] = 'S',
    [COLLECTIVE_ALL_TO_ALL] = 'A',
    [COLLECTIVE_BROADCAST] = 'B',
    [COLLECTIVE_REDUCE] = 'r',
    [COLLECTIVE_SEND_RECV] = 'p',
};

static const struct {
	const char *name, *collectives;
	int nodes;
} algorithms[N_ALGORITHMS] = {
#define ALGORITHM(id, text, collectives, nodes, ...) [ALGORITHM_##id] = {text, collectives, nodes},
#include "model/collective/algorithm.def"
#undef ALGORITHM
};

const char algorithm_choices[] = "auto"
#define ALGORITHM(id, text, ...) "|" text
#include "model/collective/algorithm.def"
#undef ALGORITHM
    ;

const char *
collective_name(enum collective c)
{
	return collectives[c].name;
}

const char *
algorithm_name(enum algorithm a)
{
	return a == ALGORITHM_AUTO ? "auto" : algorithms[a].name;
}

bool
algorithm_does(enum algorithm a, enum collective c)
{
	return strchr(algorithms[a].collectives, letters[c]) != NULL;
}

bool
algorithm_spans(enum algorithm a, double n_nodes)
{
	return (algorithms[a].nodes & (n_nodes > 1 ? 2 : 1)) != 0;
}

enum algorithm
algorithm_usual(enum collective c)
{
	return c == COLLECTIVE_ALL_TO_ALL || c == COLLECTIVE_SEND_RECV ? ALGORITHM_DIRECT : ALGORITHM_RING;
}
