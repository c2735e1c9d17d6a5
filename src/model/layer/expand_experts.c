/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feed-forward parts as operators: one for all tokens, or experts with a router. */
#include "model/layer/parts.h"

struct feed_forward {
	const char *up, *activation, *down;
	double width;
	bool gated;
};

static void
add_mlp(struct list *l, const struct feed_forward *f)
{
	const double hidden = l->w->hidden.value, width = f->width / l->x->tp;

	ADD(l, OP_gemm, f->up, l->tokens, f->gated ? 2 * width : width, hidden);
	list_gate(l, f->activation, l->tokens * width, f->gated);
	ADD(l, OP_gemm, f->down, l->tokens, hidden, width);
}

/* Tokens choose experts evenly and independently: E (1 - (1 - K/E)^T) of E experts are visited. */
static void
add_experts(struct list *l, const struct moe *moe)
{
	const double hidden = l->w->hidden.value, width = moe->width.value / l->x->tp, experts = moe->n_experts.value;
	const double routed = l->tokens * moe->top_k.value;
	const double visited = experts * (1 - pow(1 - moe->top_k.value / experts, l->tokens));

	const bool gated = !moe->plain, latent = moe->latent.value > 0;
	const double stream = latent ? moe->latent.value : hidden;

	ADD(l, OP_gemm, "router", l->tokens, experts, hidden);
	ADD(l, OP_softmax, "router softmax", l->tokens, experts);
	if (latent)
		ADD(l, OP_gemm, "into the experts' latent", l->tokens, stream, hidden);
	ADD(l, OP_grouped, "experts up", visited, routed, gated ? 2 * width : width, stream);
	list_gate(l, "experts activation", routed * width, gated);
	ADD(l, OP_grouped, "experts down", visited, routed, stream, width);
	if (latent)
		ADD(l, OP_gemm, "out of the experts' latent", l->tokens, hidden, stream);
	if (moe->n_shared.value > 0)
		add_mlp(l,
		    &(struct feed_forward){"shared experts up", "shared experts activation", "shared experts down",
		        moe->n_shared.value * moe->shared_width.value, gated});
	if (moe->shared_gate)
		ADD(l, OP_gemm, "shared expert gate", l->tokens, 1, hidden);
}

void
expand_feed_forward(struct list *l, const struct block *b)
{
	if (b->moe.given)
		add_experts(l, &b->moe);
	else if (b->mlp.given)
		add_mlp(l,
		    &(struct feed_forward){b->mlp.gated ? "mlp gate and up" : "mlp up", "activation", "mlp down",
		        b->mlp.width.value, b->mlp.gated});
}
