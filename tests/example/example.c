/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of three GPUs can serve a model, how fast, and how sure is that?  A program that uses libridge. */
#include <ridge/ridge.h>

#include <stdio.h>
#include <stdlib.h>

static void
print_messages(const struct ridge_answer *a)
{
	struct ridge_message m;

	for (size_t i = 0; ridge_message(a, i, &m); i++)
		if (m.severity == RIDGE_ERROR)
			printf("  error: %s%s%s\n", m.text, m.hint ? "\n  hint: " : "", m.hint ? m.hint : "");
}

/* Ask for one GPU; false when it was not answered as it must be. */
static bool
try_gpu(struct ridge *r, const char *gpu, enum ridge_status expected)
{
	char inputs[200];
	double tpot_s, low_s, high_s;

	snprintf(
	    inputs, sizeof inputs, "{model: llama3-70b, gpu: %s, layout.tp: 8, batch: 16, isl: 1024, osl: 256}", gpu);
	struct ridge_answer *a = ridge_ask(r, "serve", inputs);
	printf("%s: ", gpu);
	if (ridge_number(a, "tpot_s", &tpot_s) && ridge_number(a, "tpot_s.low", &low_s) &&
	    ridge_number(a, "tpot_s.high", &high_s))
		printf("%s %.1f ms (%.1f .. %.1f), %s\n", ridge_label("tpot_s"), tpot_s * 1e3, low_s * 1e3,
		    high_s * 1e3, ridge_word(a, "bottleneck"));
	else
		puts("no answer");
	print_messages(a);
	const bool ok = ridge_status(a) == expected;
	ridge_answer_free(a);
	return ok;
}

int
main(void)
{
	struct ridge *r = ridge_open(NULL);
	const bool ok = try_gpu(r, "h100", RIDGE_ANSWERED) && try_gpu(r, "b200", RIDGE_ANSWERED) &&
	    try_gpu(r, "h1000", RIDGE_REFUSED);

	ridge_close(r);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
