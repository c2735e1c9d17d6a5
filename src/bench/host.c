/* SPDX-License-Identifier: Apache-2.0 */
/* What this host is. */
#define _GNU_SOURCE
#include "host.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

const char *
bench_cpu_name(void)
{
	static char name[128];
	static struct utsname machine;
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	while (file && !*name && fgets(line, sizeof line, file)) {
		char *const colon = strchr(line, ':');
		if (colon && (strncmp(line, "model name", 10) == 0 || strncmp(line, "cpu model", 9) == 0)) {
			colon[strcspn(colon, "\n")] = '\0';
			snprintf(name, sizeof name, "%s", colon + 1 + strspn(colon + 1, " "));
		}
	}
	if (file)
		fclose(file);
	if (!*name && uname(&machine) == 0)
		snprintf(name, sizeof name, "%.60s host", machine.machine);
	return name;
}

int
bench_cpu_count(void)
{
#ifdef __linux__
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
		return CPU_COUNT(&set);
#endif
	const long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n > 0 ? (int)n : 1;
}

/* One line of a small file of the system; empty where there is none. */
static void
system_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "r");

	if (!file || !fgets(line, (int)size, file))
		*line = '\0';
	if (file)
		fclose(file);
}

/* As the kernel tells it of the first CPU: what sysconf says of virtual machines is often the sum over a host. */
double
bench_cache_byte(int level)
{
	char path[96], line[32];

	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
		system_line(path, line, sizeof line);
		if (atoi(line) != level)
			continue;
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
		system_line(path, line, sizeof line);
		if (strncmp(line, "Instruction", 11) == 0)
			continue;
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		system_line(path, line, sizeof line);
		char *unit;
		const double size = strtod(line, &unit);
		return size * (*unit == 'K' ? 1024.0 : *unit == 'M' ? 1048576.0 : 1.0);
	}
	return 0;
}

double
bench_memory_byte(void)
{
#ifdef _SC_AVPHYS_PAGES
	return (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
#else
	return 4e9;
#endif
}

double
host_last_cache_byte(void)
{
	for (int level = 3; level > 0; level--)
		if (bench_cache_byte(level) > 0)
			return bench_cache_byte(level);
	return 32.0 * 1024 * 1024;
}
