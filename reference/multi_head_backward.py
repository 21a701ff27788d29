"""The backward passes of attention between projections: of one head, and of several."""

from __future__ import annotations

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import as_grad_output
from veriformer.reference.conventions import CausalAlignment
from veriformer.reference.feed_forward_backward import bias_gradient, matrix_gradient
from veriformer.reference.grouped_query import grouped_query_attention
from veriformer.reference.grouped_query_backward import grouped_query_attention_backward
from veriformer.reference.multi_head import checked_multi_head, merge_heads, split_heads
from veriformer.reference.single_head import HasSingleHeadWeights, SingleHeadWeights, checked_single_head
from veriformer.reference.weights import HasMultiHeadWeights, MultiHeadWeights


def multi_head_attention_backward(
    x: Float[Array, "B L E"],
    context: Float[Array, "B S E"],
    weights: HasMultiHeadWeights,
    grad_output: Float[Array, "B L E"],
    *,
    num_heads: int,
    num_kv_heads: int | None = None,
    mask: Bool[Array, "#B #H #L #S"] | Bool[Array, "#L #S"] | None = None,
    is_causal: bool = False,
    causal_alignment: CausalAlignment = "top_left",
) -> tuple[Float64[Array, "B L E"], Float64[Array, "B S E"], MultiHeadWeights]:
    """Trace the gradient of a loss from multi-head attention back to its vectors, its context and its weights.

    dheads = dO W_Oᵀ,  dQ, dK, dV = attention_backward(Q, K, V, dheads),  Q = x W_Q + b_Q, K = c W_K + b_K, …
    dx = dQ W_Qᵀ,  dcontext = dK W_Kᵀ + dV W_Vᵀ
    dW_Q = Σ xᵀ dQ,  dW_K = Σ cᵀ dK,  dW_V = Σ cᵀ dV,  dW_O = Σ Concat(heads)ᵀ dO, over all positions
    db_Q = Σ dQ,  db_K = Σ dK = 0,  db_V = Σ dV,  db_O = Σ dO

    In self-attention, where x is the context, the gradient of the sequence is dx + dcontext. The bias of the keys has
    the gradient 0: it adds one number to all logits of a query.

    Shapes: x and grad_output (B, L, E), context (B, S, E), weights as in `MultiHeadWeights`, mask broadcastable to
    (B, H, L, S); to (B, L, E), (B, S, E) and a record of the weights' shapes, None where there is no bias.
    Raises: ValueError as `multi_head_attention` does, and when grad_output has not the shape of x.
    Source: Vaswani et al. 2017, section 3.2.2; Dao et al. 2022, appendix B.2, for attention.
    Conventions: those of `scaled_dot_product_attention_backward`; empty_row is zeros.
    """
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    x, context, known = checked_multi_head(x, context, weights, num_heads, num_kv_heads)
    gradient = as_grad_output(grad_output, x.shape)
    query = split_heads(_projected(x, known.w_q, known.b_q), num_heads)
    key = split_heads(_projected(context, known.w_k, known.b_k), num_kv_heads)
    value = split_heads(_projected(context, known.w_v, known.b_v), num_kv_heads)
    seen = {"mask": mask, "is_causal": is_causal, "causal_alignment": causal_alignment}
    heads = merge_heads(grouped_query_attention(query, key, value, **seen))  # type: ignore[arg-type]
    grad_heads = split_heads(np.asarray(gradient @ known.w_o.T), num_heads)
    grad_query, grad_key, grad_value = (
        merge_heads(one)
        for one in grouped_query_attention_backward(query, key, value, grad_heads, **seen)  # type: ignore[arg-type]
    )
    of_biases = {"b_q": grad_query, "b_k": grad_key, "b_v": grad_value, "b_o": gradient}
    grad_weights = MultiHeadWeights(
        w_q=matrix_gradient(x, grad_query),
        w_k=matrix_gradient(context, grad_key),
        w_v=matrix_gradient(context, grad_value),
        w_o=matrix_gradient(heads, gradient),
        **{name: None if getattr(known, name) is None else bias_gradient(one) for name, one in of_biases.items()},
    )
    grad_context = np.asarray(grad_key @ known.w_k.T + grad_value @ known.w_v.T)
    return np.asarray(grad_query @ known.w_q.T), grad_context, grad_weights


def single_head_attention_backward(
    x: Float[Array, "B L E"],
    weights: HasSingleHeadWeights,
    grad_output: Float[Array, "B L Dv"],
    *,
    mask: Bool[Array, "#B #L #L"] | Bool[Array, "#L #L"] | None = None,
) -> tuple[Float64[Array, "B L E"], SingleHeadWeights]:
    """Trace the gradient of a loss from attention of one head back to its sequence and its projections.

    dQ, dK, dV = attention_backward(x W_Q, x W_K, x W_V, dO)
    dx = dQ W_Qᵀ + dK W_Kᵀ + dV W_Vᵀ
    dW_Q = Σ xᵀ dQ,  dW_K = Σ xᵀ dK,  dW_V = Σ xᵀ dV, over all positions

    Shapes: x (B, L, E), weights as in `SingleHeadWeights`, grad_output (B, L, Dv), mask (L, L) or of rank 3,
    broadcastable to (B, L, L); to (B, L, E) and a record of the weights' shapes.
    Raises: ValueError as `single_head_attention` does, and when grad_output has not the output's shape.
    Source: Vaswani et al. 2017, sections 3.2.1 and 3.2.2; Dao et al. 2022, appendix B.2, for attention.
    Conventions: those of `scaled_dot_product_attention_backward`; empty_row is zeros.
    """
    x, known, of_heads = checked_single_head(x, weights, mask)
    gradient = as_grad_output(grad_output, (*x.shape[:2], known.w_v.shape[1]))
    query, key, value = ((x @ weight)[:, None] for weight in (known.w_q, known.w_k, known.w_v))
    grad_query, grad_key, grad_value = (
        one[:, 0] for one in grouped_query_attention_backward(query, key, value, gradient[:, None], mask=of_heads)
    )
    grad_x = grad_query @ known.w_q.T + grad_key @ known.w_k.T + grad_value @ known.w_v.T
    grad_weights = SingleHeadWeights(*(matrix_gradient(x, one) for one in (grad_query, grad_key, grad_value)))
    return np.asarray(grad_x), grad_weights


def _projected(
    x: Float64[Array, "B L n"], weight: Float64[Array, "n m"], bias: Float64[Array, " m"] | None
) -> Float64[Array, "B L m"]:
    return np.asarray(x @ weight if bias is None else x @ weight + bias)
