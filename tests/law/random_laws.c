/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds whatever the numbers are, how answers change with their inputs, and what commands must say alike. */
#include "law/random.h"

#include "base/base.h"
#include "db/db.h"
#include "law/random_forms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rounding of sums in another order. */
static const double EXACT = 1e-9;

double
trial_number(struct trial *t, const char *line, const char *id)
{
	return reply_number(trial_ask(t, line), id);
}

static const char *
value_of(struct trial *t, const char *line, const char *option)
{
	return line_value(trial_arena(t), line, option);
}

static const char *
with(struct trial *t, const char *line, const char *option, const char *value)
{
	return line_with(trial_arena(t), line, option, value);
}

static bool
has(struct trial *t, const char *line, const char *word)
{
	return line_has(trial_arena(t), line, word);
}

/* The second word of a line: the model, the operator, the collective. */
static const char *
subject(struct trial *t, const char *line)
{
	const char *p = line + strcspn(line, " ");

	p += *p == ' ';
	return arena_copy(trial_arena(t), p, strcspn(p, " "));
}

/* The line with the number of this option so many times larger, its unit kept; NULL where it is not given. */
static const char *
scaled(struct trial *t, const char *line, const char *option, double factor)
{
	const char *text = value_of(t, line, option);
	char *unit;

	if (!text)
		return NULL;
	const double x = strtod(text, &unit);
	return with(t, line, option, arena_printf(trial_arena(t), "%.15g%s", x * factor, unit));
}

/* --- answers by themselves ------------------------------------------------------------------------------- */

static void
interval_has_its_centre(struct trial *t, const char *line)
{
	const struct reply *x = trial_ask(t, line);

	for (size_t i = 0; i < x->n_sheets; i++)
		for (size_t k = 0; k < x->sheets[i].n; k++) {
			const struct told *row = &x->sheets[i].rows[k];
			/* a number that is none is told by `finite` */
			if (!row->why || isnan(row->value))
				continue;
			trial_count(t);
			/* the better of two layouts may be either */
			const bool signed_row = strstr(row->path, "difference_frac") != NULL;
			if (!(row->low <= row->value && row->value <= row->high && isfinite(row->high) &&
			        (signed_row || row->low > 0)))
				trial_broken(t, line, NULL, "%s: %g is not in %g .. %g", row->path, row->value,
				    row->low, row->high);
		}
}

static void
numbers_are_finite(struct trial *t, const char *line)
{
	const struct reply *x = trial_ask(t, line);

	for (size_t i = 0; i < x->n_sheets; i++)
		for (size_t k = 0; k < x->sheets[i].n; k++) {
			const struct told *row = &x->sheets[i].rows[k];
			if (row->word || !row->label)
				continue;
			trial_count(t);
			if (!isfinite(row->value))
				trial_broken(t, line, NULL, "%s (%s) is %g", row->path, row->label, row->value);
		}
}

/* A row that is the sum of others. */
static void
parts_sum(struct trial *t, const char *line)
{
	static const struct {
		const char *command, *sum, *parts[8];
	} sums[] = {
	    {"memory", "expected_byte",
	        {"weights_byte", "gradients_byte", "optimizer_byte", "activations_byte", "logits_byte", "buffers_byte",
	            "context_byte"}},
	    {"memory", "expected_byte",
	        {"weights_byte", "kv_byte", "activations_byte", "workspace_byte", "context_byte"}},
	};
	struct arena *a = trial_arena(t);

	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		const double sum = reply_number(trial_ask(t, line), sums[i].sum);
		double parts = 0;
		for (int k = 0; sums[i].parts[k]; k++)
			parts +=
			    reply_number(trial_ask(t, line), arena_printf(a, "%s.%s", sums[i].sum, sums[i].parts[k]));
		if (isnan(sum) || isnan(parts))
			continue;
		trial_count(t);
		if (fabs(parts - sum) > EXACT * sum)
			trial_broken(t, line, NULL, "%s is %g, its parts sum to %g", sums[i].sum, sum, parts);
	}
}

/* One row is at least another. */
static void
at_least(struct trial *t, const char *line)
{
	static const struct {
		const char *law, *command, *more, *less;
		double tolerance;
	} rows[] = {
	    {"at least the roof", "roofline", "calibrated_s", "roof_s", EXACT},
	    {"at least the roof", "roofline", "calibrated_list_s", "list_s", EXACT},
	    {"best is best", "spec", "best_speedup", "speedup", EXACT},
	    {"best is best", "spec", "most_speedup", "speedup", EXACT},
	    {"best is best", "launch", "step_s", "host_s", EXACT},
	    {"best is best", "launch", "step_s", "device_s", EXACT},
	    {"best is best", "memory", "safe_byte", "expected_byte", EXACT},
	    {"best is best", "scale", "ranks.0.n_ranks", "ranks.0.amdahl_speedup", EXACT},
	    {"best is best", "scale", "ranks.0.gustafson_speedup", "ranks.0.amdahl_speedup", EXACT},
	};
	const struct reply *x = trial_ask(t, line);

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (strcmp(rows[i].law, trial_law(t)) != 0 ||
		    strncmp(line, rows[i].command, strlen(rows[i].command)) != 0)
			continue;
		const double more = reply_number(x, rows[i].more), less = reply_number(x, rows[i].less);
		if (isnan(more) || isnan(less))
			continue;
		trial_count(t);
		if (more < less * (1 - rows[i].tolerance))
			trial_broken(t, line, NULL, "%s %g is below %s %g", rows[i].more, more, rows[i].less, less);
	}
}

/* No more arithmetic than the peak allows. */
static void
mfu_is_a_share(struct trial *t, const char *line)
{
	static const char *const rows[] = {"mfu_frac", "mfu_bf16_frac", "hfu_frac"};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const double mfu = reply_number(trial_ask(t, line), rows[i]);
		/* of the bf16 peak, a step in fewer bits may reach more */
		if (isnan(mfu) || (i == 1 && value_of(t, line, "--dtype")))
			continue;
		trial_count(t);
		if (!(mfu > 0 && mfu <= 1))
			trial_broken(t, line, NULL, "%s is %g", rows[i], mfu);
	}
}

/* The slowest link on the way bounds the bus bandwidth; reduction in the switch is counted as NCCL counts it, whose bus
 * bandwidth then has 2 (n - 1) / n of what passes the link. */
static void
busbw_below_links(struct trial *t, const char *line)
{
	const struct reply *x = trial_ask(t, line);
	const double n = reply_number(x, "n_ranks"), nodes = reply_number(x, "n_nodes"),
	             bus = reply_number(x, "busbw_byte_per_s"), link = reply_number(x, "link_byte_per_s"),
	             nic = reply_number(x, "nic_byte_per_s");
	const bool reduces = strcmp(subject(t, line), "allreduce") == 0;
	const double counted = reduces ? 2 * (n - 1) / n : 1;

	/* GPUs without links to one another talk over the network alone */
	if (isnan(bus) || !(link > 0))
		return;
	trial_count(t);
	const char *algorithm = reply_word(x, "algorithm");
	const bool in_switch = algorithm && (strncmp(algorithm, "NVLS", 4) == 0 || strncmp(algorithm, "Coll", 4) == 0);
	const double least = link * (in_switch ? counted : 1);
	if (bus > least * 1.001)
		trial_broken(t, line, NULL, "bus bandwidth %.4g B/s, link %.4g B/s", bus, link);
	/* what leaves a node passes its network cards: of an all-reduce the size, once in and once out */
	else if (nodes > 1 && !isnan(nic) && bus > counted * nic * n / nodes * 1.001)
		trial_broken(
		    t, line, NULL, "bus bandwidth %.4g B/s, %.4g B/s of network in a node", bus, nic * n / nodes);
}

/* --- one input changes ----------------------------------------------------------------------------------- */

/*
 * `row` must not fall (up) or must not rise (down) when the number of `option` grows by `factor`.  Tolerances: EXACT
 * for formulas; 0.5 % where kernels are chosen from tiles and a neighbour may be a little faster.
 */
static const struct {
	const char *law, *command, *option;
	double factor;
	enum { UP, DOWN } way;
	const char *id;
	double tolerance;
	const char *without; /* lines with one of these words are left out */
} moves[] = {
    {"longer sequences", "memory", "--seq", 2, UP, "peak_byte", 1e-9, NULL},
    {"longer sequences", "kv", "--seq", 2, UP, "sequence_byte", 1e-9, NULL},
    {"longer sequences", "kv", "--seq", 2, DOWN, "n_max_sequences", 1e-9, NULL},
    {"longer sequences", "train", "--seq", 2, UP, "step_s", 0.005, NULL},
    /* where launches pace a step with prompts, longer ones take as long, and fewer wait: decode steps take longer */
    {"longer sequences", "serve", "--isl", 2, UP, "ttft_s", 0.005, "sglang"},
    {"longer sequences", "serve", "--isl", 2, UP, "ttft_s", 0.03, NULL},
    {"longer sequences", "serve", "--isl", 2, UP, "tpot_s", 0.005, "--rate --concurrency --requests"},
    {"longer sequences", "serve", "--isl", 2, DOWN, "max_request_per_s", 0.005, NULL},
    {"longer sequences", "serve", "--osl", 2, DOWN, "max_request_per_s", 0.005, NULL},
    {"longer sequences", "serve", "--osl", 2, UP, "e2e_s", 0.005, NULL},
    {"longer sequences", "serve", "--context", 2, UP, "tpot_s", 1e-9, "--isl"},
    {"longer sequences", "capacity", "--tokens", 2, UP, "n_gpus", 1e-9, NULL},
    {"longer sequences", "capacity", "--osl", 2, UP, "n_gpus", 1e-9, "--objectives"},
    {"longer sequences", "roofline", "--seq", 2, UP, "list_s", 1e-9, NULL},
    {"longer sequences", "roofline", "--seq", 2, UP, "calibrated_list_s", 0.005, NULL},
    {"longer sequences", "roofline", "--c", 2, UP, "kernel_s", 0.005, NULL},
    {"longer sequences", "launch", "--batch", 2, UP, "device_s", 1e-9, NULL},
    {"more batch", "memory", "--batch", 2, UP, "peak_byte", 1e-9, "--global-batch"},
    {"more batch", "kv", "--batch", 2, UP, "batch_byte", 1e-9, NULL},
    {"more batch", "train", "--global-batch", 2, UP, "step_s", 0.005, NULL},
    {"more batch", "train", "--batch", 2, UP, "step_s", 0.005, "--global-batch"},
    {"more batch", "serve", "--batch", 2, UP, "tpot_s", 0.005, NULL},
    {"more batch", "serve", "--batch", 2, UP, "ttft_s", 0.005, NULL},
    {"more batch", "roofline", "--batch", 2, UP, "list_s", 1e-9, NULL},
    {"more batch", "roofline", "--batch", 2, UP, "calibrated_list_s", 0.005, NULL},
    {"more batch", "roofline", "--m", 2, UP, "kernel_s", 0.005, NULL},
    {"more batch", "roofline", "--m", 2, UP, "roof_s", 1e-9, NULL},
    {"more batch", "roofline", "--rows", 2, UP, "kernel_s", 0.005, NULL},
    {"more batch", "roofline", "--n", 2, UP, "kernel_s", 0.005, NULL},
    {"more batch", "roofline", "--k", 2, UP, "kernel_s", 0.005, NULL},
    {"more batch", "roofline", "--elements", 2, UP, "kernel_s", 0.005, NULL},
    {"more batch", "comm", "--size", 2, UP, "comm_s", 0.005, NULL},
    {"more users", "capacity", "--users", 2, UP, "n_gpus", 1e-9, NULL},
    {"more users", "capacity", "--rate", 2, UP, "n_gpus", 1e-9, "--objectives"},
    {"more users", "serve", "--rate", 1.5, UP, "ttft_s", 0.005, NULL},
    {"more users", "serve", "--rate", 1.5, UP, "tpot_s", 0.005, NULL},
    {"more users", "serve", "--concurrency", 2, UP, "tpot_s", 0.005, NULL},
    /* beyond the batches that it captured, SGLang launches every kernel of a step: 512 sequences decode faster than 513
     */
    {"more users", "serve", "--concurrency", 2, UP, "rate_request_per_s", 0.005, "sglang"},
    {"more users", "serve", "--concurrency", 2, UP, "rate_request_per_s", 0.3, NULL},
    {"more users", "checkpoint", "--gpus", 2, UP, "overhead_frac", 1e-9, NULL},
    {"more users", "checkpoint", "--gpus", 2, DOWN, "goodput_frac", 1e-9, NULL},
    {"more users", "cost", "--gpus", 2, UP, "paid.run_usd", 1e-9, NULL},
    {"more users", "cost", "--time", 2, UP, "paid.run_usd", 1e-9, NULL},
    {"more work", "checkpoint", "--write", 2, UP, "overhead_frac", 1e-9, NULL},
    {"more work", "launch", "--kernels", 2, UP, "step_s", 1e-9, NULL},
    {"more work", "launch", "--ops", 2, UP, "step_s", 1e-9, NULL},
    {"more work", "launch", "--launch", 2, UP, "step_s", 1e-9, NULL},
    {"more work", "launch", "--gpu-time", 2, UP, "step_s", 1e-9, NULL},
    {"more work", "spec", "--draft", 2, DOWN, "speedup", 1e-9, NULL},
    {"more work", "spec", "--accept", 1.08, UP, "speedup", 1e-9, NULL},
    {"more work", "data", "--sample-time", 2, UP, "idle_frac", 1e-9, NULL},
    {"more work", "data", "--sample-size", 2, UP, "idle_frac", 1e-9, NULL},
    {"more work", "data", "--workers", 2, DOWN, "idle_frac", 1e-9, NULL},
    {"more work", "scale", "--stages", 2, UP, "bubble_frac", 1e-9, NULL},
    {"more work", "scale", "--microbatches", 2, DOWN, "bubble_frac", 1e-9, NULL},
    {"more work", "stack", "--base", 2, UP, "total_s", 1e-9, NULL},
    {"more bandwidth", "comm", "--bandwidth", 2, DOWN, "comm_s", 1e-9, NULL},
    {"more bandwidth", "comm", "--latency", 2, UP, "comm_s", 1e-9, NULL},
    {"more bandwidth", "checkpoint", "--storage", 2, DOWN, "overhead_frac", 1e-9, NULL},
    {"more bandwidth", "data", "--storage", 2, DOWN, "idle_frac", 1e-9, NULL},
};

static bool
has_one_of(struct trial *t, const char *line, const char *words)
{
	size_t n = 0;
	char **list = text_split(trial_arena(t), words ? words : "", ' ', &n);

	for (size_t i = 0; i < n; i++)
		if (list[i][0] && has(t, line, list[i]))
			return true;
	return false;
}

static void
moves_one_way(struct trial *t, const char *line)
{
	const size_t n = strcspn(line, " ");

	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
		if (strcmp(moves[i].law, trial_law(t)) != 0 || strlen(moves[i].command) != n ||
		    strncmp(moves[i].command, line, n) != 0 || has_one_of(t, line, moves[i].without))
			continue;
		const char *more = scaled(t, line, moves[i].option, moves[i].factor);
		if (!more)
			continue;
		const double before = trial_number(t, line, moves[i].id), after = trial_number(t, more, moves[i].id);
		if (isnan(before) || isnan(after))
			continue;
		trial_count(t);
		const double slack = moves[i].tolerance * fabs(before);
		if (moves[i].way == UP ? after < before - slack : after > before + slack)
			trial_broken(t, line, more, "%s %g times: %s from %g to %g", moves[i].option, moves[i].factor,
			    moves[i].id, before, after);
	}
}

/* A figure of the machine under --set; its value from the database. */
static double
figure_of(struct trial *t, const char *line, const char *figure)
{
	const char *gpu = value_of(t, line, "--gpu"), *system = value_of(t, line, "--system"), *said;
	const struct system *s = NULL;
	const struct gpu *g = NULL;

	if (gpu && strchr(gpu, ','))
		return NAN;
	if (system)
		s = database_system(trial_database(t), system, NULL, NULL, (struct source){0}, &said);
	if (gpu)
		g = database_gpu(trial_database(t), gpu, NULL, (struct source){0}, &said);
	if (!g && s)
		g = s->gpu;
	if (strcmp(figure, "gpu.memory.bandwidth") == 0)
		return g ? g->mem_byte_per_s.value : NAN;
	if (strcmp(figure, "gpu.peak.bf16") == 0)
		return g && !value_of(t, line, "--dtype") ? g->peak_flop_per_s[PEAK_BF16].value : NAN;
	if (strcmp(figure, "system.domain.per_direction") == 0)
		return s ? s->domain_byte_per_s.value : NAN;
	if (strcmp(figure, "system.network.per_nic") == 0)
		return s ? s->nic_byte_per_s.value : NAN;
	return NAN;
}

static const char *
set_to(struct trial *t, const char *line, const char *figure, double value)
{
	return with(t, line, "--set",
	    arena_printf(trial_arena(t), "%s=%.15g%s", figure, value, strstr(figure, "peak") ? "FLOP/s" : "B/s"));
}

static const struct {
	const char *command, *figure, *id;
} figures[] = {
    {"train", "gpu.memory.bandwidth", "step_s"},
    {"train", "gpu.peak.bf16", "step_s"},
    {"train", "system.network.per_nic", "step_s"},
    {"train", "system.domain.per_direction", "step_s"},
    {"serve", "gpu.memory.bandwidth", "tpot_s"},
    {"serve", "gpu.peak.bf16", "ttft_s"},
    {"roofline", "gpu.memory.bandwidth", "kernel_s"},
    {"roofline", "gpu.peak.bf16", "kernel_s"},
    {"roofline", "gpu.memory.bandwidth", "calibrated_list_s"},
    {"roofline", "gpu.peak.bf16", "calibrated_list_s"},
    {"roofline", "gpu.memory.bandwidth", "list_s"},
    {"roofline", "gpu.peak.bf16", "list_s"},
    {"comm", "system.domain.per_direction", "comm_s"},
    {"comm", "system.network.per_nic", "comm_s"},
};

/* A better machine is not slower, a worse one not faster (0.5 %: another kernel may be chosen). */
static void
set_moves_the_right_way(struct trial *t, const char *line)
{
	const size_t n = strcspn(line, " ");

	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		const double value = figure_of(t, line, figures[i].figure);
		if (strlen(figures[i].command) != n || strncmp(figures[i].command, line, n) != 0 || isnan(value))
			continue;
		const char *less = set_to(t, line, figures[i].figure, value / 2),
		           *more = set_to(t, line, figures[i].figure, value * 2);
		const double slow = trial_number(t, less, figures[i].id), now = trial_number(t, line, figures[i].id),
		             fast = trial_number(t, more, figures[i].id);
		if (isnan(slow) || isnan(now) || isnan(fast))
			continue;
		trial_count(t);
		if (slow < now * 0.995)
			trial_broken(
			    t, line, less, "%s halved: %s from %g to %g", figures[i].figure, figures[i].id, now, slow);
		if (fast > now * 1.005)
			trial_broken(
			    t, line, more, "%s doubled: %s from %g to %g", figures[i].figure, figures[i].id, now, fast);
	}
}

/* Where the roof is at a figure and most of the time is at the roof, half of the figure takes nearly twice as long;
 * below 50 us a cache that holds everything, and what a kernel costs to start, blur it. */
static void
set_moves_what_binds(struct trial *t, const char *line)
{
	static const char *const figure[] = {"gpu.memory.bandwidth", "gpu.peak.bf16"};

	for (size_t i = 0; i < 2; i++) {
		const double value = figure_of(t, line, figure[i]), roof = trial_number(t, line, "roof_s"),
		             kernel = trial_number(t, line, "kernel_s");
		if (isnan(value) || isnan(kernel) || roof < 0.7 * kernel || roof < 50e-6)
			continue;
		const char *less = set_to(t, line, figure[i], value / 2);
		const double slow_roof = trial_number(t, less, "roof_s"), slow = trial_number(t, less, "kernel_s");
		if (!(slow_roof > 1.99 * roof))
			continue;
		trial_count(t);
		if (!(slow > 1.5 * kernel && slow < 2.1 * kernel))
			trial_broken(t, line, less, "%s halved: the roof doubles, the kernel takes %.2f times as long",
			    figure[i], slow / kernel);
	}
}

/* Calibrated times stay above the roof, and MFU below 1, on any machine. */
static void
set_stays_below_the_roof(struct trial *t, const char *line)
{
	static const char *const figure[] = {"gpu.memory.bandwidth", "gpu.peak.bf16"};

	for (size_t i = 0; i < 2; i++) {
		const double value = figure_of(t, line, figure[i]);
		if (isnan(value))
			continue;
		const char *less = set_to(t, line, figure[i], value / 4);
		const double roof = trial_number(t, less, "roof_s"), kernel = trial_number(t, less, "kernel_s"),
		             mfu = trial_number(t, less, "mfu_frac");
		if (!isnan(kernel) && !isnan(roof)) {
			trial_count(t);
			if (kernel < roof * (1 - EXACT))
				trial_broken(t, less, NULL, "calibrated %g s, roof %g s", kernel, roof);
		}
		if (!isnan(mfu)) {
			trial_count(t);
			if (mfu > 1)
				trial_broken(t, less, NULL, "MFU %g", mfu);
		}
	}
}

/* One more sequence, or one more row of a product, is not done in less time (0.5 %). */
static void
one_more_takes_longer(struct trial *t, const char *line)
{
	static const struct {
		const char *command, *option, *id;
	} ones[] = {{"serve", "--batch", "tpot_s"}, {"roofline", "--m", "kernel_s"}};
	const size_t n = strcspn(line, " ");

	for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
		const char *text = value_of(t, line, ones[i].option);
		if (!text || strlen(ones[i].command) != n || strncmp(ones[i].command, line, n) != 0)
			continue;
		const char *more =
		    with(t, line, ones[i].option, arena_printf(trial_arena(t), "%.0f", strtod(text, NULL) + 1));
		const double now = trial_number(t, line, ones[i].id), then = trial_number(t, more, ones[i].id);
		if (isnan(now) || isnan(then))
			continue;
		trial_count(t);
		if (then < now * 0.995)
			trial_broken(t, line, more, "one more: %s from %g to %g", ones[i].id, now, then);
	}
}

/* A large product in 8 bits is not slower than in 16 (3 %: what casting costs makes them even at the smallest; on B300
 * 4352 x 4096 x 4096 takes 88.9 us in fp8 and 87.8 in bf16, the medians of three engines). */
static void
fewer_bits_are_not_slower(struct trial *t, const char *line)
{
	static const char *const sizes[] = {"--m", "--n", "--k"};

	if (strcmp(subject(t, line), "gemm") != 0 || value_of(t, line, "--dtype"))
		return;
	for (int i = 0; i < 3; i++)
		if (strtod(value_of(t, line, sizes[i]), NULL) < 4096)
			return;
	const char *fp8 = with(t, line, "--dtype", "fp8");
	const double wide = trial_number(t, line, "kernel_s"), narrow = trial_number(t, fp8, "kernel_s");
	if (isnan(wide) || isnan(narrow))
		return;
	trial_count(t);
	if (narrow > wide * 1.03)
		trial_broken(t, line, fp8, "%g s in bf16, %g s in fp8", wide, narrow);
}

/* Checkpoints at the interval that is called best are not worse than at others (0.1 %: the rule is an approximation).
 */
static void
best_interval_is_best(struct trial *t, const char *line)
{
	const double daly = reply_number(trial_ask(t, line), "daly_s"),
	             best = reply_number(trial_ask(t, line), "goodput_frac");

	if (value_of(t, line, "--interval") || isnan(daly) || isnan(best))
		return;
	for (int i = 0; i < 2; i++) {
		const char *other =
		    with(t, line, "--interval", arena_printf(trial_arena(t), "%.15gs", daly * (i ? 1.5 : 0.7)));
		const double goodput = reply_number(trial_ask(t, other), "goodput_frac");
		if (isnan(goodput))
			continue;
		trial_count(t);
		if (goodput > best * 1.001)
			trial_broken(t, line, other, "goodput %g at the best interval, %g at another", best, goodput);
	}
}

/* Each stage of ZeRO shards more: no stage needs more than the one before.  On one GPU nothing is divided, and the
 * buckets and copies of each stage come on top (DeepSpeed on one GPU, fine-tuning tables of QwenLM/Qwen); beside an
 * optimizer without moments they may be more than the states that are divided. */
static void
zero_stages_are_ordered(struct trial *t, const char *line)
{
	static const char *const stages[] = {"zero=0", "zero=1", "zero=2", "zero=3"};
	const char *layout = value_of(t, line, "--layout"), *before = NULL;
	double byte = NAN;

	if (!layout || strncmp(layout, "zero=", 5) != 0 || strlen(layout) != 6)
		return;
	const char *optimizer = value_of(t, line, "--optimizer");
	const char *gpus = value_of(t, line, "--gpus");
	if ((gpus && strcmp(gpus, "1") == 0) || (optimizer && strcmp(optimizer, "sgd") == 0))
		return;
	/* the framework that is assumed goes by the stage */
	if (!value_of(t, line, "--stack"))
		line = with(t, line, "--stack", "hf-deepspeed");
	for (int i = 0; i < 4; i++) {
		const char *now = with(t, line, "--layout", stages[i]);
		const double next = trial_number(t, now, "peak_byte");
		if (before && next > byte * (1 + EXACT))
			trial_broken(
			    t, now, before, "%s needs %.4g bytes, %s %.4g", stages[i], next, stages[i - 1], byte);
		if (!isnan(next)) {
			trial_count(t);
			before = now;
			byte = next;
		}
	}
}

/* Computing activations again, or a cache in fewer bits, never takes more memory. */
static void
savings_save(struct trial *t, const char *line)
{
	static const struct {
		const char *command, *option, *more, *less, *id;
	} pairs[] = {
	    {"memory", "--recompute", "none", "full", "peak_byte"},
	    {"memory", "--recompute", "block-1", "block-2", "peak_byte"},
	    {"memory", "--kv-dtype", "bf16", "fp8", "peak_byte"},
	    {"kv", "--kv-dtype", "bf16", "fp8", "batch_byte"},
	};
	const size_t n = strcspn(line, " ");

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (strlen(pairs[i].command) != n || strncmp(pairs[i].command, line, n) != 0 || has(t, line, "--dtype"))
			continue;
		const char *more = with(t, line, pairs[i].option, pairs[i].more),
		           *less = with(t, line, pairs[i].option, pairs[i].less);
		const double a = trial_number(t, more, pairs[i].id), b = trial_number(t, less, pairs[i].id);
		if (isnan(a) || isnan(b))
			continue;
		trial_count(t);
		if (b > a * (1 + EXACT))
			trial_broken(t, more, less, "%s: %.4g with %s, %.4g with %s", pairs[i].id, b, pairs[i].less, a,
			    pairs[i].more);
	}
}

/* The same ranks in each node and more nodes: never in less time. */
static void
more_nodes_are_not_faster(struct trial *t, const char *line)
{
	const char *more = value_of(t, line, "--system") ? scaled(t, line, "--ranks", 2) : NULL;

	if (!more)
		return;
	const struct reply *x = trial_ask(t, line), *y = trial_ask(t, more);
	const double nodes = reply_number(x, "n_nodes"), more_nodes = reply_number(y, "n_nodes"),
	             now = trial_number(t, line, "comm_s"), then = trial_number(t, more, "comm_s");
	/* twice the ranks on twice the nodes */
	if (isnan(now) || isnan(then) || more_nodes != 2 * nodes)
		return;
	trial_count(t);
	if (then < now * 0.995)
		trial_broken(t, line, more, "%g s on %g nodes, %g s on %g", now, nodes, then, more_nodes);
}

/* --- two commands, one quantity -------------------------------------------------------------------------- */

static void
agree(struct trial *t, const char *one, const char *other, const char *id, double tolerance)
{
	const double a = trial_number(t, one, id), b = trial_number(t, other, id);

	if (isnan(a) || isnan(b))
		return;
	trial_count(t);
	if (fabs(a - b) > tolerance * fmax(fabs(a), fabs(b)))
		trial_broken(t, one, other, "%s is %.6g and %.6g", id, a, b);
}

/* The line of another command with these options of this one. */
static const char *
as(struct trial *t, const char *command, const char *line, const char *const *options)
{
	const char *out = arena_printf(trial_arena(t), "%s %s", command, subject(t, line));

	for (int i = 0; options[i]; i++) {
		const char *value = value_of(t, line, options[i]);
		if (value)
			out = with(t, out, options[i], value);
	}
	return out;
}

static void
memory_is_train(struct trial *t, const char *line)
{
	if (has(t, line, "--no-memory") || has(t, line, "--infer") || has(t, line, "--lora-rank"))
		return;
	const bool is_memory = strncmp(line, "memory", 6) == 0;
	const char *rest = strchr(line, ' ');
	const char *other = arena_printf(
	    trial_arena(t), "%s%s", is_memory ? "train" : "memory", is_memory ? rest : with(t, rest, "--tokens", NULL));
	const struct reply *one = trial_ask(t, line), *two = trial_ask(t, other);

	agree(t, line, other, "peak_byte", EXACT);
	agree(t, line, other, "free_byte", EXACT);
	const char *said = reply_word(one, "verdict"), *says = reply_word(two, "verdict");
	if (said && says && strcmp(said, says) != 0)
		trial_broken(t, line, other, "'%s' and '%s'", said, says);
}

/* What an engine's cache holds of sequences of one length. */
static void
caches_hold_alike(struct trial *t, const char *line)
{
	static const char *const options[] = {"--gpu", "--layout", "--dtype", "--engine", NULL};
	const char *isl = value_of(t, line, "--isl"), *osl = value_of(t, line, "--osl");

	if (!value_of(t, line, "--gpu") || !has(t, line, "--engine") || has(t, line, "--requests") || !isl || !osl)
		return;
	const char *seq = arena_printf(trial_arena(t), "%d", atoi(isl) + atoi(osl));
	const char *memory = with(t, as(t, "memory", line, options), "--infer --seq", seq);
	agree(t, line, memory, "kv_capacity_token", 0.001);
	agree(t, line, memory, "weight_byte", 0.001);
}

/* As many sequences of one length fit for `kv` as users for `capacity`, both with the same memory kept free. */
static void
kv_is_capacity(struct trial *t, const char *line)
{
	static const char *const options[] = {"--gpu", "--layout", "--dtype", NULL};
	const char *tokens = value_of(t, line, "--tokens");

	if (!tokens || !value_of(t, line, "--layout"))
		return;
	const char *kv = with(t, as(t, "kv", line, options), "--seq", tokens);
	const double users = trial_number(t, line, "n_replica_users"),
	             sequences = trial_number(t, kv, "n_max_sequences");
	if (isnan(users) || isnan(sequences))
		return;
	trial_count(t);
	if (users != sequences)
		trial_broken(t, line, kv, "%g users, %g sequences", users, sequences);
}

static void
parameters_are_alike(struct trial *t, const char *line)
{
	const char *name = subject(t, line), *show = arena_printf(trial_arena(t), "model show %s", name);

	if (strncmp(line, "checkpoint", 10) == 0 && name[0] == '-')
		return;
	agree(t, line, show, "n_params", 0);
}

/* The first setup of a plan is what `serve` says of it at its share of the load. */
static void
plans_are_served(struct trial *t, const char *line)
{
	static const char *const same[] = {"--isl", "--osl", NULL};
	const struct reply *x = trial_ask(t, line);
	const char *gpu = reply_word(x, "candidates.0.gpu"), *engine = reply_word(x, "candidates.0.engine"),
	           *type = reply_word(x, "candidates.0.dtype"), *layout = reply_word(x, "candidates.0.layout");
	const double n = reply_number(x, "candidates.0.n_replicas"),
	             rate = reply_number(x, "candidates.0.rate_request_per_s");

	if (!gpu || !engine || !type || !layout || isnan(n) || isnan(rate))
		return;
	const char *serve = arena_printf(trial_arena(t),
	    "%s --gpu %s --engine %s --dtype %s --layout %s --rate %.17g --slo ttft.p99:1h", as(t, "serve", line, same),
	    gpu, engine, type, layout, rate / n);
	static const struct {
		const char *plan, *serve;
	} rows[] = {{"candidates.0.ttft_s", "ttft_s"}, {"candidates.0.tpot_s", "tpot_s"},
	    {"candidates.0.ttft_p99_s", "ttft_p99_s"}};
	if (trial_ask(t, serve)->status > 1) {
		trial_broken(t, line, serve, "the second is refused");
		return;
	}
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const double a = reply_number(x, rows[i].plan), b = reply_number(trial_ask(t, serve), rows[i].serve);
		if (isnan(a) || isnan(b))
			continue;
		trial_count(t);
		if (fabs(a - b) > 1e-6 * a)
			trial_broken(t, line, serve, "%s is %.6g and %.6g", rows[i].plan, a, b);
	}
}

/* A row of a plan is what `train` says of its layout. */
static void
plans_are_trained(struct trial *t, const char *line)
{
	static const char *const rows[] = {"step_s", "peak_byte", "mfu_frac"};

	if (strncmp(line, "plan train ", 11) != 0)
		return;
	for (int i = 0; i < 4; i++) {
		struct arena *a = trial_arena(t);
		const struct reply *x = trial_ask(t, line);
		const char *layout = reply_word(x, arena_printf(a, "layouts.%d.layout", i)),
		           *recompute = reply_word(x, arena_printf(a, "layouts.%d.recompute", i));
		const double n = reply_number(x, arena_printf(a, "layouts.%d.n_micro_sequences", i));
		if (!layout || !recompute || isnan(n))
			return;
		const char *train = with(t, with(t, line + strlen("plan "), "--top", NULL), "--layout", layout);
		train = with(t, with(t, train, "--recompute", recompute), "--batch", arena_printf(a, "%.17g", n));
		for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
			const double one = trial_number(t, line, arena_printf(a, "layouts.%d.%s", i, rows[k])),
			             two = trial_number(t, train, rows[k]);
			if (isnan(one) && isnan(two))
				continue;
			trial_count(t);
			if (one != two)
				trial_broken(t, line, train, "%s is %.17g and %.17g", rows[k], one, two);
		}
	}
}

/* Drafts that are all rejected gain nothing; those that are all accepted a token each. */
static void
drafts_are_bounded(struct trial *t, const char *line)
{
	if (value_of(t, line, "--speculate") || value_of(t, line, "--draft-tokens"))
		return;
	for (int accept = 0; accept < 2; accept++) {
		const char *with = arena_printf(trial_arena(t), "%s --speculate ngram=3,accept=%d", line, accept);
		if (!value_of(t, line, "--batch") || trial_ask(t, with)->status > 1)
			return;
		const double gain = reply_number(trial_ask(t, with), "drafts.draft_gain");
		if (isnan(gain))
			return;
		trial_count(t);
		if (gain > (accept ? 4 : 1) + 1e-9)
			trial_broken(t, line, with, "gain %.6g", gain);
	}
}

/* Closed loop: as many requests run as there are clients. */
static void
clients_are_where_they_are(struct trial *t, const char *line)
{
	const char *text = value_of(t, line, "--concurrency");
	const struct reply *x = trial_ask(t, line);

	if (!text)
		return;
	const double n = strtod(text, NULL), osl = strtod(value_of(t, line, "--osl"), NULL),
	             rate = reply_number(x, "output_token_per_s") / osl, ttft = trial_number(t, line, "ttft_s"),
	             tpot = trial_number(t, line, "tpot_s"), answer = ttft + (osl - 1) * tpot;
	if (isnan(rate) || isnan(answer))
		return;
	trial_count(t);
	if (fabs(rate * answer / n - 1) > 0.01)
		trial_broken(
		    t, line, NULL, "%g clients, but %g request/s for %g s are %g", n, rate, answer, rate * answer);
}

/* Requests that are simulated see what the closed form says, to 15 %, below 80 % of what the replica can take. */
static void
simulation_is_closed_form(struct trial *t, const char *line)
{
	const double most = trial_number(t, line, "max_request_per_s"),
	             rate = value_of(t, line, "--rate") ? strtod(value_of(t, line, "--rate"), NULL) : NAN;

	if (!(rate < 0.8 * most) || rate < 0.005 * most)
		return;
	const char *simulated = arena_printf(trial_arena(t), "%s --simulate --requests 2000 --warmup 0.1", line);
	const struct reply *x = trial_ask(t, simulated);
	static const struct {
		const char *id, *mean;
	} rows[] = {{"ttft_s", "latencies.0.mean_s"}, {"tpot_s", "latencies.1.mean_s"}};
	for (size_t i = 0; i < 2; i++) {
		const double closed = trial_number(t, line, rows[i].id), mean = reply_number(x, rows[i].mean);
		if (isnan(closed) || isnan(mean))
			continue;
		trial_count(t);
		if (fabs(closed / mean - 1) > 0.15)
			trial_broken(
			    t, line, simulated, "%s is %g in closed form, %g simulated", rows[i].id, closed, mean);
	}
}

/* The same question of `plan serve`, with the engine's own limits: one search, one best row. */
static void
plans_are_sized(struct trial *t, const char *line)
{
	static const char *const same[] = {"--gpu", "--rate", "--isl", "--osl", "--engine", NULL};
	static const char *const rows[] = {"n_gpus", "n_replicas", "ttft_s", "tpot_s", "month_usd"};
	const struct reply *x = trial_ask(t, line);
	const char *slo = value_of(t, line, "--objectives"), *layout = reply_word(x, "candidates.0.layout");

	if (!slo || !has(t, line, "--unconfirmed") || !layout || isnan(reply_number(x, "candidates.0.n_gpus")))
		return;
	const char *plan =
	    arena_printf(trial_arena(t), "%s --slo %s --unconfirmed --max-sequences default --max-step-tokens default",
	        as(t, "plan serve", line, same), slo);
	const struct reply *y = trial_ask(t, plan);
	const char *says = reply_word(y, "layouts.0.layout");
	trial_count(t);
	if (!says || strcmp(says, layout) != 0)
		trial_broken(t, line, plan, "the best layout is %s and %s", layout, says ? says : "none");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const double a = reply_number(x, arena_printf(trial_arena(t), "candidates.0.%s", rows[i])),
		             b = reply_number(y, arena_printf(trial_arena(t), "layouts.0.%s", rows[i]));
		if (a != b && !(isnan(a) && isnan(b)))
			trial_broken(t, line, plan, "%s is %.6g and %.6g", rows[i], a, b);
	}
}

/* What a framework is told reads back as the same job, where all of it can be told. */
static void
reads_back(struct trial *t, const char *line, const char *by, const char *const *options, const char *const *rows)
{
	const char *emit = with(t, line, "--emit", by);
	const struct reply *x = trial_ask(t, line), *said = trial_ask(t, emit);

	if (x->status > 1 || said->status != x->status || !reply_word(said, "launch_options") ||
	    strstr(said->err, "here:"))
		return;
	const char *file = asker_file(trial_asker(t), said->out);
	const char *command = arena_copy(trial_arena(t), line, strcspn(line, " "));
	const char *back = with(t, as(t, command, line, options), "--from", file);
	const struct reply *y = trial_ask(t, back);
	for (size_t i = 0; rows[i]; i++) {
		const double a = reply_number(x, rows[i]), b = reply_number(y, rows[i]);
		if (isnan(a))
			continue;
		trial_count(t);
		if (a != b)
			trial_broken(t, emit, back, "%s: %s is %.9g and %.9g", by, rows[i], a, b);
	}
}

static void
launchers_read_back(struct trial *t, const char *line)
{
	static const char *const machine[] = {"--gpu", "--system", "--gpus", NULL},
	                         *const script[] = {"--gpu", "--system", "--gpus", "--seq", "--recompute", NULL},
	                         *const steps[] = {"step_s", "peak_byte", NULL};
	static const char *const load[] = {"--gpu", "--isl", "--osl", "--rate", "--batch", "--concurrency",
	    "--requests", NULL},
	                         *const times[] = {"ttft_s", "tpot_s", "output_token_per_s", "kv_capacity_token", NULL};
	static const struct {
		const char *by, *stack;
	} trained[] = {{"megatron", "megatron-core"}, {"bridge", "megatron-bridge"}, {"torchtitan", "torchtitan"},
	    {"deepspeed", "hf-deepspeed"}};
	static const char *const served[] = {"vllm", "sglang", "trtllm"};

	if (strncmp(line, "train", 5) == 0 && !has(t, line, "--no-memory") && !has(t, line, "--tokens"))
		for (size_t i = 0; i < sizeof trained / sizeof *trained; i++)
			reads_back(t, with(t, line, "--stack", trained[i].stack), trained[i].by,
			    i == 3 ? script : machine, steps);
	if (strncmp(line, "serve", 5) == 0 && value_of(t, line, "--isl"))
		for (size_t i = 0; i < sizeof served / sizeof *served; i++)
			reads_back(t, with(t, line, "--engine", served[i]), served[i], load, times);
}

/* --- the table ------------------------------------------------------------------------------------------- */

const struct random_law random_laws[] = {
    {"interval", NULL, 1, interval_has_its_centre},
    {"finite", NULL, 1, numbers_are_finite},
    {"sum of parts", " memory ", 1, parts_sum},
    {"at least the roof", " roofline ", 1, at_least},
    {"best is best", " spec launch memory scale ", 1, at_least},
    {"mfu", " train ", 1, mfu_is_a_share},
    {"busbw", " comm ", 1, busbw_below_links},
    {"longer sequences", NULL, 2, moves_one_way},
    {"more batch", NULL, 2, moves_one_way},
    {"more users", NULL, 2, moves_one_way},
    {"more work", NULL, 1, moves_one_way},
    {"more bandwidth", NULL, 1, moves_one_way},
    {"set", " train serve roofline comm ", 3, set_moves_the_right_way},
    {"set binds", " roofline ", 2, set_moves_what_binds},
    {"set and the roof", " train roofline ", 3, set_stays_below_the_roof},
    {"one more", " serve roofline ", 1, one_more_takes_longer},
    {"fewer bits", " roofline ", 1, fewer_bits_are_not_slower},
    {"best interval", " checkpoint ", 1, best_interval_is_best},
    {"zero", " memory ", 1, zero_stages_are_ordered},
    {"savings", " memory kv ", 3, savings_save},
    {"nodes", " comm ", 1, more_nodes_are_not_faster},
    {"memory = train", " memory train ", 2, memory_is_train},
    {"memory = serve", " serve ", 2, caches_hold_alike},
    {"kv = capacity", " capacity ", 1, kv_is_capacity},
    {"parameters", " memory checkpoint ", 4, parameters_are_alike},
    {"plan = serve", " capacity ", 1, plans_are_served},
    {"plan = train", " plan ", 1, plans_are_trained},
    {"plan serve = capacity", " capacity ", 1, plans_are_sized},
    {"launchers", " train serve ", 2, launchers_read_back},
    {"drafts", " serve ", 1, drafts_are_bounded},
    {"closed loop", " serve ", 1, clients_are_where_they_are},
    {"simulation", " serve ", 2, simulation_is_closed_form},
    {"answer = JSON", NULL, 6, answer_is_json},
    {"answer = text", NULL, 4, answer_is_text},
    {"answer = point", NULL, 6, answer_is_point},
    {"answer = line", NULL, 6, answer_is_line},
    {"answer = cold", NULL, 10, answer_is_cold},
};
const size_t n_random_laws = sizeof random_laws / sizeof *random_laws;
