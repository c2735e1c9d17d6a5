/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inputs of `ridge cost`, and the questions that have files of their own. */
#ifndef RIDGE_ASK_COST_COST_H
#define RIDGE_ASK_COST_COST_H

#include "cli/cli.h"

#define COST_OPTIONS(X)                                                                                                \
	X(0, gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs paid for (default: those of --nodes)")                  \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "price of one GPU")                                 \
	X(0, node_price, "node-price", "node_price", PER_HOUR, "USD/h", "", NULL,                                      \
	    "price of one node, with --node-gpus")                                                                     \
	X(0, node_gpus, "node-gpus", "node_gpus", COUNT, "N", "", NULL, "GPUs per node (default: those of --system)")  \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU whose dated price in the database is used")          \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL,                                                 \
	    "system whose node price is used; with --own also its purchase price and power")                           \
	X(0, nodes, "nodes", "nodes", COUNT, "N", "", "1", "number of nodes of --system")                              \
	X(0, provider, "provider", "provider", WORD, "TEXT", "", NULL,                                                 \
	    "provider: part of the price's source, such as aws or lambda")                                             \
	X('t', time, "time", "time", TIME, "TIME", "", NULL, "run length (default: a month of 730 hours)")             \
	X(0, bill, "bill", "bill", MONEY, "USD", "", NULL, "amount paid; prints the implied price")                    \
	X(0, budget, "budget", "budget", MONEY, "USD", "", NULL, "maximum cost; exit status 1 above it")               \
	X(0, load, "load", "load", NUMBER, "N", "", NULL, "mean request rate, requests per second")                    \
	X(0, capacity, "capacity", "capacity", WORD, "RATE@GPUS", "", NULL,                                            \
	    "measured capacity: 350@8 is 350 requests per second on 8 GPUs; sizes the fleet for --load")               \
	X(0, utilisation, "utilisation", "utilisation", FRACTION, "FRACTION", "", "0.75",                              \
	    "target utilization of the fleet's capacity")                                                              \
	X(0, isl, "isl", "isl", COUNT, "N", "", NULL, "input sequence length (ISL) of a request")                      \
	X(0, osl, "osl", "osl", COUNT, "N", "", NULL, "output sequence length (OSL) of a request")                     \
	X(0, input_rate, "input-rate", "input_rate", NUMBER, "N", "", NULL,                                            \
	    "prefill throughput of the GPUs, tokens per second, measured alone")                                       \
	X(0, output_rate, "output-rate", "output_rate", NUMBER, "N", "", NULL,                                         \
	    "decode throughput of the GPUs, tokens per second, measured alone")                                        \
	X(0, output_weight, "output-weight", "output_weight", NUMBER, "FACTOR", "", NULL,                              \
	    "cost ratio of an output token to an input token")                                                         \
	X(0, before, "before", "before", MONEY, "USD", "", NULL, "cost before the change")                             \
	X(0, after, "after", "after", MONEY, "USD", "", NULL, "cost after the change")                                 \
	X(0, own, "own", "own", FLAG, "", "", NULL,                                                                    \
	    "compare owning with renting; needs --electricity, and --capital or --system")                             \
	X(0, capital, "capital", "capital", MONEY, "USD", "", NULL, "purchase price of all machines")                  \
	X(0, years, "years", "years", NUMBER, "N", "", "4", "years of use")                                            \
	X(0, residual, "residual", "residual", FRACTION, "FRACTION", "", "0",                                          \
	    "residual value, as a share of the capital")                                                               \
	X(0, power, "power", "power", POWER, "WATT", "", NULL, "mean power of all machines")                           \
	X(0, pue, "pue", "pue", NUMBER, "FACTOR", "", "1.56", "power usage effectiveness of the facility")             \
	X(0, electricity, "electricity", "electricity", PER_ENERGY, "USD/kWh", "", NULL, "electricity price")          \
	X(0, hosting, "hosting", "hosting", MONEY, "USD", "", "0usd", "monthly hosting cost: space, network, staff")   \
	X(0, duty, "duty", "duty", FRACTION, "FRACTION", "", "100%", "share of hours in which the GPUs are needed")

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
