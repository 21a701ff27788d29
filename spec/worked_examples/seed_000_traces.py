"""Seed document 000: the shapes that it states in symbols, and those between its steps."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim, numbers, rows
from veriformer.spec.worked_examples.shapes import (
    attention_shape,
    broadcast_shape,
    concatenated_shape,
    product_shape,
    shape,
    transposed_shape,
)
from veriformer.spec.worked_examples.verdict import Verdict

_L, _D_MODEL, _D_K, _D_V, _HEADS, _VOCABULARY = sympy.symbols("L d_model d_k d_v h Vocab", integer=True, positive=True)
_TOKENS = shape(_L, _D_MODEL)
_QUERY = product_shape(_TOKENS, shape(_D_MODEL, _D_K))
_VALUE = product_shape(_TOKENS, shape(_D_MODEL, _D_V))
_SCORES = product_shape(_QUERY, transposed_shape(_QUERY))
_HEAD = attention_shape(_QUERY, _QUERY, _VALUE)
_EVEN_SPLIT = concatenated_shape(shape(_L, _D_MODEL / _HEADS), _HEADS)
_OUTPUT = product_shape(concatenated_shape(_HEAD, _HEADS), shape(_HEADS * _D_V, _D_MODEL))
_SMALL_SCORES = product_shape(shape(3, 4), shape(4, 3))
_SCALAR = shape()

EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_000.score_matrix_shape",
        document="000",
        line=186,
        title="Shape of the scores of L tokens",
        fragment="Self-attention builds an L×L matrix of scores.",
        printed=(claim("L", _L), claim("L", _L)),
        exact=_SCORES,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.output_shape",
        document="000",
        line=174,
        title="Shape of the output of single-head attention",
        fragment="Where O ∈ ℝ^{L×d_v}.",
        printed=(claim("L", _L), claim("d_v", _D_V)),
        exact=_HEAD,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.concatenated_heads_shape",
        document="000",
        line=218,
        title="Shape of h concatenated heads",
        fragment="If each O^{(r)} ∈ ℝ^{L×d_v} and d_v = d_k, then O_concat ∈ ℝ^{L×(h d_k)} = ℝ^{L×d_model}.",
        printed=((claim("L", _L), claim("h d_k", _HEADS * _D_K)), (claim("L", _L), claim("d_model", _D_MODEL))),
        exact=(concatenated_shape(shape(_L, _D_K), _HEADS), _EVEN_SPLIT),
        verdict=Verdict.CORRECT,
        note="The second shape is that of d_k = d_model / h.",
    ),
    WorkedExample(
        id="seed_000.logits_shape",
        document="000",
        line=348,
        title="Shape of the logits at one position",
        fragment="If logits at position i are zᵢ ∈ ℝ^{|Vocab|}",
        printed=(claim("|Vocab|", _VOCABULARY),),
        exact=product_shape(_TOKENS, shape(_D_MODEL, _VOCABULARY))[1:],
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_000.weights_shape",
        document="000",
        line=520,
        title="Shape of the scaled scores and of the weights of a head",
        fragment="Scaling by √d_k keeps shape 3×3.\n\n    Softmax row-wise yields A^{(r)} ∈ ℝ^{3×3}.",
        printed=rows("3 3", "3 3"),
        exact=(broadcast_shape(_SMALL_SCORES, _SCALAR), broadcast_shape(_SMALL_SCORES, shape(3, 1))),
        verdict=Verdict.CORRECT,
        note="Divided by one number, then each row by its own sum.",
    ),
    WorkedExample(
        id="seed_000.residual_shape",
        document="000",
        line=544,
        title="Shape of the sum of input and multi-head attention",
        fragment="So MHA maps ℝ^{L×d_model} → ℝ^{L×d_model}, enabling residual addition X + Y.",
        printed=(claim("L", _L), claim("d_model", _D_MODEL)),
        exact=broadcast_shape(_TOKENS, _OUTPUT),
        verdict=Verdict.CORRECT,
        note="W_O with h d_v rows and d_model columns brings any head width back.",
    ),
    WorkedExample(
        id="seed_000.query_shape_128",
        document="000",
        line=642,
        title="Shape of the queries of 128 tokens",
        fragment="For L = 128, Q and K are 128×64",
        printed=numbers("128 64"),
        exact=product_shape(shape(128, 1024), shape(1024, sympy.Rational(1024, 16))),
        verdict=Verdict.CORRECT,
    ),
)
