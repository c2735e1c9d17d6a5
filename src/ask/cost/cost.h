/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inputs of `ridge cost`, and the questions that have files of their own. */
#ifndef RIDGE_ASK_COST_COST_H
#define RIDGE_ASK_COST_COST_H

#include "cli/cli.h"

#define COST_OPTIONS(X)                                                                                                \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs that are paid (default: those of --nodes)")             \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "of one GPU")                                       \
	X(0, node_price, "node-price", "node_price", PER_HOUR, "USD/h", "", NULL, "of one node, with --node-gpus")     \
	X(0, node_gpus, "node-gpus", "node_gpus", COUNT, "N", "", NULL, "GPUs of a node (default: those of --system)") \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "price of the database, with its date")                   \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL,                                                 \
	    "the same for a node; with --own also what it costs to buy and its power")                                 \
	X(0, nodes, "nodes", "nodes", COUNT, "N", "", "1", "nodes of --system")                                        \
	X(0, provider, "provider", "provider", WORD, "TEXT", "", NULL, "part of the source of a price: aws, lambda")   \
	X('t', time, "time", "time", TIME, "TIME", "", NULL, "of a run (default: a month of 730 hours)")               \
	X(0, bill, "bill", "bill", MONEY, "USD", "", NULL, "what is paid for it: gives the price that it implies")     \
	X(0, budget, "budget", "budget", MONEY, "USD", "", NULL, "most that it may cost; exit status 1 above it")      \
	X(0, load, "load", "load", NUMBER, "N", "", NULL, "requests per second, on average")                           \
	X(0, capacity, "capacity", "capacity", WORD, "RATE@GPUS", "", NULL,                                            \
	    "requests per second that so many GPUs were measured to carry: 350@8 gives the fleet for --load")          \
	X(0, utilisation, "target-load", "utilisation", FRACTION, "FRACTION", "", "0.75",                              \
	    "most of its capacity that a fleet is planned to use")                                                     \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "tokens of a request's prompt")                                  \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "tokens of its answer")                                          \
	X(0, input_rate, "input-rate", "input_rate", NUMBER, "N", "", NULL,                                            \
	    "prompt tokens per second that the GPUs reach, doing nothing else")                                        \
	X(0, output_rate, "output-rate", "output_rate", NUMBER, "N", "", NULL,                                         \
	    "generated tokens per second that the GPUs reach, doing nothing else")                                     \
	X(0, output_weight, "output-weight", "output_weight", NUMBER, "FACTOR", "", NULL,                              \
	    "time of an output token over that of an input token, to price them apart")                                \
	X(0, before, "before", "before", MONEY, "USD", "", NULL, "two amounts: what is saved from --before")           \
	X(0, after, "after", "after", MONEY, "USD", "", NULL, "to --after")                                            \
	X(0, own, "own", "own", FLAG, "", "", NULL, "own or rent: needs --electricity and --capital or --system")      \
	X(0, capital, "capital", "capital", MONEY, "USD", "", NULL, "price of all machines")                           \
	X(0, years, "years", "years", NUMBER, "N", "", "4", "of use")                                                  \
	X(0, residual, "residual", "residual", FRACTION, "FRACTION", "", "0", "of the capital that is left then")      \
	X(0, power, "power", "power", POWER, "WATT", "", NULL, "average draw of all machines")                         \
	X(0, pue, "pue", "pue", NUMBER, "FACTOR", "", "1.56", "power of the facility over that of its machines")       \
	X(0, electricity, "electricity", "electricity", PER_ENERGY, "USD/kWh", "", NULL, "price of energy")            \
	X(0, hosting, "hosting", "hosting", MONEY, "USD", "", "0usd", "space, network and hands, for a month")         \
	X(0, duty, "duty", "duty", FRACTION, "FRACTION", "", "100%", "part of the hours in which the GPUs are needed")

struct cost_in {
	COST_OPTIONS(OPTION_MEMBER)
};

struct fleet {
	const struct cost_in *in;
	const struct system *system;  /* NULL: not named */
	double n_gpus, gpu_usd_per_s; /* NaN: not known */
	double bill_usd, bill_s;      /* what is paid, and for how long */
	double request_usd;           /* of one request */
};

/* What one GPU costs: as stated, or the price of the database that was asked for; false with an error. */
bool cost_find_base(struct run *r, const struct cost_in *in, struct fleet *f);
/* What the machines cost when they are bought, beside renting as many. */
enum answer cost_own_or_rent(struct run *r, const struct cost_in *in, const struct fleet *f);

#endif
