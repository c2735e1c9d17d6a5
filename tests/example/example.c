/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long does a ring of 8 need for the gradients of 7 billion parameters, and why?  A program that uses libridge. */
#include <ridge/collective.h>
#include <ridge/sheet.h>
#include <ridge/units.h>

#include <stdio.h>
#include <stdlib.h>

static double
read_or_exit(const char *text, enum quantity quantity)
{
	struct quantity_fault fault;
	double value;

	if (quantity_read(text, quantity, &value, &fault))
		return value;
	fprintf(stderr, "example: %s\n  hint: %s\n", fault.what, fault.hint);
	exit(EXIT_FAILURE);
}

int
main(void)
{
	const double size = read_or_exit("14GB", Q_SIZE), rate = read_or_exit("50GB/s", Q_RATE);
	struct sheet *sheet = sheet_new();
	const double time_s = allreduce_ring(sheet, 8, size, rate, 0);
	char value[40];

	/* every row that the model computed: its name, the text that computed it, its value */
	for (int i = 0; i < sheet_size(sheet); i++) {
		const struct row *row = sheet_row(sheet, i);
		printf("%s = %s%s%s\n", row->name, row->text ? row->text : "", row->text ? " = " : "",
		    value_write(row->name, row->value, value, sizeof value));
	}
	sheet_free(sheet);

	/* 2 (n - 1) / n x size / rate = 1.75 x 14 GB / 50 GB/s (Patarasuk and Yuan, JPDC 69(2), 2009); the same without
	 * a sheet */
	const double wanted_s = 0.49;
	const double again_s = allreduce_ring(NULL, 8, size, rate, 0);
	return time_s == again_s && fabs(time_s - wanted_s) < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
