"""Seed document 000: what a padding mask does, how two masks combine, and what a cache saves."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import softmax, vector
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim
from veriformer.spec.worked_examples.shapes import multiplications, shape
from veriformer.spec.worked_examples.verdict import Verdict

_STEP, _D_K = sympy.symbols("t d_k", integer=True, positive=True)
_LOWEST_FLOAT32 = -(sympy.Integer(2) ** 128 - sympy.Integer(2) ** 104)
_PREFIX = shape(_STEP, _D_K)
_LAST_QUERY = shape(1, _D_K)
_KEYS = shape(_D_K, _STEP)


def _stays_a_number_of_the_format(mask: sympy.Expr) -> sympy.Basic:
    """Return whether a mask entry added to itself is −∞ still, or a float32 that is not −∞."""
    return sympy.sympify(mask == -sympy.oo or 2 * mask >= _LOWEST_FLOAT32)


EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_000.padding_exception",
        document="000",
        line=584,
        title="The weight of padding whose column is not set to −∞",
        fragment="(except possibly where you want padding to never be attended at all)",
        printed=claim("never be attended at all", 0),
        exact=softmax(vector("0 0 0 0"))[3],
        verdict=Verdict.WRONG,
        note="Of four equal scores, padding gets its quarter. Never attending to it is what the column is for.",
    ),
    WorkedExample(
        id="seed_000.masks_added",
        document="000",
        line=586,
        title="Whether the sum of two masks is a mask of the same kind",
        fragment="frameworks combine causal and padding masks by addition",
        printed=claim("by addition", sympy.true),
        exact=_stays_a_number_of_the_format(-sympy.oo),
        verdict=Verdict.CONDITIONAL,
        note="Twice the lowest number of float32 overflows to −∞: a row hidden twice over then has no visible key.",
        condition="the hidden entries are −∞, or finite and far from the end of the range",
        otherwise=_stays_a_number_of_the_format(_LOWEST_FLOAT32),
    ),
    WorkedExample(
        id="seed_000.cache_cost",
        document="000",
        line=366,
        title="The power of t in the cost of a decoding step's scores, without and with a cache",
        fragment="from O(t²) to roughly O(t)",
        printed=(claim("O(t²)", 2), claim("O(t)", 1)),
        exact=tuple(sympy.degree(multiplications(queries, _KEYS), _STEP) for queries in (_PREFIX, _LAST_QUERY)),
        verdict=Verdict.CORRECT,
        note="t² d_k multiplications for each head without stored keys, t d_k with them.",
    ),
)
