/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every input of `ridge serve` is said to an engine, or is no matter of it, or is said to be missing. */
#include "ask/launch/launch.h"
#include "cli/cli.h"

#include <check.h>
#include <string.h>

/* Why no launcher has a rule for this input of `ridge serve`: it describes the load, or no engine has such an option.
 * NULL: one has. */
static const char *
serve_skips(const char *path)
{
	static const char load[] = "requests, not the server", machine[] = "the machine is not an option",
	                  place[] = "what the answer is held against", form[] = "another form of the query",
	                  simulated[] = "the simulation", none[] = "no engine has such an option";
	static const struct {
		const char *path, *why;
	} rows[] = {{"model", "${MODEL}"}, {"params", form}, {"bits", form}, {"gpu", machine}, {"gpu_mem", machine},
	    {"batch", form}, {"context", form}, {"mfu", form}, {"ttft", place}, {"itl", place}, {"e2e", place},
	    {"slo", place}, {"points", form}, {"base_rate", form}, {"base_p99", form}, {"static", form},
	    {"longest", form}, {"system", machine}, {"gpus", machine}, {"rate", load}, {"concurrency", load},
	    {"requests", load}, {"cold", load}, {"cached", load}, {"beams", load}, {"row_split", none},
	    {"head_bits", none}, {"draft_tokens", none}, {"accepted", none}, {"draft_time", none}, {"kv_link", machine},
	    {"p50", form}, {"p99", form}, {"tail_limit", form}, {"runs", form}, {"simulate", simulated},
	    {"seed", simulated}, {"gap_cv", load}, {"isl_cv", load}, {"osl_cv", load}, {"lengths", load},
	    {"trace", load}, {"trace_speed", load}, {"prefix_block", load}, {"think", load}, {"think_cv", load},
	    {"replicas", "one server is launched"}, {"routing", "the router is not launched"},
	    {"decode_replicas", "one server is launched"}, {"admission", none}, {"prefill", none},
	    {"warmup", simulated}, {"rates", load}, {"timeline", simulated}, {"timeline_rows", simulated},
	    {"dump", simulated}, {"layers", form}, {"heads", form}, {"kv_heads", form}, {"head_dim", form},
	    {"layout.dp", "one server is launched"}, {"layout.vp", "refused by serving"},
	    {"layout.cp", "refused by serving"}, {"layout.etp", "follows from tp and ep"},
	    {"layout.zero", "training alone"}, {"layout.shard", "training alone"}, {"layout.sp", "training alone"},
	    {"layout.across", machine}, {"layout.fsdp", "training alone"}, {"emit", form}, {"from", form}};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].path, path) == 0)
			return rows[i].why;
	return NULL;
}

/* What rules of hwdb/launchers are about. */
static bool
is_mapped(const char *path)
{
	static const char *const mapped[] = {"layout.tp", "layout.pp", "layout.ep", "layout.adp", "dtype",
	    "weights_dtype", "kv_dtype", "engine", "headroom", "isl", "osl", "max_sequences", "max_step_tokens",
	    "speculate", "decode_layout"};

	for (size_t i = 0; i < sizeof mapped / sizeof *mapped; i++)
		if (strcmp(mapped[i], path) == 0)
			return true;
	return false;
}

START_TEST(every_input_is_said_or_skipped)
{
	const struct command *c = command_find("serve");

	for (size_t g = 0; g < c->n_groups; g++)
		for (size_t i = 0; i < c->groups[g].n; i++) {
			const char *path = c->groups[g].options[i].path;
			ck_assert_msg(is_mapped(path) != (serve_skips(path) != NULL),
			    "%s: add a rule to hwdb/launchers, or a row to serve_skips", path);
		}
	ck_assert(!serve_skips("nothing"));
}
END_TEST

Suite *launch_suite(void);

Suite *
launch_suite(void)
{
	Suite *s = suite_create("launch");
	TCase *t = tcase_create("launch");

	tcase_add_test(t, every_input_is_said_or_skipped);
	suite_add_tcase(s, t);
	return s;
}
