/* SPDX-License-Identifier: Apache-2.0 */
/* Clock and power from NVML, if its library is found. */
#ifndef BENCH_NVML_H
#define BENCH_NVML_H

#include <stdbool.h>
#include <stddef.h>

/* By the PCI address that CUDA gives.  False: nothing can be read. */
bool nvml_open(const char *pci_address);
void nvml_close(void);
double nvml_clock_mhz(void);  /* of the multiprocessors, now; 0: not known */
double nvml_power_watt(void); /* of the board; 0: not known */
bool nvml_driver(char *text, size_t size);

#endif
