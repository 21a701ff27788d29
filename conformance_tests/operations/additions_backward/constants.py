"""Whether a derived gradient of a bias, or of sinks, is offered at all."""

from __future__ import annotations

from veriformer.adapters.errors import AdapterError
from veriformer.conformance_tests.core.subject import Subject, WrongShape
from veriformer.conformance_tests.operations.additions_backward.inputs import BIAS, AdditionInputs
from veriformer.conformance_tests.operations.attention.case import AttentionCase


def without_gradient(subject: Subject) -> str:
    """Return why a forward pass that is differentiated has no gradient of what it adds; empty if it has one.

    Many take a bias of numbers that nothing learns, such as a mask in floats or the slopes of ALiBi: they cut it off,
    or have kernels that refuse to differentiate it. Sinks are learned by everything that has them, so that none but a
    refusal excuses them. What is written by hand is judged in any case.
    """
    name = subject.operation.name
    if name not in subject.implementation.derived:
        return ""
    inputs = AdditionInputs.draw(name, _few(subject, name))
    forward = subject.implementation.derived[name]
    try:
        gradient = subject.call(inputs)
    except (AdapterError, WrongShape) as error:
        return f"{forward} cannot be differentiated by its {'bias' if name == BIAS else 'sinks'}: {error}"
    if name == BIAS and not gradient.any() and inputs.expected(subject.conventions).value.any():
        return f"{forward} gives its bias no gradient: it is a constant there"
    return ""


def _few(subject: Subject, name: str) -> AttentionCase:
    """Return a small case that the implementation declares to take."""
    implementation = subject.implementation
    keys = 2 if implementation.limited(name, "unequal_lengths") else 3
    is_causal = implementation.fixed_for(implementation.derived[name]).get("is_causal") is True
    return AttentionCase(1, 1, 1, 2, keys, 2, 2, implementation.dtypes[0], "integers", is_causal=is_causal, seed=7)
