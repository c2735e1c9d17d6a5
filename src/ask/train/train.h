/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of `ridge train`, bound to a training job. */
#ifndef RIDGE_ASK_TRAIN_TRAIN_H
#define RIDGE_ASK_TRAIN_TRAIN_H

#include "ask/bind/bind.h"
#include "ask/memory/memory.h"
#include "model/layer/layer.h"
#include "model/train/train.h"

struct train_in {
#define TRAIN_JOB_OPTIONS(X)                                                                                           \
	X(0, tokens, "tokens", "tokens", COUNT, "N", "", NULL,                                                         \
	    "training tokens of the run; prints wall time, GPU-hours and cost")                                        \
	X(0, convention, "flops-convention", "flops_convention", CHOICE, "NAME",                                       \
	    "ridge-causal|ridge-full|palm|kaplan|llm-foundry|megatron-bridge|nemo|sc21|sc21-model|bigscience|"         \
	    "bigscience-no-recompute|seqsel|seqsel-hardware",                                                          \
	    "ridge-causal", "FLOPs convention for MFU")                                                                \
	X(0, packed, "packed", "packed", COUNT, "N", "", NULL,                                                         \
	    "mean length of samples packed into a sequence, with attention masked between them")                       \
	X(0, bubbles, "zero-bubble", "zero_bubble", FLAG, "", "", NULL,                                                \
	    "zero-bubble schedule: weight gradients fill the pipeline bubble")                                         \
	X(0, balanced, "balanced-stages", "balanced_stages", FLAG, "", "", NULL,                                       \
	    "balance pipeline stages by time, embedding and LM head included")                                         \
	X(0, node_gpus, "node-gpus", "node_gpus", COUNT, "N", "", NULL, "GPUs per node, when fewer than the system's") \
	X(0, nic, "nic-bandwidth", "nic_bandwidth", RATE, "RATE", "", NULL,                                            \
	    "network bandwidth per GPU, one direction (default: the system's)")                                        \
	X(0, nic_reach, "nic-efficiency", "nic_efficiency", FRACTION, "FRACTION", "", NULL,                            \
	    "network efficiency of collectives (default: as measured)")                                                \
	X(0, power_limit, "power-limit", "power_limit", POWER, "WATT", "", NULL,                                       \
	    "power limit per GPU, when below its TDP")                                                                 \
	X(0, price, "price", "price", PER_HOUR, "USD/h", "", NULL, "price of one GPU (default: the database's)")       \
	X(0, mtbf, "mtbf", "mtbf", TIME, "TIME", "", NULL, "mean time between failures of the job; gives goodput")     \
	X(0, gpu_mtbf, "gpu-mtbf", "gpu_mtbf", TIME, "TIME", "", NULL, "mean time between failures of one GPU")        \
	X(0, write, "checkpoint-time", "checkpoint_time", TIME, "TIME", "", "60s", "stall per checkpoint")             \
	X(0, restart, "restart", "restart", TIME, "TIME", "", "10min", "restart time after a failure")                 \
	X(0, no_memory, "no-memory", "no_memory", FLAG, "", "", NULL, "skip the memory check; predict time only")
/* What a plan may search: it has lists of them. */
#define TRAIN_CHOICE_OPTIONS(X)                                                                                        \
	X(0, dispatcher, "dispatcher", "dispatcher", CHOICE, "HOW", "plain|dedup", NULL,                               \
	    "MoE all-to-all between NVLink domains: each token once per expert, or once per domain (DeepEP)")
#define TRAIN_OPTIONS(X) TRAIN_JOB_OPTIONS(X) TRAIN_CHOICE_OPTIONS(X)
	TRAIN_OPTIONS(OPTION_MEMBER)
};

struct train_question {
	struct memory_question memory;
	const struct train_in *train;
};

/* What the question came to. */
struct train_bound {
	struct train_ask ask;
	struct train_doubts doubts;
	const struct gpu *gpu;
	const struct system *system; /* NULL: not named, and none is known */
	const struct stack *stack;
	struct datum tdp_watt;
	struct memory_job memory; /* the same job as `ridge memory` has it */
	const char *no_memory;    /* why no rule of memory holds for it, or NULL */
};

/* Whether collectives inside a node of it, or of a GPU on the same links, were measured. */
bool run_train_links_measured(struct run *r, const struct gpu *gpu);
/* The domain, network and generation of a GPU's system (`system` NULL: the usual one); what was assumed is listed. */
bool run_train_machine(
    struct run *r, const struct gpu *gpu, const struct system *system, struct train_machine *out, bool *capped);
/* The largest system of the database with this GPU, the vendor's own before others; or NULL. */
const struct system *run_usual_system(struct run *r, const struct gpu *gpu);
/* GPUs that a system joins without a network; where no system is known (NULL): those of a usual node. */
double run_domain_gpus(const struct system *system);
/* Refuses --infer and --use infer. */
bool train_is_training(struct run *r, const struct memory_in *in);
/* GPU, system and machine of the question; false with errors. */
bool run_train_machine_of(struct run *r, const struct train_question *q, struct train_bound *out);
/* Everything; false with errors. */
bool run_train_bind(struct run *r, const struct train_question *q, struct train_bound *out);
/* Whether --dispatcher means something for a layout of the question. */
bool run_train_routes(const struct layout *l, const struct train_bound *b);

/* What a training step comes to, row by row. */

/* The step, its parts, rates and utilization; returns seconds. */
double show_train_step(
    struct run *r, const struct train_question *q, const struct train_bound *b, struct train_answer *a);
/* The 80 % interval of its seconds. */
struct interval train_interval(struct run *r, const struct train_bound *b, const struct train_answer *a);

/*
 * Two layouts compared.  Most of the error of a step is common to all layouts of one framework on one machine and
 * cancels in their ratio.
 */

/* A step by what its error comes from: shares, and the standard deviation of the logarithm of each. */
enum pair_class { PAIR_GEMM, PAIR_ATTENTION, PAIR_COMM, PAIR_ELEMENTWISE, PAIR_HOST, N_PAIR_CLASSES };
struct layout_shares {
	double step_s, frac[N_PAIR_CLASSES];
	const char *unproven; /* what no published run has, as a sentence; NULL: nothing */
};
struct layout_shares layout_shares_of(const struct train_job *job, const struct train_terms *t);
/* Half-width of the 80 % interval of ln(a / b). */
double layout_difference(const struct layout_shares *a, const struct layout_shares *b, bool narrow);

/* What else the answer shows. */

/* What the next 10 % of each would give. */
void show_train_gains(struct run *r, const struct gpu *gpu, const struct train_answer *a);
/* Schedules with a smaller bubble, where the bubble is a good part of the step. */
void show_train_schedules(
    struct run *r, const struct train_question *q, const struct train_bound *b, const struct train_answer *a);
/* Whether what is said of a whole run is whole; false with errors. */
bool train_run_is_whole(struct run *r, const struct train_in *in, double n_gpus);
/* Price of a GPU: given, else the system's, else the GPU's; absent if unknown. */
struct datum run_train_price(struct run *r, const struct train_question *q, const struct train_bound *b);
/* Share of the wall time that trains, of this many GPUs; 1 where nothing was said of failures. */
double train_goodput_of(const struct train_in *in, double n_gpus);
/* Days, GPU hours, money, energy, goodput. */
void show_train_run(struct run *r, const struct train_question *q, const struct train_bound *b,
    const struct train_answer *a, double step_s);
/* Memory of the same layout; ANSWERED_NO when it does not fit. */
enum answer show_train_memory(struct run *r, const struct train_question *q, const struct train_bound *b);
/* Convolutional networks and recommenders: lists of operators. */
bool train_is_list(struct run *r, const struct train_question *q);
enum answer answer_train_list(struct run *r, const struct train_question *q);
/* Assumptions and warnings of train.def. */
void show_train_warnings(struct run *r, const struct train_answer *a);
/* The same, with the typical error and the other dispatcher's time. */
void show_train_doubts(struct run *r, const struct train_bound *b, const struct train_answer *a);

#endif
