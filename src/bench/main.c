/* SPDX-License-Identifier: Apache-2.0 */
/* Command line of ridge-bench: select benchmarks, device and time. */
#define _POSIX_C_SOURCE 200809L

#include "bench.h"
#include "plan.h"
#include "world.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The command line. */
enum { ONLY_MAX = 32, GPUS_MAX = 64 };

struct options {
	bool quick, list, help, version, busy, device_given;
	int gpu;                    /* -1: the host */
	int gpus[GPUS_MAX], n_gpus; /* of subjects of several; 0: all */
	uint64_t seed;
	size_t n_only;
	const char *only[ONLY_MAX];
};

/* Shared objects with the subjects of GPUs, which are loaded where they and their libraries are found. */
struct plugin {
	const char *name;              /* ridge-bench-NAME.so; NULL ends the list */
	const char *title;             /* what people read */
	const struct bench_plugin *is; /* NULL: not loaded, and why */
	int n_gpus;
	char why[500];
};

/* --- options ------------------------------------------------------------------------------------------------- */

static bool
number(const char *text, unsigned long long most, unsigned long long *out)
{
	char *end;

	errno = 0;
	if (*text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *out <= most;
}

static bool
set_device(struct options *o, char *value)
{
	unsigned long long gpu;

	o->device_given = true;
	o->gpu = -1;
	if (strcmp(value, "host") == 0)
		return true;
	if (!number(value, 4095, &gpu)) {
		fprintf(stderr,
		    "ridge-bench: error: --device: '%s' is not a device\n  hint: host, or the number of a GPU: 0, 1, "
		    "...\n",
		    value);
		return false;
	}
	o->gpu = (int)gpu;
	return true;
}

static bool
set_gpus(struct options *o, char *value)
{
	char *rest = value;
	unsigned long long gpu;

	o->n_gpus = 0;
	for (char *word = strtok_r(value, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		bool again = false;
		const bool good = number(word, 4095, &gpu) && o->n_gpus < GPUS_MAX;
		for (int i = 0; good && i < o->n_gpus; i++)
			again = again || o->gpus[i] == (int)gpu;
		if (!good || again) {
			fprintf(stderr,
			    "ridge-bench: error: --gpus: '%s' is %s\n  hint: numbers of GPUs, such as 0,1,2,3\n", word,
			    again ? "there twice" : "no GPU");
			return false;
		}
		o->gpus[o->n_gpus++] = (int)gpu;
	}
	if (o->n_gpus < 2)
		fputs("ridge-bench: error: --gpus: two GPUs are needed\n  hint: --device selects one\n", stderr);
	return o->n_gpus >= 2;
}

static bool
set_seed(struct options *o, char *value)
{
	unsigned long long seed;

	if (!number(value, UINT64_MAX, &seed)) {
		fprintf(stderr, "ridge-bench: error: --seed: '%s' is not a whole number\n", value);
		return false;
	}
	o->seed = seed;
	return true;
}

static bool
set_only(struct options *o, char *value)
{
	char *rest = value;

	for (char *name = strtok_r(value, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		if (o->n_only == ONLY_MAX) {
			fputs("ridge-bench: error: --only: too many subjects\n", stderr);
			return false;
		}
		o->only[o->n_only++] = name;
	}
	if (o->n_only == 0)
		fputs("ridge-bench: error: --only: no subject\n  hint: --list has them\n", stderr);
	return o->n_only > 0;
}

static const struct option {
	const char *name, *metavar;
	bool (*set)(struct options *, char *); /* NULL: the flag at `flag` */
	size_t flag;
	const char *help;
} options[] = {
    {"device", "host|N", set_device, 0,
        "the host, or one GPU by its number (default: 0, or the host where there is no GPU)"},
    {"gpus", "LIST", set_gpus, 0,
        "the GPUs of p2p, each pair of them, and of collective (default: all, one pair of each kind)"},
    {"busy", NULL, NULL, offsetof(struct options, busy), "measure a GPU that other processes use"},
    {"only", "NAMES", set_only, 0, "these subjects alone, a comma between two"},
    {"quick", NULL, NULL, offsetof(struct options, quick),
        "fewer points, in less than 20 seconds (default: less than 90)"},
    {"seed", "N", set_seed, 0, "of the random operands (default: 1)"},
    {"list", NULL, NULL, offsetof(struct options, list), "the subjects, and what is absent"},
    {"help", NULL, NULL, offsetof(struct options, help), "this text"},
    {"version", NULL, NULL, offsetof(struct options, version), "the version"},
};

enum { N_OPTIONS = sizeof options / sizeof *options };

static void
options_print(FILE *to)
{
	fputs("usage: ridge-bench [options]\n\nRuns microbenchmarks and prints a measurement file on standard "
	      "output.\n\n",
	    to);
	for (size_t i = 0; i < N_OPTIONS; i++)
		fprintf(to, "  --%s%s%-*s%s\n", options[i].name, options[i].metavar ? " " : "",
		    (int)(20 - strlen(options[i].name) - (options[i].metavar ? 1 : 0)),
		    options[i].metavar ? options[i].metavar : "", options[i].help);
}

static const struct option *
find(const char *word)
{
	const size_t length = strcspn(word, "=");

	for (size_t i = 0; i < N_OPTIONS; i++)
		if (strlen(options[i].name) == length && strncmp(options[i].name, word, length) == 0)
			return &options[i];
	return NULL;
}

/* False: the line is wrong, and standard error says how. */
static bool
options_read(int argc, char **argv, struct options *out)
{
	*out = (struct options){.gpu = -1, .seed = 1};
	for (int i = 1; i < argc; i++) {
		char *const word = argv[i];
		const struct option *const o = strncmp(word, "--", 2) == 0 ? find(word + 2) : NULL;
		char *value = strchr(word, '=');
		if (!o) {
			fprintf(
			    stderr, "ridge-bench: error: there is no option '%s'\n  hint: --help lists them\n", word);
			return false;
		}
		if (!o->metavar && value) {
			fprintf(stderr, "ridge-bench: error: --%s takes no value\n", o->name);
			return false;
		}
		if (o->metavar && !value && i + 1 == argc) {
			fprintf(stderr, "ridge-bench: error: --%s needs a value: %s\n", o->name, o->metavar);
			return false;
		}
		if (o->metavar)
			value = value ? value + 1 : argv[++i];
		if (!o->set)
			*(bool *)((char *)out + o->flag) = true;
		else if (!o->set(out, value))
			return false;
	}
	return true;
}

/* --- shared objects ------------------------------------------------------------------------------------------ */

static struct plugin known_plugins[] = {
    {.name = "cuda", .title = "GPU"},
    {.name = "nccl", .title = "collectives of GPUs"},
    {.name = NULL},
};

/* Beside the program, or where it is installed. */
static bool
path_of(const char *name, char *path, size_t size)
{
	static const char *const places[] = {".", "../libexec/ridge", "../lib/ridge"};
	char self[1024];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	self[n > 0 ? n : 0] = '\0';
	char *const slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		snprintf(path, size, "%s/%s/ridge-bench-%s.so", self, places[i], name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static void
load(struct plugin *p)
{
	char path[1200];

	if (!path_of(p->name, path, sizeof path)) {
		snprintf(p->why, sizeof p->why,
		    "ridge-bench-%s.so was not built: `make bench` builds it, or says what it needs", p->name);
		return;
	}
	void *const object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		snprintf(p->why, sizeof p->why, "%s", dlerror());
		return;
	}
	const struct bench_plugin *const is = dlsym(object, "bench_plugin");
	if (!is || strcmp(is->version, BENCH_VERSION) != 0) {
		snprintf(p->why, sizeof p->why, "%.400s is of another version: build both together", path);
		return;
	}
	p->is = is;
	p->n_gpus = is->n_gpus(p->why, sizeof p->why);
}

/* The first is the one that every other GPU subject needs. */
static const struct plugin *
plugins_load(bool wanted)
{
	for (struct plugin *p = known_plugins; p->name; p++)
		if (wanted)
			load(p);
		else
			snprintf(p->why, sizeof p->why, "not asked for");
	return known_plugins;
}

/* --- the program --------------------------------------------------------------------------------------------- */

/* All that a signal may touch. */
static volatile sig_atomic_t stopped;
static char no_answer[300];  /* complete before a signal can come */
static unsigned stop_s = 10; /* for a subject to notice that it is to end */

/* A GPU that hangs never comes back to look at `stopped`. */
static void
stop(int signal_number)
{
	stopped = signal_number;
	alarm(stop_s);
}

/* The rows until then are whole: each is written at once. */
static void
give_up(int signal_number)
{
	(void)signal_number;
	if (write(STDERR_FILENO, no_answer, strlen(no_answer)) < 0)
		_exit(BENCH_FAILED);
	_exit(BENCH_FAILED);
}

/* From now on the subject has this long. */
static void
watch(const struct bench *b, enum bench_where where)
{
	const double patience_s = fmax(1, ceil(bench_patience_s(b)));
	char gpu[16] = "a GPU";

	alarm(0);
	if (where == BENCH_HOST)
		return;
	if (where == BENCH_GPU)
		snprintf(gpu, sizeof gpu, "GPU %d", b->gpu);
	stop_s = (unsigned)fmin(10, patience_s);
	snprintf(no_answer, sizeof no_answer,
	    "ridge-bench: error: %s: %s does not answer: given up; the rows so far are printed\n"
	    "  hint: nvidia-smi and the kernel's log (dmesg, Xid) say more about it\n",
	    b->subject ? b->subject : "start", gpu);
	/* collectives say before which one it is */
	alarm((unsigned)patience_s + (where == BENCH_GPUS ? 5 : 0));
}

bool
bench_stopped(void)
{
	return stopped != 0;
}

static void
listen(void)
{
	struct sigaction action = {.sa_handler = stop}, end = {.sa_handler = give_up};

	sigemptyset(&end.sa_mask);
	sigaction(SIGALRM, &end, NULL);
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* --- subjects -------------------------------------------------------------------------------------------- */

enum { SUBJECTS_MAX = 32 };

struct subjects {
	const struct bench_subject *list[SUBJECTS_MAX];
	size_t n;
};

static void
add_subjects(struct subjects *s, const struct bench_subject *list, size_t n)
{
	for (size_t i = 0; i < n && s->n < SUBJECTS_MAX; i++)
		s->list[s->n++] = &list[i];
}

static void
list_subjects(const char *heading, const struct bench_subject *list, size_t n)
{
	printf("%s\n", heading);
	for (size_t i = 0; i < n; i++)
		printf("  %-12s %s\n", list[i].name, list[i].what);
}

static void
list_all(const struct plugin *plugins)
{
	char heading[700];

	list_subjects("host (--device host):", bench_host_subjects, n_bench_host_subjects);
	for (const struct plugin *p = plugins; p->name; p++) {
		if (p->is && p->n_gpus > 0)
			snprintf(heading, sizeof heading, "%s:", p->title);
		else if (p->is)
			snprintf(heading, sizeof heading, "%s (cannot run here: %s):", p->title, p->why);
		else
			snprintf(heading, sizeof heading, "%s: absent: %s", p->title, p->why);
		list_subjects(heading, p->is ? p->is->subjects : NULL, p->is ? p->is->n_subjects : 0);
	}
	printf("absent: attention, moe (grouped products): their kernels are those of the engines\n");
}

/* --device alone: other GPUs are left in peace. */
static bool
one_gpu(const struct options *o)
{
	return o->device_given && o->n_gpus == 0;
}

static const struct bench_subject *
find_subject(const struct subjects *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->list[i]->name, name) == 0)
			return s->list[i];
	return NULL;
}

/* Keeps what --only names.  A name that is not there is an error that lists those that are. */
static bool
choose(struct subjects *s, const struct options *o)
{
	struct subjects chosen = {.n = 0};
	bool ok = true;

	for (size_t i = 0; i < s->n && o->n_only == 0; i++)
		if (s->list[i]->where != BENCH_GPUS || !one_gpu(o))
			add_subjects(&chosen, s->list[i], 1);
	for (size_t i = 0; i < o->n_only; i++) {
		const struct bench_subject *const found = find_subject(s, o->only[i]);
		if (found && found->where == BENCH_GPUS && one_gpu(o)) {
			fprintf(stderr,
			    "ridge-bench: error: --only: '%s' takes several GPUs, --device %d is one\n"
			    "  hint: --gpus selects them; without either it takes all\n",
			    found->name, o->gpu);
			ok = false;
		}
		if (found) {
			add_subjects(&chosen, found, 1);
			continue;
		}
		fprintf(stderr,
		    "ridge-bench: error: --only: there is no measurement '%s' on this device\n  hint: it has",
		    o->only[i]);
		for (size_t k = 0; k < s->n; k++)
			fprintf(stderr, " %s", s->list[k]->name);
		fputs("; --list says what they are\n", stderr);
		ok = false;
	}
	*s = chosen;
	return ok;
}

/* The worse of two: a failure before a wrong result. */
static enum bench_status
worse(enum bench_status a, enum bench_status b)
{
	static const int rank[] = {
	    [BENCH_OK] = 0, [BENCH_WRONG] = 1, [BENCH_REFUSED] = 2, [BENCH_FAILED] = 3, [BENCH_STOPPED] = 4};

	return rank[a] >= rank[b] ? a : b;
}

static enum bench_status
run_subjects(struct bench *b, const struct subjects *s)
{
	const char *const given = getenv("RIDGE_BENCH_TOTAL_S"); /* for tests, which look at rows and not at times */
	const double total_s = given && *given ? atof(given) : plan_total_s(b->quick);
	enum bench_status status = BENCH_OK;
	double weights = 0;

	for (size_t i = 0; i < s->n; i++)
		weights += s->list[i]->weight;
	for (size_t i = 0; i < s->n && status != BENCH_STOPPED; i++) {
		b->subject = s->list[i]->name;
		b->budget_s = plan_budget_s(total_s, bench_now() - b->started_s, s->list[i]->weight, weights);
		b->subject_started_s = bench_now();
		weights -= s->list[i]->weight;
		watch(b, s->list[i]->where);
		status = worse(status, s->list[i]->run(b));
		alarm(0);
		bench_progress(b, NULL);
	}
	b->subject = NULL;
	return status;
}

/* --- devices --------------------------------------------------------------------------------------------- */

static const char *
host_name(void)
{
	static char name[128];

	if (gethostname(name, sizeof name - 1) != 0)
		return NULL;
	return name;
}

static const char *
today(void)
{
	static char text[16];
	const time_t now = time(NULL);
	struct tm day;

	return gmtime_r(&now, &day) && strftime(text, sizeof text, "%Y-%m-%d", &day) ? text : NULL;
}

static const struct plugin *
with_gpus(const struct plugin *plugins)
{
	return plugins->is && plugins->n_gpus > 0 ? plugins : NULL;
}

static bool
host_asked(const struct options *o)
{
	return o->device_given && o->gpu < 0;
}

/* Options that say nothing about what is measured are refused. */
static bool
options_agree(const struct options *o)
{
	if (!host_asked(o) || (!o->n_gpus && !o->busy))
		return true;
	fprintf(stderr, "ridge-bench: error: --%s is about GPUs, not about --device host\n  hint: leave one out\n",
	    o->busy ? "busy" : "gpus");
	return false;
}

/* Default device: the first GPU, else the host, with a remark. */
static bool
choose_device(struct bench *b, const struct options *o, const struct plugin *plugins)
{
	const struct plugin *const p = with_gpus(plugins);

	b->gpu = o->gpu;
	if (host_asked(o))
		return true;
	/* one that is there and cannot be used is not to be taken for none */
	if (!p && (o->device_given || o->n_gpus || plugins->n_gpus < 0)) {
		fprintf(stderr,
		    "ridge-bench: error: no GPU can be measured: %s\n"
		    "  hint: --device host measures the processor and the memory of this machine\n",
		    plugins->why);
		return false;
	}
	if (!p) {
		bench_say(b, "no GPU can be measured (%s): measuring the host, as --device host does", plugins->why);
		b->gpu = -1;
		return true;
	}
	if (o->gpu >= p->n_gpus) {
		fprintf(stderr, "ridge-bench: error: --device %d: there %s %d GPU%s\n  hint: 0", o->gpu,
		    p->n_gpus == 1 ? "is" : "are", p->n_gpus, p->n_gpus == 1 ? "" : "s");
		if (p->n_gpus > 1)
			fprintf(stderr, " to %d", p->n_gpus - 1);
		fputs(", or host\n", stderr);
		return false;
	}
	for (int i = 0; i < o->n_gpus; i++)
		if (o->gpus[i] >= p->n_gpus) {
			fprintf(stderr, "ridge-bench: error: --gpus: there is no GPU %d\n  hint: 0 to %d\n", o->gpus[i],
			    p->n_gpus - 1);
			return false;
		}
	b->gpu = o->device_given ? o->gpu : o->n_gpus ? o->gpus[0] : world_local_rank() % p->n_gpus;
	return true;
}

/* Subjects of every shared object that has GPUs to work on. */
static void
gather(struct bench *b, struct subjects *s, const struct plugin *plugins)
{
	if (b->gpu < 0) {
		b->device = bench_cpu_name();
		add_subjects(s, bench_host_subjects, n_bench_host_subjects);
		return;
	}
	for (const struct plugin *p = plugins; p->name; p++)
		if (p->is && p->n_gpus > 0)
			add_subjects(s, p->is->subjects, p->is->n_subjects);
		else
			bench_say(b, "%s: left out: %s", p->title, p->why);
}

static enum bench_status
open_gpus(struct bench *b, const struct plugin *plugins)
{
	enum bench_status status = BENCH_OK;

	for (const struct plugin *p = plugins; p->name && status == BENCH_OK && b->gpu >= 0; p++)
		if (p->is && p->n_gpus > 0)
			status = p->is->open(b, b->gpu);
	return status;
}

static int
measure(const struct options *o, const struct plugin *plugins)
{
	struct bench b = {.quick = o->quick,
	    .seed = o->seed,
	    .busy = o->busy,
	    .gpus = o->n_gpus ? o->gpus : NULL,
	    .n_gpus = o->n_gpus,
	    .host = host_name(),
	    .date = today(),
	    .n_threads = bench_cpu_count(),
	    .started_s = bench_now()};
	struct subjects s = {.n = 0};

	if (world_size() > 1 && (o->n_only != 1 || strcmp(o->only[0], "collective") != 0)) {
		fprintf(stderr,
		    "ridge-bench: error: %d processes were started together: they measure collectives\n"
		    "  hint: say --only collective, or start one process\n",
		    world_size());
		return BENCH_REFUSED;
	}
	if (!choose_device(&b, o, plugins))
		return (o->gpu >= 0 || o->n_gpus > 0) && with_gpus(plugins) ? BENCH_REFUSED : BENCH_FAILED;
	gather(&b, &s, plugins);
	if (!choose(&s, o))
		return BENCH_REFUSED;
	watch(&b, b.gpu < 0 ? BENCH_HOST : BENCH_GPU);
	enum bench_status status = open_gpus(&b, plugins);
	if (status == BENCH_OK)
		status = run_subjects(&b, &s);
	bench_progress(&b, "%d points\n", b.n_rows);
	watch(&b, b.gpu < 0 ? BENCH_HOST : BENCH_GPU);
	for (const struct plugin *p = plugins; p->name; p++)
		if (p->is && b.gpu >= 0)
			p->is->close(&b);
	if (status == BENCH_STOPPED)
		bench_say(&b, "interrupted: %d points were printed", b.n_rows);
	return status == BENCH_OK && b.n_wrong > 0 ? BENCH_WRONG : (int)status;
}

int
main(int argc, char **argv)
{
	struct options o;

	if (!options_read(argc, argv, &o))
		return BENCH_REFUSED;
	if (o.help || o.version) {
		if (o.help)
			options_print(stdout);
		else
			printf("ridge-bench %s\n", BENCH_VERSION);
		return fflush(stdout) == 0 ? BENCH_OK : BENCH_FAILED;
	}
	/* the host needs no shared object, and none may disturb it */
	if (!options_agree(&o))
		return BENCH_REFUSED;
	const bool host_only = host_asked(&o) && !o.list;
	const struct plugin *const plugins = plugins_load(!host_only);
	if (o.list) {
		list_all(plugins);
		return fflush(stdout) == 0 ? BENCH_OK : BENCH_FAILED;
	}
	listen();
	const int status = measure(&o, plugins);
	if (status == BENCH_STOPPED) {
		/* end as a program does that was interrupted, so that a script notices */
		const int signal_number = stopped ? stopped : SIGINT;
		signal(signal_number, SIG_DFL);
		raise(signal_number);
	}
	return status;
}
