/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C = A B^T in blocks: a panel of B is laid out so that its columns are contiguous and stays in the cache, and a strip
 * of rows of C is summed in registers.  After Goto and van de Geijn, "Anatomy of high-performance matrix
 * multiplication", ACM TOMS 34(3), 2008, without its assembler.
 */
#include "blocked.h"

#include <string.h>

enum { PANEL = 32, DEPTH = 256, ROWS = 4 };

struct product {
	int m, n, k;
	const void *a, *b;
	void *c;
};

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* One body for both types: threads share the panels of columns of C. */
#define BLOCKED(type, name)                                                                                            \
	FOR_EACH_MACHINE static void name##_panel(const struct product *p, int j0, int l0, type packed[DEPTH][PANEL])  \
	{                                                                                                              \
		const type *const a = p->a;                                                                            \
		type *const c = p->c;                                                                                  \
		const int n = least(PANEL, p->n - j0), depth = least(DEPTH, p->k - l0);                                \
		for (int i0 = 0; i0 < p->m; i0 += ROWS) {                                                              \
			const int rows = least(ROWS, p->m - i0);                                                       \
			type sum[ROWS][PANEL] = {{0}};                                                                 \
			for (int l = 0; l < depth; l++)                                                                \
				for (int i = 0; i < ROWS; i++) {                                                       \
					const int row = i0 + least(i, rows - 1);                                       \
					const type x = a[(size_t)row * (size_t)p->k + (size_t)(l0 + l)];               \
					for (int j = 0; j < PANEL; j++)                                                \
						sum[i][j] += x * packed[l][j];                                         \
				}                                                                                      \
			for (int i = 0; i < rows; i++)                                                                 \
				for (int j = 0; j < n; j++) {                                                          \
					type *const to = &c[(size_t)(i0 + i) * (size_t)p->n + (size_t)(j0 + j)];       \
					*to = l0 == 0 ? sum[i][j] : *to + sum[i][j];                                   \
				}                                                                                      \
		}                                                                                                      \
	}                                                                                                              \
	static void name##_work(void *context, int rank, int n_threads)                                                \
	{                                                                                                              \
		const struct product *const p = context;                                                               \
		const type *const b = p->b;                                                                            \
		type packed[DEPTH][PANEL];                                                                             \
		for (int j0 = rank * PANEL; j0 < p->n; j0 += n_threads * PANEL)                                        \
			for (int l0 = 0; l0 < p->k; l0 += DEPTH) {                                                     \
				memset(packed, 0, sizeof packed);                                                      \
				for (int j = 0; j < least(PANEL, p->n - j0); j++)                                      \
					for (int l = 0; l < least(DEPTH, p->k - l0); l++)                              \
						packed[l][j] = b[(size_t)(j0 + j) * (size_t)p->k + (size_t)(l0 + l)];  \
				name##_panel(p, j0, l0, packed);                                                       \
			}                                                                                              \
	}                                                                                                              \
	void name(struct team *team, int m, int n, int k, const type *a, const type *b, type *c)                       \
	{                                                                                                              \
		struct product p = {m, n, k, a, b, c};                                                                 \
		team_run(team, name##_work, &p);                                                                       \
	}

BLOCKED(float, blocked_sgemm)
BLOCKED(double, blocked_dgemm)
