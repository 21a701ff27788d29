"""Seed document 001: the causal mask, where it is added, and what exchanging words does."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    Matrix,
    additive_causal_mask,
    attention,
    matrix,
    softmax,
)
from veriformer.spec.worked_examples.example import Execution, WorkedExample, boolean, softmax_execution
from veriformer.spec.worked_examples.printed import claim, number, rows
from veriformer.spec.worked_examples.verdict import Verdict

_MASK = additive_causal_mask(4)
_HIDDEN_PAIR = (-sympy.oo, sympy.Integer(0))
_TOKENS = matrix("0", "1")
_SWAPPED = matrix("1", "0")
_EARLIER = "only to earlier positions"


def _self_attention(tokens: Matrix, mask: Matrix | None = None) -> Matrix:
    return attention(tokens, tokens, tokens, mask)


def _leak(mask: sympy.Expr) -> sympy.Expr:
    """Return how far dividing the mask by √64 moves the hidden one of two equal logits."""
    inside, outside = mask / sympy.sqrt(64), mask
    return softmax((sympy.Integer(0), inside))[1] - softmax((sympy.Integer(0), outside))[1]


def _same_outputs(mask: Matrix | None) -> sympy.Basic:
    first, second = _self_attention(_TOKENS, mask), _self_attention(_SWAPPED, mask)
    return sympy.sympify(set(first) == set(second))


_MASKS = (
    WorkedExample(
        id="seed_001.causal_mask",
        document="001",
        line=291,
        title="The causal mask of four tokens",
        fragment=(
            "M = \\begin{bmatrix} 0 & -\\infty & -\\infty & -\\infty \\\\ 0 & 0 & -\\infty & -\\infty \\\\ "
            "0 & 0 & 0 & -\\infty \\\\ 0 & 0 & 0 & 0 \\end{bmatrix}"
        ),
        printed=rows("0 -\\infty -\\infty -\\infty", "0 0 -\\infty -\\infty", "0 0 0 -\\infty", "0 0 0 0"),
        exact=_MASK,
        verdict=Verdict.CORRECT,
        execution=Execution("causal_mask", {"query_length": 4, "key_length": 4}, boolean(_MASK)),
    ),
    WorkedExample(
        id="seed_001.mask_is_lower_triangular",
        document="001",
        line=291,
        title="Whether the additive mask is lower-triangular",
        fragment="mask is lower-triangular",
        printed=claim("lower-triangular", sympy.true),
        exact=sympy.sympify(sympy.Matrix(_MASK).is_lower),
        verdict=Verdict.WRONG,
        note="The allowed set is; M itself is non-zero strictly above the diagonal.",
    ),
    WorkedExample(
        id="seed_001.only_earlier_positions",
        document="001",
        line=258,
        title="How many positions each of four tokens sees",
        fragment="Each position attends only to earlier positions",
        printed=tuple(claim(_EARLIER, position) for position in range(4)),
        exact=tuple(sympy.Integer(row.count(sympy.Integer(0))) for row in _MASK),
        verdict=Verdict.WRONG,
        note="j ≤ i, itself included; with j < i the first row would be empty.",
    ),
    WorkedExample(
        id="seed_001.masked_weight",
        document="001",
        line=293,
        title="The weight of a score of −∞",
        fragment="$-\\infty$ makes softmax output 0 for masked positions",
        printed=number("0"),
        exact=softmax(_HIDDEN_PAIR)[0],
        verdict=Verdict.CORRECT,
        note="Where at least one score of the row is finite.",
        execution=softmax_execution(_HIDDEN_PAIR, softmax(_HIDDEN_PAIR)),
    ),
    WorkedExample(
        id="seed_001.mask_inside_scale",
        document="001",
        line=288,
        title="The mask added before the division by √64",
        fragment="\\frac{QK^T + M}{\\sqrt{d_k}}",
        printed=claim("\\frac{QK^T + M}{\\sqrt{d_k}}", 0),
        exact=_leak(-sympy.oo),
        verdict=Verdict.CONDITIONAL,
        note=(
            "The difference from QKᵀ/√d_k + M in a hidden weight, for two equal logits. "
            "With M = −10 the weight is 0.222700 instead of 0.0000453979."
        ),
        condition="every entry of M is 0 or −∞",
        otherwise=_leak(sympy.Integer(-10)),
    ),
)

_PERMUTATIONS = (
    WorkedExample(
        id="seed_001.permutation_invariance",
        document="001",
        line=163,
        title="Self-attention of two tokens exchanged",
        fragment="Self-attention is permutation-invariant",
        printed=claim("permutation-invariant", sympy.true),
        exact=sympy.sympify(_self_attention(_TOKENS) == _self_attention(_SWAPPED)),
        verdict=Verdict.WRONG,
        note="It is equivariant: exchanging x = (0, 1) exchanges the outputs (1/2, e/(1 + e)).",
    ),
    WorkedExample(
        id="seed_001.exchanged_words",
        document="001",
        line=346,
        title="Whether exchanged words give the same outputs in another order",
        fragment='"dog bites man" = "man bites dog" to the model',
        printed=claim('"dog bites man" = "man bites dog"', sympy.true),
        exact=_same_outputs(None),
        verdict=Verdict.CONDITIONAL,
        note="Under the causal mask x = (0, 1) gives (0, e/(1 + e)) and (1, 0) gives (1, 1/2).",
        condition="there is no causal mask, and outputs are compared without their order",
        otherwise=_same_outputs(additive_causal_mask(2)),
    ),
    WorkedExample(
        id="seed_001.exchanged_words_causal",
        document="001",
        line=346,
        title="Causal self-attention of two tokens",
        fragment='"dog bites man" = "man bites dog"',
        printed=None,
        exact=_self_attention(_TOKENS, additive_causal_mask(2)),
        verdict=Verdict.NOT_GIVEN,
        execution=Execution(
            "scaled_dot_product_attention",
            {**dict.fromkeys(("query", "key", "value"), ((_TOKENS,),)), "is_causal": True},
            ((_self_attention(_TOKENS, additive_causal_mask(2)),),),
        ),
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_MASKS, *_PERMUTATIONS)
