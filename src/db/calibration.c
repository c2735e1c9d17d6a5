/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Read calibration files.  They hold fractions of the reference figures they were fitted against (`relative_to`).  The
 * two are multiplied here, once, so that no model combines a fraction with the wrong datasheet figure.
 */
#include "db/parts.h"

#include <string.h>

static const struct field reference_fields[] = {
#define PEAK(id, text, substitute, title)                                                                              \
	FIGURE_OF(struct reference, "peak_" text, Q_PEAK, peak_flop_per_s[PEAK_##id], 1e9, 1e18, title),
#include "model/hw/dtype.def"
#undef PEAK
    FIGURE_OF(struct reference, "hbm", Q_RATE, mem_byte_per_s, 1e10, 1e15, "memory bandwidth"),
    FIGURE_OF(struct reference, "clock", Q_CLOCK, clock_hertz, 1e8, 1e10, "SM clock"),
    FIGURE_OF(struct reference, "l2", Q_SIZE, l2_byte, 1e5, 1e10, "L2 cache"),
    FIGURE_OF(struct reference, "sms", Q_COUNT, n_sms, 1, 1e4, "streaming multiprocessors"),
};
SCHEMA(reference_schema, "'relative_to'", struct reference, reference_fields);

/* A family's rows; OF is its struct. */
#define ROW(key, member, form, otherwise, low, high, start, least, most, title)                                        \
	FAMILY_FIELD(OF, key, member, form, (otherwise) == ALWAYS, low, high, title),

#define GEMM ROW
#define OF struct gemm_calibration
static const struct field gemm_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(gemm_schema, "a GEMM calibration", OF, gemm_fields);
#undef OF
#undef GEMM

#define NCCL ROW
#define OF struct collective_calibration
static const struct field collective_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(collective_schema, "a collective's calibration", OF, collective_fields);
#undef OF
#undef NCCL

#define CUSTOM ROW
#define OF struct custom_file
static const struct field custom_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(custom_schema, "'custom_all_reduce'", OF, custom_fields);
#undef OF
#undef CUSTOM

#define CONTEXT ROW
#define OF struct context_calibration
static const struct field context_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(context_schema, "'context'", OF, context_fields);
#undef OF
#undef CONTEXT

#define GENERATION ROW
#define OF struct generation_calibration
static const struct field generation_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(generation_schema, "'generation'", OF, generation_fields);
#undef OF
#undef GENERATION

#define MOE ROW
#define OF struct moe_calibration
static const struct field moe_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(moe_kernel_schema, "an MoE calibration", OF, moe_fields);
#undef OF
#undef MOE

#define NETWORK ROW
#define OF struct network_calibration
static const struct field network_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(network_schema, "a network's calibration", OF, network_fields);
#undef OF
#undef NETWORK

#define LAUNCH ROW
#define OF struct launch_calibration
static const struct field launch_fields[] = {
#include "model/hw/calibration.def"
};
SCHEMA(launch_schema, "'launch'", OF, launch_fields);
#undef OF
#undef LAUNCH

/* Maps whose keys are dtypes or collectives. */
#define DTYPE(id, text, ...)                                                                                           \
	{.key = text, .kind = FIELD_MAP, .sub = &KERNEL, .offset = offsetof(struct fit_file, MEMBER[DTYPE_##id])},
#define KERNEL gemm_schema
#define MEMBER fig.by_dtype
static const struct field by_dtype_fields[] = {
#include "model/hw/dtype.def"
};
#undef KERNEL
#undef MEMBER
SCHEMA(by_dtype_schema, "'gemm_by_dtype'", struct fit_file, by_dtype_fields);

#define KERNEL gemm_schema
#define MEMBER fig.weight_only
static const struct field weight_only_fields[] = {
#include "model/hw/dtype.def"
};
#undef KERNEL
#undef MEMBER
SCHEMA(weight_only_schema, "'weight_only'", struct fit_file, weight_only_fields);

#define KERNEL moe_kernel_schema
#define MEMBER fig.moe
static const struct field moe_by_dtype_fields[] = {
#include "model/hw/dtype.def"
};
#undef KERNEL
#undef MEMBER
SCHEMA(moe_by_dtype_schema, "'moe'", struct fit_file, moe_by_dtype_fields);

#define KERNEL moe_kernel_schema
#define MEMBER fig.moe_weight_only
static const struct field moe_weight_only_fields[] = {
#include "model/hw/dtype.def"
};
#undef KERNEL
#undef MEMBER
SCHEMA(moe_weight_only_schema, "'moe_weight_only'", struct fit_file, moe_weight_only_fields);
#undef DTYPE

static const struct field collectives_fields[] = {
#define COLLECTIVE(id, text, key_, title)                                                                              \
	{.key = key_,                                                                                                  \
	    .kind = FIELD_MAP,                                                                                         \
	    .sub = &collective_schema,                                                                                 \
	    .offset = offsetof(struct fit_file, fig.collective[COLLECTIVE_##id]),                                      \
	    .help = title},
#include "model/hw/calibration.def"
#undef COLLECTIVE
};
SCHEMA(collectives_schema, "'collective'", struct fit_file, collectives_fields);

static const struct field networks_fields[] = {
#define COLLECTIVE(id, text, key_, title)                                                                              \
	{.key = key_,                                                                                                  \
	    .kind = FIELD_MAP,                                                                                         \
	    .sub = &network_schema,                                                                                    \
	    .offset = offsetof(struct fit_file, fig.network[COLLECTIVE_##id]),                                         \
	    .help = title},
#include "model/hw/calibration.def"
#undef COLLECTIVE
};
SCHEMA(networks_schema, "'network'", struct fit_file, networks_fields);

static const struct field attention_fields[] = {
    {.key = "context", .kind = FIELD_MAP, .sub = &context_schema, .offset = offsetof(struct fit_file, fig.context)},
    {.key = "generation",
        .kind = FIELD_MAP,
        .sub = &generation_schema,
        .offset = offsetof(struct fit_file, fig.generation)},
};
SCHEMA(attention_files_schema, "'attention'", struct fit_file, attention_fields);

#define ATTENTION(id, text, head_dim, elem_byte, kv_elem_byte)                                                         \
	static const struct field attention_##id##_fields[] = {                                                        \
	    {.key = "context",                                                                                         \
	        .kind = FIELD_MAP,                                                                                     \
	        .sub = &context_schema,                                                                                \
	        .offset = offsetof(struct fit_file, fig.context_by[ATTENTION_FIT_##id])},                              \
	    {.key = "generation",                                                                                      \
	        .kind = FIELD_MAP,                                                                                     \
	        .sub = &generation_schema,                                                                             \
	        .offset = offsetof(struct fit_file, fig.generation_by[ATTENTION_FIT_##id])},                           \
	};                                                                                                             \
	SCHEMA(attention_##id##_schema, "'attention_by'", struct fit_file, attention_##id##_fields);
#include "model/hw/calibration.def"
#undef ATTENTION
static const struct field attention_by_fields[] = {
#define ATTENTION(id, text, head_dim, elem_byte, kv_elem_byte)                                                         \
	{.key = text, .kind = FIELD_MAP, .sub = &attention_##id##_schema},
#include "model/hw/calibration.def"
#undef ATTENTION
};
SCHEMA(attention_by_schema, "'attention_by'", struct fit_file, attention_by_fields);

static const struct field mla_fields[] = {
    {.key = "note", .kind = FIELD_IGNORED, .help = "source, when not the rows of `data`"},
    {.key = "context", .kind = FIELD_MAP, .sub = &context_schema, .offset = offsetof(struct fit_file, fig.mla_context)},
    {.key = "generation",
        .kind = FIELD_MAP,
        .sub = &generation_schema,
        .offset = offsetof(struct fit_file, fig.mla_generation)},
};
SCHEMA(mla_schema, "'mla'", struct fit_file, mla_fields);

static const struct field fma_fields[] = {
#define PEAK(id, text, substitute, title)                                                                              \
	FIGURE_OF(struct fit_file, text, Q_PEAK, fig.fma_flop_per_s[PEAK_##id], 1e6, 1e18, title),
#include "model/hw/dtype.def"
#undef PEAK
};
SCHEMA(fma_schema, "'fma'", struct fit_file, fma_fields);

static const struct field data_fields[] = {
    {.key = "source",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct fit_file, source),
        .required = true,
        .help = "source of the measurements"},
    FIGURE_OF(struct fit_file, "points", Q_COUNT, n_points, 1, 1e12, "number of measurements"),
    {.key = "date", .kind = FIELD_DATE, .offset = offsetof(struct fit_file, date), .help = "date"},
    {.key = "note", .kind = FIELD_TEXT, .offset = offsetof(struct fit_file, note), .help = "selection and method"},
    {.key = "fitted",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct fit_file, fitted),
        .help = "sections fitted to measurements of this machine; absent: all"},
    {.key = "kept",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct fit_file, kept),
        .help = "undetermined parameters, left at their defaults"},
};
SCHEMA(data_schema, "'data'", struct fit_file, data_fields);

static const struct field call_fields[] = {
    FIGURE_OF(struct fit_file, "torch", Q_TIME, fig.call_s, 0, 1, "single PyTorch calls"),
};
SCHEMA(call_schema, "'call'", struct fit_file, call_fields);

static const struct field fields[] = {
    {.key = "format", .kind = FIELD_IGNORED, .help = "format version: 1"},
    {.key = "gpu", .kind = FIELD_TEXT, .offset = offsetof(struct fit_file, gpu), .help = "an entry of hwdb/gpus"},
    {.key = "fabric",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct fit_file, fabric),
        .help = "an entry of hwdb/links, or `any` for what is transferred to fabrics without measurements"},
    {.key = "host",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct fit_file, host),
        .help = "name of a host without a GPU"},
    {.key = "backend",
        .kind = FIELD_TEXT,
        .offset = offsetof(struct fit_file, backend),
        .help = "trtllm, vllm, sglang; without it the median of them"},
    {.key = "relative_to",
        .kind = FIELD_MAP,
        .sub = &reference_schema,
        .offset = offsetof(struct fit_file, fig.reference),
        .help = "rates that the fractions below refer to"},
    {.key = "data", .kind = FIELD_MAP, .sub = &data_schema, .required = true, .help = "measurements behind the fit"},
    {.key = "gemm",
        .kind = FIELD_MAP,
        .sub = &gemm_schema,
        .offset = offsetof(struct fit_file, fig.gemm),
        .help = "bf16 GEMM"},
    {.key = "gemm_by_dtype", .kind = FIELD_MAP, .sub = &by_dtype_schema, .help = "GEMM in other dtypes"},
    {.key = "weight_only", .kind = FIELD_MAP, .sub = &weight_only_schema, .help = "16-bit activations, small weights"},
    {.key = "collective", .kind = FIELD_MAP, .sub = &collectives_schema, .help = "NCCL inside one node"},
    {.key = "custom_all_reduce",
        .kind = FIELD_MAP,
        .sub = &custom_schema,
        .offset = offsetof(struct fit_file, fig.custom),
        .help = "the engine's custom all-reduce under CUDA graphs"},
    {.key = "network", .kind = FIELD_MAP, .sub = &networks_schema, .help = "collectives over several nodes"},
    {.key = "attention", .kind = FIELD_MAP, .sub = &attention_files_schema, .help = "prefill and decode"},
    {.key = "attention_by",
        .kind = FIELD_MAP,
        .sub = &attention_by_schema,
        .help = "the same for other head dimensions, 8-bit KV caches (kv8) and 8-bit GEMMs (fp8)"},
    {.key = "mla", .kind = FIELD_MAP, .sub = &mla_schema, .help = "multi-head latent attention"},
    {.key = "moe", .kind = FIELD_MAP, .sub = &moe_by_dtype_schema, .help = "mixtures of experts, balanced routing"},
    {.key = "moe_weight_only",
        .kind = FIELD_MAP,
        .sub = &moe_weight_only_schema,
        .help = "experts with 16-bit activations and small weights"},
    {.key = "memory",
        .kind = FIELD_CUSTOM,
        .offset = offsetof(struct fit_file, memory),
        .custom = bind_memory,
        .help = "bandwidth and latency by memory level, smallest first"},
    {.key = "launch",
        .kind = FIELD_MAP,
        .sub = &launch_schema,
        .offset = offsetof(struct fit_file, fig.launch),
        .help = "launch times of empty kernels"},
    {.key = "call", .kind = FIELD_MAP, .sub = &call_schema, .help = "extra time of a call over CUDA graph replay"},
    {.key = "fma", .kind = FIELD_MAP, .sub = &fma_schema, .help = "compute without memory traffic"},
    {.key = "residual",
        .kind = FIELD_CUSTOM,
        .offset = offsetof(struct fit_file, residuals),
        .custom = bind_residuals,
        .help = "errors on held-out points"},
};
static const struct schema file_schema = {
    "a calibration", sizeof(struct fit_file), fields, sizeof fields / sizeof *fields};

/* Everything a model may ask for is absent until the file gives it. */
static void
clear(struct calibration *out)
{
	memset(out, 0, sizeof *out);
	for (int t = 0; t < N_DTYPES; t++) {
		out->gemm[t].base_s = out->gemm[t].peak_flop_per_s = datum_absent();
		out->weight_only[t].base_s = out->weight_only[t].peak_flop_per_s = datum_absent();
		out->moe[t].base_s = out->moe[t].peak_flop_per_s = datum_absent();
		out->moe_weight_only[t].base_s = out->moe_weight_only[t].peak_flop_per_s = datum_absent();
	}
	for (int i = 0; i < N_PEAKS; i++)
		out->fma_flop_per_s[i] = datum_absent();
}

enum { N_FILE_FIGURES = sizeof(struct file_figures) / sizeof(struct datum) };

/* Types that no row above reads stay absent. */
static void
forget(struct file_figures *f)
{
	struct datum *d = (struct datum *)f;

	for (size_t i = 0; i < N_FILE_FIGURES; i++)
		d[i] = datum_absent();
}

static void
cite(struct file_figures *f, const char *source)
{
	struct datum *d = (struct datum *)f;

	for (size_t i = 0; i < N_FILE_FIGURES; i++)
		d[i].from.cite = source;
}

bool
calibration_bind(struct binder *b, const struct node *root, const char *id, struct calibration *out)
{
	struct fit_file *f = ARENA_NEW(b->arena, struct fit_file);
	struct fitted_ranges ranges = {0, 0, NULL};

	clear(out);
	forget(&f->fig);
	b->ranges = &ranges;
	const bool bound = schema_bind(b, &file_schema, root, f);
	b->ranges = NULL;
	if (!bound)
		return false;
	if (!!f->gpu + !!f->fabric + !!f->host != 1) {
		diag_error(b->diag, root->at, "a calibration needs 'gpu', 'fabric' or 'host'");
		diag_hint(b->diag, "keep one of them");
		return false;
	}
	out->id = id;
	out->gpu = f->gpu;
	out->fabric = f->fabric;
	out->host = f->host;
	out->kept = f->kept;
	out->fitted = f->fitted;
	out->backend = f->backend;
	out->source = f->source;
	out->date = f->date;
	out->note = f->note;
	out->n_points = f->n_points;
	out->ref_peak_flop_per_s = f->fig.reference.peak_flop_per_s[PEAK_BF16];
	memcpy(out->ref_peaks_flop_per_s, f->fig.reference.peak_flop_per_s, sizeof out->ref_peaks_flop_per_s);
	out->ref_mem_byte_per_s = f->fig.reference.mem_byte_per_s;
	out->ref_clock_hertz = f->fig.reference.clock_hertz;
	out->ref_l2_byte = f->fig.reference.l2_byte;
	out->ref_n_sms = f->fig.reference.n_sms;
	out->n_ranges = ranges.n;
	out->ranges = ranges.list;
	out->memory = f->memory;
	out->has_launch = datum_given(f->fig.launch.stream_base_s);
	out->launch = f->fig.launch;
	out->call_s = f->fig.call_s;
	memcpy(out->fma_flop_per_s, f->fig.fma_flop_per_s, sizeof out->fma_flop_per_s);
	out->n_residuals = f->residuals.n;
	out->residuals = f->residuals.list;
	cite(&f->fig, f->source);
	convert_collectives(&f->fig, f->backend, out);
	const bool kernels = convert_kernels(b, &f->fig, out);
	return convert_attention(b, &f->fig, out) && kernels;
}
