/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps become structs; whatever is wrong with a file is said in one run. */
#include "db/tree.h"

#include "db/db.h"
#include "said.h"

#include <math.h>

static struct arena *a;
static struct diag *d;

static void
set_up(void)
{
	a = arena_new();
	d = diag_new(a);
}

static void
tear_down(void)
{
	arena_free(a);
}

/* --- a schema with a row of every kind ------------------------------------------------------------------- */

struct inner {
	struct datum size;
};

struct entry {
	const char *word;
	struct datum n;
};

struct thing {
	struct datum size, n, share, rate, peak;
	bool lacks_peak, flag, custom;
	const char *text, *date;
	int choice, n_entries;
	struct inner inner;
	struct entry *entries;
};

static bool
custom(struct binder *b, const struct node *n, void *out)
{
	(void)b;
	*(bool *)out = n->kind == NODE_SCALAR;
	return true;
}

static const struct field inner_fields[] = {{.key = "size",
    .kind = FIELD_QUANTITY,
    .quantity = Q_SIZE,
    .offset = offsetof(struct inner, size),
    .required = true}};
static const struct schema inner_schema = {"'inner'", sizeof(struct inner), inner_fields, 1};
static const struct field entry_fields[] = {
    {.key = "word", .kind = FIELD_TEXT, .offset = offsetof(struct entry, word), .required = true, .help = "any word"},
    {.key = "n", .kind = FIELD_QUANTITY, .quantity = Q_COUNT, .offset = offsetof(struct entry, n)}};
static const struct schema entry_schema = {"an entry", sizeof(struct entry), entry_fields, 2};
#define AT(member) offsetof(struct thing, member)
static const struct field fields[] = {
    {.key = "size", .kind = FIELD_QUANTITY, .quantity = Q_SIZE, .offset = AT(size), .min = 1e3, .max = 1e12},
    {.key = "n", .kind = FIELD_QUANTITY, .quantity = Q_COUNT, .offset = AT(n)},
    {.key = "share", .kind = FIELD_QUANTITY, .quantity = Q_NUMBER, .offset = AT(share), .min = 0, .max = 1},
    {.key = "rate", .kind = FIELD_QUANTITY, .quantity = Q_RATE, .offset = AT(rate)},
    {.key = "peak", .kind = FIELD_PEAK, .quantity = Q_PEAK, .offset = AT(peak), .extra = AT(lacks_peak)},
    {.key = "text", .kind = FIELD_TEXT, .offset = AT(text)},
    {.key = "date", .kind = FIELD_DATE, .offset = AT(date)},
    {.key = "flag", .kind = FIELD_FLAG, .offset = AT(flag)},
    {.key = "choice", .kind = FIELD_CHOICE, .offset = AT(choice), .choices = "red|green|blue"},
    {.key = "inner", .kind = FIELD_MAP, .sub = &inner_schema, .offset = AT(inner)},
    {.key = "entries", .kind = FIELD_LIST, .sub = &entry_schema, .offset = AT(entries), .extra = AT(n_entries)},
    {.key = "custom", .kind = FIELD_CUSTOM, .offset = AT(custom), .custom = custom},
    {.key = "sources", .kind = FIELD_IGNORED},
};
static const struct schema schema = {"a thing", sizeof(struct thing), fields, sizeof fields / sizeof *fields};

static bool
bind_text(const char *text, struct thing *out)
{
	const struct node *root = tree_read_text(a, d, "f.yaml", text, strlen(text));

	ck_assert_msg(root, "%s", said(a, d));
	struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
	memset(out, 0, sizeof *out);
	return schema_bind(&b, &schema, root, out);
}

START_TEST(every_kind_is_filled)
{
	struct thing t;

	ck_assert_msg(bind_text("sources: {ds: \"the datasheet, 2023\"}\n"
	                        "size: [80GB, ds]\n"
	                        "n: 8Ki\n"
	                        "share: {value: 80%, source: ds, unconfirmed: true}\n"
	                        "rate: [400Gbit/s, \"Author, title, 2020\"]\n"
	                        "peak: 989TFLOP/s\n"
	                        "text: some words\n"
	                        "date: 2024-02-29\n"
	                        "flag: yes\n"
	                        "choice: blue\n"
	                        "inner: {size: 1KiB}\n"
	                        "entries:\n  - {word: one, n: 1}\n  - {word: two}\n"
	                        "custom: x\n",
	                  &t),
	    "%s", said(a, d));
	ck_assert(t.size.value == 80e9);
	ck_assert_str_eq(t.size.from.cite, "the datasheet, 2023");
	ck_assert_str_eq(t.size.from.file, "f.yaml");
	ck_assert_int_eq(t.size.from.line, 2);
	ck_assert_int_eq(t.size.from.column, 8);
	ck_assert(!t.size.from.unconfirmed);
	ck_assert(t.n.value == 8192);
	ck_assert_ptr_null(t.n.from.cite);
	ck_assert(t.share.value == 0.8);
	ck_assert(t.share.from.unconfirmed);
	ck_assert_int_eq(t.share.from.column, 16);
	ck_assert_str_eq(t.rate.from.cite, "Author, title, 2020");
	ck_assert(t.rate.value == 50e9);
	ck_assert(t.peak.value == 989e12 && !t.lacks_peak);
	ck_assert_str_eq(t.text, "some words");
	ck_assert_str_eq(t.date, "2024-02-29");
	ck_assert(t.flag && t.custom);
	ck_assert_int_eq(t.choice, 2);
	ck_assert(t.inner.size.value == 1024);
	ck_assert_int_eq(t.n_entries, 2);
	ck_assert_str_eq(t.entries[1].word, "two");
	ck_assert(t.entries[0].n.value == 1);
	ck_assert(!datum_given(t.entries[1].n));
}
END_TEST

START_TEST(what_is_absent_is_nan)
{
	struct thing t;

	ck_assert(bind_text("n: 0\npeak: none\n", &t));
	ck_assert(!datum_given(t.size) && !datum_given(t.share) && !datum_given(t.inner.size) && !datum_given(t.peak));
	ck_assert(t.lacks_peak);
	ck_assert(datum_given(t.n) && t.n.value == 0);
	ck_assert_ptr_null(t.text);
	ck_assert_int_eq(t.n_entries, 0);
}
END_TEST

static const struct {
	const char *text, *place, *what, *hint;
} faults[] = {
    {"size: 80\n", "f.yaml:1:7:", "'80' has no unit, but a size in bytes is needed", "80GB or 80GiB"},
    {"size: 80GB/s\n", "f.yaml:1:7:", "'80GB/s' is a rate in bytes per second, but a size in bytes is needed", "80GB"},
    {"size: 80gB\n", "f.yaml:1:7:", "'gB' is not a unit of a size", "did you mean 'GB'?"},
    {"size: 64KB\n", "f.yaml:1:7:", "can be read two ways", "write 64kB or 64KiB"},
    {"size: many\n", "f.yaml:1:7:", "'many' is not a size in bytes", "write for example"},
    {"size: .nan\n", "f.yaml:1:7:", "is not a size in bytes", "write for example"},
    {"size: .inf\n", "f.yaml:1:7:", "is not a size in bytes", "write for example"},
    {"size: 1e400GB\n", "f.yaml:1:7:", "is out of range", "write for example"},
    {"size: -80GB\n", "f.yaml:1:7:", "-80GB is below the minimum 1000", "check the unit"},
    {"n: -1\n", "f.yaml:1:4:", "-1 is negative", "write 0 or more"},
    {"size: 1B\n", "f.yaml:1:7:", "1B is below the minimum 1000", "check the unit"},
    {"size: 80PB\n", "f.yaml:1:7:", "80PB exceeds the maximum 1000000000000 in base units", "check the unit"},
    {"share: 80\n", "f.yaml:1:8:", "80 exceeds the maximum 1", "check the unit"},
    {"n: 8 GPUs\n", "f.yaml:1:4:", "'8 GPUs' is not a count", "write for example 8"},
    {"n: 0x10\n", "f.yaml:1:4:", "'0x10' is not a count", "write for example 8"},
    {"n:\n", "f.yaml:1:3:", "expected a count", "write VALUE"},
    {"n: [1]\n", "f.yaml:1:4:", "expected a count", "write VALUE"},
    {"n: [1, a, b]\n", "f.yaml:1:4:", "expected a count", "write VALUE"},
    {"n: {a: 1}\n", "f.yaml:1:5:", "a figure takes only the keys value, source and unconfirmed", "{value:"},
    {"n: {source: x y}\n", "f.yaml:1:4:", "expected a count", "write VALUE"},
    {"n: [[1], in place]\n", "f.yaml:1:4:", "expected a count", "write VALUE"},
    {"n: [1, ds]\n", "f.yaml:1:8:", "the source 'ds' is not in 'sources'", "write the citation itself"},
    {"sources: {wp: x, dsh: y}\nn: [1, ds]\n", "f.yaml:2:8:", "the source 'ds' is not in 'sources'",
        "did you mean 'dsh'?"},
    {"n: [1, [x]]\n", "f.yaml:1:8:", "a source must be a key of 'sources'", "sources: {key"},
    {"text: [a]\n", "f.yaml:1:7:", "expected a word or a sentence", "quote"},
    {"text:\n", "f.yaml:1:6:", "expected a word or a sentence", "quote"},
    {"date: 2023-13-01\n", "f.yaml:1:7:", "'2023-13-01' is not a date", "YYYY-MM-DD"},
    {"date: 2023-02-30\n", "f.yaml:1:7:", "is not a date", "YYYY-MM-DD"},
    {"date: 2023-1-1\n", "f.yaml:1:7:", "is not a date", "YYYY-MM-DD"},
    {"date: 23\n", "f.yaml:1:7:", "is not a date", "YYYY-MM-DD"},
    {"date: 2023/01\n", "f.yaml:1:7:", "is not a date", "YYYY-MM-DD"},
    {"date: yesterday\n", "f.yaml:1:7:", "is not a date", "YYYY-MM-DD"},
    {"flag: maybe\n", "f.yaml:1:7:", "expected true or false", "leave it out"},
    {"choice: purple\n", "f.yaml:1:9:", "'purple' is not one of red|green|blue", ""},
    {"choice: grene\n", "f.yaml:1:9:", "'grene' is not one of red|green|blue", "did you mean 'green'?"},
    {"choice: [red]\n", "f.yaml:1:9:", "expected one word", "red|green|blue"},
    {"inner: 5GB\n", "f.yaml:1:8:", "expected a map: 'inner' has named values", "name: value"},
    {"inner: {}\n", "f.yaml:1:8:", "'inner' needs the key 'size'", "add it"},
    {"entries: {word: x}\n", "f.yaml:1:10:", "expected a list", "'- '"},
    {"entries: [{n: 1}]\n", "f.yaml:1:11:", "an entry needs the key 'word'", "any word"},
    {"entries: [x]\n", "f.yaml:1:11:", "expected a map: an entry has named values", "name: value"},
    {"sise: 80GB\n", "f.yaml:1:1:", "a thing has no key 'sise'", "did you mean 'size'?"},
    {"banana: 80GB\n", "f.yaml:1:1:", "a thing has no key 'banana'", "its keys: size n share"},
    {"peak: never\n", "f.yaml:1:7:", "'never' is not an arithmetic rate", "989TFLOP/s"},
    {"- size\n", "f.yaml:1:1:", "expected a map: a thing has named values", "name: value"},
};

START_TEST(each_fault_has_place_and_hint)
{
	struct thing t;

	ck_assert_msg(!bind_text(faults[_i].text, &t), "was accepted: %s", faults[_i].text);
	ck_assert_has(said(a, d), faults[_i].place);
	ck_assert_has(said(a, d), faults[_i].what);
	ck_assert_has(said(a, d), faults[_i].hint);
	ck_assert_int_eq(diag_errors(d), strstr(faults[_i].what, "keys value") ? 2 : 1);
}
END_TEST

START_TEST(all_faults_in_one_run)
{
	struct thing t;

	ck_assert(!bind_text("size: 80\nn: -1\nflag: maybe\nsise: 1\nchoice: red2\ninner: {sice: 1GB}\n"
	                     "entries: [{wrod: x}, {word: y, n: z}]\ndate: never\n",
	    &t));
	/* one per line; two for each map whose only key is misspelt */
	ck_assert_msg(diag_errors(d) == 11, "%d:\n%s", diag_errors(d), said(a, d));
	for (int line = 1; line <= 8; line++) {
		char place[20];
		snprintf(place, sizeof place, "f.yaml:%d:", line);
		ck_assert_has(said(a, d), place);
	}
}
END_TEST

/* The range is closed, and what lies at its ends is inside. */
START_TEST(the_ends_of_a_range_are_allowed)
{
	struct thing t;

	ck_assert(bind_text("size: 1kB\nshare: 100%\n", &t));
	ck_assert(bind_text("size: 1TB\nshare: 0\n", &t));
	ck_assert(!bind_text("size: 999B\n", &t));
	ck_assert(!bind_text("size: 1001GB\n", &t));
}
END_TEST

/* --- the schema of a GPU --------------------------------------------------------------------------------- */

static bool
bind_gpu(const char *text, struct gpu *gpu)
{
	const struct node *root = tree_read_text(a, d, "gpu.yaml", text, strlen(text));

	ck_assert_msg(root, "%s", said(a, d));
	struct binder b = {.arena = a, .diag = d, .sources = tree_get(root, "sources")};
	return gpu_bind(&b, root, "mine", gpu);
}

#define SMALLEST "format: 1\nname: x\narchitecture: hopper\nmemory: {bandwidth: 1TB/s}\npeak: {bf16: 1TFLOP/s}\n"

START_TEST(the_smallest_gpu)
{
	struct gpu gpu;

	ck_assert_msg(bind_gpu(SMALLEST "launch: {value: 2022-03, source: x}\n"
	                                "prices: [{usd_per_hour: 3.6, on: 2024-05, source: me}]\n",
	                  &gpu),
	    "%s", said(a, d));
	ck_assert_str_eq(gpu.id, "mine");
	ck_assert(gpu.peak_flop_per_s[PEAK_BF16].value == 1e12);
	ck_assert(!datum_given(gpu.peak_flop_per_s[PEAK_FP8]) && !gpu.lacks[PEAK_FP8]);
	ck_assert_str_eq(gpu.launch, "2022-03");
	ck_assert_int_eq(gpu.n_prices, 1);
	ck_assert_double_eq_tol(gpu.prices[0].usd_per_s.value, 0.001, 1e-15);
	ck_assert_int_eq(gpu.prices[0].usd_per_s.from.line, 7);
}
END_TEST

static const struct {
	const char *text, *what;
} gpu_faults[] = {
    {"format: 1\n", "a GPU needs the key 'name'"},
    {"format: 1\n", "a GPU needs the key 'peak'"},
    {SMALLEST "sms: many\n", "gpu.yaml:6:6: error: 'many' is not a count"},
    {SMALLEST "sms: 1e9\n", "gpu.yaml:6:6: error: 1e9 exceeds the maximum"},
    {SMALLEST "clock: {max: 1980}\n", "'1980' has no unit, but a clock frequency is needed"},
    {SMALLEST "clock: {max: 1980GHz}\n", "1980GHz exceeds the maximum"},
    {SMALLEST "clock: {maximum: 1980MHz}\n", "'clock' has no key 'maximum'"},
    {SMALLEST "tdp: 700\n", "'700' has no unit, but a power is needed"},
    {SMALLEST "launch: 2022-17\n", "'2022-17' is not a date"},
    {SMALLEST "launch: {value: soon}\n", "'soon' is not a date"},
    {SMALLEST "launch: {}\n", "expected a word"},
    {SMALLEST "prices: [{usd_per_hour: $3, on: 2024, source: x}]\n", "'$3' is not a number"},
    {SMALLEST "prices: [{usd_per_hour: -3, on: 2024, source: x}]\n", "-3 is negative"},
    {SMALLEST "prices: [{usd_per_hour: 3}]\n", "a price needs the key 'source'"},
    {SMALLEST "prices: [{usd_per_hour: 3, on: 2024, source: x, per: nod}]\n", "a price must be per node or per gpu"},
    {SMALLEST "sparsity: 20\n", "20 exceeds the maximum 4"},
};

START_TEST(faults_of_a_gpu)
{
	struct gpu gpu;

	ck_assert(!bind_gpu(gpu_faults[_i].text, &gpu));
	ck_assert_has(said(a, d), gpu_faults[_i].what);
}
END_TEST

Suite *schema_suite(void);

Suite *
schema_suite(void)
{
	Suite *s = suite_create("schema");
	TCase *t = tcase_create("schema");

	tcase_set_timeout(t, 60); /* sanitizers and busy machines */
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, every_kind_is_filled);
	tcase_add_test(t, what_is_absent_is_nan);
	tcase_add_loop_test(t, each_fault_has_place_and_hint, 0, (int)(sizeof faults / sizeof *faults));
	tcase_add_test(t, all_faults_in_one_run);
	tcase_add_test(t, the_ends_of_a_range_are_allowed);
	tcase_add_test(t, the_smallest_gpu);
	tcase_add_loop_test(t, faults_of_a_gpu, 0, (int)(sizeof gpu_faults / sizeof *gpu_faults));
	suite_add_tcase(s, t);
	return s;
}
