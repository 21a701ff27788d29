"""The gradients of grouped-query attention, which its backward pass returns."""

from __future__ import annotations

from veriformer.spec.operations.attention import GROUPED_QUERY_ATTENTION
from veriformer.spec.operations.attention_backward import SCALED_DOT_PRODUCT_ATTENTION_BACKWARD
from veriformer.spec.operations.gradients import backward_of

GROUPED_QUERY_ATTENTION_BACKWARD = backward_of(
    GROUPED_QUERY_ATTENTION,
    ("query", "key", "value"),
    summary="The gradients of a loss with respect to queries and shared keys and values, given that of the output.",
    formula="dQ_h, dK_h, dV_h = attention_backward(Q_h, K_g, V_g, dO_h) with g = h // (H // G); "
    "dK_g = Σ_(h in g) dK_h, dV_g = Σ_(h in g) dV_h",
    source="Ainslie et al. 2023, section 2.2, by the chain rule",
    features=SCALED_DOT_PRODUCT_ATTENTION_BACKWARD.features,
    conventions=(*SCALED_DOT_PRODUCT_ATTENTION_BACKWARD.conventions, "kv_grouping"),
)

OPERATIONS = (GROUPED_QUERY_ATTENTION_BACKWARD,)
