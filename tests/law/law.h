/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The law test: what a sheet must be, and where sheets are got from. */
#ifndef RIDGE_TESTS_LAW_H
#define RIDGE_TESTS_LAW_H

#include "base/base.h"
#include "base/sheet.h"
#include "model/calc/calc.h"
#include "model/collective/collective.h"
#include "model/kernel/kernel.h"
#include "model/layer/layer.h"
#include "model/measured/measured.h"
#include "model/memory/memory.h"
#include "model/serve/serve.h"
#include "model/train/train.h"

#include <stdio.h>

/* What is wrong with what: `subject` and the format of the message make a fault, whatever numbers it has. */
struct fault {
	const char *subject, *format, *text;
};

/* Faults found so far.  One that comes again in another sheet is counted, and printed once. */
struct faults {
	struct arena *arena;
	FILE *to;          /* NULL: just collect */
	const char *where; /* command line or model that is being looked at */
	bool quick;        /* a few inputs only */
	int n, n_rows, n_formulas;
	struct fault *list;
	size_t n_list;
};

void fault_report(struct faults *f, const char *subject, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Hold a sheet against the law; returns the number of faults that it adds to `f`. */
int law_check(const struct sheet *sh, struct faults *f);

/* The same number: bit for bit, or both no number. */
bool same_bits(double a, double b);

/* Sheets that break one law each must be reported. */
void broken_sheets(struct faults *f);
/* Sheets of command lines: every example of every command, and many more. */
void command_sheets(struct faults *f);
/* Every public model, with generated inputs. */
void model_sheets(struct faults *f);
/* No public model is missing in models.def. */
void model_registry(struct faults *f);
/* The MODELS part of ridge-models(7). */
void manual_print(FILE *to);

/* --- models ---------------------------------------------------------------------------------------------- */

/* One set of inputs: numbers by name, entries of the database, and structs made of both. */
struct world {
	unsigned seed;
	const struct workload *any;     /* a model of any kind */
	const struct workload *layers;  /* one with layers */
	const struct block *block;      /* one of its blocks */
	const struct workload *list;    /* one of operators */
	const struct workload *attends; /* one with attention, and a block of it that attends */
	const struct block *attending;
	const struct workload *decoder, *vision;
	const struct workload *trained; /* a decoder whose activations are known */
	enum convention convention;     /* one that fits `decoder` */
	const struct workload *stated;  /* one that says how many parameters it should have */
	const struct gemm_shape *gemm;  /* in a type that `kernel` was fitted for */
	const struct calibration *kernel;
	enum dtype gemm_type;
	enum collective any_collective;
	const struct collective_calibration *ramp;
	const struct network_calibration *network;
	const struct custom_calibration *custom;
	const struct collective_ask *ask;
	const struct collective_plan *plan;
	const struct op *op;
	const struct kv_page *page;
	const struct kv_admission *admission;
	const struct capacity_case *capacity;
	const struct capacity_replica *replica;
	const struct scale_estimate *estimate;
	const struct memory_job *train, *adapt, *serve; /* trained in full, with adapters, served */
	const struct memory_numbers *numbers;
	const struct serve_setup *serving; /* a replica of a serving engine, a layer of what it serves, a load */
	const struct serve_setup *unfused; /* one that runs every operator by itself */
	const struct block *served;
	const struct serve_load *load;
	const struct serve_flow *flow;
	const struct train_job *step;                /* a training step, and one of the blocks of its model */
	const struct block *step_block, *any_routed; /* ..., and one with experts of any model */
	int train_stage, adapt_stage;
	enum moment train_moment, adapt_moment;
};

struct model {
	const char *name, *parameters; /* `a, b`; NULL: takes structs */
	double (*call)(struct sheet *sh, const struct world *x);
	const char *title, *source, *limits;
	const char *section; /* heading: all else is NULL */
};

extern const struct model models[];
extern const size_t n_models;

struct worlds;
struct worlds *worlds_new(struct arena *a, FILE *to);
/* World number `seed` of as many as you like. */
void world_make(struct worlds *all, struct arena *a, unsigned seed, struct world *out);

/* A number for this name: its size by the unit suffix, always the same for one seed. */
double draw(unsigned seed, const char *name);
/* From 0 to n - 1. */
unsigned draw_choice(unsigned seed, const char *name, unsigned n);

/* --- public headers -------------------------------------------------------------------------------------- */

struct prototype {
	const char *header, *name, *parameters; /* `double a, int b`, past the sheet, blanks squeezed */
};

/* Every public function that takes a sheet and returns a number. */
struct prototype *prototypes(struct arena *a, size_t *n);

#endif
