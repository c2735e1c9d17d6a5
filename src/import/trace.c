/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read request traces: arrival times and lengths. */
#include "import/import.h"

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_MOST = 10, ROWS_MOST = 1 << 25, FIELDS_MOST = 64, NAME_MOST = 64, HASH_MOST = 1 << 28 };
static const double token_most = 1 << 24, time_most = 1e15;

enum column { ARRIVAL, INPUT, OUTPUT, N_COLUMNS };

static const char *const column_names[N_COLUMNS] = {"arrival", "input", "output"};

/* Column names in published traces, folded. */
static const struct {
	enum column column;
	const char *name;
	double unit_s; /* of arrivals */
} spellings[] = {
    {ARRIVAL, "arrival", 1},
    {ARRIVAL, "arrivals", 1}, /* arrival_s, arrival [s] */
    {ARRIVAL, "arrivalms", 1e-3},
    {ARRIVAL, "arrivaltime", 1},
    {ARRIVAL, "arrivaltimes", 1},
    {ARRIVAL, "arrivaltimems", 1e-3},
    {ARRIVAL, "arrivedat", 1},
    {ARRIVAL, "time", 1},
    {ARRIVAL, "times", 1},
    {ARRIVAL, "timems", 1e-3},
    {ARRIVAL, "timestamp", 1},
    {ARRIVAL, "timestamps", 1},
    {ARRIVAL, "timestampms", 1e-3},
    {INPUT, "input", 0},
    {INPUT, "isl", 0},
    {INPUT, "inputtokens", 0},
    {INPUT, "inputlength", 0},
    {INPUT, "contexttokens", 0},
    {INPUT, "prompttokens", 0},
    {INPUT, "promptlen", 0},
    {INPUT, "requesttokens", 0},
    {INPUT, "numprefilltokens", 0},
    {OUTPUT, "output", 0},
    {OUTPUT, "osl", 0},
    {OUTPUT, "outputtokens", 0},
    {OUTPUT, "outputlength", 0},
    {OUTPUT, "generatedtokens", 0},
    {OUTPUT, "outputlen", 0},
    {OUTPUT, "responsetokens", 0},
    {OUTPUT, "completiontokens", 0},
    {OUTPUT, "numdecodetokens", 0},
};

struct reader {
	struct arena *arena, *scratch; /* the second is cleared after every line */
	struct diag *diag;
	struct trace *trace;
	size_t room;
	const char *file;
	int line, n_faults;
	size_t n_rows;
	bool started, json;
	int at[N_COLUMNS]; /* place of a column, -1: none */
	double unit_s;
	bool has_first;
	double first, previous_s; /* the first as it is written */
	long first_day;
	uint32_t prefix_block;
	unsigned char *seen; /* a bit for each hashed block */
	size_t n_seen;
};

static struct source
place(const struct reader *r)
{
	return (struct source){r->file, r->line, 1, NULL, false};
}

/* True while more faults are worth reporting. */
static bool
fault(struct reader *r, const char *what, const char *hint)
{
	r->n_faults++;
	if (r->n_faults <= FAULTS_MOST) {
		diag_error(r->diag, place(r), "row %zu: %s", r->n_rows, what);
		diag_hint(r->diag, "%s", hint);
	}
	return r->n_faults < FAULTS_MOST;
}

static char *
trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	return text;
}

static char *
unquote(char *text)
{
	const size_t n = strlen(text);

	if (n < 2 || text[0] != '"' || text[n - 1] != '"')
		return text;
	text[n - 1] = '\0';
	return text + 1;
}

static bool
number(const char *text, double *out)
{
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.' && *text != '-' && *text != '+')
		return false;
	*out = strtod(text, &end);
	return end != text && *end == '\0' && isfinite(*out);
}

/* --- times ----------------------------------------------------------------------------------------------- */

/* Days since 1970-01-01 of a date of the Gregorian calendar. */
static long
days_of(long year, long month, long day)
{
	year -= month <= 2;
	const long era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
	const long of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* `2023-11-16 18:15:46.6805900`, perhaps with `T` between and an offset of the zone behind. */
static bool
date(const char *text, long *day, double *time_s)
{
	int year, month, day_of_month, hour, minute, length = 0, zone_hour, zone_minute;
	char sign, between;
	char *end;

	if (sscanf(text, "%4d-%2d-%2d%c%2d:%2d:%n", &year, &month, &day_of_month, &between, &hour, &minute, &length) !=
	        6 ||
	    length == 0 || (between != ' ' && between != 'T') || month < 1 || month > 12 || day_of_month < 1 ||
	    day_of_month > 31 || hour > 23 || minute > 59 || !isdigit((unsigned char)text[length]))
		return false;
	const double second = strtod(text + length, &end);
	if (!(second >= 0 && second < 61))
		return false;
	*day = days_of(year, month, day_of_month);
	*time_s = 3600.0 * hour + 60.0 * minute + second;
	if (sscanf(end, "%c%2d:%2d", &sign, &zone_hour, &zone_minute) == 3 && (sign == '+' || sign == '-'))
		*time_s -= (sign == '+' ? 1 : -1) * (3600.0 * zone_hour + 60.0 * zone_minute);
	else if (*end && strcmp(end, "Z") != 0)
		return false;
	return true;
}

static bool
moment(struct reader *r, const char *text, double *arrival_s)
{
	double unit_s = r->unit_s, time;
	long day = 0;

	if (!number(text, &time)) {
		unit_s = 1;
		if (!date(text, &day, &time))
			return false;
	}
	if (fabs(time) > time_most)
		return false;
	if (!r->has_first) {
		r->has_first = true;
		r->first = time;
		r->first_day = day;
	}
	*arrival_s = 86400.0 * (double)(day - r->first_day) + (time - r->first) * unit_s;
	return true;
}

/* --- rows ------------------------------------------------------------------------------------------------ */

static bool
count(const char *text, uint32_t *out)
{
	double x;

	if (!number(text, &x) || x != floor(x) || x < 1 || x > token_most)
		return false;
	*out = (uint32_t)x;
	return true;
}

static bool
row(struct reader *r, char *const text[N_COLUMNS], uint32_t cached_token)
{
	struct sim_arrival a = {.cached_token = cached_token};
	char what[160];

	for (int i = 0; i < N_COLUMNS; i++)
		if (!text[i] || !*text[i]) {
			snprintf(what, sizeof what, "no %s", column_names[i]);
			return fault(r, what, "a request needs arrival, input tokens and output tokens");
		}
	if (!moment(r, text[ARRIVAL], &a.arrival_s)) {
		snprintf(what, sizeof what, "'%.60s' is not a time", text[ARRIVAL]);
		return fault(r, what, "write seconds, or a date such as 2023-11-16 18:15:46.68");
	}
	for (int i = INPUT; i <= OUTPUT; i++)
		if (!count(text[i], i == INPUT ? &a.isl_token : &a.osl_token)) {
			snprintf(what, sizeof what, "%s of '%.60s' tokens", column_names[i], text[i]);
			return fault(r, what, "lengths must be whole numbers from 1 to 16777216");
		}
	if (a.arrival_s < r->previous_s)
		return fault(r, "arrival before the previous row", "sort the trace by arrival");
	r->previous_s = a.arrival_s;
	if (r->n_faults)
		return true;
	if (r->trace->n == r->room) {
		r->room = r->room ? 2 * r->room : 1024;
		r->trace->requests =
		    arena_grow(r->arena, r->trace->requests, r->trace->n, r->room, sizeof *r->trace->requests);
	}
	r->trace->requests[r->trace->n++] = a;
	return true;
}

/* --- CSV ------------------------------------------------------------------------------------------------- */

static size_t
split(char *line, char **fields)
{
	size_t n = 0;

	while (n < FIELDS_MOST) {
		char *comma = strpbrk(line, ",;\t");
		if (comma)
			*comma = '\0';
		fields[n++] = unquote(trim(line));
		if (!comma)
			break;
		line = comma + 1;
	}
	return n;
}

static bool
header(struct reader *r, char **fields, size_t n)
{
	char name[NAME_MOST];

	for (size_t i = 0; i < n; i++) {
		text_fold(fields[i], name, sizeof name);
		for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++) {
			if (strcmp(name, spellings[k].name) != 0 || r->at[spellings[k].column] >= 0)
				continue;
			r->at[spellings[k].column] = (int)i;
			if (spellings[k].column == ARRIVAL)
				r->unit_s = spellings[k].unit_s;
		}
	}
	for (int i = 0; i < N_COLUMNS; i++)
		if (r->at[i] < 0) {
			diag_error(r->diag, place(r), "the trace has no column '%s'", column_names[i]);
			diag_hint(r->diag, "use columns arrival, input and output");
			r->n_faults = FAULTS_MOST;
			return false;
		}
	return true;
}

static bool
csv_line(struct reader *r, char *line)
{
	char *fields[FIELDS_MOST], *text[N_COLUMNS] = {NULL};
	const size_t n = split(line, fields);

	if (!r->started) {
		r->started = true;
		if (isalpha((unsigned char)fields[0][0]))
			return header(r, fields, n);
		for (int i = 0; i < N_COLUMNS; i++)
			r->at[i] = i;
	}
	r->n_rows++;
	for (int i = 0; i < N_COLUMNS; i++)
		if ((size_t)r->at[i] < n)
			text[i] = fields[r->at[i]];
	return row(r, text, 0);
}

/* --- JSON Lines ------------------------------------------------------------------------------------------ */

static bool
see(struct reader *r, size_t id)
{
	if (id / 8 >= r->n_seen) {
		size_t n = r->n_seen ? r->n_seen : 4096;
		while (n <= id / 8)
			n *= 2;
		r->seen = arena_grow(r->arena, r->seen, r->n_seen, n, 1);
		r->n_seen = n;
	}
	const unsigned char bit = (unsigned char)(1u << (id % 8));
	const bool seen = r->seen[id / 8] & bit;
	r->seen[id / 8] |= bit;
	return seen;
}

/* Tokens of the prompt's blocks, from its start, that an earlier prompt left in the cache. */
static bool
cached(struct reader *r, const struct node *ids, uint32_t *token)
{
	bool found = true;

	*token = 0;
	if (!ids)
		return true;
	if (ids->kind != NODE_LIST)
		return false;
	r->trace->hashed = true;
	for (size_t i = 0; i < ids->n && r->prefix_block; i++) {
		double id;
		if (ids->items[i]->kind != NODE_SCALAR || !ids->items[i]->text || !number(ids->items[i]->text, &id) ||
		    id < 0 || id >= HASH_MOST || id != floor(id))
			return false;
		found = see(r, (size_t)id) && found;
		*token += found ? r->prefix_block : 0;
	}
	return true;
}

static bool
json_line(struct reader *r, const char *line)
{
	const struct node *root = json_read(r->scratch, r->diag, place(r), line, strlen(line));
	char *text[N_COLUMNS] = {NULL}, name[NAME_MOST];
	uint32_t cached_token;

	r->n_rows++;
	if (!root || root->kind != NODE_MAP)
		return fault(r, "not a JSON object", "write one object per line");
	r->unit_s = tree_get(root, "timestamp") ? 1e-3 : 1;
	for (size_t i = 0; i < root->n; i++) {
		if (root->items[i]->kind != NODE_SCALAR || !root->items[i]->text)
			continue;
		text_fold(root->keys[i]->text, name, sizeof name);
		for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++)
			if (strcmp(name, spellings[k].name) == 0 && !text[spellings[k].column])
				text[spellings[k].column] = arena_text(r->scratch, root->items[i]->text);
	}
	if (!cached(r, tree_get(root, "hash_ids"), &cached_token))
		return fault(r, "hash_ids is not a list of numbers", "give the block hashes of a prompt");
	return row(r, text, cached_token);
}

/* --- the file -------------------------------------------------------------------------------------------- */

static bool
one_line(struct reader *r, char *line)
{
	line = trim(line);
	if (!*line || *line == '#')
		return true;
	if (!r->started && *line == '[') {
		diag_error(r->diag, place(r), "a list in JSON");
		diag_hint(r->diag, "write one object per line, without the brackets and commas between them");
		r->n_faults = FAULTS_MOST;
		return false;
	}
	if (!r->started)
		r->json = *line == '{';
	if (r->trace->n == ROWS_MOST) {
		diag_error(r->diag, place(r), "the trace is too long");
		diag_hint(r->diag, "use at most %d requests", ROWS_MOST);
		r->n_faults = FAULTS_MOST;
		return false;
	}
	if (!r->json)
		return csv_line(r, line);
	r->started = true;
	const bool more = json_line(r, line);
	arena_clear(r->scratch);
	return more;
}

static void
read_lines(struct reader *r, FILE *f)
{
	char *line = NULL;
	size_t size = 0;

	for (ssize_t n; (n = getline(&line, &size, f)) >= 0;) {
		r->line++;
		if (memchr(line, '\0', (size_t)n)) {
			fault(r, "not a text file", "give CSV or JSON Lines");
			break;
		}
		if (!one_line(r, line + (r->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0 ? 3 : 0)))
			break;
	}
	if (ferror(f))
		diag_failure(r->diag, "cannot read %s: %s", r->file, strerror(errno));
	free(line);
}

bool
trace_read(struct arena *a, struct diag *d, const char *path, uint32_t prefix_block, struct trace *out)
{
	const bool standard = strcmp(path, "-") == 0;
	const char *name = standard ? "standard input" : path;
	FILE *const f = standard ? stdin : fopen(path, "r");
	struct reader r = {.arena = a,
	    .scratch = arena_new(),
	    .diag = d,
	    .trace = out,
	    .file = arena_text(a, name),
	    .at = {-1, -1, -1},
	    .unit_s = 1,
	    .prefix_block = prefix_block};

	*out = (struct trace){0};
	if (!f)
		diag_error(d, (struct source){0}, "cannot read '%s': %s", path, strerror(errno));
	if (!f)
		diag_hint(d, "give a CSV or JSON Lines file of requests; - is standard input");
	else
		read_lines(&r, f);
	if (f && !standard)
		fclose(f);
	arena_free(r.scratch);
	if (!f || r.n_faults || diag_failed(d))
		return false;
	if (out->n == 0) {
		diag_error(d, (struct source){r.file, 0, 0, NULL, false}, "the trace is empty");
		diag_hint(d, "add a row with arrival, input and output per request");
		return false;
	}
	return true;
}
