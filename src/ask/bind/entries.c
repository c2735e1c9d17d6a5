/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fetch database entries for a command, apply --set, and report assumptions. */
#include "base/base.h"

#include "ask/bind/bind.h"
#include "cli/cli.h"
#include "db/db.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void
add_word(struct run *r, struct words *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->list[i].text, text) == 0)
			return;
	list->list = arena_grow(r->arena, list->list, list->n, list->n + 1, sizeof *list->list);
	list->list[list->n++] = (struct word){text, {0}};
}

static const char *
format_text(struct run *r, const char *format, va_list list)
{
	char buf[600];

	vsnprintf(buf, sizeof buf, format, list);
	return arena_text(r->arena, buf);
}

static void
add_assumption(struct run *r, const char *text, struct asked_input input)
{
	struct assumptions *all = &r->assumed;

	for (size_t i = 0; i < all->n; i++)
		if (strcmp(all->list[i].text, text) == 0)
			return;
	all->list = arena_grow(r->arena, all->list, all->n, all->n + 1, sizeof *all->list);
	all->list[all->n++] = (struct assumption){text, input};
}

void
run_assume(struct run *r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	add_assumption(r, format_text(r, format, list), (struct asked_input){NULL, NULL, NAN});
	va_end(list);
}

void
run_assume_value(struct run *r, const char *option, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	const char *value = format_text(r, format, list);
	va_end(list);
	run_assume_as(r, option, value, "%s %s", option, value);
}

void
run_assume_as(struct run *r, const char *option, const char *value, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	const char *text = format_text(r, format, list);
	va_end(list);
	add_assumption(r, text,
	    inputs_asked(
	        r->command, inputs_path(r->command, arena_text(r->arena, option)), arena_text(r->arena, value)));
}

void
run_warn(struct run *r, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	add_word(r, &r->warnings, format_text(r, format, list));
	va_end(list);
}

const char *
run_word(struct run *r, const char *name, struct word w)
{
	run_read_from(r, w.from);
	if (w.text && w.from.file == inputs_default)
		run_assume_value(r, name, "%s", w.text);
	return w.text;
}

const struct node *
run_overlay(struct run *r, const char *entity)
{
	reads_path(r->reads, entity);
	return inputs_overlay(r->arena, r->command, r->inputs, entity);
}

/* The entry that an alias means; names of a list are no input. */
static void
announce(struct run *r, const char *kind, const char *id, const char *text)
{
	if (id && text && command_option_at(r->command, kind))
		run_assume_as(r, kind, id, "%s", text);
	else if (text)
		run_assume(r, "%s", text);
}

const struct gpu *
run_gpu(struct run *r, struct word name)
{
	const char *said;
	run_read_from(r, name.from);
	const struct gpu *gpu = database_gpu(r->database, name.text, run_overlay(r, "gpu"), name.from, &said);

	announce(r, "gpu", gpu ? gpu->id : NULL, said);
	return gpu;
}

const struct system *
run_system(struct run *r, struct word name)
{
	const char *said;
	run_read_from(r, name.from);
	const struct system *system =
	    database_system(r->database, name.text, run_overlay(r, "system"), run_overlay(r, "gpu"), name.from, &said);

	announce(r, "system", system ? system->id : NULL, said);
	return system;
}

/* A system is sold with several GPUs: `gpu_alternatives` of its file. */
static bool
is_alternative(struct run *r, struct word system, const char *gpu)
{
	const char *id;
	const struct node *list =
	    tree_get(database_try(r->database, ENTRY_SYSTEM, system.text, &id), "gpu_alternatives");

	for (size_t i = 0; list && list->kind == NODE_LIST && i < list->n; i++)
		if (list->items[i]->text && strcmp(list->items[i]->text, gpu) == 0)
			return true;
	return false;
}

bool
run_gpu_name(struct run *r, struct word gpu, struct word system, struct word *out)
{
	const struct system *s = system.text ? run_system(r, system) : NULL;

	*out = gpu;
	if (!system.text)
		return true;
	if (!s)
		return false;
	if (!gpu.text) {
		*out = (struct word){s->gpu->id, system.from};
		return true;
	}
	const struct gpu *named = run_gpu(r, gpu);
	if (!named)
		return false;
	if (strcmp(named->id, s->gpu->id) == 0 || is_alternative(r, system, named->id))
		return true;
	diag_error(r->diag, gpu.from, "%s has %s, not %s", s->id, s->gpu->id, named->id);
	diag_hint(r->diag, "keep one of --gpu and --system");
	return false;
}

const struct link *
run_link(struct run *r, struct word name)
{
	const char *said;
	run_read_from(r, name.from);
	const struct link *link = database_link(r->database, name.text, run_overlay(r, "link"), name.from, &said);

	announce(r, "link", link ? link->id : NULL, said);
	return link;
}

double
run_link_counted(struct sheet *sh, const struct link *l)
{
	double counted_frac;

	if (l && datum_given(l->nccl_byte_per_s) && datum_given(l->byte_per_s)) {
		TAKE(sh, nccl_byte_per_s, l->nccl_byte_per_s);
		TAKE(sh, one_byte_per_s, l->filed ? l->filed->byte_per_s : l->byte_per_s);
		SET_CALL(sh, counted_frac, link_share(sh, nccl_byte_per_s, one_byte_per_s));
	} else if (l && datum_given(l->efficiency_frac)) {
		TAKE(sh, efficiency_frac, l->efficiency_frac);
		SET(sh, counted_frac, efficiency_frac);
	} else
		SET(sh, counted_frac, 1);
	return counted_frac;
}

const struct workload *
run_model(struct run *r, struct word name)
{
	const char *said;
	run_read_from(r, name.from);
	const struct node *overlay = run_overlay(r, "model");
	const struct workload *model = database_model(r->database, name.text, overlay, name.from, &said);

	announce(r, "model", model ? model->id : NULL, said);
	size_t n;
	const char *const *assumed = database_assumed(r->database, name.text, &n);
	for (size_t i = 0; i < n; i++)
		run_assume(r, "%s", assumed[i]);
	if (!model || !r->claims)
		return model;
	const struct workload *filed = overlay ? database_model(r->database, name.text, NULL, name.from, &said) : model;
	return filed && run_claims_hold(r, model, filed) ? model : NULL;
}

const struct calibration *
run_calibration(struct run *r, const char *gpu, const char *backend)
{
	return database_calibration(r->database, gpu, backend);
}

bool
run_dtype(struct run *r, const char *option, struct word name, enum dtype *out)
{
	const char *names[N_DTYPES];

	run_read_from(r, name.from);
	*out = dtype_find(name.text);
	if (*out != DTYPE_NONE)
		return true;
	for (int i = 0; i < N_DTYPES; i++)
		names[i] = dtype_name((enum dtype)i);
	diag_error(r->diag, name.from, "'%s' is not a dtype of %s", name.text, option);
	const char *near = text_nearest(name.text, names, N_DTYPES);
	if (near)
		diag_hint(r->diag, "did you mean '%s'?", near);
	else
		diag_hint(r->diag, "one of %s", DTYPE_CHOICE(P));
	return false;
}

bool
run_peak(struct run *r, const struct gpu *gpu, enum dtype t, struct word asked, struct datum *out)
{
	const enum peak peak = dtype_peak(t);

	*out = gpu->peak_flop_per_s[peak];
	if (datum_given(*out) && !gpu_lacks(gpu, t))
		return true;
	if (datum_given(*out)) {
		diag_error(r->diag, asked.from, "%s has no %s support", gpu->id, dtype_name(t));
		diag_hint(r->diag, "use --dtype %s", peak_name(peak));
		return false;
	}
	diag_error(r->diag, asked.from,
	    gpu->lacks[peak] ? "%s has no %s support" : "the %s peak of %s is not in the database",
	    gpu->lacks[peak] ? gpu->id : peak_name(peak), gpu->lacks[peak] ? peak_name(peak) : gpu->id);
	for (enum peak p = peak_substitute(peak); p != PEAK_NONE; p = peak_substitute(p))
		if (datum_given(gpu->peak_flop_per_s[p])) {
			char rate[40];
			value_write("x_flop_per_s", gpu->peak_flop_per_s[p].value, rate, sizeof rate);
			diag_hint(r->diag, "nearest: --dtype %s at %s", peak_name(p), rate);
			return false;
		}
	for (int p = 0; p < N_PEAKS; p++)
		if (datum_given(gpu->peak_flop_per_s[p])) {
			diag_hint(r->diag, "use --dtype %s", peak_name((enum peak)p));
			return false;
		}
	return false;
}

/* --- shapes -------------------------------------------------------------------------------------------------- */

bool
run_whole(struct run *r, const char *option, struct datum d, double least)
{
	if (!datum_given(d) || (d.value >= least && d.value == floor(d.value) && d.value <= 1e15))
		return true;
	diag_error(r->diag, d.from, "%s must be a whole number of at least %g", option, least);
	diag_hint(r->diag, "write for example 8, 4096 or 8Ki; at most 1e15");
	return false;
}

bool
shape_given(const struct shape_in *in)
{
	return datum_given(in->layers) || datum_given(in->heads) || datum_given(in->kv_heads) ||
	    datum_given(in->head_dim);
}

/* Refuse a model without a growing KV cache, and say which kind it is. */
static const struct workload *
with_cache(struct run *r, struct word name)
{
	static const char *const others[] = {[MODEL_ENCODER] = "an encoder",
	    [MODEL_VISION] = "a vision encoder",
	    [MODEL_OPERATORS] = "a list of operators"};
	const struct workload *w = run_model(r, name);

	if (!w || w->kind == MODEL_DECODER || w->kind == MODEL_ENCODER_DECODER)
		return w;
	diag_error(r->diag, name.from, "%s is %s, which has no KV cache", w->id, others[w->kind]);
	diag_hint(r->diag, "use a decoder with layers, kv_heads and head_dim, or kv_lora and rope (MLA)");
	return NULL;
}

static const struct workload *
made(struct run *r, const struct shape_in *in)
{
	struct workload *w = ARENA_NEW(r->arena, struct workload);
	struct block *b = ARENA_NEW(r->arena, struct block);
	const struct datum absent = datum_absent();
	const bool whole = run_whole(r, "layers", in->layers, 1) & run_whole(r, "heads", in->heads, 1) &
	    run_whole(r, "kv-heads", in->kv_heads, 1) & run_whole(r, "head-dim", in->head_dim, 1);

	if (!datum_given(in->layers) || !datum_given(in->kv_heads) || !datum_given(in->head_dim)) {
		diag_error(
		    r->diag, (struct source){0}, "without a model, --layers, --kv-heads and --head-dim are needed");
		diag_hint(r->diag, "write for example --layers 32 --kv-heads 32 --head-dim 128 (Llama 2 7B)");
		return NULL;
	}
	if (!whole)
		return NULL;
	const struct datum heads = datum_given(in->heads) ? in->heads : in->kv_heads;
	if (fmod(heads.value, in->kv_heads.value) != 0) {
		diag_error(
		    r->diag, heads.from, "%g heads are not a multiple of %g KV heads", heads.value, in->kv_heads.value);
		diag_hint(r->diag, "use for example 32 heads and 8 KV heads");
		return NULL;
	}
	/* a cached row adds up two of these options, so the sheet cannot name either */
	run_reads(r, &in->head_dim, NULL);
	*b = (struct block){.count = in->layers,
	    .attention = {.kind = ATTENTION_HEADS,
	        .kind_name = "gqa",
	        .n_heads = heads,
	        .n_kv_heads = in->kv_heads,
	        .head_dim = in->head_dim,
	        .v_dim = absent,
	        .window = absent,
	        .chunk = absent,
	        .q_lora = absent,
	        .kv_lora = absent,
	        .nope = absent,
	        .rope = absent}};
	*w = (struct workload){.id = "model",
	    .name = "the model",
	    .kind = MODEL_DECODER,
	    .n_layers = in->layers,
	    .hidden = absent,
	    .vocab = absent,
	    .context = absent,
	    .stated_params = absent,
	    .n_blocks = 1,
	    .blocks = b};
	return w;
}

const struct workload *
run_shape(struct run *r, struct word model, const struct shape_in *in)
{
	if (model.text && shape_given(in)) {
		diag_error(r->diag, model.from, "a model excludes --layers, --heads, --kv-heads and --head-dim");
		diag_hint(r->diag, "change a named model with --set model.layers=40");
		return NULL;
	}
	if (model.text)
		return with_cache(r, model);
	if (shape_given(in))
		return made(r, in);
	diag_error(r->diag, (struct source){0}, "no model given");
	diag_hint(r->diag, "give a model ('ridge model list'), or --layers, --kv-heads and --head-dim");
	return NULL;
}

const struct link *
bind_kv_link(struct run *r, struct word name)
{
	const struct link *link = run_link(r, name);

	if (!link || link->byte_per_s.value > 0)
		return link;
	run_refuse(r, name.from, arena_printf(r->arena, "%s has no bandwidth that carries KV caches", link->id),
	    "write for example --kv-link ib-ndr");
	return NULL;
}
