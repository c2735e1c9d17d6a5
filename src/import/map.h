/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees that are made and not read: maps and lists that grow. */
#ifndef RIDGE_MAP_H
#define RIDGE_MAP_H

#include "db/tree.h"

struct node *map_new(struct arena *a, struct source at);
struct node *list_new(struct arena *a, struct source at);
void map_put(struct arena *a, struct node *map, const char *key, const struct node *item);
void list_put(struct arena *a, struct node *list, const struct node *item);

/* Scalars; nothing is put for an absent datum, a NULL word or a false flag. */
void map_number(struct arena *a, struct node *map, const char *key, struct datum d);
void map_word(struct arena *a, struct node *map, const char *key, const char *word, struct source at);
void map_flag(struct arena *a, struct node *map, const char *key, bool flag, struct source at);
/* A word that is written in quotes. */
void map_text(struct arena *a, struct node *map, const char *key, const char *text, struct source at);

#endif
