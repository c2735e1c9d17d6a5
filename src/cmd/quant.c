/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ridge quant: size, range and rounding error of number formats. */
#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"
#include "model/memory/memory.h"
#include "search/stats/stats.h"

#include <string.h>

#define QUANT_OPTIONS(X)                                                                                               \
	X(0, formats, NULL, "formats", WORDS, "FORMAT,...", "format", NULL,                                            \
	    "one format, or several to compare (default: all)")                                                        \
	X('p', params, "params", "params", COUNT, "N", "", NULL, "number of parameters")                               \
	X(0, base, "base", "base", WORD, "FORMAT", "format", "bf16", "format to compare the size with")                \
	X(0, bits, "bits", "bits", COUNT, "N", "", NULL, "integer width in bits, instead of a format")                 \
	X(0, group, "group", "group", COUNT, "N", "", NULL, "group size: weights per scale")                           \
	X(0, scale_bits, "scale-bits", "scale_bits", NUMBER, "N", "", NULL, "scale bits (default with --group: 16)")   \
	X(0, zero_bits, "zero-bits", "zero_bits", NUMBER, "N", "", NULL, "zero-point bits per group")                  \
	X(0, absmax, "absmax", "absmax", NUMBER, "X", "", NULL,                                                        \
	    "largest weight of a group, for the rounding error of integers")                                           \
	X(0, value, "value", "value", NUMBER, "X", "", NULL, "value to store; prints its rounding and spacing")        \
	X(0, update, "update", "update", NUMBER, "X", "", NULL,                                                        \
	    "update added to --value, to check whether rounding loses it")                                             \
	X(0, loss_scale, "loss-scale", "loss_scale", NUMBER, "X", "", NULL, "loss scale that multiplies --value")

struct quant_in {
	QUANT_OPTIONS(OPTION_MEMBER)
};

#define THIS struct quant_in
static const struct option quant_options[] = {QUANT_OPTIONS(OPTION_ROW)};
#undef THIS

enum { ROW = 4096, TENSOR = 4096 * 4096 };

/* --- formats by name ------------------------------------------------------------------------------------- */

static const struct format *
find(struct run *r, struct word name)
{
	static const struct {
		const char *alias, *format;
	} aliases[] = {{"fp8", "fp8-e4m3"}, {"e4m3", "fp8-e4m3"}, {"e5m2", "fp8-e5m2"}, {"fp4", "fp4-e2m1"},
	    {"fp6", "fp6-e2m3"}, {"awq", "gptq"}, {"mxfp6", "mxfp6-e2m3"}};
	const char *names[N_FORMATS + sizeof aliases / sizeof *aliases];
	size_t n = 0;

	run_read_from(r, name.from);
	const struct format *f = format_find(name.text);
	for (size_t i = 0; !f && i < sizeof aliases / sizeof *aliases; i++)
		if (strcmp(aliases[i].alias, name.text) == 0) {
			f = format_find(aliases[i].format);
			run_assume(r, "%s = %s", name.text, f->name);
		}
	if (f)
		return f;
	for (; n < N_FORMATS; n++)
		names[n] = number_formats[n].name;
	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		names[n++] = aliases[i].alias;
	diag_error(r->diag, name.from, "'%s' is not a number format", name.text);
	const char *near = text_nearest(name.text, names, n);
	if (near)
		diag_hint(r->diag, "did you mean '%s'?", near);
	else
		diag_hint(r->diag, "'ridge quant' lists all, '--bits 3' means integers of 3 bits");
	return NULL;
}

/* Groups, scales and zero points as asked, over what the format says; false when it has none. */
static bool
changed(struct run *r, const struct quant_in *in, const struct format *f, struct format *out)
{
	const bool grouped = datum_given(in->group) || datum_given(in->scale_bits) || datum_given(in->zero_bits);
	const bool bits = datum_given(in->scale_bits) || datum_given(in->zero_bits);

	if (!datum_given(in->absmax))
		run_reads(r, &in->group, &in->scale_bits, &in->zero_bits, NULL);
	*out = *f;
	if (grouped && f->scaling == SCALING_NONE)
		return run_refuse(r, in->group.from, arena_printf(r->arena, "%s has no scales", f->name),
		    "use --group with integers or formats of 8 bits and fewer");
	if (in->zero_bits.value > 0 && f->code != CODE_INTEGER)
		return run_refuse(r, in->zero_bits.from, "zero points need an integer format", "leave --zero-bits out");
	out->group = datum_or(in->group, f->group);
	if (bits && !(out->group > 0))
		return run_refuse(
		    r, in->scale_bits.from, "--scale-bits needs the group size", "add for example --group 128");
	if (datum_given(in->group) && out->scale_bits == 0)
		out->scale_bits = 16;
	out->scale_bits = datum_or(in->scale_bits, out->scale_bits);
	out->zero_bits = datum_or(in->zero_bits, out->zero_bits);
	return true;
}

static bool
check(struct run *r, const struct quant_in *in)
{
	const bool grouped = datum_given(in->group) || datum_given(in->scale_bits) || datum_given(in->zero_bits);

	if (datum_given(in->bits) && in->formats.n)
		return run_refuse(
		    r, in->bits.from, "--bits and a format's name exclude each other", "keep one of them");
	if (datum_given(in->bits) &&
	    !(in->bits.value >= 2 && in->bits.value <= 16 && run_whole(r, "bits", in->bits, 2)))
		return run_refuse(r, in->bits.from, "--bits must be from 2 to 16", "use a format such as fp32 or bf16");
	if (grouped && in->formats.n == 0 && !datum_given(in->bits))
		return run_refuse(r, in->group.from, "--group needs a format", "add a format, or --bits 4");
	if (datum_given(in->update) && !datum_given(in->value))
		return run_refuse(r, in->update.from, "--update needs a value", "add --value 1");
	if (datum_given(in->loss_scale) && !datum_given(in->value))
		return run_refuse(r, in->loss_scale.from, "--loss-scale needs a value", "add --value 1e-6");
	return run_whole(r, "params", in->params, 1) & run_whole(r, "group", in->group, 2) &
	    run_positive(r, "absmax", in->absmax) & run_positive(r, "loss-scale", in->loss_scale);
}

/* --- the error of integers ------------------------------------------------------------------------------- */

static enum answer
show_absmax(struct run *r, const struct quant_in *in, const struct format *f)
{
	struct sheet *sh = r->sheet;

	if (f->code != CODE_INTEGER) {
		run_refuse(r, in->absmax.from, "--absmax needs an integer format", "use --bits 8 or int8");
		return REFUSED;
	}
	r->title = arena_printf(
	    r->arena, "Rounding to %g bits when the largest weight is %g", f->stored_bits, in->absmax.value);
	TAKE(sh, n_bits, f->stored_bits);
	TAKE(sh, absmax, in->absmax);
	CALL(sh, largest, integer_largest(sh, n_bits));
	SHOW(sh, largest, largest);
	CALL(sh, step, integer_step(sh, absmax, largest));
	SHOW(sh, step, quant_step);
	CALL(sh, mean_error, rounding_mean(sh, step));
	SHOW(sh, mean_error, mean_error);
	CALL(sh, rms_error, rounding_rms(sh, step));
	SHOW(sh, rms_error, rms_error);
	CALL(sh, worst_error, rounding_worst(sh, step));
	SHOW(sh, worst_error, max_error);
	return ANSWERED;
}

/* --- one number ------------------------------------------------------------------------------------------ */

static const char *
fate(double value, double largest, double smallest_normal, double smallest)
{
	if (value > largest)
		return "infeasible: overflows";
	if (value < smallest / 2)
		return "no: underflows to zero";
	return value < smallest_normal ? "yes, as a subnormal number with fewer digits" : "yes";
}

static enum answer
show_update(struct run *r, const struct quant_in *in, double spacing)
{
	struct sheet *sh = r->sheet;
	char buf[40];

	TAKE(sh, update, in->update);
	CALL(sh, n_spacings, format_update(sh, update, spacing));
	SHOW(sh, n_spacings, n_spacings);
	const bool kept = fabs(n_spacings) > 0.5;
	TELL(sh, verdict,
	    kept ? "yes"
	         : arena_printf(r->arena, "no: lost to rounding, below half the spacing %s",
	               number_write(spacing, buf, sizeof buf)));
	return kept ? ANSWERED : ANSWERED_NO;
}

static enum answer
show_value(struct run *r, const struct quant_in *in, const struct format *f)
{
	struct sheet *sh = r->sheet;

	if (!format_is_float(f)) {
		run_refuse(r, in->value.from, "--value needs a floating-point format",
		    "use bf16, fp16 or fp8-e4m3; with integers, use --absmax");
		return REFUSED;
	}
	r->title = arena_printf(r->arena, "Value in %s", f->name);
	TAKE(sh, value, in->value);
	double stored;
	if (datum_given(in->loss_scale)) {
		TAKE(sh, factor, in->loss_scale);
		SET_CALL(sh, stored, format_scaled(sh, value, factor));
		SHOW(sh, stored, stored);
	} else
		stored = value;
	const double magnitude = fabs(stored);
	CALL(sh, spacing, format_spacing(sh, f, magnitude));
	SHOW(sh, spacing, spacing);
	CALL(sh, largest, format_largest(sh, f));
	SHOW(sh, largest, largest);
	CALL(sh, smallest_normal, format_smallest_normal(sh, f));
	SHOW(sh, smallest_normal, smallest_normal);
	CALL(sh, smallest, format_smallest(sh, f));
	SHOW(sh, smallest, smallest);
	TELL(sh, stored_as, fate(magnitude, largest, smallest_normal, smallest));
	if (magnitude > largest || magnitude < smallest / 2)
		return ANSWERED_NO;
	return datum_given(in->update) ? show_update(r, in, spacing) : ANSWERED;
}

/* --- formats --------------------------------------------------------------------------------------------- */

static void
show_size(struct run *r, const struct quant_in *in, const struct format *f, const struct format *base, bool alone)
{
	struct sheet *sh = r->sheet;

	CALL(sh, bits_per_weight, format_bits(sh, f));
	SHOW(sh, bits_per_weight, bits_per_weight);
	CALL(sh, base_bits_per_weight, format_bits(sh, base));
	CALL(sh, ratio, format_ratio(sh, base_bits_per_weight, bits_per_weight));
	SHOW(sh, ratio, compression_ratio);
	if (!datum_given(in->params))
		return;
	TAKE(sh, n_params, in->params);
	CALL(sh, weight_byte, capacity_weights_bits(sh, n_params, bits_per_weight));
	SHOW(sh, weight_byte, size_byte);
	if (alone && f->group > 0) {
		CALL(sh, scale_byte, format_scale_bytes(sh, f, n_params));
		SHOW(sh, scale_byte, scale_byte);
	}
}

static void
show_range(struct run *r, const struct format *f, bool alone)
{
	struct sheet *sh = r->sheet;

	if (f->code == CODE_INTEGER && !(f->zero_bits > 0)) {
		TAKE(sh, n_bits, f->stored_bits);
		CALL(sh, largest, integer_largest(sh, n_bits));
		SHOW(sh, largest, largest);
	}
	if (!format_is_float(f))
		return;
	CALL(sh, largest, format_largest(sh, f));
	SHOW(sh, largest, largest);
	if (!alone)
		return;
	CALL(sh, element_bits, format_element_bits(sh, f));
	SHOW(sh, element_bits, element_bits);
	CALL(sh, smallest_normal, format_smallest_normal(sh, f));
	SHOW(sh, smallest_normal, smallest_normal);
	CALL(sh, smallest, format_smallest(sh, f));
	SHOW(sh, smallest, smallest);
	CALL(sh, n_digits, format_digits(sh, f));
	SHOW(sh, n_digits, n_digits);
	TAKE(sh, one, 1);
	CALL(sh, spacing, format_spacing(sh, f, one));
	SHOW(sh, spacing, spacing);
}

static void
show_error(struct run *r, const struct format *f, bool alone)
{
	struct sheet *sh = r->sheet;
	const struct rounding e = rounding_normal(f, f->group > 0 ? f->group : ROW, TENSOR);

	TAKE(sh, rms_error, e.rms);
	TAKE(sh, mean_error, e.mean);
	CALL(sh, snr_db, rounding_snr(sh, rms_error));
	if (alone) {
		SHOW(sh, mean_error, mean_error);
		SHOW(sh, rms_error, rms_error);
		CALL(sh, mean_abs, normal_mean_abs(sh));
		CALL(sh, relative_frac, rounding_relative(sh, mean_error, mean_abs));
		SHOW(sh, relative_frac, relative_frac);
		SHOW(sh, snr_db, snr_db);
		CALL(sh, ideal_bits, rounding_ideal_bits(sh, rms_error));
		SHOW(sh, ideal_bits, ideal_bits);
		if (f->scaling == SCALING_POWER || f->scaling == SCALING_FP8) {
			TAKE(sh, clipped_frac, e.clipped_frac);
			SHOW(sh, clipped_frac, clipped_frac);
		}
	} else {
		SHOW(sh, rms_error, rms_error);
		SHOW(sh, snr_db, snr_db);
	}
}

/* Report the assumptions of the errors. */
static void
assume_errors(struct run *r, const struct format *f)
{
	run_assume(r, "normally distributed weights");
	if (f->scaling == SCALING_NONE)
		run_assume(r, "of standard deviation 1 without a scale");
	else if (!(f->group > 0))
		run_assume(r, "a scale for each %d weights without groups", ROW);
	if (f->scaling == SCALING_FP8)
		run_assume(r, "a tensor of %d weights", TENSOR);
	if (f->outer_group > 0)
		run_assume(r, "rounding of 8-bit scales not counted");
}

static enum answer
show_formats(struct run *r, const struct quant_in *in, const struct format *list, size_t n, const struct format *base)
{
	struct sheet *sh = r->sheet;

	r->title = n == 1 ? arena_printf(r->arena, "%s: %s", list[0].name, list[0].title) : "Weight formats";
	if (n == 1) {
		show_size(r, in, &list[0], base, true);
		show_range(r, &list[0], true);
		show_error(r, &list[0], true);
		TELL(sh, source, list[0].source);
		assume_errors(r, &list[0]);
	} else
		for (size_t i = 0; i < n; i++)
			SCOPE_I (sh, "formats", i) {
				TELL(sh, name, list[i].name);
				show_size(r, in, &list[i], base, false);
				show_range(r, &list[i], false);
				show_error(r, &list[i], false);
				assume_errors(r, &list[i]);
			}
	return ANSWERED;
}

/* Integers of a given width. */
static struct format
integers(struct run *r, const struct quant_in *in)
{
	struct format f = *format_find("int8");

	run_reads(r, &in->bits, NULL);

	f.stored_bits = in->bits.value;
	f.name = arena_printf(r->arena, "int%g", in->bits.value);
	f.title = arena_printf(r->arena, "integers of %g bits", in->bits.value);
	return f;
}

/* All that were named; without a name those of --bits, or every one. */
static bool
bind_quant_formats(struct run *r, const struct quant_in *in, struct format *list, size_t *n)
{
	bool ok = true;

	*n = 0;
	for (size_t i = 0; i < in->formats.n; i++) {
		const struct format *f = find(r, in->formats.list[i]);
		ok = f && changed(r, in, f, &list[(*n)++]) && ok;
	}
	if (in->formats.n)
		return ok;
	if (datum_given(in->bits)) {
		const struct format f = integers(r, in);
		return changed(r, in, &f, &list[(*n)++]);
	}
	for (; *n < N_FORMATS; (*n)++)
		list[*n] = number_formats[*n];
	return true;
}

static enum answer
quant_run(struct run *r, const void *input)
{
	const struct quant_in *in = input;
	struct format *list = ARENA_ARRAY(r->arena, struct format, in->formats.n + N_FORMATS);
	size_t n;

	if (!check(r, in) || !bind_quant_formats(r, in, list, &n))
		return REFUSED;
	if ((datum_given(in->absmax) || datum_given(in->value)) && n > 1) {
		run_refuse(r, datum_given(in->absmax) ? in->absmax.from : in->value.from, "no format given",
		    "write for example: ridge quant bf16 --value 1 --update 1e-7, or --bits 8 --absmax 3.76");
		return REFUSED;
	}
	if (datum_given(in->absmax))
		return show_absmax(r, in, &list[0]);
	if (datum_given(in->value))
		return show_value(r, in, &list[0]);
	const struct format *base = find(r, (struct word){run_word(r, "base", in->base), in->base.from});
	return base ? show_formats(r, in, list, n, base) : REFUSED;
}

static const struct option_group quant_groups[] = {OPTION_GROUP(quant_options, 0)};

static const struct example quant_examples[] = {
    {"quant nvfp4 --params 70B", "size, range and rounding error of one format", 0},
    {"quant int8 mxfp8 nf4 nvfp4 mxfp4 gptq --params 7B", "compare formats", 0},
    {"quant --bits 4 --group 128 --scale-bits 16 --base fp32", "custom integer format", 0},
    {"quant --bits 8 --absmax 3.76", "rounding error for a given largest weight", 0},
    {"quant bf16 --value 1 --update 1e-7", "weight update against rounding", 1},
    {"quant fp16 --value 3e-6 --loss-scale 1024", "a gradient with loss scaling", 0},
};

static const struct input_needs quant_needs[] = {
    {"update", "it needs --value 1"},
    {"loss_scale", "it needs --value 3e-6"},
    {"params", "it applies to sizes: leave out --value and --absmax"},
    {"base", "it applies to sizes: leave out --value and --absmax"},
};

const struct command quant_command = {
    .name = "quant",
    .section = "Memory",
    .summary = "Size, range and error of a number format",
    .operands = "formats...",
    .usage = "[FORMAT...|JOB]",
    COUNTED(groups, quant_groups),
    COUNTED(examples, quant_examples),
    COUNTED(needs, quant_needs),
    .input_size = sizeof(struct quant_in),
    .run = quant_run,
};
