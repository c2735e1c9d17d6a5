/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `-J FILE` of nccl-tests writes.  `time` is in microseconds there, whatever its documentation says. */
#include "import/parts.h"

#include "db/tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *
text_at(const struct node *n, const char *path)
{
	const struct node *found = n ? tree_at(n, path) : NULL;

	return found && found->kind == NODE_SCALAR ? found->text : NULL;
}

static double
number_at(const struct node *n, const char *path)
{
	const char *text = text_at(n, path);
	double value;

	return text && measurement_number(text, &value) ? value : NAN;
}

static const char *
word_of(struct measurement_reader *r, const char *text)
{
	return text ? measurement_word(r, text, strlen(text)) : NULL;
}

/* The program's name is the first argument; an experiment may be named after what it runs. */
static const char *
collective_of(struct measurement_reader *r, const struct node *root, const struct node *result)
{
	const struct node *args = tree_get(root, "args");
	const char *experiment = text_at(result, "experiment_name"), *found = NULL;

	for (size_t i = 0; args && args->kind == NODE_LIST && i < args->n && !found; i++)
		if (args->items[i]->kind == NODE_SCALAR && args->items[i]->text)
			found = nccl_collective(args->items[i]->text);
	if (!found && args && args->kind == NODE_SCALAR && args->text)
		found = nccl_collective(args->text);
	if (!found && experiment) {
		const char *named = arena_printf(r->scratch, "%s_perf", experiment);
		found = nccl_collective(named);
	}
	return found ? found : r->hints.collective;
}

static struct nccl_ranks
ranks_of(struct measurement_reader *r, const struct node *root)
{
	const struct node *devices = tree_at(root, "config.devices");
	struct nccl_ranks ranks = {.n = 0};

	for (size_t i = 0; devices && devices->kind == NODE_LIST && i < devices->n; i++) {
		const char *host = text_at(devices->items[i], "hostname");
		nccl_rank(r, &ranks, host ? host : "", host ? strlen(host) : 0);
		if (!ranks.device)
			ranks.device = word_of(r, text_at(devices->items[i], "device_info"));
	}
	return ranks;
}

/* NULL, or an object whose time may be named after the clock that took it. */
static double
time_us(const struct node *place)
{
	if (!place || place->kind != NODE_MAP)
		return NAN;
	const double time = number_at(place, "time");
	return isnan(time) ? number_at(place, "cpu_time") : time;
}

static void
add_statistics(struct measurement *row, const struct node *result)
{
	row->n_runs = number_at(result, "actual_iterations");
	const double low = 1e-6 * number_at(result, "min_us"), high = 1e-6 * number_at(result, "max_us"),
	             middle = 1e-6 * number_at(result, "p50_us");

	if (low <= middle && middle <= high) {
		row->min_s = low;
		row->max_s = high;
		row->time_s = middle;
	}
}

static void
add_result(struct measurement_reader *r, const struct node *root, const struct node *result,
    const struct measurement *common, int index)
{
	const struct node *out = tree_get(result, "out_of_place"), *in = tree_get(result, "in_place");
	const bool out_of_place = time_us(out) > 0;
	struct measurement row = *common;
	char note[80];

	row.line = index;
	row.operation = collective_of(r, root, result);
	row.size_byte = number_at(result, "size");
	const char *type = text_at(result, "type");
	const char *known = type ? nccl_type(type, strlen(type)) : NULL;
	row.dtype_text = known ? known : word_of(r, type);
	row.time_s = 1e-6 * (out_of_place ? time_us(out) : time_us(in));
	row.mode = out_of_place ? "out-of-place" : "in-place";
	add_statistics(&row, result);
	if (out_of_place && time_us(in) > 0) {
		snprintf(note, sizeof note, "in-place %.6g us", time_us(in));
		row.note = measurement_word(r, note, strlen(note));
	}
	if (number_at(out_of_place ? out : in, "nwrong") > 0)
		measurement_skip(r, index, "the collective's result was wrong");
	else if (row.size_byte == 0)
		measurement_skip(r, index, "a row of 0 bytes");
	else
		measurement_add(r, &row);
}

/* NCCL's version is one number, 22005 for 2.20.5, or a text. */
static const char *
version_of(struct measurement_reader *r, const struct node *root)
{
	const char *text = text_at(root, "nccl_version");
	double value;

	if (text && measurement_number(text, &value) && value > 10000 && value < 1e6 && value == floor(value)) {
		const int v = (int)value;
		text = arena_printf(r->scratch, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	}
	return word_of(r, text);
}

bool
import_nccl_json(struct measurement_reader *r, const struct node *root)
{
	const struct node *results = tree_get(root, "results");
	struct measurement common = measurement_blank(MEASUREMENT_COLLECTIVE, 0);
	const struct nccl_ranks ranks = ranks_of(r, root);
	const char *start = text_at(root, "start_time");

	if (!results || results->kind != NODE_LIST || results->n == 0)
		return measurement_refuse(r, 0, "the run did not finish its first size", "'results' has no rows");
	if (!collective_of(r, root, results->items[0]))
		return measurement_refuse(r, 0, "write \"args\": [\"all_gather_perf\"] into the file",
		    "neither 'args' nor 'experiment_name' names a collective");
	common.ranks = ranks.n > 0 ? ranks.n : r->hints.n_ranks > 0 ? r->hints.n_ranks : NAN;
	common.nodes = ranks.n_hosts > 0 ? ranks.n_hosts : r->hints.n_nodes > 0 ? r->hints.n_nodes : NAN;
	if (isnan(common.ranks))
		return measurement_refuse(r, 0, "repeat the run, or add the list of devices",
		    "'config.devices' does not give the number of ranks");
	common.device = ranks.device;
	common.backend = "nccl";
	common.version = version_of(r, root);
	common.library = "nccl-tests";
	if (start && strlen(start) >= 10 && start[4] == '-')
		common.date = measurement_word(r, start, 10);
	for (size_t i = 0; i < results->n; i++)
		if (results->items[i]->kind == NODE_MAP)
			add_result(r, root, results->items[i], &common, (int)i + 1);
		else
			measurement_skip(r, (int)i + 1, "a result is no object");
	return true;
}
