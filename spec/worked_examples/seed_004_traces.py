"""Seed document 004: its shapes, from the embedding to the feed-forward network."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim
from veriformer.spec.worked_examples.shapes import (
    attention_shape,
    concatenated_shape,
    product_shape,
    shape,
    transposed_shape,
)
from veriformer.spec.worked_examples.verdict import Verdict

_N, _D, _D_K, _D_V, _D_FF, _HEADS = sympy.symbols("n d d_k d_v d_ff H", integer=True, positive=True)
_VOCABULARY = sympy.Symbol("V", integer=True, positive=True)
# Letters that the document prints where it has defined others.
_LARGE_D_K, _LARGE_D_V, _SMALL_H = sympy.symbols("d_K d_V h", integer=True, positive=True)
_TOKENS = shape(_N, _D)
_QUERY = product_shape(_TOKENS, shape(_D, _D_K))
_VALUE = product_shape(_TOKENS, shape(_D, _D_V))
_SCORES = product_shape(_QUERY, transposed_shape(_QUERY))
_OUTPUT = attention_shape(_QUERY, _QUERY, _VALUE)
_CONCATENATED = concatenated_shape(_OUTPUT, _HEADS)
_COLUMN = shape(_D, 1)
_FIRST_MATRIX = shape(_D_FF, _D)
_HIDDEN = product_shape(_FIRST_MATRIX, _COLUMN)
_N_ROWS = claim("n", _N)

_ATTENTION = (
    WorkedExample(
        id="seed_004.embedding_shape",
        document="004",
        line=78,
        title="Width of an embedded token",
        fragment="e_i = E[x_i] \\in \\mathbb{R}^d",
        printed=claim("d", _D),
        exact=product_shape(shape(1, _VOCABULARY), shape(_VOCABULARY, _D))[-1],
        verdict=Verdict.CORRECT,
        note="A lookup is the product of a one-hot row and the table.",
    ),
    WorkedExample(
        id="seed_004.query_shape",
        document="004",
        line=144,
        title="Shape of the queries",
        fragment="Q \\in \\mathbb{R}^{n \\times d_K}",
        printed=(_N_ROWS, claim("d_K", _LARGE_D_K)),
        exact=_QUERY,
        verdict=Verdict.WRONG,
        note="W^Q has d_k columns; there is no d_K.",
    ),
    WorkedExample(
        id="seed_004.key_and_value_shapes",
        document="004",
        line=144,
        title="Shapes of keys and values",
        fragment="K \\in \\mathbb{R}^{n \\times d_k}, \\quad V \\in \\mathbb{R}^{n \\times d_v}",
        printed=((_N_ROWS, claim("d_k", _D_K)), (_N_ROWS, claim("d_v", _D_V))),
        exact=(_QUERY, _VALUE),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_004.score_shape",
        document="004",
        line=150,
        title="Shape of the similarity matrix",
        fragment="S = \\frac{QK^{\\top}}{\\sqrt{d_k}} \\in \\mathbb{R}^{n \\times n}.",
        printed=(_N_ROWS, _N_ROWS),
        exact=_SCORES,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_004.output_shape",
        document="004",
        line=162,
        title="Shape of the output matrix",
        fragment="Z = AV \\in \\mathbb{R}^{n \\times d_v}.",
        printed=(_N_ROWS, claim("d_v", _D_V)),
        exact=_OUTPUT,
        verdict=Verdict.CORRECT,
    ),
)

_HEADS_TOGETHER = (
    WorkedExample(
        id="seed_004.head_output_shape",
        document="004",
        line=219,
        title="Shape of the output of a head",
        fragment="Z_h = \\operatorname{Attention}(Q_h, K_h, V_h) \\in \\mathbb{R}^{n \\times d_V}.",
        printed=(_N_ROWS, claim("d_V", _LARGE_D_V)),
        exact=_OUTPUT,
        verdict=Verdict.WRONG,
        note="W_h^V has d_v columns; there is no d_V.",
    ),
    WorkedExample(
        id="seed_004.concatenated_shape",
        document="004",
        line=225,
        title="Shape of the concatenated heads",
        fragment="\\in \\mathbb{R}^{n \\times Hd_v}.",
        printed=(_N_ROWS, claim("Hd_v", _HEADS * _D_V)),
        exact=_CONCATENATED,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_004.last_head",
        document="004",
        line=225,
        title="How many heads are concatenated",
        fragment="[Z_1 \\mid Z_2 \\mid \\dots \\mid Z_h] \\in \\mathbb{R}^{n \\times Hd_v}",
        printed=claim("Z_h", _SMALL_H),
        exact=_CONCATENATED[-1] / _D_V,
        verdict=Verdict.WRONG,
        note="H heads by the width in the same formula; h is the index of one of them.",
    ),
    WorkedExample(
        id="seed_004.head_width",
        document="004",
        line=237,
        title="Width of H concatenated heads of width d/H",
        fragment="d_k = d_v = d/H\n$$\n\nSo that the concatenated dimension equals the model dimension.",
        printed=claim("the concatenated dimension equals the model dimension", _D),
        exact=concatenated_shape(shape(_N, _D / _HEADS), _HEADS)[-1],
        verdict=Verdict.CORRECT,
        note="A choice: W^O brings any width H d_v back to d.",
    ),
)

_FEED_FORWARD = (
    WorkedExample(
        id="seed_004.feed_forward_shape",
        document="004",
        line=339,
        title="Shape of the second matrix of the feed-forward network",
        fragment="$W_2 \\in \\mathbb{R}^{d \\times d_{\\mathrm{ff}}}$",
        printed=(claim("d", _D), claim("d_{\\mathrm{ff}}", _D_FF)),
        exact=shape(_D, _HIDDEN[0]),
        verdict=Verdict.CORRECT,
        note="Here h_i is a column; the interface has rows, x W₁, and the transposed shapes.",
    ),
    WorkedExample(
        id="seed_004.first_matrix_axes",
        document="004",
        line=338,
        title="How many axes the first matrix of the feed-forward network has",
        fragment="$W_1 \\in \\mathbb{R}^{d_{\\mathrm{ff} \\times d}}$",
        printed=claim("\\mathbb{R}^{d_{\\mathrm{ff} \\times d}}", 1),
        exact=sympy.Integer(len(_FIRST_MATRIX)),
        verdict=Verdict.WRONG,
        note="The brace ends too late, so that × d stands in the index: d_ff × d is meant.",
    ),
    WorkedExample(
        id="seed_004.first_bias_size",
        document="004",
        line=334,
        title="Numbers in the first bias of a network that n positions share",
        fragment="W_1h_i + b_i",
        printed=claim("b_i", _N * _D_FF),
        exact=sympy.Mul(*_HIDDEN),
        verdict=Verdict.WRONG,
        note="b_1 is meant. A bias b_i for each position i would tell positions apart.",
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_ATTENTION, *_HEADS_TOGETHER, *_FEED_FORWARD)
