/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A serving question answered whole, without a sheet: what fits, how fast it goes, and whether to believe it. */
#ifndef RIDGE_SERVE_ANSWER_H
#define RIDGE_SERVE_ANSWER_H

#include "ridge/serve_load.h"
#include "ridge/serve_unfused.h"

enum serve_regime {
	SERVE_OFFLINE, /* all requests are there; n_requests of the load, or without end */
	SERVE_CLOSED,  /* n_concurrent clients, each with its next request when it has the answer and has thought */
	SERVE_ONLINE,  /* requests arrive at random */
	SERVE_STATIC,  /* one batch from beginning to end */
	SERVE_PROMPT,  /* prompts alone: time to the first token of a batch */
	SERVE_ENCODE,  /* one pass of an encoder over a batch */
};

struct serve_question {
	const struct serve_setup *setup;
	const struct gpu *gpu;
	enum serve_regime regime;
	struct serve_load load;
	double n_batch;            /* static batches, prompts, encoders */
	double rate_request_per_s; /* online */
	double think_s;            /* closed: between an answer and the client's next request, on average */
	bool row_split;            /* GPUs share every matrix by rows, as llama.cpp did in 2023 */
};

/* Seconds, tokens and rates of one replica; NaN: does not apply. */
struct serve_metrics {
	bool fits, saturated;
	double weight_byte, pool_token; /* one GPU; the replica */
	double n_running;
	double first_s;  /* to the first token */
	double step_s;   /* between tokens */
	double answer_s; /* a whole request */
	double output_token_per_s, prompt_token_per_s, request_per_s;
	double saturation_request_per_s;
	struct serve_flow flow;   /* of requests that come and go */
	struct serve_batch batch; /* the step that most of the time is spent in */
	struct serve_terms terms; /* its parts */
};

/* What limits: `memory bandwidth`, `compute`, `communication`, `host`, `KV capacity`. */
const char *serve_bound(const struct serve_question *q, const struct serve_metrics *m);
void serve_answer(const struct serve_question *q, struct serve_metrics *out);
/* What prompts of an engine run on that runs every operator by itself. */
struct unfused_gpu serve_unfused_gpu(const struct serve_setup *s, const struct gpu *gpu);

/* --- whether to believe it ------------------------------------------------------------------------------- */

enum serve_trust { SERVE_TRUSTED, SERVE_WARNED, SERVE_REFUSED };
enum { SERVE_MOST_REASONS = 12 };

struct serve_judgement {
	enum serve_trust trust; /* the worst of the reasons */
	int n;
	const char *reasons[SERVE_MOST_REASONS];
};

struct serve_judgement serve_judge(const struct serve_question *q, const struct serve_metrics *m);

/* What a tenth more of each would gain: output tokens per second (or prompts) over what there is, minus one. */
struct serve_gains {
	double mem_bandwidth, arithmetic, links, host;
};
struct serve_gains serve_elasticity(const struct serve_question *q);

#endif
