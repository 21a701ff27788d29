"""Seed document 002: layer normalisation, powers, positions and counts."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    Vector,
    additive_causal_mask,
    dot,
    layer_norm,
    sinusoids,
    vector,
)
from veriformer.spec.worked_examples.example import Execution, WorkedExample
from veriformer.spec.worked_examples.printed import claim, number, numbers
from veriformer.spec.worked_examples.verdict import Verdict

_EPS = sympy.Rational(1, 100_000)
_X = sympy.Symbol("x", real=True)
_WIDTH = sympy.Integer(512)
_P0, _P3, _P5, _P8 = sinusoids((0, 3, 5, 8), 4)


def _normalised(name: str, line: int, fragment: str, entries: str, note: str) -> WorkedExample:
    """Return the example of one token that the document lists as a reason to normalise."""
    token = vector(entries)
    result: Vector = layer_norm(token, _EPS)
    return WorkedExample(
        id=f"seed_002.layer_norm_of_{name}",
        document="002",
        line=line,
        title=f"Layer normalisation of {name}, with ε = 10⁻⁵",
        fragment=fragment,
        printed=None,
        exact=result,
        verdict=Verdict.NOT_GIVEN,
        note=note,
        execution=Execution(
            "layer_norm",
            {"x": (token,), "gamma": vector("1 1 1"), "beta": vector("0 0 0"), "eps": _EPS},
            (result,),
            {"layer_norm_eps": "inside_root"},
        ),
    )


_TOKENS = (
    _normalised(
        "token_1",
        195,
        "token_1 = [0.001, 0.002, 0.003] # Tiny numbers",
        "0.001 0.002 0.003",
        "ε outweighs the variance: the token comes out as ±√6/8, a quarter of ±√(3/2).",
    ),
    _normalised("token_2", 196, "token_2 = [1000, 2000, 3000] # Huge numbers", "1000 2000 3000", "Close to ±√(3/2)."),
    _normalised("token_3", 197, "token_3 = [-500, 800, -200] # Mixed scales", "-500 800 -200", ""),
)

_COUNTS = (
    WorkedExample(
        id="seed_002.previous_tokens",
        document="002",
        line=12,
        title="How many tokens the fourth token sees in a decoder",
        fragment="n token only pays attention to n-1 tokens, previous ones",
        printed=claim("n-1 tokens", 3),
        exact=sympy.Integer(additive_causal_mask(4)[3].count(sympy.Integer(0))),
        verdict=Verdict.WRONG,
        note="Tokens 1 … n, itself included.",
    ),
    WorkedExample(
        id="seed_002.square_is_positive",
        document="002",
        line=239,
        title="Whether x² is positive at x = 0",
        fragment="x^2\nis always postive",
        printed=claim("always postive", sympy.true),
        exact=(_X**2).subs(_X, 0) > sympy.Integer(0),
        verdict=Verdict.WRONG,
        note="x² ≥ 0, and 0 at 0.",
    ),
    WorkedExample(
        id="seed_002.square_gradient",
        document="002",
        line=241,
        title="The slope of x² at x = 0",
        fragment=", at x=0\n, gradient=0",
        printed=number("0"),
        exact=sympy.diff(_X**2, _X).subs(_X, 0),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.head_reduction",
        document="002",
        line=276,
        title="Head width beside model width, for 8 heads of 512",
        fragment="1/8th dimensionality reduction",
        printed=number("1/8"),
        exact=_WIDTH / 8 / _WIDTH,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.projection_sizes",
        document="002",
        line=282,
        title="Sizes of a narrow and of a full projection",
        fragment="compute just grows absurdly, exponentially. (51264, to 512512)",
        printed=numbers("51264 512512"),
        exact=(_WIDTH * 64, _WIDTH * _WIDTH),
        verdict=Verdict.WRONG,
        note="512·64 and 512·512 lost their signs. The growth is the factor 8 of the heads: linear.",
    ),
    WorkedExample(
        id="seed_002.concatenated_head_width",
        document="002",
        line=380,
        title="Width of eight concatenated heads",
        fragment="dim = [1, 100, 16+16+16+16+16+16+16+16]\n- Final output is\n[1, 100, 128]",
        printed=number("128"),
        exact=sympy.Add(*(sympy.Integer(16) for _ in range(8))),
        verdict=Verdict.CORRECT,
    ),
)

_DISTANCES = (
    WorkedExample(
        id="seed_002.equal_distance",
        document="002",
        line=410,
        title="Positions 5 and 8 beside 0 and 3",
        fragment=("3 positions apart would have a consistent math relationship as if they were index 0 and 3"),
        printed=claim("consistent math relationship", dot(_P0, _P3)),
        exact=dot(_P5, _P8),
        verdict=Verdict.CORRECT,
        note="p₅ · p₈ = p₀ · p₃ = cos 3 + cos 3/100 at width 4.",
    ),
    WorkedExample(
        id="seed_002.distance_sign",
        document="002",
        line=411,
        title="|8 − 11| and 5 − 8",
        fragment="abs\n(token_n.idx8-token_m.idx11)\n= (token_n.idx5-token_m.idx8)",
        printed=claim("(token_n.idx8-token_m.idx11)", abs(sympy.Integer(8) - 11)),
        exact=sympy.Integer(5) - 8,
        verdict=Verdict.WRONG,
        note="The right side misses its absolute value.",
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_TOKENS, *_COUNTS, *_DISTANCES)
