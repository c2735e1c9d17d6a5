/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output files: written aside and renamed together, all or none; inputs are never overwritten.  How an answer is
 * printed. */
#include "cli/cli.h"

#include "base/base.h"
#include "cli/parts.h"
#include "paths.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
	const char *name;
	FILE *content; /* aside: a file without a name, or memory where there is no folder for such files */
	char *memory;
	size_t memory_byte;
	bool deep; /* its folders may have to be made */
	/* while it is put in place */
	const char *path, *temporary; /* links followed; NULL: a device or a pipe, written directly */
};

/* A file, whatever its names are. */
struct file_id {
	dev_t device;
	ino_t number;
};

struct outputs {
	struct arena *arena;
	size_t n_inputs;
	struct file_id *inputs; /* that may not be written to */
	size_t n, room;
	struct output **list; /* streams into memory know where their entry is */
};

struct outputs *
outputs_new(struct arena *a)
{
	struct outputs *o = ARENA_NEW(a, struct outputs);

	o->arena = a;
	return o;
}

size_t
outputs_count(const struct outputs *o)
{
	return o->n;
}

const char *
outputs_name(const struct outputs *o, size_t i)
{
	return o->list[i]->name;
}

void
outputs_drop(struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++) {
		fclose(o->list[i]->content);
		free(o->list[i]->memory);
	}
	o->n = 0;
}

/* --- what may be written ---------------------------------------------------------------------------------- */

static bool
is_file(const struct stat *file, const char *name)
{
	struct stat st;

	return stat(name, &st) == 0 && st.st_dev == file->st_dev && st.st_ino == file->st_ino;
}

static bool
is_input(const struct outputs *o, const struct stat *file)
{
	for (size_t i = 0; i < o->n_inputs; i++)
		if (o->inputs[i].device == file->st_dev && o->inputs[i].number == file->st_ino)
			return true;
	return false;
}

void
outputs_guard_file(struct outputs *o, const char *name)
{
	struct stat st;

	if (stat(name, &st) != 0 || !S_ISREG(st.st_mode) || is_input(o, &st))
		return;
	o->inputs = arena_grow(o->arena, o->inputs, o->n_inputs, o->n_inputs + 1, sizeof *o->inputs);
	o->inputs[o->n_inputs++] = (struct file_id){st.st_dev, st.st_ino};
}

/* A word, or a list of them.  Names without a dot or a slash are those of the database. */
void
outputs_guard_word(struct outputs *o, const char *text)
{
	char piece[4096];

	if (!text || !strpbrk(text, "./"))
		return;
	outputs_guard_file(o, text);
	while (*text) {
		const size_t n = strcspn(text, ",");
		if (n < sizeof piece) {
			memcpy(piece, text, n);
			piece[n] = '\0';
			outputs_guard_file(o, piece);
		}
		text += n + (text[n] == ',');
	}
}

static void
guard_tree(struct outputs *o, const struct node *n)
{
	if (n && n->kind == NODE_SCALAR)
		outputs_guard_word(o, n->text);
	for (size_t i = 0; n && n->kind != NODE_SCALAR && i < n->n; i++)
		guard_tree(o, n->items[i]);
}

static bool
is_written(const struct command *command, const char *path)
{
	const struct option *option = command_option_at(command, path);

	return option && strcmp(option->complete, "output") == 0;
}

void
outputs_guard(struct outputs *o, const struct command *command, const struct node *inputs, const struct words *operands)
{
	for (size_t i = 0; inputs && inputs->kind == NODE_MAP && i < inputs->n; i++)
		if (!is_written(command, inputs->keys[i]->text))
			guard_tree(o, inputs->items[i]);
	for (size_t i = 0; i < operands->n; i++)
		outputs_guard_word(o, operands->list[i].text);
}

/* Where a name leads, even when nothing is there yet: its folder without links, and its last part. */
static const char *
place_of(struct outputs *o, const char *name)
{
	char *real = realpath(name, NULL);

	if (!real) {
		const char *slash = strrchr(name, '/');
		char *folder = realpath(slash ? arena_copy(o->arena, name, (size_t)(slash - name + 1)) : ".", NULL);
		const char *place = folder ? arena_printf(o->arena, "%s/%s", folder, slash ? slash + 1 : name)
		                           : arena_text(o->arena, name);
		free(folder);
		return place;
	}
	const char *place = arena_text(o->arena, real);
	free(real);
	return place;
}

static bool
may_be_written(struct outputs *o, struct diag *d, struct source at, const char *name)
{
	struct stat st;

	if (!*name || strcmp(name, "-") == 0) {
		diag_error(d, at, *name ? "'-' is not a file name" : "the file name is empty");
		diag_hint(d, "write %s FILE", at.file ? at.file : "--output");
		return false;
	}
	const bool there = stat(name, &st) == 0;
	if (there && !S_ISREG(st.st_mode))
		return true;
	if (there && is_input(o, &st)) {
		diag_error(d, at, "'%s' is one of the inputs", name);
		diag_hint(d, "use another name for the output");
		return false;
	}
	const char *place = place_of(o, name);
	for (size_t i = 0; i < o->n; i++)
		if (strcmp(place_of(o, o->list[i]->name), place) == 0 || (there && is_file(&st, o->list[i]->name))) {
			diag_error(d, at, "two outputs write '%s'", name);
			diag_hint(d, "use different names");
			return false;
		}
	return true;
}

/* --- content ---------------------------------------------------------------------------------------------- */

static FILE *
begin(struct outputs *o, struct diag *d, struct source at, const char *name, bool deep)
{
	if (!may_be_written(o, d, at, name))
		return NULL;
	struct output *f = ARENA_NEW(o->arena, struct output);
	*f = (struct output){.name = arena_text(o->arena, name), .content = tmpfile(), .deep = deep};
	if (!f->content)
		f->content = open_memstream(&f->memory, &f->memory_byte);
	if (!f->content) {
		diag_failure(d, "cannot buffer the output: %s", strerror(errno));
		diag_hint(d, "check free space in /tmp");
		return NULL;
	}
	if (o->n == o->room) {
		const size_t more = o->room ? 2 * o->room : 4;
		o->list = arena_grow(o->arena, o->list, o->n, more, sizeof *o->list);
		o->room = more;
	}
	o->list[o->n++] = f;
	return f->content;
}

FILE *
outputs_open(struct outputs *o, struct diag *d, struct source at, const char *name)
{
	return begin(o, d, at, name, false);
}

FILE *
outputs_open_deep(struct outputs *o, struct diag *d, struct source at, const char *name)
{
	return begin(o, d, at, name, true);
}

/* --- putting in place ------------------------------------------------------------------------------------- */

static bool
failed(struct diag *d, const char *what, const char *name)
{
	diag_failure(d, "cannot %s '%s': %s", what, name, strerror(errno));
	diag_hint(d, "nothing written; check path, permissions and free space");
	return false;
}

static bool
make_folders(struct outputs *o, struct diag *d, const char *path)
{
	char *part = arena_text(o->arena, path);

	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, 0777) != 0 && errno != EEXIST)
			return failed(d, "create the directory", part);
		*slash = '/';
	}
	return true;
}

/* Somebody who wants to stop us is waiting. */
static bool
interrupted(void)
{
	sigset_t waiting;

	return sigpending(&waiting) == 0 &&
	    (sigismember(&waiting, SIGINT) || sigismember(&waiting, SIGTERM) || sigismember(&waiting, SIGHUP));
}

static bool
write_bytes(int to, const char *bytes, size_t n)
{
	enum { PIECE = 1 << 20 };

	while (n) {
		if (interrupted()) {
			errno = EINTR;
			return false;
		}
		const ssize_t wrote = write(to, bytes, n < PIECE ? n : PIECE);
		if (wrote < 0 && errno != EINTR)
			return false;
		bytes += wrote > 0 ? wrote : 0;
		n -= wrote > 0 ? (size_t)wrote : 0;
	}
	return true;
}

static bool
copy(const struct output *f, int to)
{
	char buf[1 << 15];
	size_t n;

	if (f->memory)
		return write_bytes(to, f->memory, f->memory_byte);
	rewind(f->content);
	while ((n = fread(buf, 1, sizeof buf, f->content)) > 0)
		if (!write_bytes(to, buf, n))
			return false;
	return !ferror(f->content);
}

/* A new file in the folder of `path`.  Its name is random: names by process repeat in containers, and one that was left
 * by a killed process would be in the way for ever. */
static int
open_beside(struct outputs *o, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	const char *folder = slash ? arena_copy(o->arena, path, (size_t)(slash - path + 1)) : "";
	int fd = -1;

	for (int tries = 0; tries < 16 && fd < 0; tries++) {
		unsigned long long random = 0;
		if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
			return -1;
		*name = arena_printf(o->arena, "%s.ridge-%016llx", folder, random);
		fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	return fd;
}

static bool
write_aside(struct outputs *o, struct output *f, mode_t mode, bool there)
{
	const char *name = NULL;
	const int fd = open_beside(o, f->path, &name);

	if (fd < 0)
		return false;
	f->temporary = name;
	if (there)
		(void)fchmod(fd, mode & 0777);
	const bool written = copy(f, fd) && fsync(fd) == 0;
	const int why = errno;
	const bool closed = close(fd) == 0;
	if (!written)
		errno = why;
	return written && closed;
}

/* Write the whole content to a temporary file next to its target, or to the device of that name. */
static bool
write_one(struct outputs *o, struct diag *d, struct output *f)
{
	struct stat st;

	f->temporary = NULL;
	if (f->deep && !make_folders(o, d, f->name))
		return false;
	if (fflush(f->content) != 0 || ferror(f->content))
		return failed(d, "write", f->name);
	f->path = place_of(o, f->name);
	const bool there = stat(f->path, &st) == 0;
	if (!there || S_ISREG(st.st_mode))
		return write_aside(o, f, there ? st.st_mode : 0, there) || failed(d, "write", f->name);
	const int fd = open(f->path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return failed(d, "write", f->name);
	const bool written = copy(f, fd);
	const int why = errno;
	if (close(fd) == 0 && written)
		return true;
	errno = written ? errno : why;
	return failed(d, "write", f->name);
}

/* The new name is on the disk when its folder is. */
static void
sync_folder(struct outputs *o, const char *path)
{
	const char *slash = strrchr(path, '/');
	const int fd = open(slash ? arena_copy(o->arena, path, (size_t)(slash - path + 1)) : ".", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

static bool
place_all(struct outputs *o, struct diag *d)
{
	size_t n_placed = 0;
	bool ok = true;

	for (size_t i = 0; i < o->n && ok; i++)
		ok = write_one(o, d, o->list[i]);
	for (size_t i = 0; i < o->n && ok; i++) {
		struct output *f = o->list[i];
		if (f->temporary && rename(f->temporary, f->path) != 0)
			ok = failed(d, "write", f->name);
		else
			n_placed = i + 1;
	}
	for (size_t i = 0; i < n_placed; i++)
		if (o->list[i]->temporary)
			sync_folder(o, o->list[i]->path);
	for (size_t i = n_placed; i < o->n; i++)
		if (o->list[i]->temporary)
			unlink(o->list[i]->temporary);
	return ok;
}

bool
outputs_commit(struct outputs *o, struct diag *d)
{
	sigset_t stops, before;

	if (o->n == 0)
		return true;
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &stops, &before);
	const bool ok = place_all(o, d);
	outputs_drop(o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

/* --- the answer -------------------------------------------------------------------------------------------------- */

/* --- --plot FILE ----------------------------------------------------------------------------------------- */

/* --plot FILE: also draw the answer. */

static struct source
here(void)
{
	return (struct source){"--plot", 0, 0, NULL, false};
}

bool
program_plot_name(struct program *p)
{
	if (!p->args.plot)
		return true;
	if (p->args.jsonl) {
		diag_error(p->diag, here(), "--plot cannot draw --jsonl");
		diag_hint(p->diag, "use --sweep");
		return false;
	}
	if (plot_form_of(p->args.plot) != PLOT_UNKNOWN)
		return true;
	diag_error(p->diag, here(), "file name '%s' has no known plot format", p->args.plot);
	diag_hint(p->diag, "end it with .png, .svg, .pdf, or .gp for the script only");
	return false;
}

int
program_plot(struct program *p, const struct plot *plot, const char *why)
{
	size_t n = 0;

	if (!p->args.plot)
		return 0;
	if (!plot) {
		diag_error(p->diag, here(), "%.*s", (int)strcspn(why, "\n"), why);
		diag_hint(p->diag,
		    p->args.sweeps.n ? "sweep an input that changes the answers, or choose an answer with --get ROW"
		                     : "add --sweep NAME=1..64*2: this answer has nothing to draw by itself");
		return REFUSED;
	}
	const char *bytes = plot_draw(p->arena, p->diag, plot, plot_form_of(p->args.plot), &n);
	if (!bytes)
		return STATUS_FAILED;
	FILE *to = outputs_open(p->outputs, p->diag, here(), p->args.plot);
	if (!to)
		return REFUSED;
	fwrite(bytes, 1, n, to);
	return 0;
}

/* Write the answer to standard output or a file, in the requested format. */

bool
output_color(const struct program *p, int fd)
{
	const char *when = p->args.color, *term = getenv("TERM"), *no = getenv("NO_COLOR");

	if (when && strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return isatty(fd) && term && strcmp(term, "dumb") != 0 && !(no && *no) && !p->args.output;
}

static int
terminal_width(void)
{
	enum { WIDEST = 10000 };
	struct winsize size;
	const char *columns = getenv("COLUMNS");
	const long wide = columns ? strtol(columns, NULL, 10) : 0;

	if (wide > 20)
		return wide < WIDEST ? (int)wide : WIDEST;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
		return size.ws_col;
	return 100;
}

/* A reader that went away is no error; a full disk is.  Nobody listens at a closed output: no message. */
int
output_stdout(struct diag *d, const char *text, size_t n)
{
	if (fwrite(text, 1, n, stdout) == n && fflush(stdout) == 0)
		return 0;
	const int why = errno;
	if (why == EPIPE)
		return 0;
	if (why != EBADF)
		diag_failure(d, "cannot write the answer: %s", strerror(why));
	if (why != EBADF)
		diag_hint(d, "check free space of standard output, or use --output FILE");
	return STATUS_FAILED;
}

bool
output_to_file(const struct arguments *args)
{
	return args->output && strcmp(args->output, "-") != 0;
}

FILE *
output_open(struct program *p)
{
	return outputs_open(p->outputs, p->diag, (struct source){"--output", 0, 0, NULL, false}, p->args.output);
}

int
output_deliver(struct program *p, const char *text, size_t n)
{
	if (output_to_file(&p->args)) {
		FILE *to = output_open(p);
		if (!to) {
			outputs_drop(p->outputs);
			return REFUSED;
		}
		fwrite(text, 1, n, to);
	}
	if (!outputs_commit(p->outputs, p->diag))
		return STATUS_FAILED;
	return output_to_file(&p->args) ? 0 : output_stdout(p->diag, text, n);
}

/* Text is made whole before any of it is written. */
FILE *
output_memory(char **text, size_t *n)
{
	FILE *file = open_memstream(text, n);

	if (!file)
		abort();
	return file;
}

struct texts
output_texts(struct arena *a, const struct words *words)
{
	struct texts t = {words->n, ARENA_ARRAY(a, const char *, words->n + 1)};

	for (size_t i = 0; i < words->n; i++)
		t.list[i] = words->list[i].text;
	return t;
}

struct report
output_report_of(struct program *p)
{
	const struct arguments *args = &p->args;

	return (struct report){.arena = p->arena,
	    .command = p->command->name,
	    .version = RIDGE_VERSION,
	    .color = output_color(p, STDOUT_FILENO),
	    .quiet = args->quiet != NULL,
	    .width = terminal_width(),
	    .trace = args->explain && (args->json || args->jsonl),
	    .one_line = args->jsonl != NULL,
	    .row = args->explain ? args->explain
	        : args->table    ? args->table
	                         : args->get};
}

const char *
output_format(const struct arguments *args)
{
	return args->json   ? "json"
	    : args->csv     ? "csv"
	    : args->md      ? "md"
	    : args->explain ? "explain"
	    : args->get     ? "get"
	                    : "text";
}

void
output_no_row(struct program *p, const char *why)
{
	const size_t length = strcspn(why, "\n");

	diag_error(p->diag,
	    (struct source){p->args.explain ? "--explain"
	            : p->args.table         ? "--table"
	                                    : "--get",
	        0, 0, NULL, false},
	    "%.*s", (int)length, why);
	diag_hint(p->diag, "%s", why[length] ? why + length + 1 : "--json shows all answers");
}

char *
output_text(struct program *p, const struct report *r, size_t *n)
{
	char *text = NULL, why[500];
	FILE *to = output_memory(&text, n);
	const bool ok = report_print(to, output_format(&p->args), r, why, sizeof why);

	fclose(to);
	if (ok)
		return text;
	output_no_row(p, why);
	free(text);
	return NULL;
}

void
output_warnings(const struct program *p, const struct report *r)
{
	for (size_t i = 0; i < r->warnings.n && !r->quiet; i++)
		fprintf(
		    stderr, "ridge %s: warning: %s\n", p->command->name, text_visible(r->arena, r->warnings.list[i]));
}

/* Print an answer that is a file as it is, unless a format was given. */
bool
output_wants_document(const struct arguments *args, const char *document)
{
	return document && !args->json && !args->csv && !args->md && !args->explain && !args->get;
}

void
program_inspect(const struct program *p, const struct sheet *sh)
{
	if (p->inspect)
		p->inspect(sh, p->command->name);
}
