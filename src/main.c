/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ridge program. */
#include "cli/cli.h"

int
main(int argc, char **argv)
{
	return ridge_main(argc, argv, NULL);
}
