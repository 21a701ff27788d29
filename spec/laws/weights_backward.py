"""Laws of the gradients of attention's weights, most of which attention's own gradients have too."""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.attention_backward import (
    ALL_TOGETHER,
    BACKWARD_LAWS,
    BATCH_INDEPENDENCE,
    BIAS_VALUE,
    CAUSAL_EMPTY_ROW,
    DERIVATION,
    EMPTY_ROW,
    EQUAL_VALUES,
    FAINT_KEY,
    FUTURE,
    GRAD_KEY,
    GRAD_QUERY,
    GRAD_VALUE,
    HEAD_INDEPENDENCE,
    KEY_PERMUTATION,
    LARGE_LOGITS,
    MANY_KEYS,
    MASK_VALUE,
    MASKED_CONTENT,
    MASKED_KEYS,
    QUERY_PERMUTATION,
    SINGLE_KEY,
    SINKS_VALUE,
    VALUE_WIDTH,
    VALUES_SUM,
    WINDOW_BEYOND,
    WINDOW_VALUE,
)
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.softmax_backward import EQUAL
from veriformer.spec.operations.weights_backward import ATTENTION_WEIGHTS_BACKWARD

_LOGITS = "The gradient of the logits by that of the weights alone"
_ROW = "Every row of dS sums to 0"
_UNSEEN = "A masked logit has no gradient"

EQUAL_GRADIENTS = replace(
    EQUAL,
    statement="If all weights of a query have the same gradient, neither the query nor a key has one by them.",
    formula="dO[i, j] = c_i for all j: dQ = 0 and dK = 0",
    derivation=DERIVATION,
    steps=("Equal gradients of a query's weights give its logits none",),
)
MASKED_GRADIENT = Property(
    key="mask.masked_gradient",
    statement="The gradient of a masked weight changes nothing.",
    formula="mask[i, j] False: dQ and dK are the same for every finite dO[i, j]",
    source="P[i, j] = 0 is a factor of every term with dO[i, j]: the weight is a constant",
    derivation=DERIVATION,
    steps=("The gradient of a masked weight does not matter",),
    features=("mask",),
)

# All about the values of attention.
_OF_VALUES = (GRAD_VALUE, VALUE_WIDTH, FAINT_KEY, EQUAL_VALUES, VALUES_SUM)
_WITHOUT_VALUES = (
    replace(
        GRAD_QUERY,
        formula="dQ = s · dS K, dS = P ∘ (dO − rowsum(P ∘ dO)), s = 1/√D",
        steps=("The gradient of the queries: dQ = σ dS K", _LOGITS),
    ),
    replace(
        GRAD_KEY,
        formula="dK = s · dSᵀ Q, dS = P ∘ (dO − rowsum(P ∘ dO)), s = 1/√D",
        steps=("The gradient of the keys: dK = σ dSᵀ Q", _LOGITS),
    ),
    replace(LARGE_LOGITS, formula="|logits| > 88: dQ and dK are finite and equal the formula"),
    replace(
        MANY_KEYS,
        statement="Hundreds of equal keys give a query no gradient, whatever the gradients of its weights are.",
    ),
    replace(
        SINGLE_KEY,
        statement="With a single key neither it nor the queries have a gradient.",
        formula="S = 1: dQ = 0, dK = 0",
        steps=(_ROW,),
    ),
    replace(MASK_VALUE, formula="dS with P = softmax over the visible keys, 0 elsewhere", steps=(_LOGITS,)),
    replace(
        MASKED_KEYS,
        statement="A key that no query may see has no gradient.",
        formula="mask[:, j] False: dK[j] = 0",
        source="P[:, j] = 0 is a factor of it",
        steps=("A key hidden from every query has no gradient",),
    ),
    replace(
        MASKED_CONTENT,
        statement="The finite contents of a masked key change no gradient.",
        formula="mask[:, j] False: dQ and dK are the same for every K[j]",
        source="P[:, j] = 0 is a factor of every term with K[j]",
        steps=("The content of a masked key does not matter",),
    ),
    replace(EMPTY_ROW, formula="empty_row zeros, no visible j: dQ[i] = 0, and dK is that without row i"),
    replace(
        FUTURE,
        statement="Under the causal flag a loss on the weights of earlier queries sends no gradient to later keys.",
        formula="dO[i] = 0 for i ≥ n: dK[j] = 0 for every j that no i < n sees",
        steps=("With a causal mask a loss on a prefix sends no gradient to later keys",),
    ),
    replace(
        CAUSAL_EMPTY_ROW,
        formula="bottom_right, i + S − L < 0, empty_row zeros: dQ[i] = 0, and dK is that without row i",
    ),
    replace(
        BATCH_INDEPENDENCE,
        steps=("No dependence on queries of another batch entry", "No dependence on keys of another batch entry"),
    ),
    replace(
        HEAD_INDEPENDENCE,
        steps=("No dependence on queries of another head", "No dependence on keys of another head"),
    ),
    replace(QUERY_PERMUTATION, formula="g(P Q, K, P dO) = (P dQ, dK)"),
    replace(
        KEY_PERMUTATION,
        statement="Reordering keys and the gradients of their weights together only reorders the keys' gradients.",
        formula="g(Q, P K, dO Pᵀ) = (dQ, P dK)",
    ),
    replace(BIAS_VALUE, formula="dS with P = softmax(s Q Kᵀ + bias)", steps=(_LOGITS, _UNSEEN)),
    replace(
        WINDOW_VALUE, formula="dS with P = softmax over i − left ≤ j ≤ i + right, 0 elsewhere", steps=(_LOGITS, _UNSEEN)
    ),
    replace(
        WINDOW_BEYOND,
        statement="A loss on the weights of queries whose windows begin later sends no gradient to earlier keys.",
        formula="dO[i] = 0 for every i whose window has key j: dK[j] = 0",
    ),
    replace(SINKS_VALUE, formula="dS with P_ij = e^(z_ij) / (e^(σ_h) + Σ_j' e^(z_ij'))"),
    replace(ALL_TOGETHER, formula="dS with P = softmax([cap(s q·k) + bias where mask and window show the key, σ])"),
)


def _of_weights() -> tuple[Property, ...]:
    """Return the properties of the gradients of attention that need no values, in words about weights."""
    told = {one.key: one for one in _WITHOUT_VALUES}
    return tuple(told.get(one.key, one) for one in BACKWARD_LAWS if one not in _OF_VALUES)


LAWS = state((*_of_weights(), EQUAL_GRADIENTS, MASKED_GRADIENT), ATTENTION_WEIGHTS_BACKWARD)
