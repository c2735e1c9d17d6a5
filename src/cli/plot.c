/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --plot FILE: the answer drawn, beside the answer itself. */
#include "cli/parts.h"
#include "report/report.h"

#include <string.h>

static struct source
here(void)
{
	return (struct source){"--plot", 0, 0, NULL, false};
}

bool
program_plot_name(struct program *p)
{
	if (!p->args.plot)
		return true;
	if (p->args.jsonl) {
		diag_error(p->diag, here(), "the answers of --jsonl cannot be drawn");
		diag_hint(p->diag, "draw a --sweep");
		return false;
	}
	if (plot_form_of(p->args.plot) != PLOT_UNKNOWN)
		return true;
	diag_error(p->diag, here(), "the name '%s' does not say what to draw", p->args.plot);
	diag_hint(p->diag, "let it end in .png, .svg, .pdf, or .gp for the script alone");
	return false;
}

int
program_plot(struct program *p, const struct plot *plot, const char *why)
{
	size_t n = 0;

	if (!p->args.plot)
		return 0;
	if (!plot) {
		diag_error(p->diag, here(), "%.*s", (int)strcspn(why, "\n"), why);
		diag_hint(p->diag,
		    p->args.sweeps.n ? "sweep an input that the answers depend on; --get ROW chooses one"
		                     : "sweep an input: --sweep NAME=1..64*2; 'ridge roofline' draws its roof without");
		return REFUSED;
	}
	const char *bytes = plot_draw(p->arena, p->diag, plot, plot_form_of(p->args.plot), &n);
	if (!bytes)
		return STATUS_FAILED;
	FILE *to = outputs_open(p->outputs, p->diag, here(), p->args.plot);
	if (!to)
		return REFUSED;
	fwrite(bytes, 1, n, to);
	return 0;
}
