"""The record of one worked example, of a seed document or of the project itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import Exact, Matrix, Vector
from veriformer.spec.worked_examples.printed import Printed, PrintedNumber
from veriformer.spec.worked_examples.verdict import Verdict


@dataclass(frozen=True)
class Execution:
    """How an implementation runs an example: the operation, its exact arguments and its exact result.

    `arguments` are keyed by the interface's parameter names. A float is a SymPy number, a Python int or bool is
    itself, and `weights` is a mapping from attribute names. `conventions` are those under which the result is
    stated, where an implementation with another value of them must differ.
    """

    operation: str
    arguments: Mapping[str, Any]
    result: Any
    conventions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkedExample:
    """One numeric example: what the document prints, the exact value, and the verdict on the first by the second.

    `fragment` is verbatim text of the document that begins on `line`. A conditional example is right (`exact`)
    where `condition` holds and not elsewhere (`otherwise`). Executable examples carry an `execution`. An example of the
    project has no document, and its fragment is the question.
    """

    id: str
    document: str
    line: int
    title: str
    fragment: str
    printed: Printed | None
    exact: Exact
    verdict: Verdict
    note: str = ""
    condition: str = ""
    otherwise: Exact | None = None
    execution: Execution | None = None

    @property
    def source(self) -> str:
        """Where the example stands."""
        return f"seed document {self.document}, line {self.line}" if self.document else "an example of the project"


def own_example(example_id: str, title: str, question: str, execution: Execution, note: str = "") -> WorkedExample:
    """Return an example of the project: its exact value is the result of an operation."""
    return WorkedExample(
        id=example_id,
        document="",
        line=0,
        title=title,
        fragment=question,
        printed=None,
        exact=execution.result,
        verdict=Verdict.NOT_GIVEN,
        note=note,
        execution=execution,
    )


def entries(nested: Exact) -> Vector:
    """Return the numbers of a nested value in reading order."""
    if isinstance(nested, tuple):
        return tuple(entry for part in nested for entry in entries(part))
    return (nested,)


def printed_entries(printed: Printed | None) -> tuple[PrintedNumber, ...]:
    """Return the printed numbers in reading order; none where the document prints none."""
    if printed is None:
        return ()
    if isinstance(printed, PrintedNumber):
        return (printed,)
    return tuple(entry for part in printed for entry in printed_entries(part))


def attention_execution(operation: str, query: Matrix, key: Matrix, result: Matrix, **more: Any) -> Execution:
    """Return the execution of an attention operation on one sequence and one head.

    Matrices get leading axes of batch and head; further arguments are `value`, `mask`, `is_causal`, `scale`.
    """
    batched = {name: ((rows,),) for name, rows in {"query": query, "key": key}.items()}
    if "value" in more:
        batched["value"] = ((more.pop("value"),),)
    return Execution(operation, {**batched, **more}, ((result,),))


def softmax_execution(logits: Exact, result: Exact) -> Execution:
    """Return the execution of softmax over the last axis."""
    return Execution("softmax", {"x": logits}, result)


def boolean(mask: Matrix) -> tuple[tuple[bool, ...], ...]:
    """Return which entries of an additive mask of 0 and −∞ may be attended."""
    return tuple(tuple(bool(entry == sympy.Integer(0)) for entry in row) for row in mask)
