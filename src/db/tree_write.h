/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree as YAML in the manner of our own files: block style at the top, flow style inside, lines below 140 columns. */
#ifndef RIDGE_TREE_WRITE_H
#define RIDGE_TREE_WRITE_H

#include "db/tree.h"

/* The text of a map, which reads back as the same tree. */
char *tree_write(struct arena *a, const struct node *root);

#endif
