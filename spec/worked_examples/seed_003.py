"""Seed document 003: masked scores with symbols, and the shapes of the projections."""

from __future__ import annotations

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import (
    add,
    additive_causal_mask,
    identity,
    softmax,
    transpose,
)
from veriformer.spec.worked_examples.example import WorkedExample, attention_execution, boolean
from veriformer.spec.worked_examples.printed import claim, number, numbers
from veriformer.spec.worked_examples.shapes import concatenated_shape, product_shape, shape
from veriformer.spec.worked_examples.verdict import Verdict

_INDICES = range(1, 5)
_MASK = additive_causal_mask(4)
_SYMBOLS = tuple(tuple(sympy.Symbol(f"s_{i}{j}", real=True) for j in _INDICES) for i in _INDICES)
_MASKED = add(_SYMBOLS, _MASK)
_WEIGHTS = tuple(softmax(row) for row in _MASKED)
# The logarithm of 11, 12, … 44 makes every weight a fraction and no two scores alike.
_INSTANCE = tuple(tuple(sympy.log(10 * i + j) for j in _INDICES) for i in _INDICES)
_INSTANCE_WEIGHTS = tuple(softmax(row) for row in add(_INSTANCE, _MASK))
_D, _D_K, _D_V, _HEADS, _TOKENS = sympy.symbols("d d_k d_v h n", integer=True, positive=True)
_HEAD_PROJECTION = shape(_D_V, _D)
_MASKED_FRAGMENT = (
    "s_{11} & -\\infty &  -\\infty &  -\\infty \\\\\ns_{21} & s_{22} &  -\\infty &  -\\infty \\\\\n"
    "s_{31} & s_{32} & s_{33} & -\\infty \\\\\ns_{41} & s_{42} & s_{43} & s_{44} \\\\"
)
_WEIGHTS_FRAGMENT = (
    "a_{11} & 0 &  0 &  0 \\\\\na_{21} & a_{22} &  0 &  0 \\\\\na_{31} & a_{32} & a_{33} & 0 \\\\\n"
    "a_{41} & a_{42} & a_{43} & a_{44} \\\\\n\\end{bmatrix}\n\\quad \\text{where each row sums to 1}"
)

_MASKING = (
    WorkedExample(
        id="seed_003.masked_scores",
        document="003",
        line=122,
        title="Sixteen scores under the causal mask",
        fragment=_MASKED_FRAGMENT,
        printed=tuple(
            tuple(claim(f"s_{{{i}{j}}}", _SYMBOLS[i - 1][j - 1]) if j <= i else number("-\\infty") for j in _INDICES)
            for i in _INDICES
        ),
        exact=_MASKED,
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_003.hidden_weights",
        document="003",
        line=132,
        title="The weights above the diagonal",
        fragment=_WEIGHTS_FRAGMENT,
        printed=(numbers("0 0 0"), numbers("0 0"), numbers("0")),
        exact=tuple(row[i + 1 :] for i, row in enumerate(_WEIGHTS[:3])),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_003.row_sums",
        document="003",
        line=132,
        title="The sums of the masked rows of weights",
        fragment=_WEIGHTS_FRAGMENT,
        printed=(claim("each row sums to 1", 1),) * 4,
        exact=tuple(sympy.Add(*row) for row in _WEIGHTS),
        verdict=Verdict.CORRECT,
        note="For every score; hence a₁₁ = 1.",
    ),
    WorkedExample(
        id="seed_003.masked_weights",
        document="003",
        line=132,
        title="Masked weights of the scores log 11, log 12, …, log 44",
        fragment=_WEIGHTS_FRAGMENT,
        printed=None,
        exact=_INSTANCE_WEIGHTS,
        verdict=Verdict.NOT_GIVEN,
        note="The document's symbols s_ij read as log(10 i + j): every weight is a fraction.",
        execution=attention_execution(
            "attention_weights",
            identity(4),
            transpose(_INSTANCE),
            _INSTANCE_WEIGHTS,
            mask=boolean(_MASK),
            scale=sympy.Integer(1),
        ),
    ),
)

_SHAPES = (
    WorkedExample(
        id="seed_003.projected_shapes",
        document="003",
        line=155,
        title="Shapes of queries, keys and values",
        fragment=(
            "\\mathbf{Q} = \\mathbf{S}\\mathbf{W_Q}\\in\\mathbb{R}^{n\\times d_k}, \\quad \n"
            "\\mathbf{K} = \\mathbf{S}\\mathbf{W_K}\\in\\mathbb{R}^{n\\times d_k}, \\quad \n"
            "\\mathbf{V} = \\mathbf{S}\\mathbf{W_V}\\in\\mathbb{R}^{n\\times d_v}"
        ),
        printed=(
            (claim("n", _TOKENS), claim("d_k", _D_K)),
            (claim("n", _TOKENS), claim("d_k", _D_K)),
            (claim("n", _TOKENS), claim("d_v", _D_V)),
        ),
        exact=tuple(product_shape(shape(_TOKENS, _D), shape(_D, width)) for width in (_D_K, _D_K, _D_V)),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_003.output_projection_shape",
        document="003",
        line=186,
        title="Shape of the stacked output projection",
        fragment="$\\mathbf{W_O}\\in\\mathbb{R}^{h\\cdot d_v\\times d}$",
        printed=(claim("h\\cdot d_v", _HEADS * _D_V), claim("d", _D)),
        exact=concatenated_shape(_HEAD_PROJECTION, _HEADS, axis=0),
        verdict=Verdict.CORRECT,
    ),
    WorkedExample(
        id="seed_003.transposed_output_projection_shape",
        document="003",
        line=188,
        title="Shape of the output projections side by side",
        fragment=(
            "\\mathbf{W}_{\\mathbf{O}}^T = \\begin{bmatrix} \\mathbf{W}_{\\mathbf{O}}^{(1)} & "
            "\\mathbf{W}_{\\mathbf{O}}^{(2)} & \\cdots & \\mathbf{W}_{\\mathbf{O}}^{(h)} \\end{bmatrix}"
        ),
        printed=(
            claim("\\mathbf{W}_{\\mathbf{O}}^T", _D),
            claim("\\mathbf{W}_{\\mathbf{O}}^T", _HEADS * _D_V),
        ),
        exact=concatenated_shape(_HEAD_PROJECTION, _HEADS),
        verdict=Verdict.WRONG,
        note="Side by side they are d_v × h·d, not d × h·d_v; the transposes of the blocks belong there.",
    ),
)

EXAMPLES: tuple[WorkedExample, ...] = (*_MASKING, *_SHAPES)
