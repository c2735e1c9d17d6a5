/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parse the command line into settings of inputs. */
#include "cli/cli.h"
#include "cli/parts.h"

#include "base/base.h"

#include <ctype.h>
#include <string.h>

const struct global_option global_options[] = {
#define GLOBAL_ROW(letter, member, name, metavar, complete, help) {letter, name, metavar, complete, help},
    GLOBAL_OPTIONS(GLOBAL_ROW)
#undef GLOBAL_ROW
};
const size_t n_global_options = sizeof global_options / sizeof *global_options;

void
settings_add(struct arena *a, struct settings *s, const char *path, const char *text, struct source at)
{
	if (s->n == s->room) {
		const size_t more = s->room ? 2 * s->room : 16;
		s->list = arena_grow(a, s->list, s->n, more, sizeof *s->list);
		s->room = more;
	}
	s->list[s->n++] = (struct setting){path, text, at};
}

struct parser {
	struct arena *arena;
	struct diag *diag;
	const struct command *command;
	struct arguments *out;
	int argc, at;
	char **argv;
};

static struct source
from_option(struct parser *p, const char *option)
{
	return (struct source){arena_text(p->arena, option), 0, 0, NULL, false};
}

static bool
path_allowed(struct parser *p, const char *path, const char *option)
{
	if (strlen(path) <= PATH_MAX_LENGTH)
		return true;
	diag_error(p->diag, from_option(p, option), "input path of %zu characters", strlen(path));
	diag_hint(p->diag, "use at most %d", PATH_MAX_LENGTH);
	return false;
}

static bool
is_set(const struct settings *s, const char *path)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->list[i].path, path) == 0)
			return true;
	return false;
}

/* `a=1,b=2,c` and where it stands. */
struct pairs {
	struct arena *arena;
	struct diag *diag;
	struct settings *to;
	const char *prefix;
	struct source at;
	bool layout; /* flags may stand, and nothing twice: --set may say a thing again, and the last one holds */
};

static bool
bad_pair(const struct pairs *p, const char *what, const char *hint)
{
	diag_error(p->diag, p->at, "%s", what);
	diag_hint(p->diag, "%s", hint);
	return false;
}

static bool
good_path(const struct pairs *p, const char *path)
{
	if (strlen(path) > PATH_MAX_LENGTH)
		return bad_pair(p, arena_printf(p->arena, "input path of %zu characters", strlen(path)),
		    arena_printf(p->arena, "use at most %d", PATH_MAX_LENGTH));
	if (p->layout && is_set(p->to, path))
		return bad_pair(p, arena_printf(p->arena, "'%s' is given twice", path + strlen(p->prefix)), "keep one");
	return true;
}

/* Where the value of a piece begins, and its name ends: at `=`, of a layout also at `:` (`tp:2`) or a digit (`tp2`). */
static const char *
value_in(const struct pairs *p, const char *piece, size_t *length)
{
	const char *equals = strchr(piece, '=');
	const size_t letters = strspn(piece, "abcdefghijklmnopqrstuvwxyz");
	const bool colon = piece[letters] == ':';

	if (!equals && p->layout && letters && (colon || isdigit((unsigned char)piece[letters]))) {
		*length = letters;
		return piece + letters + colon;
	}
	*length = equals ? (size_t)(equals - piece) : strlen(piece);
	return equals ? equals + 1 : NULL;
}

/* The value of a degree that goes on as another part: `2dp4`, `2 pp=2`. */
static bool
runs_on(const char *value)
{
	const char *rest = value + strspn(value, "0123456789");

	return rest > value && isalpha((unsigned char)rest[strspn(rest, " ")]) && strpbrk(rest, "=:0123456789");
}

/* Pieces without `=` belong to the value before (`gpu=a,b`), unless nothing came before or flags may stand. */
static bool
add_pairs(const struct pairs *p, const char *text)
{
	size_t n;
	char **pieces = text_split(p->arena, text, ',', &n);

	for (size_t i = 0; i < n; i++) {
		size_t length;
		const char *said = value_in(p, pieces[i], &length);
		const char *path = arena_printf(p->arena, "%s%s", p->prefix, arena_copy(p->arena, pieces[i], length));

		if (!length || (!said && !p->layout))
			return bad_pair(p, arena_printf(p->arena, "'%s' is not of the form NAME=VALUE", pieces[i]),
			    p->layout ? "write for example tp=8,pp=2"
			              : "write for example batch=4,gpu.memory.bandwidth=3TB/s");
		if (!good_path(p, path))
			return false;
		const char *value = said ? said : "true";
		if (p->layout && runs_on(value))
			return bad_pair(p, arena_printf(p->arena, "'%s' runs parts of a layout together", pieces[i]),
			    "separate them with commas: tp=2,pp=2");
		while (!p->layout && i + 1 < n && !strchr(pieces[i + 1], '='))
			value = arena_printf(p->arena, "%s,%s", value, pieces[++i]);
		struct source at = p->at;
		if (at.line == 0) /* of an option: say which of its paths */
			at.file = arena_printf(p->arena, "%s %s", at.file, path + strlen(p->prefix));
		settings_add(p->arena, p->to, path, value, at);
	}
	return true;
}

bool
arguments_layout(struct arena *a, struct diag *d, const char *text, struct source at, struct settings *out)
{
	const struct pairs p = {a, d, out, "layout.", at, true};

	return add_pairs(&p, text);
}

static void
add_once(struct parser *p, const char *path, const char *value, const char *option)
{
	const struct settings *s = &p->out->options;

	for (size_t i = 0; i < s->n; i++) {
		if (strcmp(s->list[i].path, path) != 0)
			continue;
		const char *other = s->list[i].at.file;
		if (strcmp(other, option) == 0)
			diag_error(p->diag, from_option(p, option), "is given twice");
		else
			diag_error(p->diag, from_option(p, option), "is given twice: %s is the same", other);
		diag_hint(p->diag, "keep one");
		return;
	}
	settings_add(p->arena, &p->out->options, path, value, from_option(p, option));
}

/* By any of its names. */
static bool
is_swept(const struct parser *p, const char *name)
{
	const struct settings *s = &p->out->sweeps;

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(inputs_path(p->command, s->list[i].path), inputs_path(p->command, name)) == 0)
			return true;
	return false;
}

/* `inputs.ranks` is `inputs.gpus`; an input that the command has not is an error. */
static const char *
get_name(struct parser *p, const char *name)
{
	if (!text_begins(name, "inputs."))
		return name;
	const char *path = inputs_path(p->command, name + strlen("inputs."));
	if (!command_option_at(p->command, path))
		inputs_unknown(p->diag, p->command, path, from_option(p, "--get"), "inputs.");
	return arena_printf(p->arena, "inputs.%s", path);
}

static const char *
get_names(struct parser *p, const char *names)
{
	size_t n;
	char **list = text_split(p->arena, names, ',', &n);
	const char *out = get_name(p, list[0]);

	for (size_t i = 1; i < n; i++)
		out = arena_printf(p->arena, "%s,%s", out, get_name(p, list[i]));
	return out;
}

static void
take_global(struct parser *p, const struct global_option *g, const char *value)
{
	struct arguments *out = p->out;
	const char *option = arena_printf(p->arena, "--%s", g->name);

	if (strcmp(g->name, "set") == 0) {
		add_pairs(&(struct pairs){p->arena, p->diag, &out->sets, "", from_option(p, option), false}, value);
		return;
	}
	if (strcmp(g->name, "sweep") == 0) {
		const char *equals = strchr(value, '=');
		if (!equals || equals == value || !equals[1]) {
			diag_error(p->diag, from_option(p, option), "'%s' is not of the form NAME=LIST", value);
			diag_hint(p->diag, "write for example --sweep batch=1..256*2");
			return;
		}
		const char *path = arena_copy(p->arena, value, (size_t)(equals - value));
		if (is_swept(p, path)) {
			diag_error(p->diag, from_option(p, option), "'%s' is swept twice", path);
			diag_hint(p->diag, "write one list: %s=1,2,4", path);
		} else if (path_allowed(p, path, option))
			settings_add(p->arena, &out->sweeps, path, equals + 1, from_option(p, option));
		return;
	}
#define GLOBAL_TAKE(letter, member, name_, metavar, complete, help)                                                    \
	if (strcmp(g->name, name_) == 0) {                                                                             \
		if (out->member) {                                                                                     \
			diag_error(p->diag, from_option(p, option), "is given twice");                                 \
			diag_hint(p->diag, "keep one");                                                                \
		}                                                                                                      \
		out->member = value;                                                                                   \
		return;                                                                                                \
	}
	GLOBAL_OPTIONS(GLOBAL_TAKE)
#undef GLOBAL_TAKE
}

/* The value of an option: after `=` or attached, or the next word. */
static const char *
value_of(struct parser *p, const char *attached, const char *option, const char *metavar)
{
	if (attached)
		return attached;
	if (p->at + 1 < p->argc)
		return p->argv[++p->at];
	diag_error(p->diag, from_option(p, option), "needs a value");
	diag_hint(p->diag, "write %s %s", option, *metavar ? metavar : "VALUE");
	return NULL;
}

/* Options of other programs that no option here stands for: what to write instead, rather than the nearest spelling. */
static const char *
instead_of(const struct command *c, const char *name)
{
	static const struct {
		const char *commands, *names, *hint;
	} all[] = {
	    {"memory plan train", "use-distributed-optimizer zero-1", "write --layout zero=1"},
	    {"memory plan train", "num-layers-per-virtual-pipeline-stage num-virtual-stages-per-pipeline-rank",
	        "write --layout vp=N: N chunks of layers on each pipeline stage"},
	    {"memory plan train", "recompute-method recompute-num-layers",
	        "write --recompute full, uniform-N or block-N"},
	    {"memory plan train", "overlap-grad-reduce overlap-param-gather tp-comm-overlap use-flash-attn",
	        "the framework decides: choose it with --stack"},
	    {"train plan", "engine", "write --stack: engines serve, stacks train"},
	    {"capacity kv serve", "stack framework", "write --engine: stacks train, engines serve"},
	    {"capacity kv launch memory plan roofline serve train", "bf16 fp16 fp8 fp32", "write --dtype bf16"},
	    {"serve capacity", "enable-expert-parallel enable-ep-moe", "write --layout ep=N"},
	    {"serve", "enable-chunked-prefill", "the engine decides; in a simulation, write --prefill chunked"},
	    {"serve capacity", "max-model-len", "leave it out: sequences take --isl and --osl"},
	    {"serve capacity", "enable-prefix-caching",
	        "write --cached F: the share of each prompt found in the cache"},
	    {"serve capacity kv", "gpu-memory-utilization mem-fraction-static utilization",
	        "the engine's own share applies; --headroom replaces it"},
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (text_lists(all[i].commands, c->name) && text_lists(all[i].names, name))
			return all[i].hint;
	return NULL;
}

/* What engines do and no model here does: said, rather than called a slip. */
static bool
not_modeled(struct parser *p, const char *option)
{
	static const struct {
		const char *names, *why, *hint;
	} all[] = {
	    {"lora lora-modules enable-lora max-loras lora-paths",
	        "serving with LoRA adapters is not modeled: no measured cost of their grouped GEMMs",
	        "merged adapters cost nothing; see 'ridge memory --lora' for training"},
	    {"kv-offload kv-offloading-size cpu-offload-gb swap-space kv-transfer-config hicache-ratio offload",
	        "a KV cache outside the GPU is not modeled: which keys are read again is not known",
	        "--cached gives the share of each prompt that is found"},
	};
	const char *name = option + strspn(option, "-");

	for (size_t i = 0; text_lists("serve capacity", p->command->name) && i < sizeof all / sizeof *all; i++)
		if (text_lists(all[i].names, name)) {
			diag_error(p->diag, (struct source){0}, "%s: %s", option, all[i].why);
			diag_hint(p->diag, "%s", all[i].hint);
			return true;
		}
	return false;
}

static void
unknown_option(struct parser *p, const char *option)
{
	const char *names[512];
	size_t n = 0;

	if (not_modeled(p, option))
		return;
	for (size_t g = 0; g < p->command->n_groups; g++)
		for (size_t i = 0; i < p->command->groups[g].n && n < 200; i++)
			if (p->command->groups[g].options[i].name)
				names[n++] = p->command->groups[g].options[i].name;
	for (size_t i = 0; i < n_global_options; i++)
		names[n++] = global_options[i].name;
	if (command_has_layout(p->command))
		names[n++] = "layout";
	for (size_t i = 0; i < n_aliases; i++)
		if (alias_option(&aliases[i], p->command))
			names[n++] = aliases[i].name;
	diag_error(p->diag, (struct source){0}, "there is no option '%s'", option);
	const char *name = option + strspn(option, "-"), *near = text_nearest(name, names, n);
	if (instead_of(p->command, name))
		diag_hint(p->diag, "%s", instead_of(p->command, name));
	else if (near)
		diag_hint(p->diag, "did you mean '--%s'?", near);
	else
		diag_hint(p->diag, "'ridge %s --help' lists the options", p->command->name);
}

static void
take_option(struct parser *p, const struct option *o, const char *attached, const char *option)
{
	if (o->kind == KIND_FLAG) {
		add_once(p, o->path, attached ? attached : "true", option);
		return;
	}
	const char *value = value_of(p, attached, option, o->metavar);
	if (value)
		add_once(p, o->path, value, option);
}

static void
long_option(struct parser *p, const char *word)
{
	const char *equals = strchr(word, '=');
	const char *name = equals ? arena_copy(p->arena, word + 2, (size_t)(equals - word - 2)) : word + 2;
	const char *attached = equals ? equals + 1 : NULL;
	const char *option = arena_printf(p->arena, "--%s", name);
	const struct option *o = command_option_named(p->command, name);

	if (!o)
		o = alias_find(p->command, name, attached ? attached : p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL);
	if (o) {
		take_option(p, o, attached, option);
		return;
	}
	if (strcmp(name, "layout") == 0 && command_has_layout(p->command)) {
		const char *value = value_of(p, attached, option, "tp=N,pp=N,...");
		if (value)
			arguments_layout(p->arena, p->diag, value, from_option(p, option), &p->out->options);
		return;
	}
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *g = &global_options[i];
		if (strcmp(g->name, name) != 0)
			continue;
		if (!*g->metavar && attached) {
			diag_error(p->diag, from_option(p, option), "takes no value");
			diag_hint(p->diag, "write %s alone", option);
			return;
		}
		const char *value = !*g->metavar || *g->metavar == '[' ? (attached ? attached : "")
		                                                       : value_of(p, attached, option, g->metavar);
		if (value)
			take_global(p, g, value);
		return;
	}
	unknown_option(p, option);
}

static bool
has_letter(const struct option *o, const void *key)
{
	return o->letter == *(const char *)key;
}

static void
short_options(struct parser *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const char option[3] = {'-', *c, '\0'};
		const struct option *o = command_option(p->command, has_letter, c);

		if (o && o->kind != KIND_FLAG) {
			take_option(p, o, c[1] ? c + 1 : NULL, arena_printf(p->arena, "--%s", o->name));
			return;
		}
		if (o) {
			take_option(p, o, NULL, arena_printf(p->arena, "--%s", o->name));
			continue;
		}
		const struct global_option *g = NULL;
		for (size_t i = 0; i < n_global_options && !g; i++)
			if (global_options[i].letter == *c)
				g = &global_options[i];
		if (!g) {
			unknown_option(p, option);
			return;
		}
		if (*g->metavar) {
			const char *value = value_of(p, c[1] ? c + 1 : NULL, option, g->metavar);
			if (value)
				take_global(p, g, value);
			return;
		}
		take_global(p, g, "");
	}
}

/* Two of these at a time cannot both be had. */
static void
check_exclusive(struct parser *p)
{
	const struct arguments *o = p->out;
	const bool sweep = o->sweeps.n > 0;
	const struct {
		const char *one, *other;
		bool both;
	} pairs[] = {
	    {"--json", "--csv", o->json && o->csv},
	    {"--json", "--md", o->json && o->md},
	    {"--json", "--explain=ROW", o->json && o->explain && *o->explain},
	    {"--json", "--get", o->json && o->get},
	    {"--csv", "--md", o->csv && o->md},
	    {"--csv", "--explain", o->csv && o->explain},
	    {"--csv", "--get", o->csv && o->get},
	    {"--md", "--explain", o->md && o->explain},
	    {"--md", "--get", o->md && o->get},
	    {"--explain", "--get", o->explain && o->get},
	    {"--solve", "--sweep", o->solve && sweep},
	    {"--explain", "--sweep", o->explain && sweep && !o->json},
	    {"--jsonl", "--md", o->jsonl && o->md},
	    {"--jsonl", "--explain=ROW", o->jsonl && o->explain && *o->explain},
	    {"--jsonl", "--sweep", o->jsonl && sweep},
	    {"--jsonl", "--solve", o->jsonl && o->solve},
	    {"--jsonl", "--output", o->jsonl && o->output},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (pairs[i].both) {
			diag_error(
			    p->diag, (struct source){0}, "%s and %s exclude each other", pairs[i].one, pairs[i].other);
			diag_hint(p->diag, "use one of them");
			break;
		}
	if (o->table && !o->csv) {
		diag_error(p->diag, (struct source){0}, "--table goes with --csv");
		diag_hint(p->diag, "write --csv --table %s", *o->table ? o->table : "NAME");
	}
	if (!o->solve != !o->until) {
		diag_error(p->diag, (struct source){0}, "--solve and --until go together");
		diag_hint(p->diag, "write --solve batch --until 'peak_byte <= 80GB'");
	}
	if (o->output && !*o->output) {
		diag_error(p->diag, from_option(p, "--output"), "the file name is empty");
		diag_hint(p->diag, "write --output FILE; - is standard output");
	}
	if (o->color && strcmp(o->color, "auto") != 0 && strcmp(o->color, "always") != 0 &&
	    strcmp(o->color, "never") != 0) {
		diag_error(p->diag, from_option(p, "--color"), "'%s' is not one of auto, always, never", o->color);
		diag_hint(p->diag, "auto colors terminals only");
	}
}

bool
arguments_parse(struct arena *a, struct diag *d, const struct command *c, int argc, char **argv, struct arguments *out)
{
	struct parser p = {.arena = a, .diag = d, .command = c, .out = out, .argc = argc, .argv = argv};
	const int errors = diag_errors(d);
	bool only_operands = false;

	*out = (struct arguments){0};
	out->operands.list = ARENA_ARRAY(a, struct word, argc + 1);
	for (p.at = 0; p.at < argc; p.at++) {
		const char *word = argv[p.at];

		if (only_operands || word[0] != '-' || !word[1])
			out->operands.list[out->operands.n++] = (struct word){word, from_option(&p, "command line")};
		else if (strcmp(word, "--") == 0)
			only_operands = true;
		else if (word[1] == '-')
			long_option(&p, word);
		else
			short_options(&p, word);
	}
	check_exclusive(&p);
	if (out->get)
		out->get = get_names(&p, out->get);
	return diag_errors(d) == errors;
}

/* Operands fill the command's operand paths in order; `names...` takes all that remain. */
void
arguments_place(struct arena *a, struct diag *d, const struct command *c, struct arguments *out)
{
	size_t n;
	const struct words *operands = &out->operands;
	char **paths = text_split(a, c->operands ? c->operands : "", ' ', &n);
	size_t i = 0;

	if (!*paths[0])
		n = 0;
	for (size_t k = 0; k < n && i < operands->n; k++) {
		const bool rest = text_ends(paths[k], "...");
		const char *path = rest ? arena_copy(a, paths[k], strlen(paths[k]) - 3) : paths[k];
		const char *text = operands->list[i].text;
		const struct source at = operands->list[i++].from;

		while (rest && i < operands->n)
			text = arena_printf(a, "%s,%s", text, operands->list[i++].text);
		if (is_set(&out->options, path)) {
			diag_error(d, at, "'%s' is given twice: '%s', and by an option", path, text);
			diag_hint(d, "keep one");
			continue;
		}
		settings_add(a, &out->options, path, text, at);
	}
	if (i < operands->n) {
		diag_error(d, (struct source){0}, "extra operand '%s'", operands->list[i].text);
		if (strchr(operands->list[i].text, '='))
			diag_hint(d, "write lists without blanks: --option a=1,b=2");
		else if (command_option_named(c, "points") && strchr(operands->list[i].text, '.'))
			diag_hint(d, "write --points %s", operands->list[i].text);
		else
			diag_hint(d, "usage: ridge %s %s [OPTIONS]", c->name, c->usage);
	}
}
