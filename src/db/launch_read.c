/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A launch file as inputs of a job. */

#include "base/base.h"
#include "db/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- inputs ---------------------------------------------------------------------------------------------- */

/* Give each input its own file name: inputs are tracked by place, and one read must not mark the others. */
static void
put(struct launch_reading *r, const char *path, const char *text)
{
	struct source at = r->at;

	at.file = arena_text(r->arena, at.file);
	r->inputs = tree_with(r->arena, r->inputs, path, tree_scalar(r->arena, text, at));
}

double
launch_number(const struct launch_reading *r, enum launch_fact f, double otherwise)
{
	char *end;

	if (!r->facts[f])
		return otherwise;
	const double value = strtod(r->facts[f], &end);
	return end == r->facts[f] || *end ? otherwise : value;
}

static void
put_number(struct launch_reading *r, const char *path, double value)
{
	put(r, path, arena_printf(r->arena, "%.15g", value));
}

void
launch_miss(struct launch_reading *r, const char *what)
{
	r->unmapped = arena_printf(r->arena, "%s%s%s", r->unmapped ? r->unmapped : "", r->unmapped ? ", " : "", what);
}

/* A text in which `x*3` is xxx and `(xy|)*2` is xy|xy|; NULL: longer than any list of stages. */
static const char *
unrolled(struct arena *a, const char *text, bool groups)
{
	enum { MOST = 1 << 14 };
	char *out = arena_take(a, MOST + 1);
	size_t n = 0;

	while (*text) {
		const bool opens = groups && *text == '(' && strchr(text, ')');
		const char *piece = text + opens;
		const size_t length = opens ? strcspn(piece, ")") : 1;
		unsigned long times = 1;
		text = piece + length + opens;
		if (*text == '*' && (opens || !groups)) {
			char *end;
			times = strtoul(text + 1, &end, 10);
			text = end > text + 1 ? end : text + 1;
		}
		for (; times > 0 && length > 0; times--) {
			if (n + length > MOST)
				return NULL;
			memcpy(out + n, piece, length);
			n += length;
		}
	}
	out[n] = '\0';
	return out;
}

/* Whether nothing is said, or that there is none. */
static bool
is_none(const char *said)
{
	return !said || strcmp(said, "null") == 0 || strcmp(said, "None") == 0;
}

/* The chunks of stages that are written down, and their layers where those between the first and the last differ. */
static void
put_stages(struct launch_reading *r)
{
	static const char letters[] = "EtmL|()*,0123456789";
	const char *said = r->facts[LAUNCH_STAGES],
	           *groups = said && !said[strspn(said, letters)] ? unrolled(r->arena, said, true) : NULL,
	           *text = groups ? unrolled(r->arena, groups, false) : NULL, *list = NULL;
	const double pp = launch_number(r, LAUNCH_PP, 1);
	int n_stages = 0, most = 0, inner = -1;
	bool even = true;

	for (const char *p = text; p; n_stages++) {
		const size_t length = strcspn(p, "|");
		int n = 0;
		for (size_t i = 0; i < length; i++)
			n += p[i] == 't';
		const bool ends = n_stages == 0 || !p[length];
		even = even && (ends || inner < 0 || inner == n);
		inner = ends ? inner : n;
		most = n > most ? n : most;
		list = list ? arena_printf(r->arena, "%s,%d", list, n) : arena_printf(r->arena, "%d", n);
		p = p[length] ? p + length + 1 : NULL;
	}
	if (!text && !is_none(said))
		launch_miss(r, "stages of the pipeline, unlike Et*3|(t*4|)*2t*3L: add --stage-layers");
	if (n_stages == 0)
		return;
	put_number(r, "layout.vp", fmax(1, floor(n_stages / pp)));
	/* a list of the wrong length is refused where the layout is known */
	if (!even || (inner >= 0 && inner < most) || fmod(n_stages, pp) != 0)
		put(r, "stage_layers", list);
}

/* The first and the last stage with a number of layers of their own; the others share the rest evenly.  Each stage is
 * cut into equal chunks (Megatron-Core, get_num_layers_to_build). */
static void
put_end_stages(struct launch_reading *r, double vp)
{
	static const double MOST_CHUNKS_READ = 4096;
	const bool has_first = !is_none(r->facts[LAUNCH_FIRST_LAYERS]),
	           has_last = !is_none(r->facts[LAUNCH_LAST_LAYERS]);
	const double first = launch_number(r, LAUNCH_FIRST_LAYERS, has_first ? NAN : 0),
	             last = launch_number(r, LAUNCH_LAST_LAYERS, has_last ? NAN : 0),
	             pp = launch_number(r, LAUNCH_PP, 1), n_inner = pp - has_first - has_last;
	const double n_layers = launch_number(r, LAUNCH_MODEL_LAYERS, r->known.n_layers),
	             inner = n_inner > 0 ? (n_layers - first - last) / n_inner : 0;
	bool whole = pp * vp >= 1 && pp * vp <= MOST_CHUNKS_READ;
	const char *list = "";

	if (!has_first && !has_last)
		return;
	for (double i = 0; whole && i < pp * vp; i++) {
		const double stage = fmod(i, pp),
		             n = stage == 0 && has_first ? first
		    : stage == pp - 1 && has_last        ? last
		                                         : inner;
		whole = n >= 0 && fmod(n, vp) == 0;
		list = arena_printf(r->arena, "%s%s%.15g", list, *list ? "," : "", n / vp);
	}
	if (whole)
		put(r, "stage_layers", list);
	else
		launch_miss(r, "layers of the first or the last stage: add --stage-layers");
}

/* Chunks of a stage: their number, or the layers of one. */
static double
chunks_of(struct launch_reading *r)
{
	const double counted = r->facts[LAUNCH_ENDS] && strcmp(r->facts[LAUNCH_ENDS], "counted") == 0 ? 2 : 0,
	             n = (launch_number(r, LAUNCH_MODEL_LAYERS, r->known.n_layers) + counted) /
	    launch_number(r, LAUNCH_PP, 1) / launch_number(r, LAUNCH_CHUNK_LAYERS, NAN);

	if (r->facts[LAUNCH_CHUNKS] || !r->facts[LAUNCH_CHUNK_LAYERS])
		return launch_number(r, LAUNCH_CHUNKS, 1);
	if (n >= 1 && fmod(n, 1) == 0)
		return n;
	launch_miss(r, "layers of a virtual stage: add --layout vp=N");
	return 1;
}

/* What the framework takes where an option is not said: another input, or a value. */
static void
take_unsaid(struct launch_reading *r)
{
	for (int i = 0; i < r->by->n_rules; i++) {
		const struct launcher_rule *rule = &r->by->rules[i];
		if (rule->absent && !r->facts[rule->fact])
			r->facts[rule->fact] =
			    rule->stand_in == N_LAUNCH_FACTS ? rule->absent : r->facts[rule->stand_in];
	}
}

/* A degree that is not said is 1.  Without expert parallelism experts are divided as all else is anyway. */
static void
put_degrees(struct launch_reading *r)
{
	static const struct {
		enum launch_fact fact;
		const char *path;
	} degrees[] = {{LAUNCH_TP, "layout.tp"}, {LAUNCH_PP, "layout.pp"}, {LAUNCH_VP, "layout.vp"},
	    {LAUNCH_CP, "layout.cp"}, {LAUNCH_EP, "layout.ep"}};

	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		if (launch_can_say(r->by, degrees[i].fact, ""))
			put_number(r, degrees[i].path, launch_number(r, degrees[i].fact, 1));
	const bool as_usual =
	    launch_number(r, LAUNCH_EP, 1) == 1 && launch_number(r, LAUNCH_ETP, 1) == launch_number(r, LAUNCH_TP, 1);
	if (r->facts[LAUNCH_ETP] && !as_usual)
		put(r, "layout.etp", r->facts[LAUNCH_ETP]);
	const bool by_chunks = launch_can_say(r->by, LAUNCH_CHUNKS, "");
	const double vp = by_chunks ? chunks_of(r) : launch_number(r, LAUNCH_VP, 1);
	if (r->facts[LAUNCH_CHUNKS])
		put(r, "layout.vp", r->facts[LAUNCH_CHUNKS]);
	else if (by_chunks)
		put_number(r, "layout.vp", vp);
	put_end_stages(r, vp);
	put_stages(r);
}

static void
put_sharding(struct launch_reading *r)
{
	const char *zero = r->facts[LAUNCH_ZERO];

	if (zero)
		put(r, "layout.zero", zero);
	else if (launch_can_say(r->by, LAUNCH_ZERO, "1"))
		put(r, "layout.zero", "0");
	if (r->facts[LAUNCH_SP] && strcmp(r->facts[LAUNCH_SP], "true") == 0)
		put(r, "layout.sp", "true");
	else if (launch_can_say(r->by, LAUNCH_SP, "true") && launch_number(r, LAUNCH_TP, 1) > 1)
		put(r, "layout.no_sp", "true");
	const double n_copies = launch_number(r, LAUNCH_INSTANCES, 1);
	if (launch_number(r, LAUNCH_COPIES, 1) > 1 && r->facts[LAUNCH_SHARD])
		put(r, "layout.shard", r->facts[LAUNCH_SHARD]);
	if (!(n_copies > 1))
		return;
	const double n_shards =
	    r->known.n_gpus / (launch_number(r, LAUNCH_TP, 1) * launch_number(r, LAUNCH_PP, 1)) / n_copies;
	if (n_shards >= 1 && fmod(n_shards, 1) == 0)
		put_number(r, "layout.shard", n_shards);
	else
		launch_miss(r, "copies of the optimizer's states: add --layout shard=N");
}

static void
put_recompute(struct launch_reading *r)
{
	const char *policy = r->facts[LAUNCH_RECOMPUTE], *n = r->facts[LAUNCH_RECOMPUTE_LAYERS];

	if (launch_number(r, LAUNCH_OFFLOAD_LAYERS, 0) > 0) {
		put(r, "recompute", arena_printf(r->arena, "offload-%s", r->facts[LAUNCH_OFFLOAD_LAYERS]));
		return;
	}
	if (!policy || strcmp(policy, "offload") == 0)
		return;
	if (strcmp(policy, "every") == 0 || strcmp(policy, "uniform") == 0 || strcmp(policy, "block") == 0)
		put(r, "recompute", n ? arena_printf(r->arena, "%s-%s", policy, n) : "full");
	else if (strcmp(policy, "modules") == 0)
		put(r, "recompute", r->facts[LAUNCH_MODULES] ? r->facts[LAUNCH_MODULES] : "core_attn");
	else
		put(r, "recompute", policy);
}

static bool
is_on(const struct launch_reading *r, enum launch_fact fact)
{
	return r->facts[fact] && strcmp(r->facts[fact], "true") == 0;
}

/* What waits in the host's memory. */
static void
put_offload(struct launch_reading *r)
{
	const char *list[] = {r->facts[LAUNCH_OFFLOAD], is_on(r, LAUNCH_OFFLOAD_CHECKPOINTS) ? "activations" : NULL,
	    is_on(r, LAUNCH_OFFLOAD_FINE) ? r->facts[LAUNCH_OFFLOAD_MODULES] : NULL};
	const char *all = NULL;

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i])
			all = all ? arena_printf(r->arena, "%s,%s", all, list[i]) : list[i];
	if (all)
		put(r, "offload", all);
}

/* DeepSpeed's `auto` is what the trainer was told on its own command line. */
static void
miss_auto(struct launch_reading *r)
{
	static const struct {
		enum launch_fact fact;
		const char *what;
	} rows[] = {{LAUNCH_MICRO_BATCH, "micro-batch (auto): add --batch N"},
	    {LAUNCH_ACCUMULATION, "gradient accumulation (auto): add --global-batch N"},
	    {LAUNCH_GLOBAL_BATCH, "global batch (auto): add --global-batch N"}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (r->facts[rows[i].fact] && strcmp(r->facts[rows[i].fact], "auto") == 0) {
			launch_miss(r, rows[i].what);
			r->facts[rows[i].fact] = NULL;
		}
}

/* Whether something is off: it says so, or leaves out the option that switches it on. */
static bool
is_off(const struct launch_reading *r, enum launch_fact fact)
{
	if (r->facts[fact])
		return strcmp(r->facts[fact], "false") == 0;
	for (int i = 0; i < r->by->n_rules; i++)
		if (r->by->rules[i].fact == fact && r->by->rules[i].is_switch)
			return true;
	return false;
}

/* Stacks overlap communication where a launch does not leave that off. */
static void
put_overlap(struct launch_reading *r)
{
	if (r->facts[LAUNCH_ZERO] && is_off(r, LAUNCH_OVERLAP_GRADIENTS))
		put(r, "stack.time.overlaps_data", "false");
	if (launch_number(r, LAUNCH_TP, 1) > 1 && is_off(r, LAUNCH_OVERLAP_TENSOR))
		put(r, "stack.time.overlaps_tensor", "false");
}

/* torchtitan's stages, of which a rank has several: all have as many layers, but for the first and the last
 * (distributed/pipeline_parallel.py). */
static void
put_stage_layers(struct launch_reading *r)
{
	const double items = r->known.n_layers + launch_number(r, LAUNCH_FIRST_LESS, 1) +
	    launch_number(r, LAUNCH_LAST_LESS, 1); /* the framework's defaults */
	const double vp = ceil(items / launch_number(r, LAUNCH_STAGE_LAYERS, NAN)) / launch_number(r, LAUNCH_PP, 1);

	if (vp >= 1 && fmod(vp, 1) == 0)
		put_number(r, "layout.vp", vp);
	else
		launch_miss(r, "layers of a stage: add --layout vp=N");
}

static void
put_training(struct launch_reading *r)
{
	static const struct {
		enum launch_fact fact;
		const char *path;
	} rows[] = {{LAUNCH_GLOBAL_BATCH, "global_batch"}, {LAUNCH_SEQ, "seq"}, {LAUNCH_DTYPE, "dtype"},
	    {LAUNCH_GRAD_DTYPE, "grad_dtype"}, {LAUNCH_MOMENT_DTYPE, "moment_dtype"}, {LAUNCH_STATES, "states"},
	    {LAUNCH_CP_COMM, "cp_comm"}, {LAUNCH_DISPATCHER, "dispatcher"}, {LAUNCH_FP8_PARAMS, "fp8_params"},
	    {LAUNCH_LOSS, "loss"}, {LAUNCH_COMPILE, "compile"}, {LAUNCH_MTP, "mtp"}, {LAUNCH_ATTENTION, "attention"},
	    {LAUNCH_DROPOUT, "dropout"}};
	static const enum launch_fact batches[] = {LAUNCH_MICRO_BATCH, LAUNCH_PIPELINE_BATCH, LAUNCH_LOCAL_BATCH};
	const char *schedule = r->facts[LAUNCH_SCHEDULE];

	miss_auto(r);
	take_unsaid(r);
	put_overlap(r);
	put(r, "stack", arena_copy(r->arena, r->by->stacks, strcspn(r->by->stacks, " ")));
	put_degrees(r);
	put_sharding(r);
	put_recompute(r);
	put_offload(r);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (r->facts[rows[i].fact])
			put(r, rows[i].path, r->facts[rows[i].fact]);
	for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
		if (r->facts[batches[i]]) {
			put(r, "batch", r->facts[batches[i]]);
			break;
		}
	if (r->facts[LAUNCH_ACCUMULATION] && !r->facts[LAUNCH_GLOBAL_BATCH])
		put(r, "microbatches", r->facts[LAUNCH_ACCUMULATION]);
	if (schedule && strcmp(schedule, "gpipe") == 0)
		put(r, "schedule", "gpipe");
	if (schedule && strcmp(schedule, "zero-bubble") == 0)
		put(r, "zero_bubble", "true");
	if (r->facts[LAUNCH_STAGE_LAYERS] && schedule && strcmp(schedule, "1f1b") != 0)
		put_stage_layers(r);
}

static void
put_served_layout(struct launch_reading *r)
{
	const double n_adp = launch_number(r, LAUNCH_ADP, 1),
	             tp = r->facts[LAUNCH_TP] ? launch_number(r, LAUNCH_TP, 1)
	                                      : launch_number(r, LAUNCH_ATTENTION_TP, 1) * n_adp;
	const bool adp = r->facts[LAUNCH_ADP] && (n_adp > 1 || strcmp(r->facts[LAUNCH_ADP], "true") == 0);

	put_number(r, "layout.tp", tp);
	put_number(r, "layout.pp", launch_number(r, LAUNCH_PP, 1));
	put_number(r, "layout.ep", r->facts[LAUNCH_EXPERTS] ? tp : launch_number(r, LAUNCH_EP, 1));
	if (adp)
		put(r, "layout.adp", "true");
	if (adp && n_adp > 1 && n_adp < tp)
		launch_miss(r, "attention over groups of ranks: ridge has it over all or none");
}

static void
put_limits(struct launch_reading *r)
{
	const double n_adp = fmax(1, launch_number(r, LAUNCH_ADP, 1)),
	             all = launch_number(r, LAUNCH_ALL_SEQUENCES, NAN),
	             all_token = launch_number(r, LAUNCH_ALL_STEP_TOKENS, NAN),
	             share = launch_number(r, LAUNCH_UTILIZATION, launch_number(r, LAUNCH_CACHE_SHARE, NAN));
	const double n_sequences = launch_number(r, LAUNCH_MAX_SEQUENCES, all / n_adp),
	             n_token = launch_number(r, LAUNCH_STEP_TOKENS, all_token / n_adp);

	if (!isnan(n_sequences))
		put_number(r, "engine.scheduler.max_sequences", n_sequences);
	if (!isnan(n_token))
		put_number(r, "engine.scheduler.max_tokens", n_token);
	if (!isnan(share))
		put_number(r, "engine.pool.share", share);
}

static void
put_serving(struct launch_reading *r)
{
	put(r, "engine.name", arena_copy(r->arena, r->by->stacks, strcspn(r->by->stacks, " ")));
	put_served_layout(r);
	put_limits(r);
	if (r->facts[LAUNCH_QUANTIZE])
		put(r, "dtype", r->facts[LAUNCH_QUANTIZE]);
	else if (r->facts[LAUNCH_DTYPE] && strcmp(r->facts[LAUNCH_DTYPE], "bf16") != 0)
		put(r, "dtype", r->facts[LAUNCH_DTYPE]);
	if (r->facts[LAUNCH_KV_DTYPE])
		put(r, "kv_dtype", r->facts[LAUNCH_KV_DTYPE]);
	if (r->facts[LAUNCH_DRAFT])
		launch_miss(r,
		    arena_printf(r->arena, "drafts: add --speculate %s=%g,accept=F", r->facts[LAUNCH_DRAFT],
		        launch_number(r, LAUNCH_N_DRAFTS, launch_number(r, LAUNCH_DRAFT_ROWS, 2) - 1)));
	if (r->facts[LAUNCH_ROLE])
		launch_miss(r, arena_printf(r->arena, "a pool of %s servers: add --kv-link", r->facts[LAUNCH_ROLE]));
}

/* --- whose options --------------------------------------------------------------------------------------- */

/* Options that a launcher knows; its program's name counts more than any. */
static int
score(const struct launcher *by, struct launch_pairs *pairs, const char *text)
{
	static const char *const programs[] = {"pretrain_gpt.py", "vllm serve", "sglang.launch_server", "trtllm-serve"};
	int n = 0;

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
		if (by->launch && strstr(by->launch, programs[i]) && strstr(text, programs[i]))
			n += 1000;
	for (size_t i = 0; i < pairs->n; i++)
		for (int k = 0; k < by->n_rules; k++)
			if (launch_is_key(&by->rules[k], pairs->list[i].key)) {
				n++;
				break;
			}
	return n;
}

static const struct launcher *
launcher_of(struct database *db, struct arena *a, struct diag *d, struct launch_pairs *pairs, const char *text)
{
	const struct launcher *best = NULL;
	const char **names;
	int most = 0;
	size_t n;

	names = database_list(db, ENTRY_LAUNCHER, &n);
	for (size_t i = 0; i < n; i++) {
		const struct launcher *by = database_launcher(db, a, d, names[i], (struct source){0});
		const int here = by ? score(by, pairs, text) : 0;
		if (here > most) {
			most = here;
			best = by;
		}
	}
	return best;
}

/* `torchrun --nnodes 2 --nproc-per-node 8`. */
static void
put_gpus(struct launch_reading *r)
{
	static const struct launcher_rule nodes = {.key = "--nnodes"}, each = {.key = "--nproc-per-node"};
	struct launch_pair *n = launch_pair_of(&r->pairs, &nodes), *k = launch_pair_of(&r->pairs, &each);
	if (!k || !k->value)
		return;
	const double gpus = (n && n->value ? strtod(n->value, NULL) : 1) * strtod(k->value, NULL);
	if (!(gpus >= 1))
		return;
	put_number(r, "gpus", gpus);
	if (isnan(r->known.n_gpus))
		r->known.n_gpus = gpus;
	k->used = true;
	if (n)
		n->used = true;
}

/* --- values ---------------------------------------------------------------------------------------------- */

/* Values that are read as numbers; `auto`, `none` and `true` of one say that it is open. */
static bool
is_number(enum launch_fact fact)
{
	static const enum launch_fact list[] = {LAUNCH_TP, LAUNCH_PP, LAUNCH_VP, LAUNCH_CP, LAUNCH_EP, LAUNCH_ETP,
	    LAUNCH_CHUNKS, LAUNCH_COPIES, LAUNCH_INSTANCES, LAUNCH_ADP, LAUNCH_ATTENTION_TP, LAUNCH_MAX_SEQUENCES,
	    LAUNCH_ALL_SEQUENCES, LAUNCH_STEP_TOKENS, LAUNCH_ALL_STEP_TOKENS, LAUNCH_UTILIZATION, LAUNCH_CACHE_SHARE};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (list[i] == fact)
			return true;
	return false;
}

static bool
is_known(enum launch_fact fact, const char *value)
{
	static const char open[] = "auto none None null true false True False";
	char *end;

	if (strchr(value, '$'))
		return false;
	if (!is_number(fact) || text_lists(open, value))
		return true;
	strtod(value, &end);
	return end > value && !*end;
}

/* Whether all that the options say of the run is known: no variable that the script does not set.  False with errors.
 */
static bool
values_are_known(struct launch_reading *r, struct diag *d, const char *text)
{
	bool known = true;

	for (size_t i = 0; i < r->pairs.n; i++) {
		const struct launch_pair *pair = &r->pairs.list[i];
		for (int k = 0; pair->value && k < r->by->n_rules; k++) {
			const struct launcher_rule *rule = &r->by->rules[k];
			if (rule->fact >= LAUNCH_MODEL_LAYERS || !launch_is_key(rule, pair->key) ||
			    launch_pair_of(&r->pairs, rule) != pair || is_known(rule->fact, pair->value))
				continue;
			diag_error(d, launch_place(r, text, pair->key), "%s: the value of '%s' is not known", pair->key,
			    pair->value);
			diag_hint(d, "write the value in its place, or set the variable in the file");
			known = false;
			break;
		}
	}
	return known;
}

/* The file that a script writes is read with it. */
static void
use_config(struct launch_reading *r)
{
	const struct launcher_rule config = {.key = r->by->config};
	struct launch_pair *pair = r->by->config && r->pairs.wrote_file ? launch_pair_of(&r->pairs, &config) : NULL;

	if (pair)
		pair->used = true;
}

/* The options that no rule is about, as far as people read a list; NULL: none. */
static const char *
unread_of(const struct launch_reading *r)
{
	enum { NAMED_MOST = 20 };
	const char *list = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->pairs.n; i++)
		if (!r->pairs.list[i].used && n++ < NAMED_MOST)
			list =
			    arena_printf(r->arena, "%s%s%s", list ? list : "", list ? ", " : "", r->pairs.list[i].key);
	return n <= NAMED_MOST ? list : arena_printf(r->arena, "%s and %zu more", list, n - NAMED_MOST);
}

bool
launcher_read(struct database *db, struct arena *a, struct diag *d, const char *path, struct source at,
    struct launch_known known, struct launch_file *out)
{
	struct launch_reading r = {.arena = a, .at = {path, 0, 0, NULL, false}, .known = known};
	const char *text;

	*out = (struct launch_file){0};
	if (!launch_pairs_read(a, d, path, at, &r.pairs, &text))
		return false;
	r.inputs = tree_map(a, r.at);
	r.by = out->by = launcher_of(db, a, d, &r.pairs, text);
	if (!r.by) {
		diag_error(d, at, "%s has no option of a framework that is known", path);
		diag_hint(d, "give a command line, a TOML or a JSON file; hwdb/launchers has the options");
		return false;
	}
	if (!values_are_known(&r, d, text))
		return false;
	use_config(&r);
	for (int f = 0; f < N_LAUNCH_FACTS; f++)
		if (!r.facts[f])
			launch_read_fact(&r, (enum launch_fact)f);
	if (r.by->use == LAUNCH_SERVE)
		put_serving(&r);
	else {
		put_gpus(&r);
		put_training(&r);
	}
	launch_read_claims(&r, text, &out->claims);
	out->unread = unread_of(&r);
	out->inputs = r.inputs;
	out->unmapped = r.unmapped;
	return true;
}
