/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Feed-forward parts: one for all tokens (Shazeer, arXiv:2002.05202: gated), or experts with a router (Shazeer et al.,
 * ICLR 2017). */
#include "model/layer/parts.h"

struct names {
	const char *up, *activation, *down;
};

static void
add_pair(struct layer *l, enum layer_part part, const struct names *names, struct width width, struct width stream,
    bool gated)
{
	if (gated)
		row_map(l, part, "gate", names->up, width, stream)->map = MAP_GATE;
	row_map(l, part, "up", names->up, width, stream)->map = MAP_UP;
	row_add(l, part, RUNS_GATE, names->activation, width, stream)->inputs = gated ? 2 : 1;
	row_map(l, part, "down", names->down, stream, width)->map = MAP_DOWN;
}

static void
describe_mlp(struct layer *l, const struct workload *w)
{
	const struct mlp *mlp = &l->block->mlp;
	const struct names names = {mlp->gated ? "mlp gate and up" : "mlp up", "activation", "mlp down"};

	add_pair(l, IN_MLP, &names, columns(mlp->width), whole(w->hidden), mlp->gated);
	if (!mlp->bias)
		return;
	row_vector(l, IN_MLP, "inner bias", wide(mlp->width, mlp->gated ? 2 : 1));
	row_vector(l, IN_MLP, "output bias", whole(w->hidden));
}

/* One expert is an MLP of its own width: gated in Mixtral, DeepSeek, Qwen and Llama 4, squared ReLU in Nemotron 3. */
static void
add_experts(struct layer *l, struct width stream)
{
	static const struct names names = {"experts up", "experts activation", "experts down"};
	const struct moe *moe = &l->block->moe;
	const int first = l->n_ops;

	add_pair(l, IN_EXPERTS, &names, columns(moe->width), stream, !moe->plain);
	if (moe->expert_bias) {
		row_vector(l, IN_EXPERT_BIASES, "inner bias", wide(moe->width, moe->plain ? 1 : 2));
		row_vector(l, IN_EXPERT_BIASES, "output bias", stream);
	}
	for (int i = first; i < l->n_ops; i++) {
		struct layer_op *op = &l->op[i];
		op->runs = op->runs == RUNS_PRODUCT ? RUNS_GROUPED : op->runs;
		op->routed = true;
		op->copies = moe->n_experts;
		op->active = moe->top_k;
	}
}

/* Those that every token visits, as one MLP; one vector may gate them.  DeepSeek-AI, arXiv:2401.06066. */
static void
add_shared(struct layer *l, const struct workload *w)
{
	static const struct names names = {"shared experts up", "shared experts activation", "shared experts down"};
	const struct moe *moe = &l->block->moe;

	if (moe->n_shared.value > 0)
		add_pair(l, IN_SHARED, &names, columns(times(moe->shared_width, moe->n_shared.value)), whole(w->hidden),
		    !moe->plain);
	if (moe->shared_gate)
		row_map(l, IN_SHARED, "shared expert gate", "shared expert gate", whole(figure(1)), whole(w->hidden));
}

/* Experts read and write the residual stream, or a latent (NVIDIA, Nemotron 3, 2025). */
static void
describe_experts(struct layer *l, const struct workload *w)
{
	const struct moe *moe = &l->block->moe;
	const bool latent = moe->latent.value > 0;
	const struct width hidden = whole(w->hidden), experts = whole(moe->n_experts),
	                   stream = latent ? whole(moe->latent) : hidden;

	row_map(l, IN_ROUTER, "router", "router", experts, hidden);
	if (moe->router_bias)
		row_vector(l, IN_ROUTER, "router bias", experts);
	row_add(l, IN_ROUTER, RUNS_SOFTMAX, "router softmax", experts, hidden);
	if (latent)
		row_map(l, IN_LATENT, "into the experts' latent", "into the experts' latent", stream, hidden);
	add_experts(l, stream);
	if (latent)
		row_map(l, IN_LATENT, "out of the experts' latent", "out of the experts' latent", hidden, stream);
	add_shared(l, w);
}

void
describe_feed(struct layer *l, const struct workload *w)
{
	if (l->block->moe.given)
		describe_experts(l, w);
	else if (l->block->mlp.given)
		describe_mlp(l, w);
}
