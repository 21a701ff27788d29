"""The backward passes of attention between projections: of one head, and of several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from veriformer.reference.array_types import Array, Bool, Float, Float64
from veriformer.reference.checks import as_grad_output
from veriformer.reference.conventions import CausalAlignment
from veriformer.reference.feed_forward_backward import bias_gradient, matrix_gradient
from veriformer.reference.grouped_query import grouped_query_attention
from veriformer.reference.grouped_query_backward import grouped_query_attention_backward
from veriformer.reference.multi_head import checked_multi_head, merge_heads, project, split_heads
from veriformer.reference.single_head import HasSingleHeadWeights, SingleHeadWeights, checked_single_head
from veriformer.reference.weights import HasMultiHeadWeights, MultiHeadWeights

Queries = Float64[Array, "B H L D"]
Keys = Float64[Array, "B G S D"]
Values = Float64[Array, "B G S Dv"]
Heads = Float64[Array, "B H L Dv"]
# The results of the heads, and the gradients of queries, keys and values, given those of the results.
Attended = tuple[Heads, tuple[Queries, Keys, Values]]
Attend = Callable[[Queries, Keys, Values, Heads], Attended]


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
    seen: dict[str, Any] = {"mask": mask, "is_causal": is_causal, "causal_alignment": causal_alignment}

    def attend(query: Queries, key: Keys, value: Values, grad_heads: Heads) -> Attended:
        gradients = grouped_query_attention_backward(query, key, value, grad_heads, **seen)
        return grouped_query_attention(query, key, value, **seen), gradients

    gradient = as_grad_output(grad_output, x.shape)
    return between_projections_backward(x, context, known, gradient, attend, num_heads, num_kv_heads)


def between_projections_backward(
    x: Float64[Array, "B L E"],
    context: Float64[Array, "B S E"],
    weights: HasMultiHeadWeights,
    gradient: Float64[Array, "B L E"],
    attend: Attend,
    num_heads: int,
    num_kv_heads: int,
) -> tuple[Float64[Array, "B L E"], Float64[Array, "B S E"], MultiHeadWeights]:
    """Trace a gradient back through projections, given what goes on in the heads between them.

    The formulas are those of `multi_head_attention_backward`. `attend` takes queries, keys, values and the gradient of
    the heads' results; it returns these results, and the gradients of the three.

    Shapes: as in `multi_head_attention_backward`.
    Raises: ValueError when a width is not a multiple of its number of heads.
    Source: Vaswani et al. 2017, section 3.2.2, differentiated.
    """
    query = split_heads(project(x, weights.w_q, weights.b_q), num_heads)
    key = split_heads(project(context, weights.w_k, weights.b_k), num_kv_heads)
    value = split_heads(project(context, weights.w_v, weights.b_v), num_kv_heads)
    heads, found = attend(query, key, value, split_heads(np.asarray(gradient @ np.asarray(weights.w_o).T), num_heads))
    above = dict(zip("qkvo", (*map(merge_heads, found), gradient), strict=True))
    below = {"q": x, "k": context, "v": context, "o": merge_heads(heads)}
    matrices = {f"w_{name}": matrix_gradient(below[name], above[name]) for name in below}
    biases: dict[str, Any] = {
        f"b_{name}": None if getattr(weights, f"b_{name}") is None else bias_gradient(one)
        for name, one in above.items()
    }
    back = {name: above[name] @ np.asarray(getattr(weights, f"w_{name}")).T for name in "qkv"}
    return np.asarray(back["q"]), np.asarray(back["k"] + back["v"]), MultiHeadWeights(**matrices, **biases)


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
