"""The interface document says what the catalogues, the adapters and the JSON report say."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters import numpy as built_in
from veriformer.adapters.errors import LoadError
from veriformer.adapters.implementation import LIMITATIONS
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check, strategies, suite
from veriformer.conformance_tests.conventions.identification import identify
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.reports.identified import _HOW, WORDS, identification_as_json
from veriformer.conformance_tests.reports.json_report import failure_as_json, report_as_json
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS, Operation

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "interface.md").read_text(encoding="utf-8")
SCHEMA_1 = {"schema", "implementation", "framework", "seed", "verdict", "counts", "conventions", "diagnosis", "laws"}
SCHEMA_1_DIAGNOSIS = {"mistake", "summary", "confidence"}
SCHEMA_1_LAW = {"id", "operation", "status", "cases", "seconds", "counterexample", "diagnosis"}


def rows(header: str) -> list[list[str]]:
    """Return the cells of the table whose first column is called `header`."""
    lines = PAGE.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {header} |")) + 2
    table = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return table


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_operations_of_the_page_are_those_of_the_code() -> None:
    assert [names(row[0])[0] for row in rows("operation")] == list(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_arguments_keywords_shapes_and_result_agree(operation: Operation) -> None:
    row = next(row for row in rows("operation") if names(row[0]) == [operation.name])
    arguments, features, result = row[1:]
    required = [item.name for item in operation.parameters if item.requirement != "feature"]
    assert names(arguments) == required
    assert names(features) == list(operation.features)
    assert names(result) == [operation.result]
    for parameter in operation.parameters:
        cell = features if parameter.requirement == "feature" else arguments
        item = next(item for item in cell.split("; ") if f"`{parameter.name}`" in item)
        assert parameter.shape in item
        assert item.endswith(" by name") == (parameter.requirement == "keyword")


def test_conventions_of_the_page_are_those_of_the_code() -> None:
    shown = {names(row[0])[0]: tuple(names(row[1])) for row in rows("convention")}
    assert shown == {name: convention.value_names for name, convention in CONVENTIONS.items()}


def test_every_convention_bears_on_an_operation() -> None:
    assert {name for operation in OPERATIONS.values() for name in operation.conventions} == set(CONVENTIONS)


def test_nothing_on_the_page_is_left_for_later() -> None:
    assert not re.search(r"later version(?!s may add)|not yet", PAGE)


def test_values_that_must_be_declared_are_marked() -> None:
    for row in rows("convention"):
        convention = CONVENTIONS[names(row[0])[0]]
        told = names(row[2].partition(";")[2]) if "only if declared" in row[2] else []
        must = [value.name for value in convention.values if not value.inferred]
        assert told == must


def test_what_the_page_calls_probed_is_found_by_probing() -> None:
    probed = {names(row[0])[0] for row in rows("convention") if row[2].startswith("found by probing")}
    assert not OPERATIONS["model"].conventions
    functions = {name: getattr(built_in, name) for name in OPERATIONS if name != "model"}
    silent = load(SimpleNamespace(dtypes=("float32", "float64", "float16"), **functions))
    findings = [finding for name in functions for finding in examine(silent, OPERATIONS[name]).findings]
    assert {finding.convention for finding in findings if finding.how == "inferred"} == probed


def test_limitations_of_the_page_are_those_of_the_code() -> None:
    assert {names(row[0])[0]: row[1] for row in rows("limitation")} == dict(LIMITATIONS)


def softmax_without_maximum(x: np.ndarray) -> np.ndarray:
    exponentials = np.exp(x)
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def test_keys_of_the_json_report_are_those_of_the_page() -> None:
    added: dict[str, set[str]] = {}
    for row in rows("where"):
        added.setdefault(row[0], set()).update(names(row[1]))
    with np.errstate(all="ignore"):
        report = report_as_json(check(SimpleNamespace(softmax=softmax_without_maximum), tier="quick"))
    failed = next(law for law in report["laws"] if law["status"] == "failed")
    # Only a run that an interrupt ended says so.
    always = added["report"] - {"interrupted"}
    assert set(report) == SCHEMA_1 | always - {"reason"}
    assert set(failure_as_json("x", "why", seed=0, tier="quick")) == SCHEMA_1 | always
    assert set(failed) == SCHEMA_1_LAW | added["law"]
    assert set(failed["counterexample"]) == added["counterexample"]


def every_key_is_visible(query_length: int, key_length: int) -> np.ndarray:
    return np.ones((query_length, key_length), dtype=bool)


def test_keys_of_a_diagnosis_are_those_of_the_page() -> None:
    added = {name for row in rows("where") if row[0] == "diagnosis" for name in names(row[1])}
    report = report_as_json(check(SimpleNamespace(causal_mask=every_key_is_visible), tier="quick"))
    (entry,) = report["diagnosis"]
    assert set(entry) == SCHEMA_1_DIAGNOSIS | added | {"laws"}
    failed = next(law for law in report["laws"] if law["status"] == "failed")
    assert set(failed["diagnosis"][0]) == SCHEMA_1_DIAGNOSIS | added


def test_the_schema_on_the_page_has_the_keys_that_were_promised() -> None:
    schema = PAGE.partition("```text\n")[2].partition("```")[0]
    assert all(f'"{key}": ' in schema for key in SCHEMA_1 | SCHEMA_1_LAW | SCHEMA_1_DIAGNOSIS)


def half_of_them(query_length: int, key_length: int) -> np.ndarray:
    return np.tril(np.ones((query_length, key_length), dtype=bool))


def test_keys_of_the_json_of_identify_are_those_of_the_page() -> None:
    described: dict[str, set[str]] = {}
    for row in rows("of"):
        described.setdefault(row[0], set()).update(names(row[1]))
    told = identification_as_json(identify(SimpleNamespace(causal_mask=half_of_them)))
    schema = PAGE.partition("What `veriformer identify` returns")[2].partition("```text\n")[2].partition("```")[0]
    (answer,) = told["conventions"]
    assert set(re.findall(r'"(\w+)": ', schema)) == set(told) | set(told["counts"]) | set(answer) | set(
        answer["evidence"][0]
    )
    assert set(answer) - {"evidence"} == described["answer"]
    assert set(answer["evidence"][0]) == described["evidence"]


@pytest.mark.parametrize(("field", "known"), [("how", _HOW), ("told", WORDS)])
def test_the_words_of_identify_are_those_of_the_page(field: str, known: dict[str, Any]) -> None:
    schema = PAGE.partition("What `veriformer identify` returns")[2].partition("```text\n")[2].partition("```")[0]
    (line,) = re.findall(rf'^ +"{field}": (".*),$', schema, re.MULTILINE)
    assert re.findall(r'"(\w+)"', line) == list(known)


def near_miss(query: Any, key: Any, value: Any, *, is_casual: bool = False) -> Any:
    return built_in.scaled_dot_product_attention(query, key, value)


def foreign_name(query: Any, key: Any, value: Any, *, attn_mask: Any = None) -> Any:
    return built_in.scaled_dot_product_attention(query, key, value)


@pytest.mark.parametrize(("function", "status"), [(near_miss, "failed"), (foreign_name, "passed")])
def test_a_misspelt_keyword_has_the_consequence_that_the_page_names(function: Any, status: str) -> None:
    report = check(SimpleNamespace(scaled_dot_product_attention=function), laws=("attention.signature",), tier="quick")
    result = next(result for result in report.results if result.law.id == "attention.signature")
    assert result.status == status
    assert report.notices


def test_a_misspelt_operation_has_the_consequence_that_the_page_names() -> None:
    beside_another = load(SimpleNamespace(softmax=built_in.softmax, layernorm=built_in.layer_norm))
    assert not beside_another.declares("layer_norm")
    assert any("layer_norm" in notice for notice in beside_another.notices)
    with pytest.raises(LoadError, match="layer_norm"):
        load(SimpleNamespace(layernorm=built_in.layer_norm))


@pytest.mark.parametrize(
    ("title", "module"),
    [("What laws of your own import", strategies), ("What a package that adds an operation imports", suite)],
)
def test_the_names_for_other_packages_are_those_that_can_be_imported(title: str, module: ModuleType) -> None:
    section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    named = {
        name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert named == set(module.__all__)
    assert all(hasattr(module, name) for name in named)
