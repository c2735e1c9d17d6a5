/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML, opened at run time: it comes with the driver, not with the toolkit.  The declarations are those of its
 * reference (NVIDIA Management Library API, "Device Queries").
 */
#include "nvml.h"

#include <dlfcn.h>

typedef void *nvml_device;
enum { NVML_SUCCESS_CODE = 0, NVML_CLOCK_OF_SMS = 1 };

static struct {
	void *library;
	nvml_device device;
	int (*init)(void);
	int (*shutdown)(void);
	int (*by_address)(const char *, nvml_device *);
	int (*clock)(nvml_device, int, unsigned *);
	int (*power)(nvml_device, unsigned *);
	int (*driver)(char *, unsigned);
} nvml;

template <class F>
static bool
find(F &function, const char *name)
{
	function = reinterpret_cast<F>(dlsym(nvml.library, name));
	return function != nullptr;
}

bool
nvml_open(const char *pci_address)
{
	nvml.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!nvml.library)
		return false;
	const bool found = find(nvml.init, "nvmlInit_v2") && find(nvml.shutdown, "nvmlShutdown") &&
	    find(nvml.by_address, "nvmlDeviceGetHandleByPciBusId_v2") && find(nvml.clock, "nvmlDeviceGetClockInfo") &&
	    find(nvml.power, "nvmlDeviceGetPowerUsage") && find(nvml.driver, "nvmlSystemGetDriverVersion");
	if (found && nvml.init() == NVML_SUCCESS_CODE) {
		if (nvml.by_address(pci_address, &nvml.device) == NVML_SUCCESS_CODE)
			return true;
		nvml.shutdown();
	}
	dlclose(nvml.library);
	nvml.library = nullptr;
	return false;
}

void
nvml_close(void)
{
	if (!nvml.library)
		return;
	nvml.shutdown();
	dlclose(nvml.library);
	nvml.library = nullptr;
}

double
nvml_clock_mhz(void)
{
	unsigned mhz;

	return nvml.library && nvml.clock(nvml.device, NVML_CLOCK_OF_SMS, &mhz) == NVML_SUCCESS_CODE ? mhz : 0;
}

double
nvml_power_watt(void)
{
	unsigned milliwatt;

	return nvml.library && nvml.power(nvml.device, &milliwatt) == NVML_SUCCESS_CODE ? 1e-3 * milliwatt : 0;
}

bool
nvml_driver(char *text, size_t size)
{
	return nvml.library && nvml.driver(text, static_cast<unsigned>(size)) == NVML_SUCCESS_CODE;
}
