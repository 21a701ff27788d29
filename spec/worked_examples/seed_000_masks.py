"""Seed document 000: worked example 3 (the causal mask) and what it says about masks and permutations."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    add,
    additive_causal_mask,
    attention,
    matrix,
    softmax,
    transpose,
    vector,
)
from veriformer.spec.worked_examples.example import Execution, WorkedExample, boolean, softmax_execution
from veriformer.spec.worked_examples.printed import claim, number, numbers, rows
from veriformer.spec.worked_examples.verdict import Verdict

_MASK = additive_causal_mask(4)
_PADDING_ROW = (*vector("0 0 0"), -sympy.oo)
_COMBINED = add(_MASK, (_PADDING_ROW,) * 4)
_HIDDEN_PAIR = (sympy.Integer(0), -sympy.oo)
_AFTER_SOFTMAX = (softmax(vector("0 0"))[0], sympy.Integer(0))
_RENORMALISED = tuple(weight / sum(_AFTER_SOFTMAX) for weight in _AFTER_SOFTMAX)
_TOKENS = matrix("0", "1")
_SWAPPED = matrix("1", "0")
_IS_INVARIANT = attention(_SWAPPED, _SWAPPED, _SWAPPED) == attention(_TOKENS, _TOKENS, _TOKENS)
_LITERAL = (sympy.exp(-sympy.oo), sympy.exp(0))

_CAUSAL = (
    WorkedExample(
        id="seed_000.visible_positions",
        document="000",
        line=556,
        title="Which positions each of four tokens can see",
        fragment=(
            "i=1: can see [1]\n\n    i=2: can see [1,2]\n\n    i=3: can see [1,2,3]\n\n    i=4: can see [1,2,3,4]"
        ),
        printed=rows("1", "1 2", "1 2 3", "1 2 3 4"),
        exact=tuple(tuple(sympy.Integer(j + 1) for j, entry in enumerate(row) if entry == 0) for row in _MASK),
        verdict=Verdict.CORRECT,
        note="Positions count from 1 here and from 0 in the interface.",
    ),
    WorkedExample(
        id="seed_000.causal_mask",
        document="000",
        line=566,
        title="The causal mask of four tokens",
        fragment=("M =\n\n    [[ 0, −∞, −∞, −∞],\n\n    [ 0, 0, −∞, −∞],\n\n    [ 0, 0, 0, −∞],\n\n    [ 0, 0, 0, 0]]"),
        printed=rows("0 −∞ −∞ −∞", "0 0 −∞ −∞", "0 0 0 −∞", "0 0 0 0"),
        exact=_MASK,
        verdict=Verdict.CORRECT,
        execution=Execution("causal_mask", {"query_length": 4, "key_length": 4}, boolean(_MASK)),
    ),
    WorkedExample(
        id="seed_000.softmax_of_exponential",
        document="000",
        line=580,
        title="Why a masked score gets no weight",
        fragment="Because softmax(exp(−∞)) = 0",
        printed=number("0"),
        exact=softmax(_LITERAL)[0],
        verdict=Verdict.WRONG,
        note=(
            "exp(−∞) = 0 is the numerator, so the weight is 0. The softmax of that exponential beside the one of "
            "a score 0 is 1/(1 + e), not 0."
        ),
        execution=softmax_execution(_LITERAL, softmax(_LITERAL)),
    ),
    WorkedExample(
        id="seed_000.large_negative_mask",
        document="000",
        line=156,
        title="A very negative number instead of −∞",
        fragment="adding −∞ (or a very negative number) to disallowed positions",
        printed=claim("−∞ (or a very negative number)", 0),
        exact=softmax(_HIDDEN_PAIR)[1],
        verdict=Verdict.CONDITIONAL,
        note="A finite M lets e^M of an equal logit's weight through; M = −10 is shown.",
        condition="the mask is −∞",
        otherwise=softmax(vector("0 -10"))[1],
    ),
    WorkedExample(
        id="seed_000.mask_before_softmax",
        document="000",
        line=372,
        title="Masking after softmax, for two equal logits",
        fragment="masks must be added before softmax",
        printed=claim("must be added before softmax", sympy.true),
        exact=sympy.sympify(softmax(_HIDDEN_PAIR) != _AFTER_SOFTMAX),
        verdict=Verdict.CONDITIONAL,
        note="Zeroed after softmax, the row sums to 1/2; divided by its sum again, it equals the masked row.",
        condition="the zeroed weights are not renormalised",
        otherwise=sympy.sympify(softmax(_HIDDEN_PAIR) != _RENORMALISED),
    ),
)

_PADDING = (
    WorkedExample(
        id="seed_000.padding_column",
        document="000",
        line=584,
        title="The mask's fourth column where the fourth token is padding",
        fragment="If token 4 were padding, you would also set the entire column j=4 to −∞",
        printed=numbers("−∞ −∞ −∞ −∞"),
        exact=transpose(_COMBINED)[3],
        verdict=Verdict.CORRECT,
        note="The document's exception is backwards: never attending to padding is what the column is for.",
    ),
    WorkedExample(
        id="seed_000.padding_mask",
        document="000",
        line=584,
        title="The padding mask of three tokens in four places",
        fragment="If token 4 were padding",
        printed=None,
        exact=_PADDING_ROW,
        verdict=Verdict.NOT_GIVEN,
        execution=Execution("padding_mask", {"lengths": (3,), "max_length": 4}, boolean((_PADDING_ROW,))),
    ),
    WorkedExample(
        id="seed_000.combined_mask",
        document="000",
        line=586,
        title="Causal and padding mask combined by addition",
        fragment="frameworks combine causal and padding masks by addition",
        printed=None,
        exact=_COMBINED,
        verdict=Verdict.NOT_GIVEN,
        note="With −∞ the sum is the intersection. Two finite sentinels of −(largest float) overflow instead.",
    ),
    WorkedExample(
        id="seed_000.permutation_invariance",
        document="000",
        line=382,
        title="Self-attention of two tokens exchanged",
        fragment="Self-attention is permutation-invariant without positional signals",
        printed=claim("permutation-invariant", sympy.true),
        exact=sympy.sympify(_IS_INVARIANT),
        verdict=Verdict.WRONG,
        note="It is equivariant: exchanging x = (0, 1) exchanges the outputs (1/2, e/(1 + e)).",
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_CAUSAL, *_PADDING)
