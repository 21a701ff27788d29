"""Gradients on inputs on which rounding can do little and a mistake much: the gradient of a faint key's value."""

from __future__ import annotations

from dataclasses import replace

from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.operations.attention.laws.sharp import FAINT, faint_keys, whole_numbers
from veriformer.conformance_tests.operations.attention_backward.inputs import WITH_VALUES, BackwardInputs
from veriformer.conformance_tests.operations.parts import agrees


@judges("scale.faint_key", space=FAINT, operations=WITH_VALUES, batched=False)
def faint_key_gradient(trial: Trial[BackwardInputs]) -> Verdict:
    """The gradient of a faint key's value is its weight times the output's gradient."""
    inputs: BackwardInputs = faint_keys(trial.inputs, trial.generator)
    inputs = replace(inputs, grad_output=whole_numbers(trial.generator, inputs.grad_output.shape))
    return agrees(trial, inputs, "grad_value")
