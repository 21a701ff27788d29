"""Seed document 001: shapes of attention in symbols, of cross-attention, and of the feed-forward network."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim, numbers
from veriformer.spec.worked_examples.shapes import (
    attention_shape,
    broadcast_shape,
    concatenated_shape,
    product_shape,
    shape,
)
from veriformer.spec.worked_examples.verdict import Verdict

_N, _M, _D_K, _D_V, _D_MODEL, _HEADS = sympy.symbols("n m d_k d_v d_model h", integer=True, positive=True)
_TOKENS = shape(_N, _D_MODEL)
_QUERY = product_shape(_TOKENS, shape(_D_MODEL, _D_K))
_VALUE = product_shape(_TOKENS, shape(_D_MODEL, _D_V))
_CROSS = attention_shape(shape(_M, _D_K), _QUERY, _VALUE)
_MIXED = concatenated_shape(attention_shape(_QUERY, _QUERY, _VALUE), _HEADS)
_ENCODED = broadcast_shape(_TOKENS, product_shape(_MIXED, shape(_HEADS * _D_V, _D_MODEL)))
_HEAD_PROJECTION = shape(512, 64)
_HIDDEN = product_shape(shape(3, 512), shape(512, 4 * 512))
_SHRUNK = product_shape(_HIDDEN, shape(4 * 512, 512))

EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_001.query_key_value_shapes",
        document="001",
        line=43,
        title="Shapes of queries, keys and values",
        fragment=(
            '• $Q$ (Query): "What am I looking for?" - matrix of shape $(n, d_k)$\n'
            '• $K$ (Key): "What do I contain?" - matrix of shape $(n, d_k)$\n'
            '• $V$ (Value): "What information do I provide?" - matrix of shape $(n, d_v)$'
        ),
        printed=(
            (claim("n", _N), claim("d_k", _D_K)),
            (claim("n", _N), claim("d_k", _D_K)),
            (claim("n", _N), claim("d_v", _D_V)),
        ),
        exact=(_QUERY, _QUERY, _VALUE),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_001.head_input_width",
        document="001",
        line=127,
        title="How much of a token's 512 numbers each of 8 heads reads",
        fragment="1. Split embedding into $h$ heads",
        printed=claim("Split embedding into $h$ heads", sympy.Rational(512, 8)),
        exact=_HEAD_PROJECTION[0],
        verdict=Verdict.WRONG,
        note="The document's own W^Q is 512 × 64: each head reads all of a token. What is split is the projections.",
    ),
    WorkedExample(
        id="seed_001.encoder_output_rows",
        document="001",
        line=248,
        title="How many vectors the encoder passes on",
        fragment="• One vector per input token",
        printed=claim("One vector per input token", _N),
        exact=_ENCODED[0],
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_001.cross_attention_shape",
        document="001",
        line=277,
        title="How many rows cross-attention of m decoder and n encoder tokens returns",
        fragment="Q \\text{ from decoder}, \\quad K, V \\text{ from encoder}",
        printed=claim("Q \\text{ from decoder}", _M),
        exact=_CROSS[0],
        verdict=Verdict.CORRECT,
        note="One for each query; so that they can be added to the decoder's m tokens, queries come from the decoder.",
    ),
    WorkedExample(
        id="seed_001.feed_forward_widths",
        document="001",
        line=310,
        title="Widths before, inside and after the feed-forward network",
        fragment="$d_{model} = 512 \\rightarrow d_{ff} = 2048 \\rightarrow d_{model} = 512$",
        printed=numbers("512 2048 512"),
        exact=(sympy.Integer(512), _HIDDEN[-1], _SHRUNK[-1]),
        verdict=Verdict.CORRECT,
    ),
)
