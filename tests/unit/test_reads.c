/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every input that is given changes the answer or is refused: each option is added to each example of its command, with
 * several values.  What it would have answered is looked at where it refuses, too: an input that does change the answer
 * cannot be refused as one without effect.
 */
#include "cli/cli.h"
#include "cli/parts.h"

#include "said.h"
#include "split.h"

#include <inttypes.h>

static struct arena *a;
static struct diag *kept;
static struct database *database;

static void
set_up(void)
{
	a = arena_new();
	kept = diag_new(a);
	database = database_new(a, kept, NULL);
}

static void
tear_down(void)
{
	arena_free(a);
}

/* --- values ----------------------------------------------------------------------------------------------- */

enum { MOST_VALUES = 8 };

static const struct {
	const char *command, *path; /* command NULL: of every command */
	const char *values[MOST_VALUES];
} plausible[] = {
    {"bench", "device", {"host"}},
    {"bench", "only", {"launch"}},
    {"calibrate", "files", {"tests/fixtures/calibrate/h100.csv"}},
    {"calibrate", "write", {"/tmp/ridge-test-calibrations"}},
    {"calibrate", "validate_with", {"tests/fixtures/calibrate/steps.csv"}},
    {NULL, "source", {"a paper"}},
    {NULL, "date", {"2026-01-01"}},
    {NULL, "note", {"a note"}},
    {NULL, "stack", {"mine"}},
    {NULL, "engine", {"mine"}},
    {NULL, "extends", {"torchtitan", "vllm"}},
    {NULL, "backend", {"vllm", "trtllm", "sglang"}},
    {"check", "files", {"h200-sxm-141gb"}},
    {NULL, "mtbf_source", {"llama3-405b"}},
    {"checkpoint", "storage", {"1GB/s", "nvme-gen4"}},
    {"data", "storage", {"1GB/s", "nvme-gen4"}},
    {"comm", "collective", {"allreduce", "alltoall", "links"}},
    {"comm", "matrix", {"4096x4096"}},
    {NULL, "nvlink_groups", {"4,4", "2,2"}},
    {NULL, "link", {"nvlink3", "pcie4-x16"}},
    {NULL, "host_link", {"pcie4-x16", "pcie3-x16"}},
    {"compare", "baseline", {"100", "41ms", "tests/fixtures/measurement/base.csv"}},
    {"compare", "current", {"120", "41ms", "tests/fixtures/measurement/new.csv"}},
    {"compare", "column", {"value", "value_s", "kernel"}},
    {"compare", "max", {"1h", "90ms", "1", "1000"}},
    {"compare", "min", {"2h", "90ms", "1", "100000"}},
    {"capacity", "price", {"2.5", "h100=2.5"}},
    {"cost", "price", {"2.5", "3usd/h", "h100=2.5"}},
    {"capacity", "slo", {"ttft:2s", "tpot.p95:60ms"}},
    {"latency", "slo", {"e2e=p95:1h", "e2e=p95:1us"}},
    {NULL, "speculate", {"eagle=3,accept=0.7", "ngram=3,accept=0.5"}},
    {NULL, "decode_layout", {"tp=8", "tp=4,pp=2"}},
    {"serve", "slo", {"ttft:2s", "tpot:1us"}},
    {"capacity", "dtypes", {"fp8", "int4"}},
    {"serve", "kv_link", {"nvlink4", "pcie5-x16"}},
    {"serve", "lengths", {"tests/fixtures/serve-trace.csv"}},
    {"serve", "trace", {"tests/fixtures/serve-trace.csv"}},
    {"serve", "rates", {"1,2"}},
    {"serve", "timeline", {"/tmp/ridge-test-timeline.csv"}},
    {"serve", "dump", {"/tmp/ridge-test-dump.csv"}},
    {"serve", "points", {"1:85", "1:85:750ms,2:140:850ms"}},
    {"cost", "capacity", {"350@8", "10"}},
    {NULL, "provider", {"somebody"}},
    {NULL, "histogram", {"1000:90,9000:10"}},
    {"diagnose", "parts", {"comm=450ms", "comm=45%"}},
    {"diagnose", "predicted", {"comm=100ms"}},
    {"hw", "names", {"h100", "systems", "links"}},
    {"hw", "architecture", {"hopper", "ampere"}},
    {"hw", "kind", {"storage", "nic"}},
    {"hw", "with", {"h100"}},
    {"latency", "stages", {"a=5ms,b=6ms"}},
    {"latency", "parallel", {"detect/track", "encode/detect"}},
    {"latency", "tails", {"encode=15ms", "detect=80ms"}},
    {"launch", "fuse", {"3:1"}},
    {"launch", "chain", {"gemm,norm"}},
    {"model", "verb", {"show", "list", "compare"}},
    {"model", "names", {"llama3-8b"}},
    {"model", "flops_convention", {"palm", "all"}},
    {"quant", "formats", {"fp8", "int8"}},
    {"quant", "base", {"fp32", "fp16"}},
    {"scale", "points", {"1:1000,2:1800"}},
    {"scale", "series", {"tests/fixtures/measurement/scale.csv"}},
    {"scale", "times", {"14h@1,2h@8"}},
    {"scale", "gpus", {"2,4", "16"}},
    {"scale", "law", {"amdahl", "usl"}},
    {"spec", "at", {"0.3,0.5"}},
    {"stack", "steps", {"data=1.4,amp=1.7"}},
    {"stack", "effort", {"data=2d,amp=1d", "data=2d"}},
    {"stack", "breakdown", {"forward=450ms,backward=580ms"}},
    {"stack", "check", {"tests/fixtures/stack.csv"}},
    {"trend", "points", {"0:1GB,100:2GB,200:3GB"}},
    {"trend", "x", {"step"}},
    {"trend", "y", {"value"}},
    {"trend", "per", {"epoch"}},
    {"trend", "capacity", {"16GB", "9GB"}},
    {"validate", "files", {"tests/corpus/memory.csv"}},
    {"validate", "by", {"kind", "gpu"}},
    {"validate", "only", {"kind=measured", "gpu=h100-sxm5-80gb"}},
    {"validate", "predictions", {"/tmp/ridge-test-predictions.csv"}},
    {"plan", "gpus", {"64", "16,64", "128"}},
    {"plan", "batch", {"2", "1,2"}},
    {"plan", "stack", {"torchtitan", "megatron-bridge"}},
    {"plan", "from", {"tp=8", "tp=4,pp=2"}},
    {"plan serve", "price", {"2.5", "h100=2.5"}},
    {"plan serve", "slo", {"ttft:2s", "tpot.p95:60ms"}},
    {"plan serve", "top", {"1"}},
    {"plan serve", "max_sequences", {"16", "64"}},
    {"plan serve", "max_step_tokens", {"512", "4096"}},
    {"plan serve", "from", {"tp=4", "tp=2,max-sequences=64"}},
    {"plan serve", "kv_link", {"ib-ndr", "roce-400"}},
    {"serve", "from", {"tests/fixtures/launchers/serve.sh"}},
    {NULL, "from", {"tests/fixtures/launchers/train.sh"}},
    {"roofline", "measurements", {"tests/fixtures/measurement/base.csv"}},
    {NULL, "loss", {"fused", "eager", "chunked", "compiled"}},
    {NULL, "stage_layers", {"32", "7,8*14,7", "41,39", "12*4"}},
    {NULL, "gpu", {"a100", "h100", "doc-a100"}},
    {NULL, "system", {"dgx-h100", "dgx-a100"}},
    {NULL, "model", {"llama3-8b", "llama3-70b"}},
};

static const char *const by_quantity[][MOST_VALUES] = {
    [Q_NUMBER] = {"0.4", "1", "3", "50", "90000"},
    [Q_FRACTION] = {"0.01%", "1%", "20%", "60%", "97%"},
    [Q_COUNT] = {"1", "2", "6", "64", "3000", "2000000"},
    [Q_SIZE] = {"4B", "900kB", "1GB", "900GB"},
    [Q_RATE] = {"1MB/s", "20GB/s", "3TB/s"},
    [Q_WORK] = {"1TFLOP"},
    [Q_PEAK] = {"100TFLOP/s"},
    [Q_DENSITY] = {"2FLOP/B"},
    [Q_TIME] = {"1us", "7ms", "400ms", "90s", "30h"},
    [Q_CLOCK] = {"1GHz", "2GHz"},
    [Q_POWER] = {"300W", "9kW"},
    [Q_MONEY] = {"1usd", "3000usd", "900000usd"},
    [Q_PER_HOUR] = {"2usd/h", "90usd/h"},
    [Q_PER_ENERGY] = {"0.2usd/kWh"},
};

static size_t
split_at(const char *text, char separator, const char **out)
{
	size_t n = 0;

	while (*text && n < MOST_VALUES) {
		const size_t length = strcspn(text, (char[]){separator, '\0'});
		out[n++] = arena_copy(a, text, length);
		text += length + (text[length] != '\0');
	}
	return n;
}

static size_t
take_all(const char *const *from, const char **out)
{
	size_t n = 0;

	for (; n < MOST_VALUES && from[n]; n++)
		out[n] = from[n];
	return n;
}

static size_t
values_of(const struct command *c, const struct option *o, const char **out)
{
	for (size_t i = 0; i < sizeof plausible / sizeof *plausible; i++)
		if (strcmp(plausible[i].path, o->path) == 0 &&
		    (!plausible[i].command || strcmp(plausible[i].command, c->name) == 0))
			return take_all(plausible[i].values, out);
	if (o->kind == KIND_FLAG) {
		out[0] = "true";
		return 1;
	}
	if (o->kind == KIND_QUANTITY)
		return take_all(by_quantity[o->quantity], out);
	return strchr(o->complete, '|') ? split_at(o->complete, '|', out) : 0;
}

/* --- answers ---------------------------------------------------------------------------------------------- */

struct seen {
	bool refused;
	uint64_t content;
	struct unread unread; /* inputs for which it would be refused, and nothing else */
	const char *why;
};

static uint64_t
mix(uint64_t h, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
	return h;
}

static uint64_t
mix_text(uint64_t h, const char *text)
{
	return text ? mix(h, text, strlen(text) + 1) : mix(h, "", 1);
}

/* Everything that was computed, said or written; numbers that the sheet took over from the inputs are none of it. */
static uint64_t
content(const struct answered *x, size_t n_files)
{
	uint64_t h = mix(UINT64_C(1469598103934665603), &x->status, sizeof x->status);

	h = mix_text(mix_text(h, x->title), x->document);
	for (size_t i = 0; i < x->warnings.n; i++)
		h = mix_text(h, x->warnings.list[i].text);
	for (int i = 0; i < sheet_size(x->sheet); i++) {
		const struct row *row = sheet_row(x->sheet, i);
		const bool taken = row->kind == ROW_DATUM || row->kind == ROW_INPUT || row->kind == ROW_GIVEN;
		if (taken && !row->label)
			continue;
		h = mix_text(mix_text(h, row->name), row->label);
		h = row->kind == ROW_WORD ? mix_text(h, row->text) : mix(h, &row->value, sizeof row->value);
	}
	return mix(h, &n_files, sizeof n_files);
}

static struct seen
see(const struct command *c, const struct node *inputs, const struct words *files)
{
	struct arena *passing = arena_new();
	struct diag *d = diag_new(passing);
	struct question q = {.arena = passing, .diag = d, .command = c, .database = database, .files = *files};
	struct seen out = {0};

	q.outputs = outputs_new(passing);
	struct answered x = question_ask(&q, inputs);
	out.refused = x.status == REFUSED;
	if (!out.refused)
		out.content = content(&x, outputs_count(q.outputs));
	if (x.reads)
		unread_note(a, &out.unread, x.reads);
	out.why = arena_text(a, said(passing, d));
	outputs_drop(q.outputs);
	sheet_free(x.sheet);
	arena_free(passing);
	return out;
}

static bool
is_unread(const struct seen *x, const char *path)
{
	for (size_t i = 0; i < x->unread.n; i++)
		if (strcmp(x->unread.list[i].path, path) == 0)
			return true;
	return false;
}

/* --- the law ---------------------------------------------------------------------------------------------- */

struct asking {
	const struct command *command;
	const char *line;
	size_t n_before; /* examples of the command before this one */
	struct arguments args;
	const struct node *job;
	struct seen base;
};

static const struct node *
inputs_with(const struct asking *q, const char *path, const char *value)
{
	struct arguments args = q->args;

	args.options.list = arena_take(a, (args.options.n + 1) * sizeof *args.options.list);
	if (args.options.n)
		memcpy(args.options.list, q->args.options.list, args.options.n * sizeof *args.options.list);
	args.options.room = args.options.n + 1;
	if (path)
		settings_add(a, &args.options, path, value, (struct source){"command line", 0, 0, NULL, false});
	return inputs_tree(a, kept, q->command, q->job, &args);
}

static bool
given(const struct asking *q, const char *path)
{
	for (size_t i = 0; i < q->args.options.n; i++)
		if (strcmp(q->args.options.list[i].path, path) == 0)
			return true;
	return false;
}

/* Answers that stay as they are for a good reason. */
static const struct {
	const char *line, *path, *why;
} stays[] = {
    {"calibrate tests/fixtures/calibrate/h100.csv", "gpu", "the file is of this GPU"},
    {"calibrate tests/fixtures/calibrate/h100.csv", "fresh", "copies begin with nothing"},
    {"memory llama3-8b", "system", "its nodes are of the usual size"},
    {"memory llama3-70b", "system", "its nodes are of the usual size"},
    {"memory", "use", "the one that is meant"},
    {"memory --params", "act_model", "simple12 is the default, full needs --heads"},
    {"memory llama3-8b", "global_batch", "without a pipeline micro-batches follow each other"},
    {"memory llama3-8b", "microbatches", "without a pipeline micro-batches follow each other"},
    {"memory llama2-7b", "loss", "eager is the default"},
    {"memory llama2-7b", "compile", "it saves time, which `train` says"},
    {"memory llama3", "dropout", "off is the default, on has no rule"},
    {"memory llama3-70b --infer", "counter", "device is the default, others are not known"},
    {"train llama3", "gpu", "it is the system's"},
    {"train", "use", "training is meant"},
    {"train llama3-8b", "counter", "reserved is the default, others are not known"},
    {"train llama3", "dropout", "off is the default"},
    {"train llama3-8b", "moment_dtype", "fp32 is the default, others need Megatron-Core"},
    {"plan train llama3-8b", "moment_dtype", "fp32 is the default, others need Megatron-Core"},
    {"train qwen3-30b-a3b", "fp8_params", "the framework stores them so by itself"},
    {"plan", "use", "training is meant"},
    {"plan", "gpu", "it is the system's"},
    {"plan", "threads", "the answer is the same for any number"},
    {"plan train llama3-8b", "counter", "reserved is the default, others are not known"},
    {"plan train llama3-8b", "layout.no_sp", "the fastest layouts are without tensor parallelism"},
    {"plan train llama3-70b", "all", "the pins leave fewer than are listed"},
    {"plan train llama3-70b --system dgx-h100 --gpus 64..2048*2", "sure", "no number of GPUs is doubtful"},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 ", "top", "nothing fits"},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 ", "rank", "nothing fits"},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 ", "groups", "nothing fits"},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 ", "tokens", "nothing fits"},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 ", "pareto", "nothing fits"},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 ", "emit", "nothing fits"},
    {"plan train llama3-8b", "dropout", "off is the default, on has no rule"},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 ", "all", "nothing fits"},
    {"plan train llama3.1-405b --system dgx-h100 --gpus 16 ", "cp_comm", "the least memory is without cp"},
    {"roofline", "system", "its GPU is the one that is named"},
    {"check h100-sxm5-80gb", "strict", "nothing is warned of"},
    {"comm allreduce", "nodes", "one node is what is assumed"},
    {"comm allreduce --size 1GB --gpus 8 --link nvlink3", "algo", "groups are of rings"},
    {"comm allreduce --size 256KiB", "algo", "auto is the default"},
    {"capacity", "weights", "replicated is the default"},
    {"capacity llama3-70b --gpu h100 --users 200 --context 4Ki --layout tp=1", "provider",
        "what does not fit has no price"},
    {"capacity llama3-70b --gpu h100 --users 200 --context 4Ki --layout tp=1", "price",
        "what does not fit has no price"},
    {"capacity llama3-70b --gpu h100,h200,b200", "seed", "other draws confirm the same plan"},
    {"plan serve llama3.1-8b --gpu h100,h200 --engine vllm", "seed", "other draws confirm the same rows"},
    {"plan serve llama3.1-70b --gpu h100:8,h200:4", "seed", "other draws confirm the same fleet"},
    {"plan serve llama3.1-8b --gpu h100,l40s", "top", "one setup is best in all respects"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 10", "every_layout", "a front has no others"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "target_load", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "rank", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "price", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "provider", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "slo", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "pareto", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "top", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "isl_cv", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "growth", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "spare", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "host_power", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "pue", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --rate 5", "every_layout", "nothing meets the SLOs"},
    {"plan serve llama3.1-70b --gpu h100 --engine vllm --dtype fp8", "emit_rank", "the first is the default"},
    {"plan serve llama3.1-70b --gpu h100:8,h200:4", "top", "there is one setup and one fleet"},
    {"plan serve llama3.1-70b --gpu h100 --rate 20", "top", "one setup is best in all respects"},
    {"serve llama3.1-70b --gpu h100 --layout tp=2 --dtype fp8", "gpus", "the layout takes as many"},
    {"compare", "seed", "so few values have the same median in every draw"},
    {"diagnose", "top", "there are fewer causes"},
    {"kv", "system", "its GPU is the one that is named"},
    {"serve", "system", "its GPUs are linked as the named GPU usually is"},
    {"serve llama3.1-70b --gpu h100 --isl 1000 --osl 200", "rate", "it does not fit"},
    {"serve llama3.1-70b --gpu h100 --isl 1000 --osl 200", "concurrency", "it does not fit"},
    {"serve llama3.1-70b --gpu h100 --isl 1000 --osl 200", "requests", "it does not fit"},
    {"serve llama3.1-70b --gpu h100 --isl 1000 --osl 200", "cached", "it does not fit"},
    {"stack --base 36d", "dtype", "the GPU of the textbook has this type alone"},
};

static bool
may_stay(const struct asking *q, const struct option *o)
{
	for (size_t i = 0; i < sizeof stays / sizeof *stays; i++)
		if (strcmp(stays[i].path, o->path) == 0 && strncmp(stays[i].line, q->line, strlen(stays[i].line)) == 0)
			return true;
	return false;
}

static int faults;

static void
fault(const struct asking *q, const struct option *o, const char *value, const char *what, const char *why)
{
	faults++;
	fprintf(stderr, "ridge %s, --%s %s: %s%s%s", q->line, o->name ? o->name : o->path, value, what,
	    *why ? ":\n" : "\n", why);
}

/* Each of a hundred answers of theirs simulates, or searches through layouts.  With EVERY=1 none is slow. */
static bool
is_slow(const struct command *c)
{
	static const char *const names[] = {"capacity", "serve", "plan serve", "plan", "validate"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!getenv("EVERY") && strcmp(c->name, names[i]) == 0)
			return true;
	return false;
}

/* An option of a slow command that has shown its effect in two examples is not tried in others. */
enum { SHOWN_ENOUGH = 2, MOST_OPTIONS = 400 };

static void
try_option(const struct asking *q, const struct option *o, int *n_shown)
{
	const char *values[MOST_VALUES];
	const size_t n = values_of(q->command, o, values);
	const char *accepted = NULL;
	bool changes = false, unread = false;

	if (n == 0)
		fault(q, o, "", "no value to try", "");
	for (size_t k = 0; k < n; k++) {
		/* slow ones take values until one has an effect, may have none or is not read, and begin with another
		 * in each example */
		if (is_slow(q->command) && (accepted ? changes || may_stay(q, o) : unread))
			break;
		const size_t i = (k + q->n_before) % n;
		const struct node *inputs = inputs_with(q, o->path, values[i]);
		const struct seen with = see(q->command, inputs, &q->args.operands);
		const bool different = with.content != q->base.content;
		unread = is_unread(&with, o->path);
		if (with.refused)
			continue;
		if (different && unread)
			fault(q, o, values[i], "changes the answer and is refused", with.why);
		if (with.unread.n == 0)
			accepted = values[i];
		changes = changes || different;
	}
	*n_shown += changes;
	if (accepted && !changes && !may_stay(q, o))
		fault(q, o, accepted, "is accepted and changes nothing", "");
}

static void
try_example(const struct command *c, size_t i_example, int *n_shown)
{
	size_t n_options = 0;
	const struct example *e = &c->examples[i_example];
	char *words[64];
	struct asking q = {.command = c, .line = e->line, .n_before = i_example};
	const int n = split_line(a, e->line, words, 64);

	take_shorter(a, words, n);
	const int n_name = strchr(c->name, ' ') ? 3 : 2; /* and the program's */
	if (!arguments_parse(a, kept, c, n - n_name, words + n_name, &q.args))
		ck_abort_msg("%s: %s", e->line, said(a, kept));
	if (q.args.sweeps.n || q.args.solve)
		return;
	struct program p = {.arena = a, .diag = kept, .command = c, .args = q.args, .question = {.database = database}};
	ck_assert_msg(program_job(&p, &q.job) && program_launch(&p, &q.job), "%s: %s", e->line, said(a, kept));
	q.args = p.args;
	arguments_place(a, kept, c, &q.args);
	q.base = see(c, inputs_with(&q, NULL, NULL), &q.args.operands);
	ck_assert_msg(!q.base.refused && q.base.unread.n == 0, "%s: %s", e->line, q.base.why);
	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++) {
			const struct option *o = &c->groups[g].options[i];
			int *const n_times = &n_shown[n_options++];
			ck_assert_uint_le(n_options, MOST_OPTIONS);
			if (o->name && !given(&q, o->path) && !(is_slow(c) && *n_times >= SHOWN_ENOUGH))
				try_option(&q, o, n_times);
		}
}

/* Measuring takes its time, and says another thing each time. */
static bool
measures(const struct example *e)
{
	return strncmp(e->line, "bench", 5) == 0;
}

START_TEST(inputs_have_an_effect)
{
	const struct command *c = commands[_i];
	int n_shown[MOST_OPTIONS] = {0};

	faults = 0;
	for (size_t i = 0; i < c->n_examples; i++)
		if (!measures(&c->examples[i]))
			try_example(c, i, n_shown);
	ck_assert_msg(faults == 0, "ridge %s: %d inputs", c->name, faults);
}
END_TEST

/* What an input belongs to is said of inputs that there are. */
START_TEST(needs_are_of_inputs)
{
	const struct command *c = commands[_i];

	for (size_t i = 0; i < c->n_needs; i++)
		ck_assert_msg(
		    command_option_at(c, c->needs[i].path) != NULL, "ridge %s has no %s", c->name, c->needs[i].path);
}
END_TEST

Suite *reads_suite(void);

Suite *
reads_suite(void)
{
	Suite *s = suite_create("reads");
	TCase *tc = tcase_create("reads"), *slow = tcase_create("slow");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_set_timeout(tc, 300);
	tcase_set_tags(slow, "slow");
	tcase_add_checked_fixture(slow, set_up, tear_down);
	tcase_set_timeout(slow, 900);
	for (int i = 0; i < (int)n_commands; i++)
		tcase_add_loop_test(is_slow(commands[i]) ? slow : tc, inputs_have_an_effect, i, i + 1);
	tcase_add_loop_test(tc, needs_are_of_inputs, 0, (int)n_commands);
	suite_add_tcase(s, tc);
	suite_add_tcase(s, slow);
	return s;
}
