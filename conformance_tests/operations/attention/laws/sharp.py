"""Inputs on which rounding has little effect and a mistake much: faint keys, and values that only hidden keys have.

The error bound of an output counts a logit's error with the distance of its value from the output, and the summed terms
with their size. If all values with weight are zero, only the rounding of the one faint weight of the output remains. A
logit that is wrong by a share δ changes that weight by a share δz: the fainter the key, the more.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.operations.attention.case import AttentionSpace
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs

Given = TypeVar("Given", bound=AttentionInputs)

# How far the faintest key lies below the largest logit. Its weight must be a normal number of the dtype: those of
# float16 end at e^(−9.7), those of float32 and bfloat16 at e^(−87). A sum of many such weights is still a small one.
_DEPTH = {"float16": 8.0, "bfloat16": 64.0, "float32": 64.0, "float64": 64.0}
# Queries are 1, 2, 4 or 8 in one component, in turn: four depths. Where 16 bits hold a logit rounding does nothing to
# it, and the deepest key shows most; else a less deep one does, of which less may be wrong by rounding.
_QUERIES = (8.0, 4.0, 2.0, 1.0)
# Integers that keep the output of float16 among its normal numbers; several, so that products round in several ways.
_CONTENT = (32, 64)
# The scale of one component is 1, where a wrong scale cannot show.
FAINT = AttentionSpace(scale="sometimes", palettes=("bits",), amplitudes=(1,), least_keys=2, least_width=2)


def faint_keys(inputs: Given, generator: np.random.Generator) -> Given:
    """Return the inputs with one key of logit 0 in each head, and all others faint, one of which has a value.

    Queries and keys are zero but for one component: q = 1, 2, 4, 8, and k = −m with 8 m s as deep as the dtype allows.
    """
    batch, heads, length, width = inputs.query.shape
    kv_heads, keys = inputs.key.shape[1], inputs.key_length
    samples, groups = np.ogrid[:batch, :kv_heads]
    component = generator.integers(0, width, (batch, kv_heads))
    near = generator.integers(0, keys, (batch, kv_heads))
    faint = (near + generator.integers(1, keys, (batch, kv_heads))) % keys
    scale = 1.0 / math.sqrt(width) if inputs.scale is None else inputs.scale
    deep = _DEPTH[inputs.dtype] / (scale * max(_QUERIES))
    # Rounded down to two binary digits, a number of every dtype that is easy to read.
    unit = 2.0 ** (math.floor(math.log2(deep)) - 1)
    key = np.zeros(inputs.key.shape)
    key[samples, groups, :, component] = -unit * math.floor(deep / unit)
    key[samples, groups, near] = 0.0
    query = np.zeros(inputs.query.shape)
    turn = generator.integers(0, len(_QUERIES), (batch, heads, 1)) + np.arange(length)
    size = np.take(_QUERIES, turn % len(_QUERIES))
    own = np.repeat(component, inputs.group_size, axis=1)
    query[np.arange(batch)[:, None], np.arange(heads), :, own] = size
    if inputs.value is None:
        return replace(inputs, query=query, key=key)
    value = np.zeros(inputs.value.shape)
    value[samples, groups, faint] = whole_numbers(generator, (batch, kv_heads, int(inputs.value.shape[-1])))
    return replace(inputs, query=query, key=key, value=value)


# Not batched: what it can show follows from the sizes alone, so that more samples of one size show no more.
@judges("scale.faint_key", space=FAINT, batched=False)
def faint_key(trial: Trial[AttentionInputs]) -> Verdict:
    """The output is the contribution of a key far below the largest, and nothing else."""
    return trial.agrees(faint_keys(trial.inputs, trial.generator))


@judges("mask.no_share", space=AttentionSpace(mask="always", causal="sometimes", least_keys=2))
def no_share(trial: Trial[AttentionInputs]) -> Verdict:
    """If only a hidden key has a value that is not zero, the output is zero."""
    inputs = trial.inputs
    groups = inputs.visible(trial.conventions).reshape(
        inputs.batch, inputs.key.shape[1], inputs.group_size, inputs.query_length, inputs.key_length
    )
    hidden = np.sum(~groups, axis=(2, 3), dtype=float)
    value = np.where(_most(hidden, trial.generator)[..., None], max(_CONTENT), 0.0)
    return trial.agrees(replace(inputs, value=np.broadcast_to(value, present(inputs.value).shape).copy()))


def whole_numbers(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Return integers that keep the output of float16 among its normal numbers."""
    return np.asarray(generator.integers(*_CONTENT, shape, endpoint=True), dtype=float)


def _most(counts: Array, generator: np.random.Generator) -> Array:
    """Return which entry of each row (..., S) is the largest, one at random of several."""
    chosen = np.argmax(counts + generator.random(counts.shape), axis=-1)
    return np.asarray(np.arange(counts.shape[-1]) == chosen[..., None])
