/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Read nccl-tests output as people paste it: with rank or mpirun prefixes, indented, truncated, surrounded by prose.  A
 * row is recognized by its shape: two whole numbers, a dtype, then times.  Times are in microseconds, sizes in bytes of
 * the full buffer; bandwidths are only used to infer ranks and collective if these are not given.
 */
#include "import/parts.h"

#include "base/base.h"
#include "db/tree.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text, *ours;
} types[] = {{"float", "fp32"}, {"half", "fp16"}, {"bfloat16", "bf16"}, {"double", "fp64"}, {"int8", "int8"},
    {"fp8_e4m3", "fp8"}, {"fp8_e5m2", "fp8"}, {"f8e4m3", "fp8"}, {"f8e5m2", "fp8"}, {"uint8", "uint8"},
    {"int32", "int32"}, {"uint32", "uint32"}, {"int64", "int64"}, {"uint64", "uint64"}, {"char", "int8"},
    {"int", "int32"}, {"fp16", "fp16"}, {"bf16", "bf16"}};

static const char *
nccl_type(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i].text) == length && memcmp(types[i].text, text, length) == 0)
			return types[i].ours;
	return NULL;
}

/* All-reduce performance test is a name of all_reduce_perf. */
static const char *const collectives[][2] = {{"reducescatterperf", "reduce_scatter"}, {"allreduceperf", "all_reduce"},
    {"allgatherperf", "all_gather"}, {"alltoallperf", "all_to_all"}, {"broadcastperf", "broadcast"},
    {"sendrecvperf", "sendrecv"}, {"hypercubeperf", "hypercube"}, {"gatherperf", "gather"}, {"scatterperf", "scatter"},
    {"reduceperf", "reduce"}};

static const char *
nccl_collective(const char *text)
{
	char folded[1024];

	text_fold(text, folded, sizeof folded);
	for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
		if (strstr(folded, collectives[i][0]))
			return collectives[i][1];
	return NULL;
}

static void
nccl_rank(struct measurement_reader *r, struct nccl_ranks *ranks, const char *host, size_t length)
{
	const char *word = measurement_word(r, host, length);

	ranks->n++;
	for (int i = 0; i < ranks->n_hosts; i++)
		if (ranks->hosts[i] == word)
			return;
	if (!word)
		return;
	if ((ranks->n_hosts & (ranks->n_hosts - 1)) == 0)
		ranks->hosts = arena_grow(r->arena, ranks->hosts, (size_t)ranks->n_hosts,
		    2 * (size_t)ranks->n_hosts + 1, sizeof *ranks->hosts);
	ranks->hosts[ranks->n_hosts++] = word;
}

/* --- a row ----------------------------------------------------------------------------------------------- */

enum { MAX_WORDS = 24 };

struct table_row {
	int line;
	double size_byte, time_us, in_place_us, algbw, busbw;
	const char *type;
	bool summed, rooted, wrong;
};

struct nccl_table {
	struct measurement_reader *reader;
	struct nccl_ranks ranks;
	const char *collective, *version, *date;
	double n_ranks, n_nodes; /* as lines say; 0: they do not */
	int n_tables;
	bool has_root; /* the header has the column */
	int n, room;
	struct table_row *rows; /* of the table that is being read */
};

static int
words_of(char *line, char **words)
{
	int n = 0;

	for (char *p = strtok(line, " \t"); p && n < MAX_WORDS; p = strtok(NULL, " \t"))
		words[n++] = p;
	return n;
}

static bool
is_whole(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0';
}

/* Index of the word where a row begins, or -1. */
static int
row_start(char **words, int n)
{
	for (int i = 0; i + 3 < n; i++) {
		char *glued = strrchr(words[i], ':'); /* [1,0]<stdout>:67108864 */
		if (glued && is_whole(glued + 1))
			words[i] = glued + 1;
		if (is_whole(words[i]) && is_whole(words[i + 1]) && nccl_type(words[i + 2], strlen(words[i + 2])))
			return i;
	}
	return -1;
}

static double
figure(char **words, int n, int i)
{
	double value;

	return i < n && measurement_number(words[i], &value) ? value : NAN;
}

static bool
table_row(const struct nccl_table *t, char **words, int n, int line, struct table_row *row)
{
	int i = row_start(words, n);

	if (i < 0)
		return false;
	*row = (struct table_row){.line = line, .type = nccl_type(words[i + 2], strlen(words[i + 2]))};
	row->size_byte = strtod(words[i], NULL);
	i += 3;
	if (i < n && isalpha((unsigned char)*words[i]) && strcmp(words[i], "N/A") != 0) {
		row->summed = strcmp(words[i], "none") != 0;
		i++;
	}
	if (i < n && (t->has_root || (n - i) % 4 == 1)) {
		row->rooted = strcmp(words[i], "-1") != 0;
		i++;
	}
	row->time_us = figure(words, n, i);
	row->algbw = figure(words, n, i + 1);
	row->busbw = figure(words, n, i + 2);
	row->wrong = figure(words, n, i + 3) > 1e-3; /* a count, or the largest error in old versions */
	row->in_place_us = figure(words, n, i + 4);
	return true;
}

/* --- a table --------------------------------------------------------------------------------------------- */

/* The largest rows print their bandwidths with the most digits. */
static double
bus_over_algorithm(const struct nccl_table *t)
{
	double best = 0, ratio = NAN;

	for (int i = 0; i < t->n; i++)
		if (t->rows[i].algbw > best) {
			best = t->rows[i].algbw;
			ratio = t->rows[i].busbw / t->rows[i].algbw;
		}
	return best >= 1 ? ratio : NAN; /* two decimals below 1 tell nothing */
}

/* Only an all-reduce moves more than its buffer: 2(n-1)/n.  Reductions are summed, and a reduce has a root. */
static const char *
collective_of(const struct nccl_table *t, double ratio)
{
	if (t->collective)
		return t->collective;
	if (t->n > 0 && t->rows[0].summed && ratio > 1.02)
		return "all_reduce";
	if (t->n > 0 && t->rows[0].summed && !t->rows[0].rooted && ratio < 0.98)
		return "reduce_scatter";
	return t->reader->hints.collective;
}

static double
ranks_of(const struct nccl_table *t, const char *collective, double ratio)
{
	double n = NAN;

	if (t->ranks.n > 1)
		return t->ranks.n;
	if (t->n_ranks > 0)
		return t->n_ranks;
	if (t->reader->hints.n_ranks > 0)
		return t->reader->hints.n_ranks;
	if (strcmp(collective, "all_reduce") == 0)
		n = 2 / (2 - ratio);
	else if (ratio < 0.999)
		n = 1 / (1 - ratio);
	/* four digits tell some hundred ranks apart */
	return n > 1.5 && n < 100 && fabs(n - round(n)) < 0.03 * n ? round(n) : NAN;
}

static void
add_table_row(struct nccl_table *t, const struct table_row *from, const char *collective, double n_ranks)
{
	struct measurement_reader *r = t->reader;
	struct measurement row = measurement_blank(MEASUREMENT_COLLECTIVE, from->line);
	char note[80];
	const bool out_of_place = from->time_us > 0;

	if (from->size_byte == 0) {
		measurement_skip(r, from->line, "a row of 0 bytes");
		return;
	}
	if (from->wrong) {
		measurement_skip(r, from->line, "the collective's result was wrong");
		return;
	}
	row.operation = collective;
	row.dtype_text = from->type;
	row.backend = "nccl";
	row.library = "nccl-tests";
	row.version = t->version;
	row.date = t->date;
	row.device = t->ranks.device;
	row.ranks = n_ranks;
	row.nodes = t->ranks.n_hosts > 0 ? t->ranks.n_hosts
	    : t->n_nodes > 0             ? t->n_nodes
	    : r->hints.n_nodes > 0       ? r->hints.n_nodes
	                                 : NAN;
	row.size_byte = from->size_byte;
	row.time_s = 1e-6 * (out_of_place ? from->time_us : from->in_place_us);
	row.mode = out_of_place ? "out-of-place" : "in-place";
	if (out_of_place && from->in_place_us > 0) {
		snprintf(note, sizeof note, "in-place %.6g us", from->in_place_us);
		row.note = measurement_word(r, note, strlen(note));
	}
	measurement_add(r, &row);
}

static bool
end_table(struct nccl_table *t)
{
	const double ratio = bus_over_algorithm(t);
	const char *collective = collective_of(t, ratio);
	const int first = t->n ? t->rows[0].line : 0;

	if (t->n == 0)
		return true;
	if (!collective)
		return measurement_refuse(t->reader, first,
		    "keep the lines that name the program, or write '# all_gather_perf' in a line above the table",
		    "the table does not name the collective");
	const double n_ranks = ranks_of(t, collective, ratio);
	if (isnan(n_ranks))
		return measurement_refuse(t->reader, first,
		    "keep the '# Rank' lines, or write '# ranks 16' in a line above the table",
		    "the table does not give the number of ranks");
	for (int i = 0; i < t->n; i++)
		add_table_row(t, &t->rows[i], collective, n_ranks);
	t->n = 0;
	t->has_root = false;
	return true;
}

/* --- what stands around it ------------------------------------------------------------------------------- */

/* Lines that users add to a table: `# ranks 16`, `# nodes 2`. */
static void
count_line(struct nccl_table *t, const char *line)
{
	static const char *const names[] = {"ranks ", "nodes "};
	double *const counts[] = {&t->n_ranks, &t->n_nodes};
	double value;

	line += strspn(line, "# \t");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (text_begins(line, names[i]) && measurement_number(line + strlen(names[i]), &value) && value >= 1)
			*counts[i] = value;
}

/* `#  Rank  0 Group  0 Pid 1234 on node1 device  0 [0000:00:00] NVIDIA H100 80GB HBM3` */
static bool
rank_line(struct nccl_table *t, const char *line)
{
	const char *rank = strstr(line, "Rank "), *on = rank ? strstr(rank, " on ") : NULL;
	const char *device = on ? strstr(on, " device ") : NULL, *name = device ? strchr(device, ']') : NULL;

	if (!device || !strstr(rank, " Pid "))
		return false;
	on += 4 + strspn(on + 4, " ");
	nccl_rank(t->reader, &t->ranks, on, device > on ? strcspn(on, " ") : 0);
	if (name && !t->ranks.device) {
		name += 1 + strspn(name + 1, " ");
		t->ranks.device = measurement_word(t->reader, name, strlen(name));
	}
	return true;
}

static void
version_line(struct nccl_table *t, const char *line)
{
	const char *version = strstr(line, "NCCL version ");

	if (version) {
		version += 13;
		t->version = measurement_word(t->reader, version, strcspn(version, " +\t"));
	}
}

static bool
is_header(const char *line)
{
	return strstr(line, "size") && strstr(line, "count") && strstr(line, "type") && strstr(line, "time");
}

/* A new table begins: what was said of the last one no longer holds where this one has its own. */
static bool
other_line(struct nccl_table *t, const char *line)
{
	const char *collective = nccl_collective(line);
	const bool rank = strstr(line, "Rank ") && strstr(line, " Pid ");

	if ((is_header(line) || rank || (collective && t->n)) && t->n) {
		if (!end_table(t))
			return false;
		if (rank)
			t->ranks = (struct nccl_ranks){.n = 0};
	}
	if (collective)
		t->collective = collective;
	if (is_header(line))
		t->has_root = strstr(line, "root") != NULL;
	version_line(t, line);
	count_line(t, line);
	rank_line(t, line);
	return true;
}

bool
import_nccl_text(struct measurement_reader *r)
{
	struct nccl_table *t = ARENA_NEW(r->arena, struct nccl_table);
	char *text = r->text, *line, *words[MAX_WORDS];

	t->reader = r;
	for (int i = 1; (line = measurement_line(&text)); i++) {
		char *copy = arena_text(r->scratch, line);
		struct table_row row;
		if (!table_row(t, words, words_of(copy, words), i, &row)) {
			if (!other_line(t, line))
				return false;
			continue;
		}
		if (t->n == t->room) {
			const int more = t->room ? 2 * t->room : 64;
			t->rows = arena_grow(r->arena, t->rows, (size_t)t->n, (size_t)more, sizeof *t->rows);
			t->room = more;
		}
		t->rows[t->n++] = row;
	}
	return end_table(t);
}

/* --- nccl json ----------------------------------------------------------------------------------------------- */

/* The JSON that `-J FILE` of nccl-tests writes.  Its `time` is in microseconds, contrary to its documentation. */

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
json_collective(struct measurement_reader *r, const struct node *root, const struct node *result)
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
json_ranks(struct measurement_reader *r, const struct node *root)
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
	row.operation = json_collective(r, root, result);
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
	const struct nccl_ranks ranks = json_ranks(r, root);
	const char *start = text_at(root, "start_time");

	if (!results || results->kind != NODE_LIST || results->n == 0)
		return measurement_refuse(r, 0, "the run did not finish its first size", "'results' has no rows");
	if (!json_collective(r, root, results->items[0]))
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
			measurement_skip(r, (int)i + 1, "a result is not an object");
	return true;
}
