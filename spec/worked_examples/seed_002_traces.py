"""Seed document 002: sizes of projections, of grouped keys and values, and the end of its walk through shapes."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.printed import claim, numbers
from veriformer.spec.worked_examples.shapes import Shape, attention_shape, broadcast_shape, product_shape, shape
from veriformer.spec.worked_examples.verdict import Verdict

_WIDTH = sympy.Integer(512)
_HEADS = sympy.Integer(8)
_ENCODER_TOKENS, _DECODER_TOKENS, _D_K = sympy.symbols("n m d_k", integer=True, positive=True)
_SOURCE = shape(_ENCODER_TOKENS, _D_K)
_TARGET = shape(_DECODER_TOKENS, _D_K)
_EMBEDDED = shape(1, 100, 128)
_HIDDEN = product_shape(_EMBEDDED, shape(128, 4 * 128))
_CLASS_HIDDEN = product_shape(shape(1, 128), shape(128, 4 * 128))


def _numbers_in(sizes: Shape) -> sympy.Expr:
    return sympy.Mul(*sizes)


EXAMPLES: tuple[WorkedExample, ...] = (
    WorkedExample(
        id="seed_002.cross_attention_rows",
        document="002",
        line=253,
        title="How many rows m decoder and n encoder tokens give in cross-attention",
        fragment="The decoder (K/V) attends the encoder outputs (Q).",
        printed=claim("the encoder outputs (Q)", _ENCODER_TOKENS),
        exact=attention_shape(_TARGET, _SOURCE, _SOURCE)[0],
        verdict=Verdict.WRONG,
        note="Queries come from the decoder, which needs m rows back; with queries of the encoder there would be n.",
    ),
    WorkedExample(
        id="seed_002.narrow_projection_size",
        document="002",
        line=279,
        title="Size of a head's projection, for 8 heads of 512",
        fragment="embed_dim*1/n_heads",
        printed=claim("embed_dim*1/n_heads", _WIDTH / _HEADS),
        exact=_numbers_in(shape(_WIDTH, _WIDTH / _HEADS)),
        verdict=Verdict.WRONG,
        note="embed_dim × (embed_dim/n_heads) is meant: 512 × 64 numbers, not 64.",
    ),
    WorkedExample(
        id="seed_002.multi_query_weights",
        document="002",
        line=283,
        title="Numbers in the key projections of 8 heads in multi-query attention",
        fragment="It was tried is not better, MQA Google, GQA Llama 2",
        printed=claim("MQA Google", _HEADS * _numbers_in(shape(_WIDTH, _WIDTH))),
        exact=_numbers_in(shape(_WIDTH, _WIDTH / _HEADS)),
        verdict=Verdict.WRONG,
        note="Multi-query attention shares one narrow projection among all heads: fewer keys and values, not more.",
    ),
    WorkedExample(
        id="seed_002.residual_shape",
        document="002",
        line=383,
        title="Shape after a residual layer",
        fragment="residual layer doens’t change dimensions.",
        printed=tuple(claim("doens’t change dimensions", size) for size in _EMBEDDED),
        exact=broadcast_shape(_EMBEDDED, _EMBEDDED),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.feed_forward_shape",
        document="002",
        line=384,
        title="Shape after the feed-forward network",
        fragment=(
            "usually hidden layer has\n*4\nembedding_dim, then shrinks back to embedding_dim. "
            "Output is still [1, 100, 128]"
        ),
        printed=numbers("1 100 128"),
        exact=product_shape(_HIDDEN, shape(4 * 128, 128)),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_002.classifier_shape",
        document="002",
        line=388,
        title="How many options the final classifier returns",
        fragment="output layer has the # of options to be classified, e.g. positive |\nnegative, 2 options",
        printed=claim("2 options", 2),
        exact=product_shape(_CLASS_HIDDEN, shape(4 * 128, 2))[-1],
        verdict=Verdict.CORRECT,
    ),
)
