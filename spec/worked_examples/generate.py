"""Write `values.json` from the exact examples: `python -m veriformer.spec.worked_examples.generate [FILE]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sympy
from veriformer.spec.worked_examples.example import Execution, WorkedExample
from veriformer.spec.worked_examples.judging import judge
from veriformer.spec.worked_examples.printed import PrintedNumber
from veriformer.spec.worked_examples.registry import WORKED_EXAMPLES

_WORKING_DIGITS = 40
VALUES_PATH = Path(__file__).with_name("values.json")


def values_text() -> str:
    """Return the text of `values.json`: one example on each line.

    Raises ValueError when an example's stated verdict is not the one that its values give.
    """
    lines = ",\n".join(json.dumps(_record(example), ensure_ascii=False) for example in WORKED_EXAMPLES)
    return '{"schema": 1, "examples": [\n' + lines + "\n]}\n"


def _record(example: WorkedExample) -> dict[str, Any]:
    judgement = judge(example)
    if judgement.verdict is not example.verdict:
        raise ValueError(f"{example.id} is stated as {example.verdict} but is {judgement.verdict}; correct it")
    record = {
        name: getattr(example, name)
        for name in ("id", "document", "line", "title", "fragment", "verdict", "condition", "note")
    }
    return {
        **record,
        "rounded_to": None if judgement.unit is None else str(judgement.unit),
        "printed": _nested(example.printed, _printed_text),
        "exact": _nested(example.exact, sympy.sstr),
        "value": _nested(example.exact, _plain),
        "otherwise": _nested(example.otherwise, sympy.sstr),
        "execution": None if example.execution is None else _execution_record(example.execution),
    }


def _execution_record(execution: Execution) -> dict[str, Any]:
    return {
        "operation": execution.operation,
        "arguments": {name: _nested(value, _plain) for name, value in execution.arguments.items()},
        "result": _nested(execution.result, _plain),
        "exact": _nested(execution.result, sympy.sstr),
        "conventions": dict(execution.conventions),
    }


def _nested(value: Any, convert: Any) -> Any:
    """Convert every leaf of nested tuples and mappings, tuples becoming lists."""
    if isinstance(value, tuple):
        return [_nested(part, convert) for part in value]
    if isinstance(value, Mapping):
        return {name: _nested(part, convert) for name, part in value.items()}
    return None if value is None else convert(value)


def _printed_text(printed: PrintedNumber) -> str:
    return printed.text


def _plain(value: Any) -> float | int | bool | str | None:
    """Return the nearest float of an exact number, and what JSON has none for as a string or None."""
    if isinstance(value, bool | int):
        return value
    # Not `Boolean`: SymPy's symbols are of that type too.
    if isinstance(value, sympy.logic.boolalg.BooleanAtom):
        return bool(value)
    if value.free_symbols:
        return None
    number = float(sympy.N(value, _WORKING_DIGITS))
    return number if number == number and abs(number) != float("inf") else str(number)


def main(arguments: list[str]) -> None:
    """Write the file that is named, or the packaged one."""
    path = Path(arguments[0]) if arguments else VALUES_PATH
    path.write_text(values_text(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
