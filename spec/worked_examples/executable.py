"""Executable examples as plain numbers, read from `values.json` without importing SymPy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from veriformer.spec.worked_examples.verdict import Verdict


@dataclass(frozen=True)
class ExecutableExample:
    """One example that an implementation's operation can be run on.

    `arguments` are keyed by the interface's parameter names: nested lists of floats (numbers of an array), floats
    (real scalars), ints and bools; `weights` is a mapping from attribute names to arrays or None. `result` is the
    expected array, each float the nearest to the number in `exact`. Where an argument is no float64, the result
    is that of the exact argument. `conventions` are those under which the result is stated. `verdict` judges
    what the document printed, never the result.
    """

    id: str
    document: str
    line: int
    title: str
    fragment: str
    verdict: Verdict
    operation: str
    arguments: Mapping[str, Any]
    result: Any
    exact: Any
    conventions: Mapping[str, str]

    @property
    def source(self) -> str:
        """Where the example stands."""
        return f"seed document {self.document}, line {self.line}" if self.document else "an example of the project"


def read_values() -> list[dict[str, Any]]:
    """Return the records of `values.json`, one for each worked example, in the order of the documents."""
    text = resources.files(__package__).joinpath("values.json").read_text(encoding="utf-8")
    records: list[dict[str, Any]] = json.loads(text)["examples"]
    return records


def executable_examples() -> tuple[ExecutableExample, ...]:
    """Return the examples that carry an operation, as fresh plain numbers that a caller may change."""
    return tuple(_from_record(record) for record in read_values() if record["execution"] is not None)


def _from_record(record: Mapping[str, Any]) -> ExecutableExample:
    execution = record["execution"]
    return ExecutableExample(
        **{name: record[name] for name in ("id", "document", "line", "title", "fragment")},
        verdict=Verdict(record["verdict"]),
        operation=execution["operation"],
        arguments={name: _decoded(value) for name, value in execution["arguments"].items()},
        result=_decoded(execution["result"]),
        exact=execution["exact"],
        conventions=execution["conventions"],
    )


def _decoded(value: Any) -> Any:
    """Turn the strings for infinities, which JSON lacks, into floats."""
    if isinstance(value, list):
        return [_decoded(part) for part in value]
    if isinstance(value, dict):
        return {name: _decoded(part) for name, part in value.items()}
    return float(value) if isinstance(value, str) else value
