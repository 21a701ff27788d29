"""The JSON report: every key and every type of schema 1, in JSON that any parser reads."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.reports.json_report import (
    document,
    failure_as_json,
    report_as_json,
    strict,
    write_json,
)
from veriformer.spec.laws import LAWS

NUMBER = (int, float)
NUMBER_OR_WORD = (int, float, str)
TOP: dict[str, Any] = {
    "schema": int, "implementation": str, "framework": str, "seed": int, "tier": str, "verdict": str, "counts": dict,
    "seconds": NUMBER, "conventions": dict, "unknown_conventions": list, "diagnosis": list, "notices": list,
    "taken_as": dict, "not_judged": dict, "stale": list, "not_declared": list, "laws": list,
}  # fmt: skip
LAW: dict[str, Any] = {
    "id": str, "operation": str, "statement": str, "tier": str, "status": str, "reason": str, "refused": list,
    "expected_failure": (str, type(None)), "cases": int, "largest_excess": NUMBER_OR_WORD, "seconds": NUMBER,
    "counterexample": (dict, type(None)), "diagnosis": list,
}  # fmt: skip
COUNTEREXAMPLE: dict[str, Any] = {
    "description": str, "case": (dict, type(None)), "calls": list, "expected": (list, *NUMBER_OR_WORD),
    "actual": (list, *NUMBER_OR_WORD), "wrong": list, "excess": NUMBER_OR_WORD, "note": str, "python": str,
    "eager_allows": bool,
}  # fmt: skip
DIAGNOSIS: dict[str, Any] = {
    "mistake": str, "summary": str, "confidence": NUMBER, "operation": str, "how": str, "together_with": list,
    "changes": dict, "recorded": bool, "citations": list, "hidden_when": str, "separated_by": str, "conventions": dict,
    "unexplained": list,
}  # fmt: skip
CALL: dict[str, Any] = {
    "operation": str,
    "dtype": str,
    "arguments": dict,
    "result": (list, *NUMBER_OR_WORD, type(None)),
}
COUNTS = {"laws", "passed", "failed", "not_declared", "not_tried", "errors", "cases"}


class Broken:
    """An implementation of which some laws hold, some fail, some raise and some are not declared."""

    def softmax(self, x: np.ndarray) -> np.ndarray:
        e = np.exp(x)
        with np.errstate(invalid="ignore"):
            return e / e.sum(axis=-1, keepdims=True)

    def padding_mask(self, lengths: np.ndarray, max_length: int) -> np.ndarray:
        raise ValueError("no \x00 masks \ud800 here")

    def scaled_dot_product_attention(self, query: Any, key: Any, value: Any) -> np.ndarray:
        return np.full((*query.shape[:3], value.shape[-1]), 0.5, dtype=query.dtype)


@pytest.fixture(scope="module")
def report() -> Report:
    with np.errstate(all="ignore"):
        return check(Broken(), tier="quick", laws=("softmax.*", "padding_mask.*", "attention.s*", "attention.mask.v*"))


def matches(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    wrong = {name: value.get(name) for name, kind in schema.items() if not isinstance(value.get(name), kind)}
    assert not wrong
    assert set(value) == set(schema)
    return True


def test_every_key_has_its_type(report: Report) -> None:
    written = report_as_json(report)
    assert matches(written, TOP)
    assert set(written["counts"]) == COUNTS
    assert all(matches(law, LAW) for law in written["laws"])
    assert written["diagnosis"]
    assert all(matches(entry, {**DIAGNOSIS, "laws": list}) for entry in written["diagnosis"])
    assert all(matches(entry, DIAGNOSIS) for law in written["laws"] for entry in law["diagnosis"])
    found = [law["counterexample"] for law in written["laws"] if law["counterexample"] is not None]
    assert found
    assert all(matches(counterexample, COUNTEREXAMPLE) for counterexample in found)
    assert all(matches(call, CALL) for counterexample in found for call in counterexample["calls"])


def test_every_status_occurs_and_counts_agree(report: Report) -> None:
    written = report_as_json(report, all_laws=True)
    statuses = [law["status"] for law in written["laws"]]
    assert set(statuses) == {"passed", "failed", "error", "not_declared"}
    assert written["counts"]["laws"] == len(statuses)
    assert written["counts"]["errors"] == statuses.count("error")
    assert written["verdict"] == "violates"
    assert {law["id"] for law in written["laws"]} <= set(LAWS)


def test_laws_that_are_not_declared_are_counted_and_listed_only_if_asked_for(report: Report) -> None:
    every, declared = report_as_json(report, all_laws=True), report_as_json(report)
    assert declared["laws"] == [law for law in every["laws"] if law["status"] != "not_declared"]
    assert {**declared, "laws": None} == {**every, "laws": None}
    left_out = declared["not_declared"]
    assert sum(one["laws"] for one in left_out) == len(every["laws"]) - len(declared["laws"]) > 0
    assert sum(one["laws"] for one in left_out) == declared["counts"]["not_declared"]
    assert all(" has no keyword " in one["reason"] for one in left_out)
    assert {one["operation"] for one in left_out} == {"scaled_dot_product_attention"}


def test_the_json_is_strict_and_survives_a_round_trip(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_json(path, [report_as_json(report)])

    def refused(constant: str) -> None:
        raise AssertionError(constant)

    read = json.loads(path.read_bytes().decode("utf-8"), parse_constant=refused)
    assert read == report_as_json(report)
    assert any("\x00 masks \\ud800" in law["reason"] for law in read["laws"])


def test_arguments_carry_shape_dtype_and_values(report: Report) -> None:
    law = next(law for law in report_as_json(report)["laws"] if law["id"] == "attention.single_key")
    query = law["counterexample"]["calls"][0]["arguments"]["query"]
    assert set(query) == {"shape", "dtype", "values"}
    assert np.array(query["values"]).shape == tuple(query["shape"])
    assert query["dtype"] == "float32"


def test_wrong_entries_are_indices_into_expected(report: Report) -> None:
    law = next(law for law in report_as_json(report)["laws"] if law["id"] == "attention.single_key")
    counterexample = law["counterexample"]
    expected, actual = np.array(counterexample["expected"]), np.array(counterexample["actual"])
    assert counterexample["wrong"]
    assert all(expected[tuple(index)] != actual[tuple(index)] for index in counterexample["wrong"])


def test_the_script_in_the_json_compiles(report: Report) -> None:
    for law in report_as_json(report)["laws"]:
        if law["counterexample"] is not None:
            compile(law["counterexample"]["python"], law["id"], "exec")


def test_numbers_that_json_lacks_become_words() -> None:
    value = {
        "a": [math.nan, math.inf, -math.inf, 1.5],
        "b": np.array([[np.nan]]),
        "c": np.float32(2),
        "d": True,
    }
    assert strict(value) == {"a": ["nan", "inf", "-inf", 1.5], "b": [["nan"]], "c": 2.0, "d": True}


def test_several_reports_are_wrapped(report: Report) -> None:
    one = report_as_json(report)
    assert document([one]) is one
    assert document([one, one]) == {"schema": 1, "reports": [one, one]}


def test_an_implementation_that_cannot_be_loaded_is_an_error() -> None:
    written = failure_as_json("nope.py", "there is no file nope.py", seed=3, tier="quick")
    assert written["verdict"] == "error"
    assert written["reason"] == "there is no file nope.py"
    assert matches({name: value for name, value in written.items() if name != "reason"}, TOP)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, report: Report) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    with pytest.raises(ValueError, match="JSON"):
        write_json(path, [{"x": math.nan}])
    with pytest.raises(TypeError):
        write_json(path, [{"x": object()}])
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]


def test_an_existing_file_keeps_its_permissions(tmp_path: Path, report: Report) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")
    path.chmod(0o640)
    write_json(path, [report_as_json(report)])
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to_and_not_replaced(report: Report) -> None:
    write_json(Path("/dev/null"), [report_as_json(report)])
    assert not Path("/dev/null").is_file()


def test_seed_and_reason_are_kept(report: Report) -> None:
    written = report_as_json(replace(report, seed=7, stale=("line 1: x",)), all_laws=True)
    assert written["seed"] == 7
    assert written["stale"] == ["line 1: x"]
    undeclared = [law["reason"] for law in written["laws"] if law["status"] == "not_declared"]
    assert any("no keyword mask" in reason for reason in undeclared)


def test_what_was_taken_for_what_and_what_is_judged_nowhere_is_written(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import numpy as np\ndef stable_softmax(z):\n    e = np.exp(z - z.max(-1, keepdims=True))\n"
        "    return e / e.sum(-1, keepdims=True)\ndef save(x):\n    return x\n"
    )
    written = report_as_json(check(str(file), tier="quick"))
    assert written["taken_as"] == {"stable_softmax": "softmax"}
    assert written["not_judged"] == {"save": "its name says that it does something"}
