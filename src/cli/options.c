/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of a command, their other spellings, and the bounds of every input. */
#include "cli/cli.h"

#include "base/base.h"
#include "cli/parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- by name and path ------------------------------------------------------------------------------------ */

const struct option *
command_option(const struct command *c, bool (*each)(const struct option *o, const void *key), const void *key)
{
	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++)
			if (each(&c->groups[g].options[i], key))
				return &c->groups[g].options[i];
	return NULL;
}

static bool
is_named(const struct option *o, const void *key)
{
	return o->name && strcmp(o->name, key) == 0;
}

static bool
is_at(const struct option *o, const void *key)
{
	return strcmp(o->path, key) == 0;
}

static bool
is_layout(const struct option *o, const void *key)
{
	(void)key;
	return text_begins(o->path, "layout.");
}

const struct option *
command_option_named(const struct command *c, const char *name)
{
	return command_option(c, is_named, name);
}

const struct option *
command_option_at(const struct command *c, const char *path)
{
	return command_option(c, is_at, path);
}

bool
command_has_layout(const struct command *c)
{
	return command_option(c, is_layout, NULL) != NULL;
}

/* --- aliases: names in earlier versions and in other programs -------------------------------------------- */

const struct alias aliases[] = {
#define ALIAS(name, of, commands, number) {name, of, commands, number},
#include "cli/aliases.def"
#undef ALIAS
};
const size_t n_aliases = sizeof aliases / sizeof *aliases;

const struct option *
alias_option(const struct alias *alias, const struct command *c)
{
	if (*alias->commands && !text_lists(alias->commands, c->name))
		return NULL;
	return text_begins(alias->of, "layout.") ? command_option_at(c, alias->of) : command_option_named(c, alias->of);
}

const struct option *
alias_find(const struct command *c, const char *name, const char *value)
{
	const struct option *o = NULL;

	for (size_t i = 0; i < n_aliases && !o; i++)
		if (strcmp(aliases[i].name, name) == 0 &&
		    (!aliases[i].number || (value && isdigit((unsigned char)*value))))
			o = alias_option(&aliases[i], c);
	return o;
}

/* `--tp` is a word of --layout. */
static void
print_canonical(FILE *to, const struct alias *alias, const char *dash)
{
	if (text_begins(alias->of, "layout."))
		fprintf(to, "%slayout %s", dash, alias->of + strlen("layout."));
	else
		fprintf(to, "%s%s", dash, alias->of);
}

void
aliases_print(FILE *to)
{
	for (size_t i = 0; i < n_aliases; i++) {
		fprintf(to, "--%-32s ", aliases[i].name);
		print_canonical(to, &aliases[i], "--");
		fprintf(to, *aliases[i].commands ? " (%s)\n" : "%s\n", aliases[i].commands);
	}
}

void
aliases_mdoc(FILE *to)
{
	for (size_t i = 0; i < n_aliases; i++) {
		fprintf(to, ".It Fl \\-%s Ta Fl \\-", aliases[i].name);
		print_canonical(to, &aliases[i], "");
		fprintf(to, " Ta %s\n", aliases[i].commands);
	}
}

/* --- bounds, by quantity and by name --------------------------------------------------------------------- */

static const double HOUR = 3600, YEAR = 365 * 86400.0;

/* What no row below names. */
static struct bounds
of_quantity(enum quantity q)
{
	switch (q) {
	case Q_FRACTION:
		return (struct bounds){0, 1, false};
	case Q_NUMBER:
		return (struct bounds){0, 1e9, false};
	case Q_COUNT:
		return (struct bounds){0, 1e12, false};
	case Q_SIZE:
		return (struct bounds){0, 1e18, false};
	case Q_RATE:
		return (struct bounds){0, 1e18, true};
	case Q_WORK:
		return (struct bounds){0, 1e30, true};
	case Q_PEAK:
		return (struct bounds){0, 1e24, true};
	case Q_TIME:
		return (struct bounds){0, 1000 * YEAR, false};
	case Q_CLOCK:
		return (struct bounds){0, 1e12, true};
	case Q_POWER:
		return (struct bounds){0, 1e12, true};
	case Q_MONEY:
		return (struct bounds){0, 1e15, false};
	case Q_PER_HOUR:
		return (struct bounds){0, 1e6 / HOUR, true};
	case Q_PER_ENERGY:
		return (struct bounds){0, 1e3 / 3.6e6, false};
	case Q_DENSITY:
		return (struct bounds){0, 1e9, true};
	case Q_PER_CLOCK:
	case Q_CLOCKS:
	case N_QUANTITIES:
		break;
	}
	return (struct bounds){0, 1e30, false};
}

/* Largest machines have some 1e5 GPUs and largest models some 1e12 parameters: the bounds lie a few powers above what
 * exists, where digits too many begin. */
static const struct {
	const char *path;
	enum quantity quantity;
	struct bounds bounds;
} rows[] = {
    /* machines */
    {"gpus", Q_COUNT, {1, 1e7, false}},
    {"nodes", Q_COUNT, {1, 1e7, false}},
    {"node_gpus", Q_COUNT, {1, 1e4, false}},
    {"replicas", Q_COUNT, {1, 1e5, false}},
    {"decode_replicas", Q_COUNT, {0, 1e5, false}},
    {"spare", Q_COUNT, {0, 1e5, false}},
    {"spares", Q_COUNT, {0, 1e7, false}},
    {"cores", Q_COUNT, {1, 1e6, false}},
    {"workers", Q_COUNT, {0, 1e6, false}},
    {"cameras", Q_COUNT, {1, 1e6, false}},
    {"power_limit", Q_POWER, {50, 1e4, false}},
    {"gpu_mem", Q_SIZE, {1 << 20, 1e15, false}},
    {"memory", Q_SIZE, {1 << 20, 1e15, false}},
    {"gpu_mtbf", Q_TIME, {1, 1000 * 365 * 86400.0, false}},
    {"mtbf", Q_TIME, {1, 1000 * 365 * 86400.0, false}},
    {"bandwidth", Q_RATE, {1, 1e18, false}},
    {"nic_bandwidth", Q_RATE, {1, 1e18, false}},
    {"host_bandwidth", Q_RATE, {1, 1e18, false}},
    {"speedup", Q_NUMBER, {0, 1e7, true}},
    {"slowest_rank", Q_NUMBER, {1, 1e6, false}},
    {"layout.dp", Q_COUNT, {1, 1e7, false}},
    {"layout.tp", Q_COUNT, {1, 1e7, false}},
    {"layout.pp", Q_COUNT, {1, 1e7, false}},
    {"layout.vp", Q_COUNT, {1, 1e7, false}},
    {"layout.cp", Q_COUNT, {1, 1e7, false}},
    {"layout.ep", Q_COUNT, {1, 1e7, false}},
    {"layout.etp", Q_COUNT, {1, 1e7, false}},
    {"layout.shard", Q_COUNT, {1, 1e7, false}},
    {"layout.zero", Q_COUNT, {0, 3, false}},
    {"stages", Q_COUNT, {1, 1e5, false}},
    {"interleave", Q_COUNT, {1, 1e4, false}},

    /* models */
    {"params", Q_COUNT, {1, 1e15, false}},
    {"layers", Q_COUNT, {1, 1e4, false}},
    {"heads", Q_COUNT, {1, 1e5, false}},
    {"kv_heads", Q_COUNT, {1, 1e5, false}},
    {"head_dim", Q_COUNT, {1, 1e5, false}},
    {"hidden", Q_COUNT, {1, 1e6, false}},
    {"bits", Q_NUMBER, {1, 64, false}},
    {"bits", Q_COUNT, {1, 64, false}},
    {"head_bits", Q_NUMBER, {1, 64, false}},
    {"scale_bits", Q_NUMBER, {0, 64, false}},
    {"zero_bits", Q_NUMBER, {0, 64, false}},
    {"group", Q_COUNT, {1, 1e9, false}},
    {"lora_rank", Q_COUNT, {1, 16384, false}},
    {"mtp", Q_COUNT, {0, 64, false}},
    {"imbalance", Q_NUMBER, {1, 1e4, false}},
    {"bytes_per_param", Q_SIZE, {0, 1024, true}},
    {"value", Q_NUMBER, {-1e300, 1e300, false}},
    {"update", Q_NUMBER, {-1e300, 1e300, false}},
    {"absmax", Q_NUMBER, {0, 1e300, true}},
    {"loss_scale", Q_NUMBER, {0, 1e30, true}},

    /* work */
    {"batch", Q_COUNT, {1, 1e9, false}},
    {"global_batch", Q_COUNT, {1, 1e9, false}},
    {"micro_batch", Q_COUNT, {1, 1e9, false}},
    {"microbatches", Q_COUNT, {1, 1e6, false}},
    {"accumulation", Q_COUNT, {1, 1e6, false}},
    {"seq", Q_COUNT, {1, 1e9, false}},
    {"source_seq", Q_COUNT, {1, 1e9, false}},
    {"max_seq", Q_COUNT, {1, 1e9, false}},
    {"used", Q_COUNT, {0, 1e9, false}},
    {"packed", Q_COUNT, {1, 1e9, false}},
    {"isl", Q_COUNT, {1, 1e9, false}},
    {"osl", Q_COUNT, {1, 1e9, false}},
    {"context", Q_COUNT, {1, 1e9, false}},
    {"longest", Q_COUNT, {1, 1e9, false}},
    {"batch_tokens", Q_COUNT, {1, 1e9, false}},
    {"max_step_tokens", Q_COUNT, {1, 1e9, false}},
    {"max_sequences", Q_COUNT, {1, 1e7, false}},
    {"block", Q_COUNT, {1, 65536, false}},
    {"prefix_block", Q_COUNT, {1, 65536, false}},
    {"tokens", Q_COUNT, {1, 1e18, false}},
    {"day_tokens", Q_COUNT, {1, 1e18, false}},
    {"items", Q_COUNT, {1, 1e15, false}},
    {"cached", Q_COUNT, {0, 1e15, false}},
    {"kernels", Q_COUNT, {1, 1e9, false}},
    {"ops", Q_COUNT, {1, 1e5, false}},
    {"pixels", Q_COUNT, {1, 1e12, false}},
    {"seed", Q_COUNT, {0, 9007199254740992.0, false}},
    {"steps", Q_COUNT, {1, 1e15, false}},
    {"top", Q_COUNT, {1, 1000, false}},
    {"worst", Q_COUNT, {0, 1000, false}},
    {"max_k", Q_COUNT, {1, 10000, false}},
    {"k", Q_COUNT, {1, 1e12, false}},
    {"draft_tokens", Q_COUNT, {0, 10000, false}},
    {"zipf", Q_NUMBER, {0, 50, false}},
    {"fps", Q_NUMBER, {0, 1e6, true}},
    {"mph", Q_NUMBER, {0, 1e5, true}},
    {"kmh", Q_NUMBER, {0, 1e5, true}},

    /* load */
    {"users", Q_COUNT, {1, 1e9, false}},
    {"concurrency", Q_COUNT, {1, 1e9, false}},
    {"requests", Q_COUNT, {1, 1e9, false}},
    {"runs", Q_COUNT, {1, 1e12, false}},
    {"timeline_rows", Q_COUNT, {1, 1e9, false}},
    {"rate", Q_NUMBER, {0, 1e9, true}},
    {"base_rate", Q_NUMBER, {0, 1e9, true}},
    {"throughput", Q_NUMBER, {0, 1e12, true}},
    {"expected", Q_NUMBER, {0, 1e12, true}},
    {"load", Q_NUMBER, {0, 1e9, true}},
    {"input_rate", Q_NUMBER, {0, 1e12, true}},
    {"output_rate", Q_NUMBER, {0, 1e12, true}},
    {"output_weight", Q_NUMBER, {0, 1e4, true}},
    {"baseline", Q_NUMBER, {0, 1e15, true}},
    {"current", Q_NUMBER, {0, 1e15, true}},
    {"target", Q_NUMBER, {0, 1e12, true}},
    {"isl_cv", Q_NUMBER, {0, 100, false}},
    {"osl_cv", Q_NUMBER, {0, 100, false}},
    {"gap_cv", Q_NUMBER, {0, 100, false}},
    {"trace_speed", Q_NUMBER, {0, 1e6, true}},
    {"growth", Q_FRACTION, {0, 1000, false}},
    {"paging_overhead", Q_FRACTION, {0, 10, false}},
    {"tail_limit", Q_NUMBER, {1, 1e6, false}},

    /* numbers of lists and files */
    {"measurement", Q_NUMBER, {-1e18, 1e18, false}},
    {"step", Q_NUMBER, {0, 1e15, false}},
    {"factor", Q_NUMBER, {0, 1e6, true}},
    {"links", Q_COUNT, {1, 1000, false}},
    {"units of storage", Q_COUNT, {1, 1e6, false}},
    {"side of a matrix", Q_COUNT, {1, 1e7, false}},
    {"fuse", Q_COUNT, {1, 1e6, false}},

    /* judgements and money */
    {"threshold", Q_FRACTION, {0, 10, false}},
    {"max_error", Q_FRACTION, {0, 10, true}},
    {"have", Q_NUMBER, {0, 1e9, true}},
    {"local", Q_NUMBER, {0, 1e9, true}},
    {"total", Q_NUMBER, {0, 1e9, true}},
    {"years", Q_NUMBER, {0, 100, true}},
    {"pue", Q_NUMBER, {1, 10, false}},
    {"coherency", Q_NUMBER, {0, 1, false}},
};

/* Those of an input, by its path; a path that no row names has those of its quantity. */
static struct bounds
bounds_of(const char *path, enum quantity q)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].quantity == q && strcmp(rows[i].path, path) == 0)
			return rows[i].bounds;
	return of_quantity(q);
}

/* A limit as people write it. */
static const char *
limit_text(enum quantity q, double value, char *buf, size_t size)
{
	static const char *const names[N_QUANTITIES] = {[Q_SIZE] = "x_byte",
	    [Q_RATE] = "x_byte_per_s",
	    [Q_WORK] = "x_flop",
	    [Q_PEAK] = "x_flop_per_s",
	    [Q_TIME] = "x_s",
	    [Q_CLOCK] = "x_hertz",
	    [Q_POWER] = "x_watt",
	    [Q_MONEY] = "x_usd",
	    [Q_PER_HOUR] = "x_usd_per_s",
	    [Q_PER_ENERGY] = "x_usd_per_joule",
	    [Q_DENSITY] = "x_flop_per_byte"};

	if (names[q])
		return value_write(names[q], value, buf, size);
	snprintf(buf, size, "%.10g", value);
	return buf;
}

bool
bounds_check(struct diag *d, struct source at, const char *path, enum quantity q, double value)
{
	const struct bounds b = bounds_of(path, q);
	char least[80], most[80];

	limit_text(q, b.least, least, sizeof least);
	limit_text(q, b.most, most, sizeof most);
	if (q == Q_COUNT && (value < b.least || value != floor(value)))
		diag_error(d, at, "%s must be a whole number of at least %s", path, least);
	else if (value < b.least || (b.above && value == b.least))
		diag_error(d, at, b.above ? "%s must be greater than %s" : "%s must be at least %s", path, least);
	else if (value > b.most)
		diag_error(d, at, "%s must be at most %s", path, most);
	else
		return true;
	if (q == Q_FRACTION && b.most == 1)
		diag_hint(d, "write a share up to 1, or a percentage: 0.8 or 80%%");
	else
		diag_hint(
		    d, b.above ? "write a number above %s, up to %s" : "write a number from %s to %s", least, most);
	return false;
}

/* --- values that commands parse themselves --------------------------------------------------------------- */

bool
run_refuse(struct run *r, struct source at, const char *what, const char *hint)
{
	diag_error(r->diag, at, "%s", what);
	diag_hint(r->diag, "%s", hint);
	return false;
}

bool
run_value(struct run *r, struct source at, const char *text, enum quantity q, struct datum *out)
{
	struct quantity_fault fault;

	*out = (struct datum){NAN, at};
	run_read_from(r, at);
	if (quantity_read(text, q, &out->value, &fault)) {
		if (out->value > 0)
			return bounds_check(r->diag, at, text, q, out->value);
		diag_error(r->diag, at, "'%s' must be greater than 0", text);
		diag_hint(r->diag, "leave it out, or give a positive value");
		return false;
	}
	diag_error(r->diag, at, "%s", fault.what);
	if (fault.hint[0])
		diag_hint(r->diag, "%s", fault.hint);
	return false;
}

bool
run_positive(struct run *r, const char *option, struct datum d)
{
	if (!datum_given(d) || d.value > 0)
		return true;
	diag_error(r->diag, d.from, "%s must be greater than 0", option);
	diag_hint(r->diag, "leave %s out if it does not matter here", option);
	return false;
}

bool
run_fraction(struct run *r, const char *option, struct datum d)
{
	if (!datum_given(d) || (d.value >= 0 && d.value <= 1))
		return true;
	diag_error(r->diag, d.from, "%s must be between 0 and 1", option);
	diag_hint(r->diag, "write 0.85 or 85%%");
	return false;
}

bool
run_inside(struct run *r, const char *option, struct datum d)
{
	if (!datum_given(d) || (d.value > 0 && d.value < 1))
		return true;
	diag_error(r->diag, d.from, "%s must be above 0 and below 1", option);
	diag_hint(r->diag, "write 0.85 or 85%%");
	return false;
}
