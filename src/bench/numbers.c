/* SPDX-License-Identifier: Apache-2.0 */
/* Operands that are no special case of anything, and the judgement of results. */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The finaliser of SplitMix64.  Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
double
bench_random(uint64_t seed, uint64_t index)
{
	uint64_t z = (seed + 1) * 0x9e3779b97f4a7c15u + index * 0xd1342543de82ef95u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(z >> 11) / 4503599627370496.0 - 1;
}

/* Sattolo, "An algorithm to generate a random cyclic permutation", Information Processing Letters 22, 1986. */
void
bench_cycle(uint32_t *next, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		next[i] = (uint32_t)i;
	for (size_t i = n; i-- > 1;) {
		const size_t k = (size_t)((bench_random(seed, i) + 1) / 2 * (double)i);
		const uint32_t kept = next[i];
		next[i] = next[k];
		next[k] = kept;
	}
}

bool
bench_right(struct bench *b, double error, double tolerance, const char *format, ...)
{
	char point[200];
	va_list args;
	const char *spoil = getenv("RIDGE_BENCH_SPOIL"); /* the tests see by it that a wrong result is noticed */

	if (spoil && b->subject && strcmp(spoil, b->subject) == 0)
		error = NAN;
	if (error <= tolerance)
		return true;
	va_start(args, format);
	vsnprintf(point, sizeof point, format, args);
	va_end(args);
	b->n_wrong++;
	fprintf(stderr,
	    "ridge-bench: error: %s: wrong result: relative error %.3g, at most %.3g is right; its time is not "
	    "reported\n",
	    point, error, tolerance);
	return false;
}
