"""Functions that raise: unless they claim the interface's form, nothing is held against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from inspect import signature

from veriformer.adapters.implementation import Implementation
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import counted
from veriformer.spec.operations import OPERATIONS

# How the reason begins where a call fails on arrays of the framework that was assumed.
_FRAMEWORK = "its framework is "


@dataclass(frozen=True)
class Answered:
    """The results without laws of calls that a function need not answer, and what is said of those.

    `not_judged` are functions that raise in every call, each with the reason.
    """

    results: tuple[LawResult, ...]
    not_judged: dict[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def without_unanswered(results: Sequence[LawResult], implementation: Implementation) -> Answered:
    """Return the results; laws in which a function of another interface has no valid result are not declared.

    So is every law of a function that is called like an operation in a file that names no framework, if it raises in
    each law of its results: it is something else. Its derived gradients may raise where the forward pass answers, as
    for a vector alone, if they hold in other laws.
    """
    if implementation.is_declared and not implementation.taken_as:
        return Answered(tuple(results))
    reasons = {name: reason for name in implementation.operations if (reason := _reason(name, results, implementation))}
    functions = {operation: function for function, operation in implementation.taken_as.items()}
    going_back = _derived_in_part(results, implementation)
    refused: dict[str, list[str]] = {}
    kept: list[LawResult] = []
    for one in results:
        operation = one.law.operation.name
        forward = implementation.derived.get(operation, operation)
        if forward in reasons:
            kept.append(_undeclared(one, f"no operation {operation}"))
        elif (
            (forward in functions or operation in going_back)
            and one.status == "error"
            and one.reason.startswith(_answers(operation))
        ):
            kept.append(_undeclared(one, one.reason))
            refused.setdefault(functions.get(forward, operation), []).append(one.reason.removeprefix(f"{operation} "))
        else:
            kept.append(one)
    return Answered(
        tuple(kept),
        {name: reason for name, reason in reasons.items() if name not in implementation.derived},
        tuple(_said(function, reasons) for function, reasons in refused.items()),
    )


def _derived_in_part(results: Sequence[LawResult], implementation: Implementation) -> set[str]:
    """Return the derived operations of a file that claims no form, some of whose laws hold."""
    if implementation.is_declared:
        return set()
    return {one.law.operation.name for one in results if one.status == "passed"} & implementation.derived.keys()


def _has_its_names(implementation: Implementation, operation: str) -> bool:
    """Return whether half of the arguments of a function are called as the operation has them."""
    record = OPERATIONS[operation]
    try:
        names = list(signature(implementation.operations[operation]).parameters)[: len(record.positional)]
    except (TypeError, ValueError):
        return True
    return 2 * len(set(names) & set(record.positional)) >= len(names)


def _answers(operation: str) -> tuple[str, ...]:
    """Return how the reasons begin where a call was refused, or answered in a shape that the known form has not."""
    return f"{operation} raised ", f"{operation} returned ", f"{operation} refuses "


def _said(function: str, reasons: Sequence[str]) -> str:
    """Return one sentence for all laws in which a function gave no valid result, with the first reason."""
    number = counted(len(reasons), "law")
    return f"{number} of {function} {'is' if len(reasons) == 1 else 'are'} not judged: once it {reasons[0]}"


def _undeclared(result: LawResult, reason: str) -> LawResult:
    return replace(result, status="not_declared", reason=reason, counterexample=None)


def _reason(operation: str, results: Sequence[LawResult], implementation: Implementation) -> str:
    """Return why no law of an operation's results could be judged; empty where one could, or none was tried."""
    if implementation.is_declared or operation in implementation.taken_as.values():
        return ""
    if _has_its_names(implementation, operation):
        return ""
    own = [one for one in results if one.law.operation.name == operation and one.law.claim.key != "signature"]
    tried = [one for one in own if one.status != "not_declared"]
    raised = f"{operation} raised "
    if not tried or not all(one.status == "error" and one.reason.startswith((raised, _FRAMEWORK)) for one in tried):
        return ""
    return f"as {operation}, {tried[0].reason.removeprefix(raised)}"
