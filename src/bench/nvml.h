/* SPDX-License-Identifier: Apache-2.0 */
/* State of a GPU from NVML, if its library is found. */
#ifndef BENCH_NVML_H
#define BENCH_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is read once, before the first benchmark; -1: not known. */
struct nvml_state {
	double most_clock_mhz, memory_clock_mhz, power_limit_watt, temperature_celsius, utilization_frac;
	int ecc, mig;          /* 0 off, 1 on */
	int n_other_processes; /* that compute on it, this one left out */
};

/* By the PCI address that CUDA gives.  False: nothing can be read. */
bool nvml_open(const char *pci_address);
void nvml_close(void);
double nvml_clock_mhz(void);    /* of the SMs, now; 0: not known */
double nvml_power_watt(void);   /* of the board, now if the GPU has it, else the mean of a second; 0: not known */
uint64_t nvml_throttling(void); /* reasons that hold the clock down now */
bool nvml_driver(char *text, size_t size);
struct nvml_state nvml_state(void);
/* Run on the CPUs next to the GPU, so that pinned memory is there too.  False: not known, nothing changed. */
bool nvml_bind_cpus(void);

/* `power cap, thermal`; empty for none. */
void nvml_throttling_text(uint64_t reasons, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
