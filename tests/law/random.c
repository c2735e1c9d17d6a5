/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "law/random.h"

#include "db/db.h"
#include "law/law.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * Questions.  {a|b|} is one of these, $list one of a list of the database, #1..9 a whole number between (each order of
 * magnitude as likely), ^1..64 a power of two.
 */
static const char *const templates[] = {
    "kv $decoder --seq #100..200000 --batch #1..200 {--kv-dtype fp8|--block 1||}",
    "kv $decoder --gpu $gpu --layout tp=^1..8 --seq #100..100000 --batch #1..64 {--dtype fp8|--headroom 0.1||}",
    "memory $trained --gpu $gpu --gpus ^1..64 --layout zero={0|1|2|3} --batch ^1..8 --seq ^512..16384 {--recompute "
    "full|--recompute selective|--dtype fp8|--optimizer sgd||||}",
    "memory $trained --gpu $fitted --gpus {64|128} --layout tp={2|4|8},pp={1|2|4},zero=1{,sp||} --batch ^1..4 --seq "
    "^1024..16384 {--recompute full||}",
    "memory $trained --gpu $fitted --gpus 8 --layout zero={2|3} --stack $trainer --batch ^1..4 --seq ^512..8192",
    "memory $moe --gpu $fitted --gpus 64 --layout ep={2|4|8},zero=1 --batch 1 --seq ^1024..8192",
    "memory $trained --gpu $gpu --lora-rank ^4..64 --seq ^512..4096 --batch ^1..8 {--quant nf4|--quant int8||}",
    "memory $decoder --infer --gpu $gpu --layout tp=^1..8 --batch #1..64 --seq #200..30000 {--stack vllm|--stack "
    "sglang||}",
    "train $trained --gpu $trainable --gpus ^1..64 --batch ^1..4 --seq ^512..16384 {--recompute full|--dtype fp8|||}",
    "train $trained --gpu $trainable --gpus ^16..256 --layout tp=^1..8,pp=^1..4,zero=1 --batch 1 --global-batch "
    "^256..2048 --seq ^1024..16384 {--recompute full|--recompute selective|--stack megatron-core --recompute "
    "block-{1|4}||}",
    "train $trained --gpu $fitted --gpus ^8..64 --layout zero=3 --batch ^1..4 --seq ^1024..16384 --stack megatron-core "
    "{--recompute offload-{1|8}|--offload core_attn}",
    "train $moe --gpu {h100|b200} --gpus ^16..64 --layout ep=^2..8,zero=1 --batch 1 --global-batch ^64..512 --seq "
    "^1024..8192 --no-memory",
    "train $hybrid --gpu {h100-sxm5-80gb|b200-sxm} --gpus ^16..64 --layout tp=^1..8,pp=^1..4,zero=1 --batch 1 "
    "--global-batch ^64..512 --seq ^1024..8192 --stack megatron-core {--recompute full|--dtype fp8|--no-memory||}",
    "memory $hybrid --gpu $fitted --gpus 64 --layout tp=^1..8,pp=^1..4,zero=1{,sp||} --batch ^1..2 --seq ^1024..8192 "
    "{--recompute full|--recompute layernorm,moe_act||}",
    "plan train $hybrid --gpu {h100-sxm5-80gb|b200-sxm} --gpus ^32..128 --global-batch ^128..512 --seq ^1024..8192 "
    "--top "
    "^1..4 {--layout tp=1..4|--recompute full||}",
    "train $trained --system $cluster --gpus ^8..512 --batch ^1..2 --seq 4096 --tokens 1T --no-memory",
    "plan train $trained --gpu $trainable --gpus ^8..64 --global-batch ^64..512 --seq ^1024..8192 --top ^1..4 "
    "{--layout "
    "tp=1..4|--recompute full|--stack megatron-core --recompute block-2,full||}",
    "serve $decoder --gpu $fitted --layout tp=^1..8 --engine $server --isl #50..8000 --osl #10..2000 --batch #1..256",
    "serve $dense --gpu $fitted --layout tp=^1..8 --engine $server --isl #50..8000 --osl #10..1000 --rate "
    "{0.1|0.5|1|2|4}",
    "serve $dense --gpu $fitted --layout tp=^1..8 --engine $server --isl #50..8000 --osl #10..1000 --concurrency "
    "#1..300",
    "serve $moe --gpu {h100|h200|b200} --layout tp=8 --engine $server --isl #50..4000 --osl #10..1000 {--concurrency "
    "#1..100|--rate 1|--batch #1..64}",
    "serve $decoder --gpu $fitted --layout tp=8 --engine $server --isl #50..4000 --osl #10..1000 --requests #100..3000 "
    "{--dtype fp8||}",
    "serve $decoder --gpu $gpu --layout tp=^1..8 --batch #1..64 --context #100..30000",
    "capacity $decoder --gpu $fitted --users #1..3000 --tokens #100..30000 {--dtype fp8||}",
    "capacity $decoder --gpu $gpu --layout tp=^1..8 --users #1..300 --tokens #100..20000",
    "capacity $dense --gpu $fitted --rate {0.5|2|8|30} --isl #50..4000 --osl #10..500",
    "capacity $dense --gpu $fitted --rate {1|4|16|40} --isl #100..4000 --osl #20..400 --objectives "
    "{ttft:2s|tpot:60ms|answer:30s} --unconfirmed",
    "roofline gemm --m #1..20000 --n ^256..16384 --k ^256..16384 --gpu $fitted {--dtype fp8|--dtype fp32|||}",
    "roofline gemm --m ^1..16384 --n ^256..16384 --k ^256..16384 --gpu $gpu",
    "roofline {bmm --b #1..64 --m #1..2000 --n 512 --k 128|grouped --e 8 --m ^8..8192 --n 14336 --k 4096|gemv --m "
    "8192 --k 8192} --gpu $fitted",
    "roofline {norm --rows #1..60000 --width 8192|softmax --rows #1..60000 --width 4096|elementwise --elements "
    "#1000..1000000000|embedding --rows #1..60000 --width 8192 --vocab 128256} --gpu $fitted",
    "roofline attention --b #1..64 --h 32 --kv 8 --s 1 --c #100..100000 --d 128 --gpu $fitted",
    "roofline attention --b #1..8 --h 32 --kv 8 --s ^256..16384 --c ^256..16384 --d 128 --gpu $fitted",
    "roofline $decoder --gpu $gpu --phase {prefill|decode} --batch #1..32 --seq #100..20000 {--layout tp=^2..8||}",
    "comm {allreduce|allgather|reducescatter|alltoall|broadcast|reduce|sendrecv} --size #1..4000MiB --system $system "
    "--ranks ^2..256",
    "comm {allreduce|allgather|reducescatter|alltoall} --size #1..900KiB --system $system --ranks ^2..64",
    "comm allreduce --size #1..4000MiB --ranks ^2..64 --bandwidth #10..900GB/s --latency #1..20us --algo "
    "{ring|tree|auto}",
    "comm {allreduce|allgather|reducescatter|alltoall} --size #1..8000MiB --system gb200-nvl72 --ranks "
    "{36|72|144|288|576}",
    "comm {allreduce|allgather|reducescatter} --size #500..8000MiB --system {dgx-a100|dgx-h100|dgx-b200|dgx-b300|"
    "mi300x-platform} --ranks {8|16|32}",
    "roofline gemm --m ^4096..32768 --n ^4096..16384 --k ^4096..16384 --gpu "
    "{gb300|rtx5090|b300-sxm|gb200|b200-sxm|h200|h100|l40s|rtx-4090|l4}",
    "scale --serial 0.0{1|05|5|2} --coherency 0.000{1|05|02} --ranks ^2..1024",
    "scale --stages ^1..16 --microbatches #1..200",
    "scale --compute #1..9s --gradient #1..50GB --bandwidth #10..200GB/s --latency 5us --ranks ^2..1024",
    "cost --gpus #1..5000 --price #1..9usd/h --time #1..900h",
    "cost --gpu {h100|a100|h200|b200} --gpus #1..64 --time #1..99h",
    "cost --load #1..90 --gpus #1..64 --price #1..9usd/h --isl #10..3000 --osl #10..900",
    "checkpoint {$decoder|--size #1..9000GB} --gpus #8..30000 --gpu-mtbf #10000..90000h --storage #1..90GB/s --restart "
    "#1..30min",
    "checkpoint --gpus #8..30000 --gpu-mtbf #10000..90000h --write #5..600s --interval #10..300min",
    "launch {--kernels #10..9000|--layers #1..99 --ops #5..99} --launch #2..20us --gpu-time #1..90ms",
    "launch $decoder --gpu $gpu --phase {decode|prefill} --batch #1..64 --launch #2..20us",
    "spec --accept 0.#1..9 --k #1..16 --draft #1..9ms --target #20..90ms",
    "latency --stages a=#1..90ms,b=#1..90ms,c=#1..90ms --budget #20..200ms",
    "data --sample-time #1..500ms --workers #1..64 --batch #8..1000 --step #50..900ms",
    "data --storage #1..90GB/s --sample-size #1..900kB --batch #16..9000 --step #50..900ms",
    "quant {fp32|bf16|fp16|fp8|mxfp8|mxfp4|nvfp4|int8|awq|nf4} --params #1..900B",
    "stack --base #1..90h --steps a=1.#1..9,b=1.#1..9@0.#1..9",
    "model show {$decoder|$vision} {--seq ^128..8192|}",
};
enum { N_TEMPLATES = sizeof templates / sizeof *templates };

enum { LIST_MAX = 300, SHOWN = 3, MAX_KNOWN = 400 };

struct names {
	const char *list; /* $list */
	const char *ids[LIST_MAX];
	unsigned n;
};

/* Lists that are said here: GPUs that kernels were fitted on, or that training was; engines of today. */
static struct names lists[] = {
    {.list = "decoder"},
    {.list = "dense"},
    {.list = "moe"},
    {.list = "trained"},
    {.list = "hybrid"},
    {.list = "vision"},
    {.list = "gpu"},
    {.list = "system"},
    {"fitted",
        {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm5-141gb", "b200-sxm", "gb200", "b300-sxm", "l40s",
            "rtx-pro-6000-bse"},
        8},
    {"trainable", {"a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm5-141gb", "b200-sxm"}, 4},
    {"server", {"trtllm", "vllm", "sglang"}, 3},
    {"trainer", {"torchtitan", "megatron-core", "llm-foundry", "litgpt", "hf-deepspeed"}, 5},
    {"cluster", {"dgx-h100", "dgx-a100", "dgx-b200", "gb200-nvl72"}, 4},
};
enum { N_LISTS = sizeof lists / sizeof *lists };

struct known {
	const char *law, *line;
	bool broken;
};

struct trial {
	struct arena *arena; /* of the whole run */
	struct asker *asker;
	struct database *db;
	FILE *to;
	struct known known[MAX_KNOWN];
	size_t n_known;
	const struct random_law *law;
	struct known *witness; /* being tried */
	long held[200], broken[200], tolerated[200];
	int faults;
};

/* --- questions ------------------------------------------------------------------------------------------- */

static void
name_add(const char *list, const char *id)
{
	for (size_t i = 0; i < N_LISTS; i++)
		if (strcmp(lists[i].list, list) == 0 && lists[i].n < LIST_MAX)
			lists[i].ids[lists[i].n++] = id;
}

static void
add_model(const struct workload *w, const char *id)
{
	bool routed = false, plain = true;

	for (int i = 0; i < w->n_blocks; i++) {
		routed = routed || w->blocks[i].moe.given;
		plain = plain && w->blocks[i].mixer == MIXER_ATTENTION &&
		    w->blocks[i].attention.kind != ATTENTION_CSA && (w->blocks[i].mlp.given || w->blocks[i].moe.given);
	}
	if (w->kind == MODEL_VISION)
		name_add("vision", id);
	if (w->kind != MODEL_DECODER)
		return;
	name_add("decoder", id);
	if (routed)
		name_add("moe", id);
	else if (plain)
		name_add("dense", id);
	if (plain && !routed)
		name_add("trained", id);
	if (!train_lacks(w) && workload_alternates(w))
		name_add("hybrid", id);
}

static void
read_lists(struct database *db)
{
	const char *said, **ids;
	size_t n;

	ids = database_list(db, ENTRY_MODEL, &n);
	for (size_t i = 0; i < n; i++) {
		const struct workload *w = database_model(db, ids[i], NULL, (struct source){0}, &said);
		if (w)
			add_model(w, ids[i]);
	}
	ids = database_list(db, ENTRY_GPU, &n);
	for (size_t i = 0; i < n; i++)
		name_add("gpu", ids[i]);
	ids = database_list(db, ENTRY_SYSTEM, &n);
	for (size_t i = 0; i < n; i++)
		name_add("system", ids[i]);
}

struct writer {
	struct arena *arena;
	unsigned seed;
	int n_drawn;
	char text[2000];
	size_t n;
};

static void
put(struct writer *w, const char *text, size_t n)
{
	if (w->n + n >= sizeof w->text)
		abort();
	memcpy(w->text + w->n, text, n);
	w->n += n;
	w->text[w->n] = '\0';
}

static unsigned
choose(struct writer *w, unsigned n)
{
	char name[20];

	snprintf(name, sizeof name, "drawn %d", w->n_drawn++);
	return draw_choice(w->seed, name, n);
}

static const char *
put_name(struct writer *w, const char *p)
{
	const size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < N_LISTS; i++)
		if (strlen(lists[i].list) == n && strncmp(lists[i].list, p, n) == 0) {
			const char *id = lists[i].ids[choose(w, lists[i].n)];
			put(w, id, strlen(id));
			return p + n;
		}
	abort();
}

/* #LOW..HIGH, ^LOW..HIGH */
static const char *
put_number(struct writer *w, const char *p, bool power)
{
	char *end, text[30];
	const double low = (double)strtol(p, &end, 10), high = (double)strtol(end + 2, &end, 10);
	const double u = (choose(w, 1000000) + 0.5) / 1e6;
	const double x = power ? low * exp2(floor(u * (log2(high / low) + 1))) : floor(low * pow((high + 1) / low, u));

	snprintf(text, sizeof text, "%.0f", x);
	put(w, text, strlen(text));
	return end;
}

static void
fill(struct writer *w, const char *p, const char *end)
{
	while (p < end) {
		if (*p == '$')
			p = put_name(w, p + 1);
		else if (*p == '#' || *p == '^')
			p = put_number(w, p + 1, *p == '^');
		else if (*p == '{') {
			const char *close = strchr(p, '}'), *from = p + 1;
			unsigned n = 1;
			for (const char *q = from; q < close; q++)
				n += *q == '|';
			for (unsigned skip = choose(w, n); skip > 0; from++)
				skip -= *from == '|';
			fill(w, from, from + strcspn(from, "|}"));
			p = close + 1;
		} else
			put(w, p++, 1);
	}
}

static const char *
question(struct arena *a, unsigned seed)
{
	struct writer w = {.arena = a, .seed = seed};
	const char *template = templates[draw_choice(seed, "template", N_TEMPLATES)];

	fill(&w, template, template + strlen(template));
	while (w.n > 0 && w.text[w.n - 1] == ' ')
		w.text[--w.n] = '\0';
	return arena_text(a, w.text);
}

/* --- holding laws ---------------------------------------------------------------------------------------- */

struct asker *
trial_asker(struct trial *t)
{
	return t->asker;
}

struct arena *
trial_arena(struct trial *t)
{
	return asker_arena(t->asker);
}

struct database *
trial_database(struct trial *t)
{
	return t->db;
}

const struct reply *
trial_ask(struct trial *t, const char *line)
{
	return asker_ask(t->asker, line);
}

const char *
trial_law(const struct trial *t)
{
	return t->law->name;
}

void
trial_count(struct trial *t)
{
	t->held[t->law - random_laws]++;
}

static bool
same_command(const char *a, const char *b)
{
	const size_t n = strcspn(a, " ");

	return strncmp(a, b, n) == 0 && (b[n] == ' ' || b[n] == '\0');
}

/* A law that is known to be broken for this command. */
static bool
is_tolerated(const struct trial *t, const char *line)
{
	for (size_t i = 0; i < t->n_known; i++)
		if (strcmp(t->known[i].law, t->law->name) == 0 && same_command(t->known[i].line, line))
			return true;
	return false;
}

void
trial_broken(struct trial *t, const char *line, const char *other, const char *format, ...)
{
	const size_t i = (size_t)(t->law - random_laws);
	char text[400];
	va_list args;

	if (t->witness) {
		t->witness->broken = true;
		return;
	}
	if (is_tolerated(t, line)) {
		t->tolerated[i]++;
		return;
	}
	t->faults++;
	if (t->broken[i]++ >= SHOWN && !getenv("VERBOSE"))
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fprintf(t->to, "%s: %s\n    ridge %s\n", t->law->name, text, line);
	if (other)
		fprintf(t->to, "    ridge %s\n", other);
}

static void
hold(struct trial *t, const struct random_law *law, const char *line)
{
	char word[40];

	snprintf(word, sizeof word, " %.*s ", (int)strcspn(line, " "), line);
	t->law = law;
	if (!law->commands || strstr(law->commands, word))
		law->hold(t, line);
}

/* tests/law/known.tsv: law, a command line that breaks it.  Laws are tolerated for the commands that stand there, and
 * each line must still break its law. */
static void
read_known(struct trial *t, const char *path)
{
	FILE *file = fopen(path, "r");
	char line[2000];

	while (file && fgets(line, sizeof line, file)) {
		line[strcspn(line, "\n")] = '\0';
		char *tab = strchr(line, '\t');
		if (line[0] == '#' || !tab || t->n_known == MAX_KNOWN)
			continue;
		*tab = '\0';
		t->known[t->n_known++] =
		    (struct known){arena_text(t->arena, line), arena_text(t->arena, tab + 1), false};
	}
	if (file)
		fclose(file);
}

static const struct random_law *
law_named(const char *name)
{
	for (size_t i = 0; i < n_random_laws; i++)
		if (strcmp(random_laws[i].name, name) == 0)
			return &random_laws[i];
	return NULL;
}

static void
try_known(struct trial *t)
{
	for (size_t i = 0; i < t->n_known; i++) {
		struct known *k = &t->known[i];
		const struct random_law *law = law_named(k->law);
		t->witness = k;
		if (law)
			hold(t, law, k->line);
		asker_forget(t->asker);
		if (k->broken)
			continue;
		fprintf(t->to, "%s: holds: remove this line from tests/law/known.tsv\n    ridge %s\n", k->law, k->line);
		t->faults++;
	}
	t->witness = NULL;
}

/* A law that no question puts to the test is none: rows have other names, or the templates lost what it needs. */
static void
report(struct trial *t, bool whole)
{
	for (size_t i = 0; i < n_random_laws; i++) {
		const bool idle = whole && t->held[i] == 0 && t->broken[i] == 0 && t->tolerated[i] == 0;
		if (t->broken[i] > SHOWN)
			fprintf(t->to, "%s: broken %ld times\n", random_laws[i].name, t->broken[i]);
		if (getenv("VERBOSE"))
			fprintf(t->to, "%-24s held against %ld, broken %ld, known %ld\n", random_laws[i].name,
			    t->held[i], t->broken[i], t->tolerated[i]);
		if (idle) {
			fprintf(t->to, "%s: no question put it to the test\n", random_laws[i].name);
			t->faults++;
		}
	}
}

int
random_questions(long n, unsigned seed, unsigned part, unsigned of)
{
	struct arena *a = arena_new();
	struct trial t = {.arena = a};
	long questions = 0;

	if (n_random_laws > sizeof t.held / sizeof *t.held)
		abort();
	t.db = database_new(a, diag_new(a), ".");
	read_lists(t.db);
	read_known(&t, "tests/law/known.tsv");
	t.asker = asker_new(a, &t.to);
	if (part == 0)
		try_known(&t);
	for (unsigned i = part; asker_n_asked(t.asker) < n; i += of, questions++) {
		const char *line = question(trial_arena(&t), seed + i);
		if (getenv("TRACE"))
			fprintf(t.to, "%s\n", line);
		const struct reply *x = trial_ask(&t, line);
		for (size_t k = 0; x->status <= 1 && k < n_random_laws; k++)
			if (draw_choice(seed + i, random_laws[k].name, random_laws[k].one_of) == 0)
				hold(&t, &random_laws[k], line);
		asker_forget(t.asker);
	}
	report(&t, n >= 3000);
	fprintf(t.to, "random questions: %ld and %ld made of them, seed %u: %d faults\n", questions,
	    asker_n_asked(t.asker) - questions, seed, t.faults);
	asker_free(t.asker);
	fclose(t.to);
	arena_free(a);
	return t.faults;
}
