"""Seed document 003: the shapes of its loops, and those along a decoder."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim
from veriformer.spec.worked_examples.shapes import (
    attention_shape,
    broadcast_shape,
    product_shape,
    shape,
    transposed_shape,
)
from veriformer.spec.worked_examples.verdict import Verdict

_N_Q, _N_K, _N, _D, _D_K, _D_V, _D_FF = sympy.symbols("n_q n_k n d d_k d_v d_ff", integer=True, positive=True)
_VOCABULARY = sympy.Symbol("vocab", integer=True, positive=True)
_QUERY, _KEY, _VALUE = shape(_N_Q, _D_K), shape(_N_K, _D_K), shape(_N_K, _D_V)
_TOKENS = shape(_N, _D)
_OWN_QUERY = product_shape(_TOKENS, shape(_D, _D_K))
_OWN_VALUE = product_shape(_TOKENS, shape(_D, _D_V))
_HEAD = attention_shape(_OWN_QUERY, _OWN_QUERY, _OWN_VALUE)
_RESULT = product_shape(_HEAD, shape(_D_V, _D))
_ATTENDED = broadcast_shape(_TOKENS, _RESULT)
_HIDDEN = product_shape(_ATTENDED, shape(_D, _D_FF))
_BLOCK = broadcast_shape(_ATTENDED, product_shape(_HIDDEN, shape(_D_FF, _D)))

EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_003.block_shape",
        document="003",
        line=23,
        title="Shape after a decoder block",
        fragment="The shape remains $(n, d)$.",
        printed=(claim("n", _N), claim("d", _D)),
        exact=_BLOCK,
        verdict=Verdict.CORRECT,
        note="Attention and the feed-forward network each end in a matrix with d columns.",
    ),
    WorkedExample(
        id="seed_003.logits_shape",
        document="003",
        line=24,
        title="Shape of the logits",
        fragment="The output shape is $(n, \\text{vocab size})$.",
        printed=(claim("n", _N), claim("\\text{vocab size}", _VOCABULARY)),
        exact=product_shape(_BLOCK, shape(_D, _VOCABULARY)),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_003.score_shape",
        document="003",
        line=57,
        title="Shape of the scores of the loop over queries and keys",
        fragment="for i in range(n_q):\n    for j in range(n_k):\n        score[i,j] = Q[i,:] @ K[j,:]",
        printed=(claim("n_q", _N_Q), claim("n_k", _N_K)),
        exact=product_shape(_QUERY, transposed_shape(_KEY)),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_003.output_shape",
        document="003",
        line=80,
        title="Shape of the output of the loop over values",
        fragment="result = zeros((n_q, d_v))",
        printed=(claim("n_q", _N_Q), claim("d_v", _D_V)),
        exact=attention_shape(_QUERY, _KEY, _VALUE),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_003.multi_head_result_shape",
        document="003",
        line=174,
        title="Shape of the sum over heads",
        fragment="result = zeros((n_q, d))",
        printed=(claim("n_q", _N_Q), claim("d", _D)),
        exact=tuple(size.subs(_N, _N_Q) for size in _RESULT),
        verdict=Verdict.CONDITIONAL,
        note="In the loop queries, keys and values all come from the n rows of S.",
        condition="n_q, which is not defined there, is n",
        otherwise=_RESULT,
    ),
    WorkedExample(
        id="seed_003.multi_head_loop_shapes",
        document="003",
        line=176,
        title="Shapes inside the loop over heads",
        fragment=(
            "Q = S @ W_Q[i]                # n x d_k\n    K = S @ W_K[i]                # n x d_k\n"
            "    V = S @ W_V[i]                # n x d_v\n    H = Attention(Q, K, V)        # n x d_v\n"
            "    result = result + H @ W_O[i]  # n x d"
        ),
        printed=tuple(
            (claim("n", _N), claim(text, width))
            for text, width in (("d_k", _D_K), ("d_k", _D_K), ("d_v", _D_V), ("d_v", _D_V), ("d", _D))
        ),
        exact=(_OWN_QUERY, _OWN_QUERY, _OWN_VALUE, _HEAD, _RESULT),
        verdict=Verdict.CORRECT,
    ),
)
