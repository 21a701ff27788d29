"""Seed document 001: sinusoidal positions, and the dimensions that it quotes."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import matrix, product, scale, sinusoids, softmax, transpose
from veriformer.spec.worked_examples.example import Execution, WorkedExample
from veriformer.spec.worked_examples.printed import claim, number, numbers, rows
from veriformer.spec.worked_examples.shapes import product_shape, shape
from veriformer.spec.worked_examples.verdict import Verdict

_POSITIONS = range(5)
_TABLE = sinusoids(_POSITIONS, 4)
_WIDE_TABLE = tuple(row[:4] for row in sinusoids(_POSITIONS, 512))
_WIDTH = sympy.Integer(512)
_HEADS = sympy.Integer(8)
_QUERY = matrix("2 2 2 2")
_LOGITS = scale(product(_QUERY, transpose((*_QUERY, *matrix("-2 -2 -2 -2")))), sympy.Rational(1, 2))[0]


def _attention_parameters(heads: sympy.Expr, head_width: sympy.Expr) -> sympy.Expr:
    """Return the number of weights of W_Q, W_K, W_V for every head and of W_O."""
    return 3 * heads * _WIDTH * head_width + heads * head_width * _WIDTH


_FULL_HEAD = _attention_parameters(sympy.Integer(1), _WIDTH)
_NARROW_HEAD = _attention_parameters(sympy.Integer(1), _WIDTH / _HEADS)
_MULTI_HEAD = _attention_parameters(_HEADS, _WIDTH / _HEADS)

_SINUSOIDS = (
    WorkedExample(
        id="seed_001.sinusoids",
        document="001",
        line=207,
        title="Sinusoidal encoding of the first five positions",
        fragment=(
            "Position Dim 0 (sin) Dim 1 (cos) Dim 2 (sin) Dim 3 (cos)\n0 0.000 1.000 0.000 1.000\n"
            "1 0.841 0.540 0.010 1.000\n2 0.909 -0.416 0.020 1.000\n3 0.141 -0.990 0.030 1.000\n"
            "4 -0.757 -0.654 0.040 0.999"
        ),
        printed=rows(
            "0.000 1.000 0.000 1.000",
            "0.841 0.540 0.010 1.000",
            "0.909 -0.416 0.020 1.000",
            "0.141 -0.990 0.030 1.000",
            "-0.757 -0.654 0.040 0.999",
        ),
        exact=_TABLE,
        verdict=Verdict.CONDITIONAL,
        note="The document does not say which width; at its own 512 the table's last two columns are others.",
        condition="d_model = 4",
        otherwise=_WIDE_TABLE,
        execution=Execution(
            "sinusoidal_positions",
            {"length": 5, "d_model": 4},
            _TABLE,
            {"sinusoidal_layout": "interleaved"},
        ),
    ),
    WorkedExample(
        id="seed_001.last_frequency_index",
        document="001",
        line=173,
        title="The last frequency index at width 512",
        fragment="$i$ = dimension index (0 to $d_{model}/2$)",
        printed=claim("$d_{model}/2$", _WIDTH / 2),
        exact=sympy.Integer(len(range(0, 512, 2)) - 1),
        verdict=Verdict.WRONG,
        note="The index runs from 0 to d_model/2 − 1.",
    ),
)

_WAVES = (
    WorkedExample(
        id="seed_001.saturated_though_scaled",
        document="001",
        line=49,
        title="Scaled logits of (2, 2, 2, 2) with its like and its opposite, and the slope of softmax",
        fragment="$\\sqrt{d_k}$ = scaling factor to prevent softmax saturation",
        printed=None,
        exact=(*_LOGITS, sympy.Mul(*softmax(_LOGITS))),
        verdict=Verdict.NOT_GIVEN,
        note="The components have the variance 4: the logits' deviation grows with it, whatever √d_k divides them by.",
    ),
    WorkedExample(
        id="seed_001.wavelengths",
        document="001",
        line=179,
        title="The wavelengths of the first and the last pair at width 512",
        fragment="Low dimensions: rapid oscillation (capture local position)",
        printed=None,
        exact=tuple(2 * sympy.pi * sympy.Integer(10000) ** sympy.Rational(pair, 256) for pair in (0, 255)),
        verdict=Verdict.NOT_GIVEN,
    ),
)

_DIMENSIONS = (
    WorkedExample(
        id="seed_001.projected_shape",
        document="001",
        line=69,
        title="Shape of the projected queries of three words",
        fragment=(
            '• Input: "The cat sat" → 3 tokens × 512 dimensions\n'
            "• $W^Q$: $512 \\times 64$ (projects to smaller query space)\n"
            "• Result: $Q, K, V$ all have shape $3 \\times 64$"
        ),
        printed=numbers("3 64"),
        exact=product_shape(shape(3, 512), shape(512, 64)),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_001.head_width",
        document="001",
        line=121,
        title="Head width of 512 in 8 heads",
        fragment=(
            "• Model dimension $d_{model} = 512$ (typical)\n• Number of heads $h = 8$\n"
            "• Each head dimension: $d_k = d_v = d_{model} / h = 64$"
        ),
        printed=number("64"),
        exact=_WIDTH / _HEADS,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_001.parameter_ratio",
        document="001",
        line=124,
        title="Parameters of 8 heads beside those of one",
        fragment="Total parameters same as single-head",
        printed=claim("same as single-head", 1),
        exact=_MULTI_HEAD / _FULL_HEAD,
        verdict=Verdict.CONDITIONAL,
        note="4·512² = 1,048,576 both; a single head of width 64 has 131,072.",
        condition="the single head is as wide as the model and has an output projection",
        otherwise=_MULTI_HEAD / _NARROW_HEAD,
    ),
    WorkedExample(
        id="seed_001.position_parameters",
        document="001",
        line=201,
        title="Parameters of GPT-3's learned positions",
        fragment="2048 positions × 12288 dims = 25M parameters",
        printed=number("25M"),
        exact=sympy.Integer(2048) * 12288,
        verdict=Verdict.ROUNDED,
    ),
    WorkedExample(
        id="seed_001.feed_forward_width",
        document="001",
        line=310,
        title="The hidden width of the feed-forward network",
        fragment="$d_{model} = 512 \\rightarrow d_{ff} = 2048 \\rightarrow d_{model} = 512$",
        printed=number("2048"),
        exact=4 * _WIDTH,
        verdict=Verdict.CORRECT,
        note="By the document's d_ff = 4 × d_model.",
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_WAVES, *_SINUSOIDS, *_DIMENSIONS)
