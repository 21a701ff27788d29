"""Seed document 002: shapes followed through an encoder of 8 heads and width 128."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import number, numbers
from veriformer.spec.worked_examples.shapes import (
    broadcast_shape,
    concatenated_shape,
    product_shape,
    shape,
    transposed_shape,
)
from veriformer.spec.worked_examples.verdict import Verdict

_EMBEDDED = shape(1, 100, 128)
_HEAD_WEIGHT = shape(sympy.Rational(128, 8), 128)
_HEAD = product_shape(_EMBEDDED, transposed_shape(_HEAD_WEIGHT))
_SCORES = product_shape(_HEAD, transposed_shape(_HEAD))
_MIXED = product_shape(_SCORES, _HEAD)
_THREE_HEADS = concatenated_shape(shape(1, 4), 3)

_EMBEDDING = (
    WorkedExample(
        id="seed_002.score_shape",
        document="002",
        line=130,
        title="Shape of the scores of four words",
        fragment="attention_scores = Q @ K^T # Shape: (4, 4)",
        printed=numbers("4 4"),
        exact=product_shape(shape(4, 64), transposed_shape(shape(4, 64))),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.three_heads_concatenated",
        document="002",
        line=311,
        title="Shape of three concatenated heads of width 4",
        fragment="# concat = [head_1, head_2, head_3] # (1x12)",
        printed=numbers("1 12"),
        exact=_THREE_HEADS,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.three_heads_mixed",
        document="002",
        line=312,
        title="Shape of three heads mixed into width 4",
        fragment="# linear_layer_shape = 12x4\n# output of concat @ linear_layer = (1x4)",
        printed=numbers("1 4"),
        exact=product_shape(_THREE_HEADS, shape(12, 4)),
        verdict=Verdict.CONDITIONAL,
        note="The shapes fit; by the document's own head_dim = embed_dim/n_heads three heads of 4 make 12.",
        condition="the model is 4 wide although its heads are 12 wide together",
        otherwise=product_shape(_THREE_HEADS, shape(12, 3 * 4)),
    ),
    WorkedExample(
        id="seed_002.embedded_shape",
        document="002",
        line=343,
        title="Shape of 100 embedded tokens",
        fragment="[30000, 128]\nthis is a lookup table, not a matmul, so output here is [1, 100, 128]",
        printed=numbers("1 100 128"),
        exact=(*shape(1, 100), shape(30000, 128)[-1]),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.positions_added",
        document="002",
        line=347,
        title="Shape after adding positions of shape (100, 1, 128)",
        fragment=(
            "[100, 1 (no related to batch), 128]\n"
            ", this is just modifying our token embeddings with a sum to give them a position wave signal. "
            "So output remains the same as above. [1, 100, 128]"
        ),
        printed=numbers("1 100 128"),
        exact=broadcast_shape(shape(100, 1, 128), _EMBEDDED),
        verdict=Verdict.WRONG,
        note="The two broadcast to a hundred copies; the table must be (1, 100, 128).",
    ),
)

_ATTENTION = (
    WorkedExample(
        id="seed_002.head_width",
        document="002",
        line=349,
        title="Head width of 128 in 8 heads",
        fragment="head_dim = embedding_dim/num_heads = 128/8 =\n16",
        printed=number("16"),
        exact=sympy.Rational(128, 8),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.projection_shape",
        document="002",
        line=353,
        title="Shape of a head's projection, stored as (out, in)",
        fragment="shape: [head_dim, embedding_dim]\n[16, 128]",
        printed=numbers("16 128"),
        exact=_HEAD_WEIGHT,
        verdict=Verdict.CORRECT,
        note="The interface stores (in, out).",
    ),
    WorkedExample(
        id="seed_002.projected_shape",
        document="002",
        line=359,
        title="Shape of the projected queries of a head",
        fragment="[1, 100, 128] @ [16, 128].T\n- So\nQ,K,V\nshape is: [1, 100, 16]",
        printed=numbers("1 100 16"),
        exact=_HEAD,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.transposed_key_shape",
        document="002",
        line=363,
        title="Shape of the transposed keys",
        fragment="K^T\n= .transpose(1,2), switches e.g. from [1, 100, 16]\nto [1, 16, 100]",
        printed=numbers("1 16 100"),
        exact=transposed_shape(_HEAD),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.head_score_shape",
        document="002",
        line=366,
        title="Shape of the scores of a head",
        fragment="Q * K^T\n[1, 100, 16]\n* [1, 16, 100]\n= [1, 100, 100]",
        printed=numbers("1 100 100"),
        exact=_SCORES,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.head_output_shape",
        document="002",
        line=375,
        title="Shape of the output of a head",
        fragment="shape is: [1, 100, 100]\n* [1, 100, 16]\n= [1, 100, 16]",
        printed=numbers("1 100 16"),
        exact=_MIXED,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.final_shape",
        document="002",
        line=381,
        title="Shape of the output of all heads",
        fragment="- Final output is\n[1, 100, 128]",
        printed=numbers("1 100 128"),
        exact=product_shape(concatenated_shape(_MIXED, 8), shape(128, 128)),
        verdict=Verdict.CORRECT,
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_EMBEDDING, *_ATTENTION)
