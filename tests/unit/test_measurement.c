/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurement files: rows of our own, published tables, and what other benchmarks print. */
#include "import/import.h"

#include "unit/said.h"

#include <math.h>

struct read {
	struct arena *arena;
	struct diag *diag;
	struct measurements rows;
	bool ok;
};

static struct read
begin(void)
{
	struct read r = {.arena = arena_new()};

	r.diag = diag_new(r.arena);
	return r;
}

static struct read
read_file(const char *name, const struct measurement_hints *hints)
{
	struct read r = begin();
	const char *path = arena_printf(r.arena, "tests/fixtures/measurement/%s", name);

	r.ok = measurements_read_with(r.arena, r.diag, path, database_new(r.arena, r.diag, "."), hints, &r.rows);
	return r;
}

static struct read
read_text(const char *text)
{
	struct read r = begin();

	r.ok = measurements_read_text(
	    r.arena, r.diag, "rows", text, strlen(text), database_new(r.arena, r.diag, "."), NULL, &r.rows);
	return r;
}

static void
end(struct read *r)
{
	arena_free(r->arena);
}

static int
skipped(const struct read *r, const char *why)
{
	for (int i = 0; i < r->rows.n_skips; i++)
		if (strstr(r->rows.skips[i].why, why))
			return r->rows.skips[i].n;
	return 0;
}

#define ck_near(a, b) ck_assert_double_eq_tol((a), (b), 1e-9 * fabs(b))

/* --- rows of our own ------------------------------------------------------------------------------------- */

START_TEST(json_lines_are_read)
{
	struct read r = read_file("rows.jsonl", NULL);

	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_int_eq(r.rows.n_rows, 2);
	ck_assert_int_eq(r.rows.n_skipped, 8);
	const struct measurement *copy = &r.rows.rows[0], *gemm = &r.rows.rows[1];
	ck_assert_int_eq(copy->kind, MEASUREMENT_COPY);
	ck_assert_str_eq(copy->gpu, "h100-sxm5-80gb");
	ck_assert_str_eq(copy->operation, "triad");
	ck_assert_str_eq(copy->host, "nodeA");
	ck_near(copy->time_s, 1050.5e-6);
	ck_near(copy->min_s, 1049e-6);
	ck_near(copy->max_s, 1077.25e-6);
	ck_assert_double_eq(copy->n_runs, 31);
	ck_near(copy->clock_hertz, 1755e6);
	ck_near(copy->power_watt, 512.5);
	ck_near(copy->byte_per_s, 3 * 1073741824.0 / 1050.5e-6); /* a triad moves three arrays */
	ck_assert(isnan(copy->m));
	ck_assert_int_eq(gemm->line, 2);
	ck_assert_str_eq(gemm->gpu, "h100-sxm5-80gb"); /* by the device's name */
	ck_assert_int_eq(gemm->dtype, DTYPE_FP8);
	ck_assert(gemm->static_scale);
	ck_assert_ptr_null(gemm->operation);
	ck_assert_double_eq(gemm->k, 8192);
	ck_assert_int_eq(skipped(&r, "negative"), 1);
	ck_assert_int_eq(skipped(&r, "k is missing"), 1);
	ck_assert_int_eq(skipped(&r, "'time_ms'"), 1);
	ck_assert_int_eq(skipped(&r, "'bf61'"), 1);
	ck_assert_int_eq(skipped(&r, "'x999'"), 1);
	ck_assert_int_eq(skipped(&r, "faster than the device"), 1);
	ck_assert_int_eq(skipped(&r, "'dance'"), 1);
	ck_assert_int_eq(skipped(&r, "not a JSON object"), 1); /* the last line was cut */
	ck_assert_str_eq(
	    measurements_skip_text(r.arena, &r.rows, 0), "1 row left out: the time is negative (it is line 3)");
	end(&r);
}
END_TEST

#define GEMM_HEAD "gpu_id,backend,version,dtype,m,n,k,time_us\n"

START_TEST(csv_tells_its_kind)
{
	static const struct {
		const char *text;
		enum measurement_kind kind;
		const char *operation;
		double time_us;
	} files[] = {
	    {"\xef\xbb\xbf# of a machine\r\n\r\n" GEMM_HEAD "h100,vllm,1,w4a16,1,128,256,7.5\r\n", MEASUREMENT_GEMM,
	        NULL, 7.5},
	    {"gpu_id,backend,phase,dtype,kv_dtype,batch,heads,kv_heads,head_dim,query_len,context_len,window,time_us\n"
	     "h100,vllm,prefill,bf16,fp8,1,8,8,128,512,0,0,12\n",
	        MEASUREMENT_ATTENTION, "prefill", 12},
	    {"gpu_id,backend,dtype,tokens,hidden,expert_ffn,top_k,experts,tp,ep,routing,time_us\n"
	     "h100,vllm,bf16,1,2048,768,8,128,1,1,balanced,12.5\n",
	        MEASUREMENT_MOE, NULL, 12.5},
	    {"gpu_id,library,collective,ranks,size_bytes,time_us\nh100,nccl,AllToAll,8,1024,12.5\n",
	        MEASUREMENT_COLLECTIVE, "all_to_all", 12.5},
	    {"kind;device;time_us;operation\nlaunch;\"a \"\"host\"\"; mine\";2;empty", MEASUREMENT_LAUNCH, "empty", 2},
	};

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct read r = read_text(files[i].text);
		ck_assert_msg(r.ok, "%zu: %s", i, said(r.arena, r.diag));
		ck_assert_int_eq(r.rows.n_rows, 1);
		ck_assert_int_eq(r.rows.rows[0].kind, files[i].kind);
		ck_near(r.rows.rows[0].time_s, 1e-6 * files[i].time_us);
		if (files[i].operation)
			ck_assert_str_eq(r.rows.rows[0].operation, files[i].operation);
		ck_assert(measurements_are_in(files[i].text, strlen(files[i].text)));
		end(&r);
	}
}
END_TEST

START_TEST(details_of_rows)
{
	struct read r = read_text(GEMM_HEAD "h100,vllm,1,w4a16,1,128,256,7.5\n,,,bf16,1,128,256,7.5\n");

	ck_assert(r.ok);
	ck_assert_int_eq(r.rows.rows[0].dtype, DTYPE_BF16);
	ck_assert_int_eq(r.rows.rows[0].weight_dtype, DTYPE_INT4);
	ck_assert_int_eq(r.rows.rows[0].line, 2);
	ck_assert_ptr_null(r.rows.rows[1].gpu);
	ck_assert_int_eq(r.rows.rows[1].weight_dtype, DTYPE_BF16);
	end(&r);
	r = read_text("gpu_id,library,collective,ranks,size_bytes,time_us\nh100,custom-vllm,all_reduce,8,1024,12.5\n");
	ck_assert_str_eq(r.rows.rows[0].backend, "custom-vllm");
	ck_assert_ptr_null(r.rows.rows[0].library);
	end(&r);
}
END_TEST

/* What is refused as a whole, and with which words. */
static const struct {
	const char *text, *says;
} refused[] = {
    {"", "the file is empty"},
    {"# nothing\n\n", "the file is empty"},
    {"hello\nworld\n", "not a measurement file"},
    {"gpu_id,dtype,m,n,k,time_ms\nh100,bf16,1,2,3,4\n", "the column 'time_ms' is not 'time_us'"},
    {"gpu_id,dtype,m,n,k,speed\nh100,bf16,1,2,3,4\n", "no column 'time_us'"},
    {"gpu_id,dtype,m,n,time_us\nh100,bf16,1,2,3\n", "no column 'k'"},
    {"gpu_id,dtype,m,n,k,m,time_us\nh100,bf16,1,2,3,4,5\n", "two columns are 'm'"},
    {GEMM_HEAD "h100,v,1,bf16,1,128,256,-1\nh100,v,1,bf16,1,128,256,0\n", "the time is negative (1 row)"},
    {GEMM_HEAD "h100,v,1,bf16,1,128,256,7ms\n", "time_us must be a plain number"},
    {GEMM_HEAD "h100,v,1,bf16,1,128,256,nan\n", "time_us must be a plain number"},
    {GEMM_HEAD "h100,v,1,bf16,1.5,128,256,7\n", "m is not a whole number"},
    {GEMM_HEAD "h100,v,1,bf16,-1,128,256,7\n", "m is negative"},
    {GEMM_HEAD "h100,v,1,bf16,0,128,256,7\n", "m is 0"},
    {GEMM_HEAD "h100,v,1,bf16,1,128,256,7,8,9\n", "more cells than columns"},
    {GEMM_HEAD "h100,v,1,bf16,1,128,256,4e9\n", "exceeds an hour"},
    {GEMM_HEAD "h100,v,1,bf16,8192,8192,8192,1.6\nh100,v,1,bf16,1,128,256,3\nh100,v,1,bf16,4096,8192,8192,0.8\n",
        "2 of 3 rows are faster than the device's peak"},
    {"{\"nvbandwidth\": {\"testcases\": 3}}", "no list 'testcases'"},
    {"{\"results\": [], \"args\": []}", "'results' has no rows"},
    {"{\"results\": [{\"size\": 8}], \"args\": [\"x\"]}", "names a collective"},
    {"{\"kind\": 3", "not a JSON object"},
    {"   8  2  float  none  -1  5.0  1.0  0.5  0\n  size count type redop\n", "does not name the collective"},
    {"# all_gather_perf redop\n   8  2  float  none  -1  5.0  0.1  0.05  0\n", "number of ranks"},
};

START_TEST(files_are_refused)
{
	struct read r = read_text(refused[_i].text);

	ck_assert_msg(!r.ok, "'%s' is read", refused[_i].text);
	ck_assert_int_gt(diag_errors(r.diag), 0);
	ck_assert_has(said(r.arena, r.diag), refused[_i].says);
	end(&r);
}
END_TEST

START_TEST(compressed_files_are_refused)
{
	struct read r = begin();

	ck_assert(!measurements_read_text(r.arena, r.diag, "x.gz", "\x1f\x8b\0\0", 4, NULL, NULL, &r.rows));
	ck_assert_has(said(r.arena, r.diag), "zcat");
	end(&r);
}
END_TEST

/* More reasons than there is room for are counted together. */
START_TEST(reasons_are_bounded)
{
	struct read r = begin();
	char *text = arena_printf(r.arena, "%s", "");

	for (int i = 0; i < 50; i++)
		text = arena_printf(r.arena, "%s{\"kind\": \"kind%d\", \"time_us\": 1}\n", text, i);
	text = arena_printf(r.arena, "%s{\"kind\": \"launch\", \"time_us\": 1}\n", text);
	ck_assert(measurements_read_text(r.arena, r.diag, "rows", text, strlen(text), NULL, NULL, &r.rows));
	ck_assert_int_eq(r.rows.n_skipped, 50);
	ck_assert_int_eq(r.rows.n_skips, 32);
	ck_assert_str_eq(r.rows.skips[31].why, "other reasons");
	ck_assert_int_eq(r.rows.skips[31].n, 19);
	ck_assert_int_eq(r.rows.skips[31].first_line, 32);
	end(&r);
}
END_TEST

START_TEST(published_figures)
{
	struct read r = read_file("published.csv", NULL);

	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_int_eq(r.rows.n_rows, 4);
	ck_assert_int_eq(r.rows.n_skipped, 3);
	const struct measurement *row = r.rows.rows;
	ck_assert_str_eq(row[0].backend, "nccl");
	ck_assert_str_eq(row[0].version, "2.20.5");
	ck_assert_double_eq(row[0].nodes, 1);
	ck_near(row[0].time_s, 4e-3);
	/* bus bandwidth of an all-reduce is 2(n-1)/n of the algorithm's */
	ck_near(row[1].time_s, 1073741824.0 * 2 * 7 / 8 / 350e9);
	ck_assert_str_eq(row[1].note, "time from, \"busbw\"");
	ck_assert_str_eq(row[2].operation, "all_to_all");
	ck_assert_int_eq(row[3].kind, MEASUREMENT_P2P);
	ck_assert_str_eq(row[3].operation, "h2d");
	ck_near(row[3].byte_per_s, 55e9);
	ck_assert(isnan(row[3].time_s));
	ck_assert_int_eq(skipped(&r, "of kind 'threshold'"), 1);
	ck_assert_int_eq(skipped(&r, "no gpu_id"), 1);
	ck_assert_int_eq(skipped(&r, "size_bytes is missing"), 1);
	end(&r);
}
END_TEST

/* --- nccl-tests ------------------------------------------------------------------------------------------ */

static const struct {
	const char *file, *hint, *operation;
	int n_rows, n_skipped;
	double n_ranks, size_byte, time_us; /* of the first row */
} tables[] = {
    {"nccl-mpirun.txt", NULL, "all_reduce", 6, 1, 16, 67108864, 996.0},
    {"nccl-mpirun.txt", "all_gather", "all_reduce", 6, 1, 16, 67108864, 996.0}, /* its bandwidths say otherwise */
    {"nccl-rank.txt", NULL, "all_reduce", 14, 0, 16, 8, 164.3},
    {"nccl-indented.txt", "all_gather", "all_gather", 10, 5, 16, 256, 86.95},
    {"nccl-indented.txt", "all_to_all", "all_to_all", 10, 5, 16, 256, 86.95},
    {"nccl-ranks.txt", NULL, "reduce_scatter", 2, 1, 4, 1048576, 40},
    {"nccl.json", NULL, "all_gather", 3, 0, 2, 1048576, 20.5},
};

START_TEST(nccl_tables)
{
	const struct measurement_hints hints = {.collective = tables[_i].hint};
	struct read r = read_file(tables[_i].file, &hints);

	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_int_eq(r.rows.n_rows, tables[_i].n_rows);
	ck_assert_int_eq(r.rows.n_skipped, tables[_i].n_skipped);
	for (int i = 0; i < r.rows.n_rows; i++) {
		ck_assert_str_eq(r.rows.rows[i].operation, tables[_i].operation);
		ck_assert_double_eq(r.rows.rows[i].ranks, tables[_i].n_ranks);
		ck_assert_str_eq(r.rows.rows[i].backend, "nccl");
	}
	ck_assert_double_eq(r.rows.rows[0].size_byte, tables[_i].size_byte);
	ck_near(r.rows.rows[0].time_s, 1e-6 * tables[_i].time_us);
	ck_assert_str_eq(r.rows.rows[0].mode, "out-of-place");
	end(&r);
}
END_TEST

START_TEST(nccl_places)
{
	struct read r = read_file("nccl-ranks.txt", NULL);
	const struct measurement *last = &r.rows.rows[1];

	ck_assert(r.ok);
	ck_assert_double_eq(last->nodes, 2);
	ck_assert_str_eq(last->gpu, "h100-sxm5-80gb");
	ck_assert_str_eq(last->version, "2.21.5");
	ck_assert_int_eq(last->dtype, DTYPE_BF16);
	ck_assert_str_eq(last->mode, "in-place"); /* the other time is N/A */
	ck_near(last->time_s, 80e-6);
	ck_assert_str_eq(r.rows.rows[0].note, "in-place 41 us");
	ck_assert_int_eq(skipped(&r, "result was wrong"), 1);
	end(&r);
	r = read_file("nccl.json", NULL);
	ck_assert(r.ok);
	ck_assert_str_eq(r.rows.rows[0].version, "2.27.5");
	ck_assert_str_eq(r.rows.rows[0].date, "2026-05-02");
	ck_assert_str_eq(r.rows.rows[0].gpu, "b200-sxm");
	ck_assert_str_eq(r.rows.rows[1].mode, "in-place");
	ck_near(r.rows.rows[1].time_s, 31e-6);
	ck_near(r.rows.rows[2].time_s, 41e-6); /* the median, not the mean */
	ck_near(r.rows.rows[2].max_s, 55.5e-6);
	end(&r);
	r = read_file("nccl-rank.txt", NULL);
	ck_near(r.rows.rows[13].time_s, 66132e-6); /* of the second table */
	ck_assert(isnan(r.rows.rows[13].nodes));
	end(&r);
}
END_TEST

/* What a table does not say can be written above it. */
START_TEST(nccl_said_by_hand)
{
	struct read r = read_text("# all_to_all_perf\n# ranks 256\n# nodes 32\n"
	                          "  1048576  1024  float  none  -1  50.0  20.97  20.89  0\n");

	ck_assert_msg(!r.ok, "no header says what this is");
	end(&r);
	r = read_text("# alltoall_perf\n# ranks 256\n# nodes 32\n# size count type redop root time algbw busbw\n"
	              "  1048576  1024  float  none  -1  50.0  20.97  20.89  0\n");
	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_str_eq(r.rows.rows[0].operation, "all_to_all");
	ck_assert_double_eq(r.rows.rows[0].ranks, 256);
	ck_assert_double_eq(r.rows.rows[0].nodes, 32);
	end(&r);
}
END_TEST

/* Tables of old versions have no root column where there is no root, and errors in place of counts. */
START_TEST(nccl_without_root)
{
	struct read r =
	    read_text("# all_reduce_perf, NCCL version 2.4.8+cuda10.0\n"
	              "#  Rank  0 Pid   1 on n1 device  0 [0x00] Tesla V100-SXM2-16GB\n"
	              "#  Rank  1 Pid   2 on n1 device  1 [0x00] Tesla V100-SXM2-16GB\n"
	              "#   size   count  type  redop  time  algbw  busbw  error  time  algbw  busbw  error\n"
	              "  1048576  262144  float  sum  50.0  20.97  20.97  2e-07  51.0  20.56  20.56  0e+00\n");

	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_int_eq(r.rows.n_rows, 1);
	ck_near(r.rows.rows[0].time_s, 50e-6);
	ck_assert_double_eq(r.rows.rows[0].ranks, 2);
	ck_assert_double_eq(r.rows.rows[0].nodes, 1);
	ck_assert_str_eq(r.rows.rows[0].gpu, "v100-sxm2-16gb");
	end(&r);
}
END_TEST

/* --- nvbandwidth and Nsight Compute ---------------------------------------------------------------------- */

START_TEST(nvbandwidth)
{
	struct read r = read_file("nvbandwidth.txt", NULL);

	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_int_eq(r.rows.n_rows, 56); /* 8 x 8 without the diagonal */
	ck_assert_int_eq(r.rows.rows[0].kind, MEASUREMENT_P2P);
	ck_assert_str_eq(r.rows.rows[0].operation, "d2d_write");
	ck_near(r.rows.rows[0].byte_per_s, 276.07e9);
	ck_assert_str_eq(r.rows.rows[55].note, "row 7, column 6");
	ck_near(r.rows.rows[55].byte_per_s, 276.45e9);
	end(&r);
	r = read_file("nvbandwidth.json", NULL);
	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_int_eq(r.rows.n_rows, 6);
	ck_assert_str_eq(r.rows.rows[0].operation, "h2d");
	ck_assert_str_eq(r.rows.rows[0].gpu, "h200-sxm5-141gb");
	ck_assert_str_eq(r.rows.rows[0].driver, "570.86.10");
	ck_near(r.rows.rows[3].byte_per_s, 395.9e9);
	ck_assert_int_eq(r.rows.rows[4].kind, MEASUREMENT_LATENCY);
	ck_near(r.rows.rows[4].time_s, 772.5e-9);
	ck_assert_int_eq(skipped(&r, "'Waived'"), 1);
	end(&r);
}
END_TEST

START_TEST(nsight_compute)
{
	struct read r = read_file("ncu-details.csv", NULL);

	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_int_eq(r.rows.n_rows, 2);
	const struct measurement *row = r.rows.rows;
	ck_assert_int_eq(row[0].kind, MEASUREMENT_KERNEL);
	ck_assert_str_eq(row[0].operation, "saxpy(float, const float *, float *)");
	ck_near(row[0].size_byte, 12.58e6);
	ck_near(row[0].time_s, 6.5e-6);
	ck_near(row[0].flop, 2 * 1048576.0); /* an FMA is two */
	ck_near(row[1].flop, 137438953472.0);
	end(&r);
	r = read_file("ncu-raw.csv", NULL);
	ck_assert_msg(r.ok, "%s", said(r.arena, r.diag));
	ck_assert_int_eq(r.rows.n_rows, 1);
	ck_assert_str_eq(r.rows.rows[0].gpu, "a100-sxm4-80gb");
	ck_near(r.rows.rows[0].size_byte, 24e6);
	ck_near(r.rows.rows[0].time_s, 15.5e-6);
	ck_near(r.rows.rows[0].flop, 2e6);
	end(&r);
}
END_TEST

START_TEST(other_files_are_told_apart)
{
	static const char *const others[] = {
	    "time [ms]\n5\n6\n", "5\n6\n", "a,b\n1,2\n", "{\"a\": 1}", "step: 3\n", ""};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert_msg(!measurements_are_in(others[i], strlen(others[i])), "'%s'", others[i]);
}
END_TEST

Suite *measurement_suite(void);

Suite *
measurement_suite(void)
{
	Suite *s = suite_create("measurement");
	TCase *t = tcase_create("measurement");

	tcase_add_test(t, json_lines_are_read);
	tcase_add_test(t, csv_tells_its_kind);
	tcase_add_test(t, details_of_rows);
	tcase_add_loop_test(t, files_are_refused, 0, (int)(sizeof refused / sizeof *refused));
	tcase_add_test(t, compressed_files_are_refused);
	tcase_add_test(t, reasons_are_bounded);
	tcase_add_test(t, published_figures);
	tcase_add_loop_test(t, nccl_tables, 0, (int)(sizeof tables / sizeof *tables));
	tcase_add_test(t, nccl_places);
	tcase_add_test(t, nccl_said_by_hand);
	tcase_add_test(t, nccl_without_root);
	tcase_add_test(t, nvbandwidth);
	tcase_add_test(t, nsight_compute);
	tcase_add_test(t, other_files_are_told_apart);
	suite_add_tcase(s, t);
	return s;
}
