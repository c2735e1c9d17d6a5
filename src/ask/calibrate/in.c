/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Select the rows and targets of a calibration. */
#include "ask/calibrate/calibrate.h"

#include "ask/bind/bind.h"
#include "base/base.h"
#include "cli/cli.h"
#include "db/db.h"
#include "import/import.h"

#include <stdio.h>
#include <string.h>

enum { N_BOOTSTRAP = 200, NAMES_MAX = 64 };

struct names {
	int n;
	const char *list[NAMES_MAX];
};

static bool
same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void
add_name(struct names *names, const char *name)
{
	for (int i = 0; i < names->n; i++)
		if (strcmp(names->list[i], name) == 0)
			return;
	if (names->n < NAMES_MAX)
		names->list[names->n++] = name;
}

static const char *
listed(struct arena *a, const struct names *names, const char *last)
{
	const char *text = "";

	for (int i = 0; i < names->n; i++)
		text = arena_printf(a, "%s%s%s", text, i == 0 ? "" : i == names->n - 1 ? last : ", ", names->list[i]);
	return text;
}

/* Rows of hosts have no GPU; what they are called is the source's own word. */
static const char *
host_of(const struct measurement *m)
{
	return m->gpu ? NULL : m->host ? m->host : m->device;
}

/* --- rows ------------------------------------------------------------------------------------------------ */

static void
warn_skips(struct run *r, const struct measurements *m)
{
	for (int i = 0; i < m->n_skips; i++)
		run_warn(r, "%s", measurements_skip_text(r->arena, m, i));
}

/* The rows of one GPU or host, side by side. */
static void
select_rows(struct run *r, const struct measurements *m, const char *gpu, const char *host, struct fit_bench *b)
{
	struct measurement *rows = ARENA_ARRAY(r->arena, struct measurement, m->n_rows + 1);

	b->n_rows = 0;
	for (int i = 0; i < m->n_rows; i++)
		if (gpu ? same(m->rows[i].gpu, gpu) : !m->rows[i].gpu && same(host_of(&m->rows[i]), host))
			rows[b->n_rows++] = m->rows[i];
	b->rows = rows;
}

/* List the backends of the kernels with their versions: `sglang 0.5.14, trtllm 1.3.0rc20`. */
static const char *
versions(struct arena *a, const struct fit_bench *b)
{
	struct names names = {0};

	for (int kind = 0; kind < N_MEASUREMENT_KINDS; kind++) {
		int n = 0;
		const struct measurement **rows = fit_rows(b, (enum measurement_kind)kind, &n);
		const struct measurement *last = NULL;

		for (int i = 0; i < n; i++) {
			if (!rows[i]->backend ||
			    (last && same(last->backend, rows[i]->backend) && same(last->version, rows[i]->version)))
				continue;
			last = rows[i];
			add_name(&names,
			    last->version ? arena_printf(a, "%s %s", last->backend, last->version) : last->backend);
		}
	}
	return names.n ? listed(a, &names, ", ") : NULL;
}

static const char *
last_date(const struct fit_bench *b)
{
	const char *date = NULL;

	for (int i = 0; i < b->n_rows; i++)
		if (b->rows[i].date && (!date || strcmp(b->rows[i].date, date) > 0))
			date = b->rows[i].date;
	return date;
}

/* --- targets --------------------------------------------------------------------------------------------- */

static bool
complete(struct run *r, const struct calibrate_in *in, const struct gpu *gpu, const struct calibration *reference)
{
	const struct {
		const char *path;
		struct datum given;
	} needed[] = {{"peak.bf16", reference->ref_peak_flop_per_s},
	    {"memory.bandwidth", reference->ref_mem_byte_per_s}, {"l2.size", reference->ref_l2_byte},
	    {"sms", reference->ref_n_sms}};

	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!datum_given(needed[i].given)) {
			diag_error(r->diag, in->files.list[0].from,
			    "%s has no '%s' in the database, which the fractions refer to", gpu->id, needed[i].path);
			diag_hint(r->diag, "add it to the GPU's file, or --set gpu.%s=VALUE", needed[i].path);
			return false;
		}
	return true;
}

static const struct node *
file_before(struct run *r, const char *id)
{
	const char *found;

	return database_path(r->database, ENTRY_CALIBRATION, id)
	    ? database_try(r->database, ENTRY_CALIBRATION, id, &found)
	    : NULL;
}

static const char *
file_names(struct arena *a, const struct calibrate_in *in)
{
	struct names names = {0};

	for (size_t i = 0; i < in->files.n; i++)
		add_name(&names, strcmp(in->files.list[i].text, "-") == 0 ? "ridge bench" : in->files.list[i].text);
	return listed(a, &names, ", ");
}

static bool
set_target(struct run *r, const struct calibrate_in *in, const struct measurements *m, const char *gpu,
    const char *host, const char *backend, struct calibrate_target *t)
{
	struct arena *a = r->arena;
	const char *label = gpu ? gpu : arena_printf(a, "host-%s", host);

	*t = (struct calibrate_target){.bench = {.arena = a, .backend = backend, .n_bootstrap = N_BOOTSTRAP}};
	if (gpu && !(t->bench.gpu = run_gpu(r, (struct word){gpu, in->gpu.from})))
		return false;
	t->reference = calibrate_reference(t->bench.gpu);
	if (gpu && !complete(r, in, t->bench.gpu, &t->reference))
		return false;
	select_rows(r, m, gpu, host, &t->bench);
	t->id = backend ? arena_printf(a, "%s-%s", label, backend) : label;
	if (!in->fresh && gpu) {
		t->bench.known = run_calibration(r, gpu, backend);
		if (!t->bench.known && backend)
			t->bench.known = run_calibration(r, gpu, NULL);
		if (!t->bench.known)
			t->bench.relative = bind_kernels(r, t->bench.gpu, NULL, KERNELS_ROOFLINE, NULL);
	}
	const char *who = versions(a, &t->bench), *date = last_date(&t->bench), *note = in->note.text;
	if (who)
		note = arena_printf(a, "%s%s%s.", note ? note : "", note ? " " : "", who);
	t->about = (struct calibration_about){.name = gpu ? t->bench.gpu->name : host,
	    .gpu = gpu,
	    .host = host,
	    .backend = backend,
	    .source = in->source.text ? in->source.text : file_names(a, in),
	    .date = in->date.text ? in->date.text : date,
	    .note = note,
	    .before = file_before(r, t->id),
	    .own = database_is_own(r->database, ENTRY_CALIBRATION, t->id)};
	return true;
}

/* Its kernels, or its all-reduce alone: custom-vllm is one of vllm. */
static bool
has_backend(struct arena *a, const struct measurements *m, const char *gpu, const char *backend)
{
	const char *custom = arena_printf(a, "custom-%s", backend);

	for (int i = 0; i < m->n_rows; i++)
		if (same(m->rows[i].gpu, gpu) &&
		    (same(m->rows[i].backend, backend) || same(m->rows[i].backend, custom)))
			return true;
	return false;
}

/* Add one target for the GPU and, when writing files, one per engine. */
static bool
add_targets(struct run *r, const struct calibrate_in *in, const char *gpu, const char *host,
    struct calibrate_targets *out, int *room)
{
	const bool files = in->write.text || in->install;
	const struct measurements *m = &out->rows;
	struct names wanted = {0}; /* "" is the median */

	if (in->backend.text)
		add_name(&wanted, in->backend.text);
	else
		add_name(&wanted, "");
	for (int i = 0; i < m->n_rows && files && gpu && !in->backend.text; i++)
		if (same(m->rows[i].gpu, gpu) && fit_is_engine(m->rows[i].backend))
			add_name(&wanted, m->rows[i].backend);
	for (int i = 0; i < wanted.n; i++) {
		const char *backend = *wanted.list[i] ? wanted.list[i] : NULL;

		if (backend && !has_backend(r->arena, m, gpu, backend)) {
			diag_error(r->diag, in->backend.from, "no rows for '%s' on %s", backend, gpu ? gpu : host);
			return false;
		}
		if (out->n == *room) {
			out->list =
			    arena_grow(r->arena, out->list, (size_t)out->n, 2 * (size_t)*room + 4, sizeof *out->list);
			*room = 2 * *room + 4;
		}
		if (!set_target(r, in, m, gpu, host, backend, &out->list[out->n]))
			return false;
		out->n++;
	}
	return true;
}

static bool
find_targets(struct run *r, const struct calibrate_in *in, struct calibrate_targets *out)
{
	struct names gpus = {0}, hosts = {0};
	const char *wanted = NULL;
	int room = 0;

	if (in->gpu.text) {
		const struct gpu *gpu = run_gpu(r, in->gpu);
		if (!gpu)
			return false;
		wanted = gpu->id;
	}
	for (int i = 0; i < out->rows.n_rows; i++) {
		const struct measurement *m = &out->rows.rows[i];

		if (m->gpu && (!wanted || strcmp(wanted, m->gpu) == 0))
			add_name(&gpus, m->gpu);
		else if (!m->gpu && !wanted && host_of(m))
			add_name(&hosts, host_of(m));
	}
	if (gpus.n + hosts.n == 0) {
		diag_error(r->diag, wanted ? in->gpu.from : in->files.list[0].from,
		    wanted ? "no rows for %s" : "no rows for a GPU or host%.0s", wanted ? wanted : "");
		return false;
	}
	if (gpus.n + hosts.n > 1 && !in->write.text && !in->install) {
		for (int i = 0; i < hosts.n; i++)
			add_name(&gpus, hosts.list[i]);
		diag_error(r->diag, in->files.list[0].from, "rows from %d machines: %s", gpus.n,
		    listed(r->arena, &gpus, " and "));
		diag_hint(r->diag, "add --gpu %s, or --write DIR for one file each", gpus.list[0]);
		return false;
	}
	for (int i = 0; i < gpus.n; i++)
		if (!add_targets(r, in, gpus.list[i], NULL, out, &room))
			return false;
	for (int i = 0; i < hosts.n; i++)
		if (!add_targets(r, in, NULL, hosts.list[i], out, &room))
			return false;
	return true;
}

/* The rows of all files together; a file without a usable row is an error. */
static bool
read_files(struct run *r, const struct calibrate_in *in, struct measurements *all)
{
	*all = (struct measurements){.n_rows = 0};
	for (size_t i = 0; i < in->files.n; i++) {
		struct measurements one;

		if (!measurements_read(r->arena, r->diag, in->files.list[i].text, r->database, &one))
			return false;
		warn_skips(r, &one);
		if (i == 0) {
			*all = one;
			continue;
		}
		all->rows = arena_grow(r->arena, all->rows, (size_t)all->n_rows,
		    (size_t)all->n_rows + (size_t)one.n_rows, sizeof *all->rows);
		memcpy(all->rows + all->n_rows, one.rows, (size_t)one.n_rows * sizeof *one.rows);
		all->n_rows += one.n_rows;
	}
	return true;
}

bool
calibrate_read(struct run *r, const struct calibrate_in *in, struct calibrate_targets *out)
{
	*out = (struct calibrate_targets){.n = 0};
	if (!in->files.n) {
		diag_error(r->diag, (struct source){0}, "no measurements");
		diag_hint(r->diag, "ridge bench | ridge calibrate -");
		return false;
	}
	return read_files(r, in, &out->rows) && find_targets(r, in, out);
}

/* --- fits ------------------------------------------------------------------------------------------------ */

bool
calibrate_fit(struct run *r, const struct calibrate_in *in, struct calibrate_target *t)
{
	const char *why = NULL;
	int n_good = 0;

	t->bench.reference = &t->reference;
	calibrate_gpu(&t->bench, &t->fitted);
	for (int i = 0; i < t->fitted.n; i++) {
		const struct fitted_class *c = &t->fitted.classes[i];

		if (!c->refused) {
			n_good++;
			continue;
		}
		t->n_refused++;
		why = arena_printf(r->arena, "%s%s%s: %s", why ? why : "", why ? "; " : "",
		    c->path ? c->path : c->residual_name, c->refused);
	}
	if (n_good)
		return true;
	diag_error(
	    r->diag, in->files.list[0].from, "nothing to fit for %s%s%s", t->id, why ? ": " : "", why ? why : "");
	diag_hint(r->diag, "measure more points: ridge bench");
	return false;
}

/* --- out ----------------------------------------------------------------------------------------------------- */

/* Calibration files go to a folder as a whole or not at all. */

bool
calibrate_write_file(struct run *r, const char *path, const char *text)
{
	FILE *to = outputs_open_deep(r->outputs, r->diag, (struct source){0}, path);

	if (!to)
		return false;
	fputs(text, to);
	TELL(r->sheet, output_file, path);
	return true;
}

bool
calibrate_folder(struct run *r, const struct calibrate_in *in, enum entry_kind kind, const char **out)
{
	const char *user = database_user_directory(r->arena);

	*out = in->write.text;
	if (!in->install)
		return true;
	if (!user) {
		diag_failure(r->diag, "no data directory: neither XDG_DATA_HOME nor HOME is set");
		diag_hint(r->diag, "set one of them, or name a folder: --write DIR");
		return false;
	}
	*out = arena_printf(r->arena, "%s/%s", user, entry_kind_folder(kind));
	return true;
}

bool
calibrate_store(struct run *r, const struct calibrate_in *in, const struct calibrate_targets *all)
{
	const char *folder;

	if (!calibrate_folder(r, in, ENTRY_CALIBRATION, &folder))
		return false;
	for (int i = 0; folder && i < all->n; i++) {
		const struct calibrate_target *t = &all->list[i];

		if (t->fitted.n &&
		    !calibrate_write_file(r, arena_printf(r->arena, "%s/%s.yaml", folder, t->id),
		        calibration_text(&t->bench, &t->fitted, &t->about)))
			return false;
	}
	return true;
}
