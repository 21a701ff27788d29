"""Laws of the gradients of grouped-query attention."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.attention import AINSLIE
from veriformer.spec.laws.attention_backward import (
    BACKWARD_LAWS,
    DERIVATION,
    EQUAL_SHARES,
    HEAD_INDEPENDENCE,
    KEYS_SUM,
    SINGLE_KEY,
    VALUES_SUM,
)
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.grouped_query_backward import GROUPED_QUERY_ATTENTION_BACKWARD

_SHARED = (
    "Heads that share a value add up their gradients",
    "Heads that share a key add up their gradients",
)
REPEATED_HEADS = Property(
    key="repeated_heads",
    statement="The gradients of a shared key/value head are the sums of those of its copies, one for each query head.",
    formula="dK[g], dV[g] = Σ_(h in g) of g(Q, repeat(K, H/G), repeat(V, H/G), dO); dQ is the same",
    source=f"{AINSLIE}, by the chain rule: every use of a head adds its gradient",
    derivation=DERIVATION,
    steps=_SHARED,
    conventions=("kv_grouping",),
)
ONE_HEAD_EACH = Property(
    key="one_head_each",
    statement="With as many key/value heads as query heads the gradients are those of plain attention.",
    formula="G = H: g(Q, K, V, dO) = attention_backward(Q, K, V, dO)",
    source=AINSLIE,
    derivation="grouped_query",
    steps=("As many groups as heads: head h reads head h",),
)
SHARED_HEAD = Property(
    key="shared_head",
    statement="A single key/value head gets the sum of the gradients of all query heads.",
    formula="G = 1: dK[0] = Σ_h dK_h, dV[0] = Σ_h dV_h",
    source="Shazeer 2019 (multi-query attention), by the chain rule",
    derivation=DERIVATION,
    steps=_SHARED,
)

# What plain attention says of a head is true here of a group: its query heads and the one head that they share.
_OF_A_GROUP = (
    replace(
        SINGLE_KEY,
        statement="With a single key its value gets the whole gradient of its group, and query and key get none.",
        formula="S = 1: dQ = 0, dK = 0, dV[g] = Σ_(h in g) Σ_i dO[h, i]",
    ),
    replace(KEYS_SUM, formula="Σ_j dK[g, j] = s Σ_(h in g) Σ_i (Σ_j dS[h, i, j]) Q[h, i] = 0"),
    replace(
        VALUES_SUM,
        statement="The gradients of the values sum to those of the outputs of their group.",
        formula="Σ_j dV[g, j] = Σ_(h in g) Σ_i dO[h, i]",
    ),
    replace(EQUAL_SHARES, formula="Σ_(h in g) Σ_i Q[h, i] · dQ[h, i] = Σ_j K[g, j] · dK[g, j]"),
    replace(
        HEAD_INDEPENDENCE,
        statement="The gradients of a group of heads do not depend on the other groups.",
        formula="g(inputs)[:, group] is the same for every inputs[:, group′], group′ ≠ group",
    ),
)


def _of_groups(properties: tuple[Property, ...]) -> tuple[Property, ...]:
    """Return properties of the gradients of attention, those of a head in words about a group."""
    told = {one.key: one for one in _OF_A_GROUP}
    return tuple(told.get(one.key, one) for one in properties)


LAWS = state(
    (REPEATED_HEADS, ONE_HEAD_EACH, SHARED_HEAD, *_of_groups(BACKWARD_LAWS)),
    GROUPED_QUERY_ATTENTION_BACKWARD,
)
