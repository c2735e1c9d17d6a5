/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ask/memory/memory.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static bool
unknown(struct run *r, struct word word, const char *what, const char *const *names, size_t n)
{
	const char *near = text_nearest(word.text, names, n);

	diag_error(r->diag, word.from, "'%s' is not %s", word.text, what);
	if (near) {
		diag_hint(r->diag, "did you mean '%s'?", near);
		return false;
	}
	const char *all = "";
	for (size_t i = 0; i < n; i++)
		all = arena_printf(r->arena, "%s%s%s", all, i ? " " : "", names[i]);
	diag_hint(r->diag, "one of: %s", all);
	return false;
}

/* --- recomputation --------------------------------------------------------------------------------------- */

/* The number behind `every-`; 0 when it is none. */
static double
number_behind(const char *text, const char *begin)
{
	char *end;

	if (!text_begins(text, begin))
		return 0;
	const long n = strtol(text + strlen(begin), &end, 10);
	return *end == '\0' && n > 0 && n <= 10000 ? (double)n : 0;
}

static bool
whole_policy(const char *text, enum recompute *policy, double *n, unsigned *modules)
{
	static const struct {
		const char *name;
		enum recompute policy;
		double n;
		unsigned modules;
	} policies[] = {{"none", RECOMPUTE_NONE, 1, 0}, {"full", RECOMPUTE_FULL, 1, 0}, {"op", RECOMPUTE_OP, 1, 0},
	    {"sqrt", RECOMPUTE_UNIFORM, 0, 0}, {"selective", RECOMPUTE_MODULES, 1, 1u << MODULE_CORE_ATTN}};

	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
		if (strcmp(text, policies[i].name) == 0) {
			*policy = policies[i].policy;
			*n = policies[i].n;
			*modules = policies[i].modules;
			return true;
		}
	const double every = number_behind(text, "every-"), uniform = number_behind(text, "uniform-");
	*policy = every > 0 ? RECOMPUTE_EVERY : RECOMPUTE_UNIFORM;
	*n = every > 0 ? every : uniform;
	*modules = 0;
	return every > 0 || uniform > 0;
}

static bool
module_bit(const char *text, unsigned *modules)
{
	for (int m = 0; m < N_MODULES; m++)
		if (strcmp(text, module_name((enum module)m)) == 0) {
			*modules |= 1u << m;
			return true;
		}
	return false;
}

bool
memory_recompute(struct run *r, const struct words *list, enum recompute *policy, double *n, unsigned *modules)
{
	static const char *const names[] = {
	    "none",
	    "full",
	    "op",
	    "sqrt",
	    "selective",
	    "every-2",
	    "uniform-2",
#define MODULE(id, text, title) text,
#include "model/memory/recompute.def"
#undef MODULE
	};
	unsigned found = 0;

	if (list->n == 1 && whole_policy(list->list[0].text, policy, n, modules))
		return true;
	for (size_t i = 0; i < list->n; i++) {
		double ignored_n;
		unsigned ignored;
		if (module_bit(list->list[i].text, &found))
			continue;
		if (!whole_policy(list->list[i].text, policy, &ignored_n, &ignored))
			return unknown(r, list->list[i], "a policy or a module", names, sizeof names / sizeof *names);
		diag_error(r->diag, list->list[i].from, "'%s' cannot be combined", list->list[i].text);
		diag_hint(r->diag, "combine only modules: core_attn,moe_act");
		return false;
	}
	*policy = found ? RECOMPUTE_MODULES : RECOMPUTE_NONE;
	*n = 1;
	*modules = found;
	return true;
}

bool
memory_interval(struct run *r, const struct words *list, double n, struct datum n_layers)
{
	if (!datum_given(n_layers) || n <= n_layers.value)
		return true;
	diag_error(r->diag, list->list[0].from, "checkpoint interval of %g layers exceeds the model's %g layers", n,
	    n_layers.value);
	diag_hint(r->diag, "use at most %g: every-%g", n_layers.value, n_layers.value);
	return false;
}

/* --- lists ----------------------------------------------------------------------------------------------- */

bool
memory_offload(struct run *r, const struct words *list, unsigned *out)
{
	static const char *const names[] = {"optimizer", "params", "activations"};

	*out = 0;
	for (size_t i = 0; i < list->n; i++) {
		size_t k = 0;
		while (k < 3 && strcmp(list->list[i].text, names[k]) != 0)
			k++;
		if (k == 3)
			return unknown(r, list->list[i], "optimizer, params or activations", names, 3);
		*out |= 1u << k;
	}
	return true;
}

bool
memory_targets(struct run *r, const struct words *list, unsigned *out)
{
	const char *names[N_TARGETS];

	*out = 0;
	for (int t = 0; t < N_TARGETS; t++)
		names[t] = target_name((enum target)t);
	for (size_t i = 0; i < list->n; i++) {
		int t = 0;
		if (strcmp(list->list[i].text, "all") == 0) {
			*out |= (1u << TARGET_EMBED) - 1; /* of the layers */
			continue;
		}
		while (t < N_TARGETS && strcmp(list->list[i].text, names[t]) != 0)
			t++;
		if (t == N_TARGETS)
			return unknown(
			    r, list->list[i], "one of q k v o gate up down all embed prompt outputs", names, N_TARGETS);
		*out |= 1u << t;
	}
	return true;
}

bool
memory_stages(struct run *r, const struct words *list, const int **layers, int *n)
{
	enum { MOST = 4096 };
	int *out = ARENA_ARRAY(r->arena, int, MOST);

	*n = 0;
	*layers = out;
	for (size_t i = 0; i < list->n; i++) {
		char *end;
		const long count = strtol(list->list[i].text, &end, 10);
		const long times = *end == '*' ? strtol(end + 1, &end, 10) : 1;
		if (*end || count < 0 || count > 10000 || times < 1 || times > MOST - *n) {
			diag_error(r->diag, list->list[i].from, "'%s' is not a number of layers", list->list[i].text);
			diag_hint(r->diag, "write 3,4*14,2 for 3 layers, fourteen stages of 4, and 2");
			return false;
		}
		for (long k = 0; k < times; k++)
			out[(*n)++] = (int)count;
	}
	return true;
}

/* --- names
 * -------------------------------------------------------------------------------------------------------------------
 */

void
memory_optimizer(const char *name, enum optimizer *out)
{
	*out = OPTIMIZER_ADAM; /* adamw differs in its step alone */
	for (int o = 0; o < N_OPTIMIZERS; o++)
		if (strcmp(name, optimizer_name((enum optimizer)o)) == 0)
			*out = (enum optimizer)o;
}

enum state_scheme
memory_scheme(const char *name)
{
	return strcmp(name, "mixed") == 0 ? STATES_MIXED : strcmp(name, "fp32") == 0 ? STATES_FP32 : STATES_PURE;
}

enum quant
memory_quant(const char *name)
{
	for (int q = 0; name && q < N_QUANTS; q++)
		if (strcmp(name, quant_name((enum quant)q)) == 0)
			return (enum quant)q;
	return QUANT_NONE;
}
