"""Which conventions an operation obeys: declared ones are taken at their word, the others are found by questions.

A question tells the values of a convention apart by comparing results with those of the reference under each of them.
Where they do not tell, several values stand: the convention is unknown, and laws judge under all of them.
"""

from __future__ import annotations

from dataclasses import replace

from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.conventions.asking import ATTENTION, Asking
from veriformer.conformance_tests.conventions.profile import Finding, Profile, finding_of
from veriformer.conformance_tests.conventions.questions import answer
from veriformer.conformance_tests.core.subject import Subject, standard_conventions
from veriformer.conformance_tests.operations.attention.case import ADDITIONS
from veriformer.conformance_tests.operations.attention_backward.inputs import ASKED, ASKED_WITH_VALUES
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS, Operation


def examine(implementation: Implementation, operation: Operation) -> Profile:
    """Return the operation ready to be called under its conventions.

    A derived operation has those of the one it was derived from.
    """
    if operation.name in implementation.derived:
        return _as_derived(operation, examine(implementation, OPERATIONS[implementation.derived[operation.name]]))
    asking = Asking.of(Subject(implementation, operation, standard_conventions()), examine)
    findings = tuple(_found(asking, name) for name in operation.conventions)
    equal_widths, refuses = _needs_equal_widths(asking), _refuses_bias_with_mask(asking)
    lacking = suite_of(operation.name).lacking(asking.subject)
    asking.subject.calls.clear()
    return Profile(asking.subject, findings, equal_widths, refuses, asking.fixed, lacking)


def _as_derived(operation: Operation, profile: Profile) -> Profile:
    subject = replace(profile.subject, operation=operation, calls=[])
    of_both = [finding for finding in profile.findings if finding.convention in operation.conventions]
    # The numerics are asked again: the backward pass may be another kernel's.
    asking = Asking.of(subject, examine)
    findings = (_found(asking, f.convention) if f.convention == "numerics" else f for f in of_both)
    its = tuple(replace(finding, operation=operation.name) for finding in findings)
    lacking = suite_of(operation.name).lacking(subject)
    subject.calls.clear()
    return replace(profile, subject=subject, findings=its, lacking=lacking)


def _found(asking: Asking, convention: str) -> Finding:
    """Return a convention's value, and let every later call obey it."""
    declared = asking.subject.implementation.declared_convention(convention, asking.operation)
    if declared is not None:
        finding = Finding(asking.operation, convention, declared, "declared")
    else:
        # Where only one value may be inferred, no answer would change it.
        is_open = len(CONVENTIONS[convention].inferred_values) > 1
        finding = finding_of(asking.operation, convention, answer(convention, asking).fits if is_open else None)
    asking.settle(convention, finding.value)
    return finding


def _needs_equal_widths(asking: Asking) -> bool:
    """Return whether the operation works only with values as wide as keys (declared, or found by trying)."""
    if asking.operation not in (*ATTENTION, *ASKED_WITH_VALUES) or asking.operation == "attention_weights":
        return False
    if asking.subject.implementation.limited(asking.operation, "value_width"):
        return True
    equal, unequal = (asking.attention(3, 5, value_width=width) for width in (2, 3))
    return asking.result(unequal) is None and asking.result(equal) is not None


def _refuses_bias_with_mask(asking: Asking) -> bool:
    """Return whether the operation takes a mask and takes a bias but not both, which the interface allows."""
    has_bias = asking.has("bias") or ADDITIONS.get(asking.operation) == "bias"
    if asking.operation not in (*ATTENTION, *ASKED) or not asking.has("mask") or not has_bias:
        return False
    alone = (asking.attention(3, 4, mask="padding"), asking.attention(3, 4, bias=True))
    both = asking.attention(3, 4, mask="padding", bias=True)
    if not asking.has("bias"):
        # Every call has one.
        return asking.result(both) is None and asking.result(asking.attention(3, 4)) is not None
    return asking.result(both) is None and all(asking.result(inputs) is not None for inputs in alone)
