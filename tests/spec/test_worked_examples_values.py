"""The generated table of plain numbers: current, loadable without SymPy, and fit for the interface."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import pytest
import sympy
from veriformer.spec.operations import OPERATIONS
from veriformer.spec.worked_examples import ExecutableExample, executable_examples, load_worked_example
from veriformer.spec.worked_examples.example import entries
from veriformer.spec.worked_examples.executable import read_values
from veriformer.spec.worked_examples.generate import VALUES_PATH, main, values_text

EXECUTABLE = executable_examples()
each_executable = pytest.mark.parametrize("example", EXECUTABLE, ids=lambda example: example.id)


def flat(nested: Any) -> list[Any]:
    return [entry for part in nested for entry in flat(part)] if isinstance(nested, list) else [nested]


def test_the_table_is_current() -> None:
    assert VALUES_PATH.read_text(encoding="utf-8") == values_text(), (
        "values.json is stale; run python -m veriformer.spec.worked_examples.generate"
    )


def test_the_generator_writes_the_named_file(tmp_path: Any) -> None:
    main([str(tmp_path / "values.json")])
    assert (tmp_path / "values.json").read_bytes() == VALUES_PATH.read_bytes()


def test_the_table_is_strict_json() -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    json.loads(VALUES_PATH.read_text(encoding="utf-8"), parse_constant=refuse)


def test_loading_does_not_import_sympy() -> None:
    program = (
        "import sys; from veriformer.spec.worked_examples import executable_examples, worked_example_ids;"
        "assert executable_examples() and worked_example_ids(); sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@each_executable
def test_arguments_are_parameters_of_the_operation(example: ExecutableExample) -> None:
    operation = OPERATIONS[example.operation]
    required = {p.name for p in operation.parameters if p.requirement != "feature"}
    assert required <= set(example.arguments) <= {p.name for p in operation.parameters}


@each_executable
def test_floats_are_the_nearest_to_the_exact_result(example: ExecutableExample) -> None:
    execution = load_worked_example(example.id).execution
    assert execution is not None
    exact = entries(execution.result)
    floats = flat(example.result)
    assert len(exact) == len(floats)
    for one, value in zip(exact, floats, strict=True):
        if isinstance(one, bool):
            assert value is one
            continue
        near = Fraction(str(sympy.N(one, 60)))
        errors = [
            abs(Fraction(other) - near) for other in (value, math.nextafter(value, 9e9), math.nextafter(value, -9e9))
        ]
        assert errors[0] == min(errors)


def test_a_symbol_has_no_plain_value() -> None:
    """SymPy counts symbols among the truth values, so that they could pass for True."""
    records = {record["id"]: record for record in read_values()}
    assert records["seed_003.projected_shapes"]["value"] == [[None, None]] * 3
    assert records["seed_001.mask_is_lower_triangular"]["value"] is False


def test_infinite_arguments_are_floats() -> None:
    (example,) = [example for example in EXECUTABLE if example.id == "seed_001.masked_weight"]
    assert example.arguments == {"x": [-math.inf, 0.0]}
    assert example.result == [0.0, 1.0]


def test_a_caller_may_change_what_it_was_given() -> None:
    executable_examples()[0].result[0] = 7.0
    assert executable_examples()[0].result[0] == 0.5


def test_every_example_has_a_record() -> None:
    assert len(read_values()) > len(EXECUTABLE) > 20
