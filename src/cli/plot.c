/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --plot FILE: also draw the answer. */
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
		diag_error(p->diag, here(), "--plot cannot draw --jsonl");
		diag_hint(p->diag, "use --sweep");
		return false;
	}
	if (plot_form_of(p->args.plot) != PLOT_UNKNOWN)
		return true;
	diag_error(p->diag, here(), "file name '%s' has no known plot format", p->args.plot);
	diag_hint(p->diag, "end it with .png, .svg, .pdf, or .gp for the script only");
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
		    p->args.sweeps.n ? "sweep an input that changes the answers, or choose an answer with --get ROW"
		                     : "add --sweep NAME=1..64*2; only 'ridge roofline' plots without a sweep");
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
