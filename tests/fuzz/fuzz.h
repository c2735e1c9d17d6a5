/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a fuzzer is: one function over any bytes, which must neither crash nor hang nor leak. */
#ifndef RIDGE_TESTS_FUZZ_H
#define RIDGE_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise: the fuzzer stops here and keeps the input. */
#define FUZZ_EXPECT(condition)                                                                                         \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			__builtin_trap();                                                                              \
	} while (0)

#endif
