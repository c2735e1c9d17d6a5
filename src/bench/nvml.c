/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML, opened at run time: it comes with the driver.  Declarations follow its reference (NVIDIA Management Library
 * API, "Device Queries" and "Field Value Queries").  A function that a driver lacks leaves its figure unknown.
 */
#define _GNU_SOURCE

#include "nvml.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef void *nvml_device;
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, FIELD_POWER_INSTANT = 186, TYPE_UNSIGNED = 1, TOO_SMALL = 7 };

struct utilization {
	unsigned gpu, memory; /* percent */
};

struct process {
	unsigned pid;
	unsigned long long used_byte;
	unsigned gpu_instance, compute_instance;
};

struct field {
	unsigned id, scope;
	long long timestamp, latency_us;
	int type, status;
	union {
		double real;
		unsigned whole;
		unsigned long long wide;
	} value;
};

/* FUNCTION(member, name, arguments): needed ones first. */
#define NEEDED_FUNCTIONS(X)                                                                                            \
	X(init, "nvmlInit_v2", (void))                                                                                 \
	X(shutdown, "nvmlShutdown", (void))                                                                            \
	X(by_address, "nvmlDeviceGetHandleByPciBusId_v2", (const char *, nvml_device *))                               \
	X(clock, "nvmlDeviceGetClockInfo", (nvml_device, int, unsigned *))                                             \
	X(power, "nvmlDeviceGetPowerUsage", (nvml_device, unsigned *))                                                 \
	X(driver, "nvmlSystemGetDriverVersion", (char *, unsigned))
#define OTHER_FUNCTIONS(X)                                                                                             \
	X(reasons, "nvmlDeviceGetCurrentClocksEventReasons", (nvml_device, unsigned long long *))                      \
	X(old_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", (nvml_device, unsigned long long *))               \
	X(most_clock, "nvmlDeviceGetMaxClockInfo", (nvml_device, int, unsigned *))                                     \
	X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", (nvml_device, unsigned *))                                   \
	X(temperature, "nvmlDeviceGetTemperature", (nvml_device, int, unsigned *))                                     \
	X(ecc, "nvmlDeviceGetEccMode", (nvml_device, int *, int *))                                                    \
	X(mig, "nvmlDeviceGetMigMode", (nvml_device, unsigned *, unsigned *))                                          \
	X(utilization, "nvmlDeviceGetUtilizationRates", (nvml_device, struct utilization *))                           \
	X(processes, "nvmlDeviceGetComputeRunningProcesses_v3", (nvml_device, unsigned *, struct process *))           \
	X(fields, "nvmlDeviceGetFieldValues", (nvml_device, int, struct field *))                                      \
	X(cpus, "nvmlDeviceGetCpuAffinity", (nvml_device, unsigned, unsigned long *))

static struct {
	void *library;
	nvml_device device;
#define MEMBER(member, name, arguments) int(*member) arguments;
	NEEDED_FUNCTIONS(MEMBER)
	OTHER_FUNCTIONS(MEMBER)
#undef MEMBER
} nvml;

/* A pointer to a function through one to data, as POSIX allows. */
static bool
find(void *function, const char *name)
{
	void *const found = dlsym(nvml.library, name);

	memcpy(function, &found, sizeof found);
	return found != NULL;
}

static void
unload(void)
{
	dlclose(nvml.library);
	memset(&nvml, 0, sizeof nvml);
}

bool
nvml_open(const char *pci_address)
{
	nvml_close();
	nvml.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!nvml.library)
		return false;
	bool found = true;
#define FIND(member, name, arguments) found = find(&nvml.member, name) && found;
	NEEDED_FUNCTIONS(FIND)
#undef FIND
#define FIND(member, name, arguments) (void)find(&nvml.member, name);
	OTHER_FUNCTIONS(FIND)
#undef FIND
	if (found && nvml.init() == 0) {
		if (nvml.by_address(pci_address, &nvml.device) == 0)
			return true;
		(void)nvml.shutdown();
	}
	unload();
	return false;
}

void
nvml_close(void)
{
	if (!nvml.library)
		return;
	(void)nvml.shutdown();
	unload();
}

double
nvml_clock_mhz(void)
{
	unsigned mhz;

	return nvml.library && nvml.clock(nvml.device, CLOCK_SM, &mhz) == 0 ? mhz : 0;
}

/* Since Ampere the plain query is a mean over a second, longer than most points. */
double
nvml_power_watt(void)
{
	struct field now = {.id = FIELD_POWER_INSTANT};
	unsigned milliwatt;

	if (!nvml.library)
		return 0;
	if (nvml.fields && nvml.fields(nvml.device, 1, &now) == 0 && now.status == 0 && now.type == TYPE_UNSIGNED)
		return 1e-3 * now.value.whole;
	return nvml.power(nvml.device, &milliwatt) == 0 ? 1e-3 * milliwatt : 0;
}

/* --- throttling ------------------------------------------------------------------------------------------ */

/* Bits of nvmlClocksEventReasons that are not the absence of work (1) or a display (0x100). */
static const struct {
	uint64_t bit;
	const char *text;
} reasons[] = {
    {0x2, "application clocks"},
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "thermal"},
    {0x40, "hardware thermal"},
    {0x80, "power brake"},
};

enum { N_REASONS = sizeof reasons / sizeof *reasons };

uint64_t
nvml_throttling(void)
{
	unsigned long long bits = 0;
	uint64_t known = 0;

	if (!nvml.library)
		return 0;
	if (nvml.reasons)
		(void)nvml.reasons(nvml.device, &bits);
	else if (nvml.old_reasons)
		(void)nvml.old_reasons(nvml.device, &bits);
	for (int i = 0; i < N_REASONS; i++)
		known |= bits & reasons[i].bit;
	return known;
}

void
nvml_throttling_text(uint64_t bits, char *text, size_t size)
{
	size_t n = 0;

	*text = '\0';
	for (int i = 0; i < N_REASONS; i++)
		if (bits & reasons[i].bit && n < size)
			n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", reasons[i].text);
}

/* --- once ------------------------------------------------------------------------------------------------ */

bool
nvml_driver(char *text, size_t size)
{
	return nvml.library && nvml.driver(text, (unsigned)size) == 0;
}

static int
other_processes(void)
{
	struct process list[64];
	unsigned n = sizeof list / sizeof *list, others = 0;

	if (!nvml.processes)
		return -1;
	const int status = nvml.processes(nvml.device, &n, list);
	if (status == TOO_SMALL)
		return (int)n;
	if (status != 0)
		return -1;
	for (unsigned i = 0; i < n; i++)
		others += list[i].pid != (unsigned)getpid();
	return (int)others;
}

struct nvml_state
nvml_state(void)
{
	struct nvml_state s = {-1, -1, -1, -1, -1, -1, -1, -1};
	struct utilization busy;
	unsigned value, pending;
	int on, next;

	if (!nvml.library)
		return s;
	if (nvml.clock(nvml.device, CLOCK_MEMORY, &value) == 0)
		s.memory_clock_mhz = value;
	if (nvml.most_clock && nvml.most_clock(nvml.device, CLOCK_SM, &value) == 0)
		s.most_clock_mhz = value;
	if (nvml.power_limit && nvml.power_limit(nvml.device, &value) == 0)
		s.power_limit_watt = 1e-3 * value;
	if (nvml.temperature && nvml.temperature(nvml.device, 0, &value) == 0)
		s.temperature_celsius = value;
	if (nvml.utilization && nvml.utilization(nvml.device, &busy) == 0)
		s.utilization_frac = 0.01 * busy.gpu;
	if (nvml.ecc && nvml.ecc(nvml.device, &on, &next) == 0)
		s.ecc = on != 0;
	if (nvml.mig && nvml.mig(nvml.device, &value, &pending) == 0)
		s.mig = value != 0;
	s.n_other_processes = other_processes();
	return s;
}

bool
nvml_bind_cpus(void)
{
	cpu_set_t near, allowed, both;

	CPU_ZERO(&near);
	if (!nvml.library || !nvml.cpus ||
	    nvml.cpus(nvml.device, sizeof near / sizeof(unsigned long), (unsigned long *)(void *)&near) != 0 ||
	    sched_getaffinity(0, sizeof allowed, &allowed) != 0)
		return false;
	CPU_AND(&both, &near, &allowed);
	return CPU_COUNT(&both) > 0 && sched_setaffinity(0, sizeof both, &both) == 0;
}
