/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read the sections of a calibration that have free keys: residuals and memory levels. */
#include "db/calibration.h"

/* --- residuals: maps with names of the file's own -------------------------------------------------------- */

static const struct field residual_fields[] = {
    FIGURE(struct residual, "n", Q_COUNT, n_points, 1, 1e12, "points"),
    NEEDED(struct residual, "mape", Q_NUMBER, mape_frac, 0, 10, "mean absolute error (fraction)"),
    FIGURE(struct residual, "bias", Q_NUMBER, bias_frac, -10, 10, "mean of (predicted - measured) / measured"),
    FIGURE(struct residual, "q10", Q_NUMBER, q10, -10, 10, "10 % quantile of ln(measured / predicted)"),
    FIGURE(struct residual, "q90", Q_NUMBER, q90, -10, 10, "90 % quantile of ln(measured / predicted)"),
    FIGURE(struct residual, "mean", Q_NUMBER, mean, -10, 10, "mean of ln(measured / predicted)"),
    FIGURE(struct residual, "sd", Q_NUMBER, sd, 0, 10, "standard deviation of the same"),
    {.key = "by", .kind = FIELD_IGNORED, .help = "by regime: mape, or a map {n, mape, bias, q10, q90}"},
};
SCHEMA(residual_schema, "a residual", struct residual, residual_fields);

static const struct field regime_fields[] = {
    FIGURE(struct residual_regime, "n", Q_COUNT, n_points, 1, 1e12, "points"),
    NEEDED(struct residual_regime, "mape", Q_NUMBER, mape_frac, 0, 10, "mean absolute error (fraction)"),
    FIGURE(struct residual_regime, "bias", Q_NUMBER, bias_frac, -10, 10, "mean of (predicted - measured) / measured"),
    FIGURE(struct residual_regime, "q10", Q_NUMBER, q10, -10, 10, "10 % quantile of ln(measured / predicted)"),
    FIGURE(struct residual_regime, "q90", Q_NUMBER, q90, -10, 10, "90 % quantile of ln(measured / predicted)"),
};
SCHEMA(regime_schema, "a regime", struct residual_regime, regime_fields);

static bool
bind_regimes(struct binder *b, const struct node *by, struct residual *out)
{
	enum { ROOM = sizeof out->regimes / sizeof *out->regimes };
	bool ok = true;

	if (!by)
		return true;
	if (by->kind != NODE_MAP || by->n > ROOM) {
		diag_error(b->diag, by->at, "'by' is a map of at most %d regimes to errors", (int)ROOM);
		return false;
	}
	out->n_regimes = (int)by->n;
	for (size_t i = 0; i < by->n; i++) {
		struct residual_regime *r = &out->regimes[i];
		const struct node *n = by->items[i];

		schema_clear(&regime_schema, r);
		ok = (n->kind == NODE_MAP ? schema_bind(b, &regime_schema, n, r)
		                          : schema_quantity(b, n, Q_FRACTION, 0, 10, &r->mape_frac)) &&
		    ok;
		r->name = by->keys[i]->text;
	}
	return ok;
}

bool
bind_residuals(struct binder *b, const struct node *n, void *out)
{
	struct residuals *r = out;
	bool ok = true;

	if (n->kind != NODE_MAP) {
		diag_error(b->diag, n->at, "expected a map from what was predicted to its errors");
		return false;
	}
	r->n = (int)n->n;
	r->list = ARENA_ARRAY(b->arena, struct residual, n->n + 1);
	for (size_t i = 0; i < n->n; i++) {
		r->list[i].name = n->keys[i]->text;
		ok = schema_bind(b, &residual_schema, n->items[i], &r->list[i]) && ok;
		ok = bind_regimes(b, tree_get(n->items[i], "by"), &r->list[i]) && ok;
	}
	return ok;
}

/* --- levels of memory ------------------------------------------------------------------------------------ */

static const struct field level_fields[] = {
    FIGURE(struct memory_level, "size", Q_SIZE, size_byte, 1, 1e15, "capacity; ignored for the last level"),
    FIGURE(struct memory_level, "rate", Q_RATE, byte_per_s, 1e6, 1e16, "plateau bandwidth"),
    FIGURE(struct memory_level, "latency", Q_TIME, latency_s, 0, 1, "latency of one dependent load"),
};
SCHEMA(level_schema, "a level of memory", struct memory_level, level_fields);

bool
bind_memory(struct binder *b, const struct node *n, void *out)
{
	struct memory_calibration *m = out;
	enum { ROOM = sizeof m->level / sizeof *m->level };
	bool ok = true;

	if (n->kind != NODE_MAP || n->n > ROOM) {
		diag_error(b->diag, n->at, "'memory' is a map of at most %d levels, the smallest first", (int)ROOM);
		diag_hint(b->diag, "memory: {l2: {size: 50MB, rate: 5TB/s, latency: 150ns}, hbm: {rate: 3TB/s}}");
		return false;
	}
	m->n_levels = (int)n->n;
	for (size_t i = 0; i < n->n; i++) {
		ok = schema_bind(b, &level_schema, n->items[i], &m->level[i]) && ok;
		m->level[i].name = n->keys[i]->text;
	}
	return ok;
}
