/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of feed-forward parts: one for all tokens, or experts with a router. */
#include "model/layer/parts.h"

double
mlp_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->mlp.given) {
		LET(sh, mlp_param, 0);
		return mlp_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, width, block->mlp.width);
	TAKE(sh, n_up_maps, block->mlp.gated ? 2.0 : 1.0);
	WHEN(sh, bias_param, block->mlp.bias, n_up_maps * width + hidden);
	LET(sh, mlp_param, (n_up_maps + 1) * hidden * width + bias_param);
	return mlp_param;
}

/* What the experts read and write: the residual stream, or a latent (NVIDIA, Nemotron 3, 2025). */
static struct datum
expert_stream(const struct workload *w, const struct moe *moe)
{
	return moe->latent.value > 0 ? moe->latent : w->hidden;
}

double
expert_bias_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->moe.given || !block->moe.expert_bias) {
		LET(sh, bias_param, 0);
		return bias_param;
	}
	TAKE(sh, stream_width, expert_stream(w, &block->moe));
	TAKE(sh, expert_width, block->moe.width);
	TAKE(sh, n_up_maps, block->moe.plain ? 1.0 : 2.0);
	LET(sh, bias_param, n_up_maps * expert_width + stream_width);
	return bias_param;
}

/* One expert is an MLP of its own width: gated in Mixtral, DeepSeek, Qwen and Llama 4, squared ReLU in Nemotron 3. */
double
expert_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->moe.given) {
		LET(sh, expert_param, 0);
		return expert_param;
	}
	TAKE(sh, stream_width, expert_stream(w, &block->moe));
	TAKE(sh, expert_width, block->moe.width);
	TAKE(sh, n_up_maps, block->moe.plain ? 1.0 : 2.0);
	CALL(sh, bias_param, expert_bias_params(sh, w, block));
	LET(sh, expert_param, (n_up_maps + 1) * stream_width * expert_width + bias_param);
	return expert_param;
}

double
shared_expert_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->moe.given || !(block->moe.n_shared.value > 0)) {
		LET(sh, shared_param, 0);
		return shared_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_shared_experts, block->moe.n_shared);
	TAKE(sh, shared_width, block->moe.shared_width);
	TAKE(sh, n_up_maps, block->moe.plain ? 1.0 : 2.0);
	TAKE(sh, n_gates, block->moe.shared_gate ? 1.0 : 0.0);
	LET(sh, shared_param, n_shared_experts * (n_up_maps + 1) * hidden * shared_width + n_gates * hidden);
	return shared_param;
}

double
latent_map_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->moe.given || !(block->moe.latent.value > 0)) {
		LET(sh, latent_param, 0);
		return latent_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, latent_width, block->moe.latent);
	LET(sh, latent_param, 2 * hidden * latent_width);
	return latent_param;
}

double
router_params(struct sheet *sh, const struct workload *w, const struct block *block)
{
	if (!block->moe.given) {
		LET(sh, router_param, 0);
		return router_param;
	}
	TAKE(sh, hidden, w->hidden);
	TAKE(sh, n_experts, block->moe.n_experts);
	WHEN(sh, bias_param, block->moe.router_bias, n_experts);
	LET(sh, router_param, hidden * n_experts + bias_param);
	return router_param;
}

/* The feed-forward part of one layer with n_experts of its experts. */
static double
counted_params(struct sheet *sh, const struct workload *w, const struct block *block, struct datum counted)
{
	TAKE(sh, n_counted, counted);
	CALL(sh, expert_param, expert_params(sh, w, block));
	CALL(sh, shared_param, shared_expert_params(sh, w, block));
	CALL(sh, latent_param, latent_map_params(sh, w, block));
	CALL(sh, router_param, router_params(sh, w, block));
	LET(sh, mixture_param, n_counted * expert_param + shared_param + latent_param + router_param);
	return mixture_param;
}

double
feed_forward_params(struct sheet *sh, const struct workload *w, const struct block *block, bool active)
{
	if (!block->moe.given)
		return mlp_params(sh, w, block);
	return counted_params(sh, w, block, active ? block->moe.top_k : block->moe.n_experts);
}
