/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stages of a pipeline that a launch file writes down. */

#include "base/base.h"
#include "db/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
put_written_stages(struct launch_reading *r)
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
	launch_put_number(r, "layout.vp", fmax(1, floor(n_stages / pp)));
	/* a list of the wrong length is refused where the layout is known */
	if (!even || (inner >= 0 && inner < most) || fmod(n_stages, pp) != 0)
		launch_put(r, "stage_layers", list);
}

/* Stages of which the first and the last have their own number of layers, and the others share the rest evenly.  Each
 * is cut into equal chunks (Megatron-Core, get_num_layers_to_build). */
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
		launch_put(r, "stage_layers", list);
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

/* torchtitan's stages, of which a rank has several under a looped schedule, two unless their layers are said: all have
 * as many layers, but for the first and the last (distributed/pipeline_parallel.py). */
static void
put_stage_layers(struct launch_reading *r)
{
	const char *schedule = r->facts[LAUNCH_SCHEDULE];

	if (!schedule || !text_lists("interleaved zero-bubble", schedule) || !(launch_number(r, LAUNCH_PP, 1) > 1))
		return;
	if (!r->facts[LAUNCH_STAGE_LAYERS]) {
		launch_put_number(r, "layout.vp", 2);
		return;
	}
	const double items = r->known.n_layers + launch_number(r, LAUNCH_FIRST_LESS, 1) +
	    launch_number(r, LAUNCH_LAST_LESS, 1); /* the framework's defaults */
	const double vp = ceil(items / launch_number(r, LAUNCH_STAGE_LAYERS, NAN)) / launch_number(r, LAUNCH_PP, 1);

	if (vp >= 1 && fmod(vp, 1) == 0)
		launch_put_number(r, "layout.vp", vp);
	else
		launch_miss(r, "layers of a stage: add --layout vp=N");
}

void
launch_put_stages(struct launch_reading *r)
{
	const bool by_chunks = launch_can_say(r->by, LAUNCH_CHUNKS, "");
	const double vp = by_chunks ? chunks_of(r) : launch_number(r, LAUNCH_VP, 1);

	if (r->facts[LAUNCH_CHUNKS])
		launch_put(r, "layout.vp", r->facts[LAUNCH_CHUNKS]);
	else if (by_chunks)
		launch_put_number(r, "layout.vp", vp);
	put_end_stages(r, vp);
	put_written_stages(r);
	if (launch_can_say(r->by, LAUNCH_STAGE_LAYERS, ""))
		put_stage_layers(r);
}
