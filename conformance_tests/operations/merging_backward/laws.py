"""The gradients of merged attention: their values, their sums, and where they vanish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.space import EXACT_PALETTES
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.gradients import equal, linear, without_grad_output
from veriformer.conformance_tests.operations.merging.cases import MergeSpace
from veriformer.conformance_tests.operations.merging.laws import moved_logarithms
from veriformer.conformance_tests.operations.merging_backward.inputs import MergeBackwardInputs
from veriformer.conformance_tests.operations.parts import agrees_in, parts_of, worst

_MERGE = ("merge_attention_backward",)
_PARTS = ("grad_output_a", "grad_lse_a", "grad_output_b", "grad_lse_b")
_LOGARITHMS = ("grad_lse_a", "grad_lse_b")
# Each with that of the other part.
_OTHER = dict(zip(_PARTS, (*_PARTS[2:], *_PARTS[:2]), strict=True))

for _name in _PARTS:
    judges(_name, space=MergeSpace(), operations=_MERGE)(agrees_in(_name))
judges(
    "large_logarithms",
    space=MergeSpace(amplitudes=(10, 30), palettes=("integers", "normal", "offset")),
    operations=_MERGE,
)(agrees_in())
judges("empty_part", space=MergeSpace(empty="one"), operations=_MERGE)(agrees_in())
judges("grad_output.linear", space=MergeSpace(palettes=EXACT_PALETTES), operations=_MERGE)(linear)
judges("grad_output.zero", space=MergeSpace(), operations=_MERGE)(without_grad_output)


@judges("both_empty", space=MergeSpace(empty="both"), operations=_MERGE)
def both_empty(trial: Trial[MergeBackwardInputs]) -> Verdict:
    """Rows with both parts empty have no gradient at all."""
    inputs = trial.inputs
    empty = np.isneginf(inputs.lse_a) & np.isneginf(inputs.lse_b)
    return _are(trial, inputs, {name: np.zeros(shape) for name, shape in inputs.parts.items()}, empty)


@judges("exchanged", space=MergeSpace(), operations=_MERGE)
def exchanged(trial: Trial[MergeBackwardInputs]) -> Verdict:
    """The parts in the other order have each other's gradients."""
    inputs, swapped = trial.inputs, trial.inputs.swapped()
    outputs, errors = (trial.output(inputs), trial.output(swapped)), (trial.allowed(inputs), trial.allowed(swapped))
    parts = parts_of(inputs)
    return worst(
        compare(
            part(outputs[0]),
            parts[_OTHER[name]](outputs[1]),
            part(errors[0]) + parts[_OTHER[name]](errors[1]),
            None,
            name,
            may_be_nan=False,
        )
        for name, part in parts.items()
    )


@judges("outputs.sum", space=MergeSpace(), operations=_MERGE)
def outputs_sum(trial: Trial[MergeBackwardInputs]) -> Verdict:
    """The gradients of the outputs add up to that of the merged one."""
    return _adds_up(trial, ("grad_output_a", "grad_output_b"), trial.inputs.grad_output)


@judges("logarithms.sum", space=MergeSpace(), operations=_MERGE)
def logarithms_sum(trial: Trial[MergeBackwardInputs]) -> Verdict:
    """The gradients of the log-sum-exps add up to that of the merged one."""
    return _adds_up(trial, _LOGARITHMS, trial.inputs.grad_lse)


def _adds_up(trial: Trial[MergeBackwardInputs], names: tuple[str, str], expected: Array) -> Verdict:
    inputs = trial.inputs
    first, second = (inputs.part(name) for name in names)
    output, allowed = trial.output(inputs), trial.allowed(inputs)
    note = f"{' + '.join(names)}"
    return compare(expected, first(output) + second(output), first(allowed) + second(allowed), None, note)


@judges("outputs.equal", space=MergeSpace(), operations=_MERGE)
def equal_outputs(trial: Trial[MergeBackwardInputs]) -> Verdict:
    """Equal outputs, of which alone the loss depends, leave the log-sum-exps without a gradient."""
    inputs = replace(trial.inputs, output_b=trial.inputs.output_a, grad_lse=np.zeros_like(trial.inputs.grad_lse))
    return _are(trial, inputs, {name: np.zeros(inputs.lse_a.shape) for name in _LOGARITHMS})


@judges("equal_logarithms", space=MergeSpace(), operations=_MERGE)
def equal_logarithms(trial: Trial[MergeBackwardInputs]) -> Verdict:
    """Two parts of equal weight have half of each gradient, and a quarter of what moves weight between them."""
    inputs = replace(trial.inputs, lse_b=trial.inputs.lse_a)
    apart = np.sum(inputs.grad_output * (inputs.output_a - inputs.output_b), axis=-1) / 4.0
    half = inputs.grad_lse / 2.0
    of_outputs = dict.fromkeys(("grad_output_a", "grad_output_b"), inputs.grad_output / 2.0)
    return _are(trial, inputs, {**of_outputs, "grad_lse_a": half + apart, "grad_lse_b": half - apart})


def _are(
    trial: Trial[MergeBackwardInputs],
    inputs: MergeBackwardInputs,
    gradients: Mapping[str, Array],
    rows: Array | None = None,
) -> Verdict:
    """Judge whether some gradients are what is expected, in the rows (B, H, L) named or in all."""
    output, allowed = trial.output(inputs), trial.allowed(inputs)

    def judge(name: str, gradient: Array) -> Verdict:
        part = inputs.part(name)
        judged = (
            rows if rows is None or gradient.ndim == rows.ndim else np.broadcast_to(rows[..., None], gradient.shape)
        )
        return compare(gradient, part(output), part(allowed), judged, name)

    return worst(judge(name, gradient) for name, gradient in gradients.items())


@judges("shift", space=MergeSpace(palettes=EXACT_PALETTES), operations=_MERGE)
def shift(trial: Trial[MergeBackwardInputs]) -> Verdict:
    """Both log-sum-exps moved by the same number leave the gradients as they are."""
    here, there = moved_logarithms(trial.inputs, float(trial.generator.integers(1, 5)))
    return equal(trial, here, there)


@judges("rows.independence", space=MergeSpace(), operations=_MERGE)
def rows_alone(trial: Trial[MergeBackwardInputs]) -> Verdict:
    """The last row has the same gradients among rows with other content."""
    inputs = trial.inputs

    def changed(array: Array) -> Array:
        other = 2.0 - array
        other[-1:, -1:, -1:] = array[-1:, -1:, -1:]
        return round_to_dtype(other, inputs.dtype)

    def last(_: str, part: Array) -> Array:
        return part[-1:, -1:, -1:]

    others: dict[str, Any] = {name: changed(array) for name, array in inputs.arguments().items()}
    return equal(trial, inputs, replace(inputs, divided=None, **others), last, last)
