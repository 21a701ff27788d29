"""Inputs on which rounding can do little and a mistake much: faint keys, and values that only hidden keys have.

The error bound of an output counts a logit's error with the distance of its value from the output, and what is summed
with its size. Where all values that weigh are zero, what is left is the rounding of the one faint weight that the
output is made of. A logit that is wrong by a share δ changes that weight by a share δz: the fainter the key, the more.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np
from veriformer.conformance_tests.cases.spaces import AttentionSpace
from veriformer.conformance_tests.cases.values import round_to_dtype
from veriformer.conformance_tests.inputs.attention import AttentionInputs
from veriformer.conformance_tests.inputs.backward import BackwardInputs
from veriformer.conformance_tests.law import judges
from veriformer.conformance_tests.laws.backward import BACKWARD, agrees
from veriformer.conformance_tests.trial import Trial
from veriformer.conformance_tests.verdict import Verdict

Array = np.ndarray
Given = TypeVar("Given", bound=AttentionInputs)

# How far the faintest key lies below the largest logit. Its weight must be a normal number of the dtype: those of
# float16 end at e^(−9.7), those of float32 and bfloat16 at e^(−87). A sum of many such weights is still a small one.
_DEPTH = {"float16": 8.0, "bfloat16": 64.0, "float32": 64.0, "float64": 64.0}
# Queries are 1 to 4 in one component, so that four depths are met; the exact values of small integers.
_LARGEST_QUERY = 4
# A power of two that keeps the output of float16 among its normal numbers.
_CONTENT = 64.0
_FAINT = AttentionSpace(scale="sometimes", palettes=("bits",), amplitudes=(1,), least_keys=2)


def faint_keys(inputs: Given, generator: np.random.Generator) -> Given:
    """Return the inputs with one key of logit 0 in each head, and all others faint, one of which has a value.

    Queries and keys are zero but for one component: q = 1 … 4, and k = −m with m s · 4 as deep as the dtype allows.
    """
    batch, heads, length, width = inputs.query.shape
    kv_heads, keys = inputs.key.shape[1], inputs.key_length
    samples, groups = np.ogrid[:batch, :kv_heads]
    component = generator.integers(0, width, (batch, kv_heads))
    near = generator.integers(0, keys, (batch, kv_heads))
    faint = (near + generator.integers(1, keys, (batch, kv_heads))) % keys
    scale = 1.0 / math.sqrt(width) if inputs.scale is None else inputs.scale
    deep = max(math.floor(_DEPTH[inputs.dtype] / (scale * _LARGEST_QUERY)), 1)
    key = np.zeros(inputs.key.shape)
    key[samples, groups, :, component] = -round_to_dtype(np.array(float(deep)), inputs.dtype)
    key[samples, groups, near] = 0.0
    query = np.zeros(inputs.query.shape)
    size = generator.integers(1, _LARGEST_QUERY + 1, (batch, heads, length)).astype(float)
    size[:, :, generator.integers(0, length)] = _LARGEST_QUERY
    own = np.repeat(component, inputs.group_size, axis=1)
    query[np.arange(batch)[:, None], np.arange(heads), :, own] = size
    if inputs.value is None:
        return replace(inputs, query=query, key=key)
    value = np.zeros(inputs.value.shape)
    value[samples, groups, faint] = _CONTENT
    return replace(inputs, query=query, key=key, value=value)


@judges("scale.faint_key", space=_FAINT)
def faint_key(trial: Trial) -> Verdict:
    """The output is what a key far below the largest adds to nothing."""
    return trial.agrees(faint_keys(trial.inputs, trial.generator))


@judges("scale.faint_key", space=_FAINT, operations=BACKWARD)
def faint_key_gradient(trial: Trial) -> Verdict:
    """The gradient of a faint key's value is its weight times the output's gradient."""
    inputs: BackwardInputs = faint_keys(trial.inputs, trial.generator)
    inputs = replace(inputs, grad_output=np.full(inputs.grad_output.shape, _CONTENT))
    return agrees(trial, inputs, "grad_value")


@judges("mask.no_share", space=AttentionSpace(mask="always", causal="sometimes", least_keys=2))
def no_share(trial: Trial) -> Verdict:
    """Where only a hidden key has a value that is not zero, the output is zero."""
    inputs: AttentionInputs = trial.inputs
    if inputs.value is None:
        raise TypeError(f"{inputs.operation} has no values")
    groups = inputs.visible(trial.conventions).reshape(
        inputs.batch, inputs.key.shape[1], inputs.group_size, inputs.query_length, inputs.key_length
    )
    hidden = np.sum(~groups, axis=(2, 3), dtype=float)
    value = np.where(_most(hidden, trial.generator)[..., None], _CONTENT, 0.0)
    return trial.agrees(replace(inputs, value=np.broadcast_to(value, inputs.value.shape).copy()))


def _most(counts: Array, generator: np.random.Generator) -> Array:
    """Return which entry of each row (..., S) is the largest, one of them at random where several are."""
    chosen = np.argmax(counts + generator.random(counts.shape), axis=-1)
    return np.asarray(np.arange(counts.shape[-1]) == chosen[..., None])
