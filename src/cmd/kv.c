/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge kv: KV cache size, and how many sequences fit. */
#include "ask/ask.h"
#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "model/layer/layer.h"
#include "model/memory/memory.h"

#include <string.h>

/* --- what an engine decides about the state of a model ---------------------------------------------------- */

/* The type of recurrent states, draft modules, tokens of the encoder. */
struct state_in {
#define STATE_OPTIONS(X)                                                                                               \
	X(0, state_dtype, "state-dtype", "state_dtype", CHOICE, "TYPE", DTYPE_CHOICE(S), NULL,                         \
	    "dtype of recurrent states (default: the model's, or fp32)")                                               \
	X(0, mtp, "mtp", "mtp", COUNT, "N", "", NULL, "MTP modules in use; each adds one layer to the KV cache")       \
	X(0, source, "source-seq", "source_seq", COUNT, "N", "", NULL,                                                 \
	    "encoder-decoder models: source sequence length (default: --seq)")
	STATE_OPTIONS(OPTION_MEMBER)
};

/* Draft modules keep a layer each, of the kind of the last one that attends; compressed attention drafts from its
 * window. */
static bool
add_drafts(struct run *r, struct datum n, struct workload *w)
{
	const int n_blocks = w->n_blocks;

	if (!(w->n_mtp.value > 0) || n.value > w->n_mtp.value) {
		diag_error(r->diag, n.from, "%s has %g MTP modules", w->name, datum_or(w->n_mtp, 0));
		diag_hint(r->diag, "count a module that runs several times once");
		return false;
	}
	struct block *blocks = ARENA_ARRAY(r->arena, struct block, n_blocks + 1);
	memcpy(blocks, w->blocks, (size_t)n_blocks * sizeof *blocks);
	for (int i = n_blocks - 1; i >= 0; i--)
		if (blocks[i].mixer == MIXER_ATTENTION) {
			struct block *draft = &blocks[n_blocks];
			*draft = blocks[i];
			draft->count = n;
			draft->layer = NULL;
			if (draft->attention.kind == ATTENTION_CSA)
				draft->attention.ratio.value = 0;
			w->n_blocks++;
			break;
		}
	w->blocks = blocks;
	return true;
}

/* The model as the engine runs it; NULL with errors. */
static const struct workload *
run_state(struct run *r, const struct state_in *in, const struct workload *model)
{
	struct workload *w = ARENA_NEW(r->arena, struct workload);

	*w = *model;
	if (!(run_whole(r, "--mtp", in->mtp, 0) & run_whole(r, "--source-seq", in->source, 1)))
		return NULL;
	run_reads(r, &in->mtp, &in->source, NULL);
	if (in->state_dtype.text && workload_recurs(w))
		run_reads(r, &in->state_dtype, NULL);
	if (in->state_dtype.text)
		w->state_byte = (struct datum){dtype_byte(dtype_find(in->state_dtype.text)), in->state_dtype.from};
	else if (workload_recurs(w) && !(w->state_byte.value > 0))
		run_assume_value(r, "state-dtype", "fp32");
	if (datum_given(in->source) && w->kind != MODEL_ENCODER_DECODER) {
		diag_error(r->diag, in->source.from, "%s has no encoder", w->name);
		diag_hint(r->diag, "leave --source-seq out");
		return NULL;
	}
	if (datum_given(in->source))
		w->source_token = in->source;
	if (in->mtp.value > 0 && !add_drafts(r, in->mtp, w))
		return NULL;
	return w;
}

/* --- what a model keeps of a sequence, by kind of layer ----------------------------------------------------- */

struct state_view {
	const struct workload *w;
	double seq_token, block_token, kv_elem_byte, tp;
	struct datum batch, step_token; /* sequences that run at once; tokens of a step, or absent */
};

/* A line for each kind of layer that keeps something: what grows and what does not. */
static void
show_layers(struct run *r, const struct state_view *v)
{
	struct sheet *sh = r->sheet;
	const struct workload *w = v->w;
	const double seq_token = v->seq_token, block_token = v->block_token;

	for (int i = 0; i < w->n_blocks && w->n_blocks > 1; i++) {
		const struct block *b = &w->blocks[i];
		if (b->mixer == MIXER_NONE)
			continue;
		SCOPE_I (sh, "layers", i) {
			TELL(sh, kind, reach_text(r->arena, b));
			TAKE(sh, n_layers, b->count);
			CALL(sh, grows_byte_per_token, kv_block_slope(sh, w, b, v->kv_elem_byte, v->tp));
			CALL(sh, constant_byte, kv_block_constant(sh, w, b, block_token, v->kv_elem_byte, v->tp));
			CALL(sh, layers_byte,
			    kv_block_sequence(sh, w, b, seq_token, block_token, v->kv_elem_byte, v->tp));
			SHOW(sh, n_layers, n_layers);
			SHOW(sh, grows_byte_per_token, kv_byte_per_token);
			SHOW(sh, constant_byte, kv_constant_byte);
			SHOW(sh, layers_byte, kv_sequence_byte);
		}
	}
}

/* Engines that serve hybrids: a slot of states for every running sequence, and one page size for both kinds of layer.
 */
static void
show_slots(struct run *r, const struct state_view *v)
{
	struct sheet *sh = r->sheet;
	const struct block *b = workload_attention(v->w);

	if (!workload_recurs(v->w))
		return;
	CALL(sh, state_byte, state_sequence(sh, v->w, v->tp));
	TAKE(sh, n_slots, v->batch);
	CALL(sh, slots_byte, state_slots(sh, n_slots, state_byte));
	SHOW(sh, state_byte, state_byte);
	if (n_slots > 1)
		SHOW(sh, slots_byte, slot_byte);
	if (!b || !datum_given(block_heads(b)) || !(kv_slope(NULL, v->w, v->kv_elem_byte, v->tp) > 0))
		return;
	CALL(sh, page_byte, state_page(sh, v->w, v->tp));
	CALL(sh, layer_byte_per_token, kv_layer(sh, v->w, b, v->kv_elem_byte, v->tp));
	CALL(sh, page_token, state_block(sh, page_byte, layer_byte_per_token, v->block_token));
	CALL(sh, grows_byte_per_token, kv_slope(sh, v->w, v->kv_elem_byte, v->tp));
	CALL(sh, last_block_byte, state_waste(sh, page_token, grows_byte_per_token));
	SHOW(sh, page_byte, page_byte);
	SHOW(sh, page_token, page_token);
	SHOW(sh, last_block_byte, page_waste_byte);
}

static void
show_admission(struct run *r, const struct state_view *v)
{
	struct sheet *sh = r->sheet;
	const struct kv_admission at = {v->seq_token, v->step_token.value, v->block_token};

	if (!datum_given(v->step_token))
		return;
	CALL(sh, admitted_byte, kv_admitted(sh, v->w, &at, v->kv_elem_byte, v->tp));
	SHOW(sh, admitted_byte, admit_byte);
}

static void
show_sharing(struct run *r, const struct workload *w)
{
	struct sheet *sh = r->sheet;
	const struct block *b = workload_attention(w);

	if (!b)
		return;
	CALL(sh, sharing, kv_sharing(sh, w, b));
	if (sharing > 1)
		SHOW(sh, sharing, mha_reduction);
}

/* Show the rows behind those of one sequence. */
static void
state_show(struct run *r, const struct state_view *v)
{
	show_sharing(r, v->w);
	show_layers(r, v);
	show_slots(r, v);
	show_admission(r, v);
}

/* --- the command ------------------------------------------------------------------------------------------- */

#define KV_OPTIONS(X)                                                                                                  \
	X('m', model, "model", "model", WORD, "MODEL", "model", NULL, "model: name in the database, or file")          \
	X('g', gpu, "gpu", "gpu", WORD, "NAME", "gpu", NULL, "GPU that holds weights and KV cache")                    \
	X(0, system, "system", "system", WORD, "NAME", "system", NULL, "system, to take its GPU")                      \
	X('n', gpus, "gpus", "gpus", COUNT, "N", "", NULL, "GPUs of one replica: --layout tp=N")                       \
	X(0, gpu_mem, "gpu-mem", "gpu_mem", SIZE, "SIZE", "", NULL, "GPU memory, instead of the database's figure")    \
	X('s', seq, "seq", "seq", COUNT, "N", "", NULL,                                                                \
	    "sequence length in tokens (default 4096, or the model's context length)")                                 \
	X('b', batch, "batch", "batch", COUNT, "N", "", "1", "concurrent sequences")                                   \
	X(0, engine, "engine", "engine", WORD, "NAME", "engine", NULL,                                                 \
	    "serving engine, for its block size and memory share (default: trtllm; vllm on AMD)")                      \
	X(0, dtype, "dtype", "dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), "bf16", "dtype of weights and GEMMs")           \
	X(0, kv_dtype, "kv-dtype", "kv_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                                  \
	    "KV cache dtype (default: as published, or the engine's default)")                                         \
	X(0, weights_dtype, "weights-dtype", "weights_dtype", CHOICE, "TYPE", DTYPE_CHOICE(W), NULL,                   \
	    "weight dtype (default: as published, or --dtype); embedding and LM head stay in 16 bits")                 \
	X(0, weights, "weights", "weights", SIZE, "SIZE", "", NULL, "weight memory, instead of the model's")           \
	X(0, block, "block", "block", COUNT, "N", "", NULL,                                                            \
	    "KV cache block size in tokens; 1 for no paging (default: the engine's)")                                  \
	X(0, max_seq, "max-seq", "max_seq", COUNT, "N", "", NULL,                                                      \
	    "tokens per sequence a contiguous KV cache reserves")                                                      \
	X(0, used, "used", "used", COUNT, "N", "", NULL, "tokens used of --max-seq (default: --seq)")                  \
	X(0, batch_tokens, "batch-tokens", "batch_tokens", COUNT, "N", "", NULL,                                       \
	    "maximum tokens per engine step; prints the memory an admitted sequence reserves")                         \
	X(0, headroom, "headroom", "headroom", FRACTION, "FRACTION", "", NULL,                                         \
	    "share of memory left free for activations, workspace and fragmentation, instead of the engine's rule")

struct kv_in {
	KV_OPTIONS(OPTION_MEMBER)
	struct shape_in shape;
	struct state_in state;
	struct layout_in layout;
};

#define THIS struct kv_in
static const struct option kv_options[] = {KV_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct shape_in
static const struct option shape_rows[] = {SHAPE_OPTIONS(OPTION_ROW)};
#undef THIS
#define THIS struct state_in
static const struct option state_rows[] = {STATE_OPTIONS(OPTION_ROW)};
#undef THIS

/* What the models are asked about. */
struct kv_case {
	const struct workload *w;
	const struct gpu *gpu;
	const struct engine *engine;
	struct formats formats;
	struct memory_job job; /* one sequence, served */
	struct layout layout;
	struct datum seq, used;
};

/* 4096 tokens, or what the model holds. */
static struct datum
default_seq(const struct workload *w)
{
	return (struct datum){fmin(4096, datum_or(w->context, 4096)), {"default", 0, 0, NULL, false}};
}

/* The cache is counted for one tensor-parallel group.  Other degrees in a job file, and its number of GPUs if it has a
 * layout, describe the whole job: a job of another command may have them (cli/values.c). */
static bool
group_layout(struct run *r, const struct kv_in *in, struct layout_in *out)
{
	const struct layout_in *l = &in->layout;
	const bool split = l->fsdp || datum_given(l->tp) || datum_given(l->dp) || datum_given(l->pp) ||
	    datum_given(l->cp) || datum_given(l->zero);
	const bool of_job = datum_given(in->gpus) && in->gpus.from.line > 0 && split;
	const struct {
		const char *name;
		struct datum given;
	} others[] = {{"pp", in->layout.pp}, {"vp", in->layout.vp}, {"cp", in->layout.cp}, {"etp", in->layout.etp},
	    {"zero", in->layout.zero}, {"shard", in->layout.shard}};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		const struct datum d = others[i].given;
		if (!datum_given(d) || !(d.value > 1) || d.from.line > 0)
			continue;
		diag_error(r->diag, d.from,
		    "layout.%s has no effect: the KV cache is counted for one tensor-parallel group", others[i].name);
		diag_hint(r->diag, "use only tp; 'ridge memory' also splits layers and sequences");
		return false;
	}
	struct layout_in group = *l;
	group.dp = group.pp = group.vp = group.cp = group.etp = group.zero = group.shard = datum_absent();
	group.fsdp = false;
	if (l->ep.from.line > 0 && fmod(datum_or(l->tp, 1), l->ep.value) != 0)
		group.ep = datum_absent();
	return bind_replica(r, &group, of_job ? datum_absent() : in->gpus, out);
}

/* What an engine would make of it: its blocks and, on a GPU, its room. */
static bool
bind_serving(struct run *r, const struct kv_in *in, struct kv_case *q)
{
	const bool placed = q->gpu || datum_given(in->gpu_mem);
	/* without a GPU the weights are not needed */
	const struct formats_in types = {
	    in->dtype, placed ? in->weights_dtype : (struct word){0}, in->kv_dtype, datum_absent(), datum_absent()};
	struct room_in room = {in->headroom, datum_absent(), in->block, in->batch_tokens};
	const struct datum one = {1, {0}}, usual = {0.2, {0}};

	/* the cache by itself, with no engine named: the blocks of most engines */
	if (!placed && !in->engine.text && !datum_given(in->block))
		room.block = (struct datum){16, {inputs_default, 0, 0, "--block", false}};
	q->engine = bind_engine(r, in->engine, q->gpu);
	if (!q->engine || !bind_formats(r, &types, q->w, q->gpu, q->engine, &q->formats))
		return false;
	/* the activations of a bare shape are not known */
	if (!in->model.text && datum_given(in->weights) && !datum_given(in->headroom)) {
		room.headroom = usual;
		run_assume_value(r, "headroom", "%g%%", 100 * usual.value);
	}
	q->job = (struct memory_job){.model = q->w,
	    .layout = q->layout,
	    .batch = one,
	    .seq = q->seq,
	    .stated_weight = datum_given(in->weights) ? &in->weights : NULL};
	q->job.layout.etp = q->layout.tp / q->layout.ep;
	return bind_room(r, &room, &q->engine->memory, &q->formats, bind_card(r, q->gpu, in->gpu_mem), &q->job);
}

static bool
bind(struct run *r, const struct kv_in *in, struct kv_case *q)
{
	const bool whole = run_whole(r, "seq", in->seq, 1) & run_whole(r, "batch", in->batch, 0) &
	    run_whole(r, "block", in->block, 1) & run_whole(r, "max-seq", in->max_seq, 1) &
	    run_whole(r, "used", in->used, 1) & run_whole(r, "batch-tokens", in->batch_tokens, 1);

	q->w = run_shape(r, in->model, &in->shape);
	q->w = q->w ? run_state(r, &in->state, q->w) : NULL;
	struct word gpu;
	if (!run_gpu_name(r, in->gpu, in->system, &gpu))
		return false;
	q->gpu = gpu.text ? run_gpu(r, gpu) : NULL;
	struct layout_in group;
	if (!whole || !q->w || (gpu.text && !q->gpu) || !group_layout(r, in, &group) ||
	    !run_layout(r, &group, datum_absent(), q->w, &q->layout))
		return false;
	run_reads(r, &in->layout.tp, &in->layout.adp, NULL);
	if (datum_given(group.ep))
		run_reads(r, &in->layout.ep, NULL);
	if (in->layout.tp.value > 8)
		run_reads(r, &in->layout.across, NULL);
	run_reads(r, &in->seq, &in->max_seq, &in->batch, &in->batch_tokens, NULL);
	if (q->gpu || datum_given(in->gpu_mem))
		run_reads(r, &in->weights, &in->gpu_mem, NULL);
	if (datum_given(in->max_seq))
		run_reads(r, &in->used, NULL);
	q->seq = datum_given(in->seq) ? in->seq : datum_given(in->used) ? in->used : default_seq(q->w);
	q->used = datum_given(in->used) ? in->used : q->seq;
	if (!datum_given(in->seq) && !datum_given(in->used))
		run_assume_value(r, "seq", "%g", q->seq.value);
	if (datum_given(in->max_seq) && q->used.value > in->max_seq.value) {
		diag_error(r->diag, q->used.from, "--used %g exceeds --max-seq %g", q->used.value, in->max_seq.value);
		diag_hint(r->diag, "write --max-seq %g or more", q->used.value);
		return false;
	}
	if ((q->gpu || datum_given(in->gpu_mem)) && in->shape.layers.value > 0 && !datum_given(in->weights)) {
		diag_error(r->diag, in->gpu.from, "the KV cache capacity of a GPU depends on the weights");
		diag_hint(r->diag, "add --weights 14GB, or --weights 0B to ignore weights");
		return false;
	}
	return bind_serving(r, in, q);
}

static void
remark_attention(struct run *r, const struct kv_case *q, const struct kv_in *in, const struct attention *a)
{
	if (a->kind == ATTENTION_CSA && in->kv_dtype.text)
		run_warn(r, "compressed tokens use 8 bits with a 16-bit RoPE part; --kv-dtype has no effect on them");
	if (q->layout.tp > 1 && attention_is_latent(a))
		run_warn(r, "MLA latents are shared by all heads: every tensor-parallel GPU holds the whole KV cache");
	else if (q->layout.tp > 1 && a->kind == ATTENTION_CSA)
		run_warn(r, "compressed tokens are shared by all heads: every tensor-parallel GPU holds all of them");
	else if (q->layout.tp > a->n_kv_heads.value)
		run_warn(r, "tp=%g exceeds the %g KV heads: some are replicated", q->layout.tp, a->n_kv_heads.value);
}

static void
remark(struct run *r, const struct kv_case *q, const struct kv_in *in)
{
	const struct block *b = workload_attention(q->w);

	if (datum_given(q->w->context) && q->seq.value > q->w->context.value)
		run_warn(
		    r, "sequence length %g exceeds the model's context length %g", q->seq.value, q->w->context.value);
	if (b)
		remark_attention(r, q, in, &b->attention);
	if (q->w->kind == MODEL_ENCODER_DECODER && !(q->w->source_token.value > 0))
		run_assume(r, "source sequence length equal to --seq");
}

/* Rows that describe one sequence; returns its bytes in blocks. */
static double
show_sequence(struct run *r, const struct kv_in *in, const struct kv_case *q, double kv_elem_byte, double tp)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, seq_token, q->seq);
	TAKE(sh, block_token, q->job.block_token);
	SHOW(sh, seq_token, seq_token);
	CALL(sh, kv_byte_per_token, kv_slope(sh, q->w, kv_elem_byte, tp));
	CALL(sh, constant_byte, kv_constant(sh, q->w, block_token, kv_elem_byte, tp));
	CALL(sh, sequence_byte, kv_sequence(sh, q->w, seq_token, block_token, kv_elem_byte, tp));
	CALL(sh, recomputed_token, kv_recomputed(sh, seq_token));
	if (workload_attends(q->w))
		SHOW(sh, kv_byte_per_token, kv_byte_per_token);
	if (constant_byte > 0)
		SHOW(sh, constant_byte, kv_constant_byte);
	SHOW(sh, sequence_byte, kv_sequence_byte);
	state_show(r,
	    &(struct state_view){.w = q->w,
	        .seq_token = q->seq.value,
	        .block_token = q->job.block_token.value,
	        .batch = in->batch,
	        .step_token = in->batch_tokens,
	        .kv_elem_byte = kv_elem_byte,
	        .tp = tp});
	return sequence_byte;
}

/* A bare shape: what the headroom leaves. */
static double
plain_room(struct run *r, const struct kv_case *q)
{
	struct sheet *sh = r->sheet;

	TAKE(sh, mem_byte, q->job.card_byte);
	TAKE(sh, headroom_frac, q->job.headroom_frac);
	TAKE(sh, weight_byte, *q->job.stated_weight);
	CALL(sh, gpu_weight_byte, capacity_share(sh, weight_byte, q->layout.tp));
	CALL(sh, space_byte, kv_space(sh, mem_byte, headroom_frac, gpu_weight_byte));
	return space_byte;
}

static enum answer
show_room(struct run *r, const struct kv_in *in, const struct kv_case *q, double kv_elem_byte, double tp)
{
	struct sheet *sh = r->sheet;
	double space_byte;

	TAKE(sh, mem_byte, q->job.card_byte);
	CALL(sh, weight_byte, memory_weights(sh, &q->job, 0));
	if (in->model.text)
		SET_CALL(sh, space_byte, memory_kv_pool(sh, &q->job));
	else
		SET_CALL(sh, space_byte, plain_room(r, q));
	CALL(sh, capacity_token, memory_pool_tokens(sh, &q->job, space_byte));
	CALL(sh, n_sequences_fit, memory_pool_sequences(sh, &q->job, space_byte));
	SHOW(sh, mem_byte, gpu_mem_byte);
	SHOW(sh, weight_byte, weight_byte);
	SHOW(sh, space_byte, kv_room_byte);
	SHOW(sh, capacity_token, kv_capacity_token);
	SHOW(sh, n_sequences_fit, n_max_sequences);
	if (datum_given(in->max_seq)) {
		CALL(sh, reserved_byte, kv_sequence(sh, q->w, in->max_seq.value, 1, kv_elem_byte, tp));
		CALL(sh, n_sequences_reserved, kv_capacity_sequences(sh, space_byte, reserved_byte));
		SHOW(sh, n_sequences_reserved, n_prealloc_sequences);
	}
	const bool fits = in->batch.value <= n_sequences_fit && space_byte > 0;
	TELL(sh, verdict, fits ? "fits" : "does not fit");
	return fits ? ANSWERED : ANSWERED_NO;
}

static enum answer
kv_run(struct run *r, const void *input)
{
	const struct kv_in *in = input;
	struct sheet *sh = r->sheet;
	struct kv_case q;

	if (!bind(r, in, &q))
		return REFUSED;
	remark(r, &q, in);
	TAKE(sh, kv_elem_byte, q.job.kv_elem_byte);
	TAKE(sh, tp, q.layout.adp ? 1 : q.layout.tp);
	TAKE(sh, n_sequences, in->batch);
	r->title =
	    arena_printf(r->arena, q.layout.tp > 1 ? "%s of %s in %s%s%s, on each of %g GPUs" : "%s of %s in %s%s%s",
	        workload_recurs(q.w) ? "KV cache and states" : "KV cache", q.w->name, dtype_name(q.formats.kv),
	        q.gpu ? " on " : "", q.gpu ? q.gpu->name : "", q.layout.tp);
	const double sequence_byte = show_sequence(r, in, &q, kv_elem_byte, tp);
	CALL(sh, batch_byte, kv_batch(sh, n_sequences, sequence_byte));
	if (n_sequences != 1)
		SHOW(sh, batch_byte, batch_byte);
	if (datum_given(in->max_seq)) {
		const struct kv_page page = {q.used.value, in->max_seq.value, q.job.block_token.value};
		CALL(sh, paging, kv_paging(sh, q.w, &page, kv_elem_byte, tp));
		(void)paging;
	}
	return datum_given(q.job.card_byte) ? show_room(r, in, &q, kv_elem_byte, tp) : ANSWERED;
}

static const struct option_group kv_groups[] = {
    OPTION_GROUP(kv_options, 0),
    OPTION_GROUP(shape_rows, offsetof(struct kv_in, shape)),
    OPTION_GROUP(state_rows, offsetof(struct kv_in, state)),
    OPTION_GROUP(layout_rows, offsetof(struct kv_in, layout)),
};

static const struct example kv_examples[] = {
    {"kv llama3-70b --seq 8192", "KV cache per sequence", 0},
    {"kv llama3-70b --gpu a100 --seq 8192 --batch 32 --layout tp=8", "capacity next to the weights on eight A100", 0},
    {"kv --layers 32 --kv-heads 32 --head-dim 128 --seq 500 --max-seq 8192", "memory saved by paging", 0},
    {"kv qwen3-next-80b --batch 64 --state-dtype bf16", "hybrid model: KV cache and recurrent states", 0},
    {"kv gpt-oss-120b --sweep seq=1024..131072*2", "model with sliding-window attention", 0},
    {"kv llama2-7b --gpu a100 --batch 64 --solve seq --until 'batch_byte <= space_byte'", "longest sequences that fit",
        0},
};

const struct command kv_command = {
    .name = "kv",
    .section = "Memory",
    .summary = "KV cache size, and how many tokens and sequences fit",
    .operands = "model",
    .usage = "[MODEL|JOB]",
    COUNTED(groups, kv_groups),
    COUNTED(examples, kv_examples),
    .input_size = sizeof(struct kv_in),
    .run = kv_run,
};
