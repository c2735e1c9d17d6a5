/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of `ridge plan train`, bound to a search over layouts. */
#ifndef RIDGE_ASK_PLAN_PLAN_H
#define RIDGE_ASK_PLAN_PLAN_H

#include "ask/launch/launch.h"
#include "ask/train/train.h"
#include "search/layout/layout.h"

/* Degrees as ranges and alternatives: `tp=8,pp=4..16,cp=1/2`. */
struct plan_layout_in {
#define PLAN_LAYOUT_OPTIONS(X)                                                                                         \
	X(0, degrees[DEGREE_DP], NULL, "layout.dp", WORD, "N", "", NULL, "data parallel replicas: 8, 8..64, 8/16")     \
	X(0, degrees[DEGREE_TP], NULL, "layout.tp", WORD, "N", "", NULL, "tensor parallel degree")                     \
	X(0, degrees[DEGREE_PP], NULL, "layout.pp", WORD, "N", "", NULL, "pipeline stages")                            \
	X(0, degrees[DEGREE_VP], NULL, "layout.vp", WORD, "N", "", NULL,                                               \
	    "model chunks per stage (interleaved schedule)")                                                           \
	X(0, degrees[DEGREE_CP], NULL, "layout.cp", WORD, "N", "", NULL, "context parallel degree")                    \
	X(0, degrees[DEGREE_EP], NULL, "layout.ep", WORD, "N", "", NULL, "expert parallel degree")                     \
	X(0, degrees[DEGREE_ETP], NULL, "layout.etp", WORD, "N", "", NULL, "tensor parallel degree inside experts")    \
	X(0, degrees[DEGREE_ZERO], NULL, "layout.zero", WORD, "0..3", "", NULL, "ZeRO stage (default: the stack's)")   \
	X(0, shard, NULL, "layout.shard", COUNT, "N", "", NULL, "GPUs that share one sharded copy (hybrid shard)")     \
	X(0, across, NULL, "layout.across", FLAG, "", "", NULL, "tensor parallel groups may reach beyond one node")
	struct word degrees[N_DEGREES];
	struct datum shard;
	bool across;
};

struct plan_in {
#define PLAN_OPTIONS(X)                                                                                                \
	X(0, verb, NULL, "verb", WORD, "WHAT", "train", NULL, "what is planned: train")                                \
	X(0, top, "top", "top", COUNT, "K", "", "10", "layouts listed")                                                \
	X(0, all, "all", "all", FLAG, "", "", NULL, "list every family of layouts that fits")                          \
	X(0, threads, "threads", "threads", COUNT, "N", "", NULL, "threads of the search (default: all cores)")
	PLAN_OPTIONS(OPTION_MEMBER)
	struct memory_in memory;
	struct plan_layout_in layout;
	struct training_in training;
	struct train_in train;
	struct launch_in launch;
};

/* What the search works on. */
struct plan_question {
	struct layout_space space;
	struct train_question question;
	struct memory_in memory; /* as bound: one GPU, one micro-batch */
	struct layout_in layout; /* nothing said */
	struct train_bound train;
};

/* False with errors. */
bool plan_bind(struct run *r, const struct plan_in *in, struct plan_question *out);
enum answer plan_show(struct run *r, const struct plan_in *in, const struct plan_question *b);

#endif
