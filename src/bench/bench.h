/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ridge-bench: what every subject shares.  A subject measures one thing; it takes samples of its points, checks what
 * the device computed, and prints one row for each point as soon as it has it.
 *
 * Subjects of GPUs live in shared objects that are loaded when they are found, so that the program starts on a machine
 * without a driver or a library.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_VERSION "0.1.0"

/* How the program, and a subject, ends. */
enum bench_status {
	BENCH_OK = 0,
	BENCH_WRONG = 1,   /* a result was not what it has to be: its time is not reported */
	BENCH_REFUSED = 2, /* the request cannot be answered */
	BENCH_FAILED = 3,  /* the machine failed us */
	BENCH_STOPPED = 4, /* interrupted: what was measured until then is printed */
};

enum bench_where {
	BENCH_HOST,
	BENCH_GPU,  /* one GPU */
	BENCH_GPUS, /* several at once */
};

struct cuda_gpu;

struct bench {
	bool quick;
	uint64_t seed;
	int gpu;            /* the device that is measured; -1: the host */
	double budget_s;    /* of the subject that runs */
	const char *gpu_id; /* of the database; NULL: not known there */
	const char *device; /* as its maker names it */
	const char *driver, *host, *date;
	int n_threads;                /* of the host that may be used */
	double clock_mhz, power_watt; /* seen last; 0: not known */
	double clock_before_mhz;      /* the same, before the point began */
	uint64_t throttling;          /* reasons seen while the point ran (nvml.h) */
	bool busy;                    /* measure a GPU that others use */
	const int *gpus;              /* for subjects of several; NULL: all */
	int n_gpus;
	struct cuda_gpu *cuda; /* the GPU that is measured, to its shared object */
	char pci_address[32];  /* of that GPU */
	const char *subject;
	double started_s, subject_started_s;
	int n_rows, n_wrong;
};

struct bench_subject {
	const char *name;
	const char *what;
	enum bench_where where;
	double weight; /* share of the time, among the subjects that run */
	enum bench_status (*run)(struct bench *b);
};

/* --- time ------------------------------------------------------------------------------------------------ */

double bench_now(void);
bool bench_stopped(void);

/* Seconds after which work that has not ended is given up. */
double bench_patience_s(const struct bench *b);
/* Time left for each remaining point of the subject; slow points leave less for later ones. */
double bench_share(const struct bench *b, double n_points_left);

/* Seconds of one repetition. */
struct bench_sample {
	double median_s, min_s, max_s;
	int n; /* samples, outliers among them */
};

/* Seconds that `n` repetitions took; negative: failed. */
typedef double bench_timer(void *context, long n);

/* Shortest sample in seconds: shorter ones are mostly clock and loop; on a GPU, events and launch take 2-5 us. */
#define BENCH_HOST_SAMPLE_S 200e-6
#define BENCH_GPU_SAMPLE_S 1e-3

/*
 * Warm up, find how many repetitions make a sample of `shortest_s`, then sample until the middle half of the samples
 * lies within one percent, or `budget_s` is spent (but not before three samples).
 */
enum bench_status bench_take(
    bench_timer *timer, void *context, double budget_s, double shortest_s, struct bench_sample *out);
/* The same from times that were taken elsewhere. */
struct bench_sample bench_sample_of(double *seconds, int n);

/* --- rows ------------------------------------------------------------------------------------------------ */

/* A point with its time.  0 or NULL: absent. */
struct bench_row {
	const char *kind, *operation, *backend, *version, *dtype, *kv_dtype, *library, *note;
#define DIMENSION(member, text) double member;
#include "row.def"
#undef DIMENSION
	struct bench_sample time;
};

struct bench_row bench_row_new(const char *kind, const char *operation, const char *dtype);
/* Written and flushed as one line. */
void bench_print(struct bench *b, const struct bench_row *row);

/* What a GPU is and how it is set, as a row of kind `device` at the head of the file. */
struct bench_device {
	int n_sms, capability, cuda_driver, cuda_runtime; /* 90 for 9.0; 13000 for CUDA 13.0 */
	double memory_byte, l2_byte;
};

/*
 * Read the GPU's state by its PCI address, refuse one that others use (unless b->busy) or that is divided, bind the
 * process to the CPUs beside it, and print its row.  Fills b->driver.
 */
enum bench_status bench_device_ready(struct bench *b, const char *pci_address, const struct bench_device *device);
/* The same refusals for another GPU that a subject of several takes; that of bench_device_ready passes. */
enum bench_status bench_device_idle(const struct bench *b, int gpu, const char *pci_address);
/* A remark for the person at the terminal: what is left out, and why. */
void bench_say(const struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Where it is, on a terminal. */
void bench_progress(const struct bench *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- results --------------------------------------------------------------------------------------------- */

/* Uniform in [-1, 1); the same seed and index give the same number. */
double bench_random(uint64_t seed, uint64_t index);
/* A random order in which `next` leads from each of `n` places through all others and back. */
void bench_cycle(uint32_t *next, size_t n, uint64_t seed);
/*
 * Is a result what it has to be?  `error` is a norm of the difference over a norm of the reference; not a number is
 * never right.  A wrong one is said with the point that it belongs to and counted: its time must not be printed.
 */
bool bench_right(struct bench *b, double error, double tolerance, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* --- the host -------------------------------------------------------------------------------------------- */

const char *bench_cpu_name(void);
int bench_cpu_count(void);
double bench_cache_byte(int level); /* of one instance; 0: not known */
double bench_memory_byte(void);     /* that can be had now */

extern const struct bench_subject bench_host_subjects[];
extern const size_t n_bench_host_subjects;

/* --- what a shared object of GPU subjects exports, under the name `bench_plugin` --------------------------- */

struct bench_plugin {
	const char *version; /* BENCH_VERSION of its sources */
	const struct bench_subject *subjects;
	size_t n_subjects;
	/* How many GPUs can be used; 0: there is none; negative: none can be used; with the reason in `why`. */
	int (*n_gpus)(char *why, size_t size);
	/* Fills device and driver of `b`, and readies the GPU. */
	enum bench_status (*open)(struct bench *b, int gpu);
	void (*close)(struct bench *b);
};

#ifdef __cplusplus
}
#endif
#endif
