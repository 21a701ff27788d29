"""The last screen of a report, 24 lines of 80 columns: the smallest case, drawn, the mistake, and the counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.reports.console import report_text
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.sight import seen
from veriformer.conformance_tests.run.report import Report

Array = np.ndarray


def attend(query: Array, key: Array, value: Array, visible: Any) -> Array:
    logits = query @ key.swapaxes(-1, -2) / np.sqrt(query.dtype.type(query.shape[-1]))
    logits = np.where(visible, logits, -np.inf).astype(query.dtype)
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True) @ value


def one_key_too_many(query: Array, key: Array, value: Array, *, is_causal: bool = False) -> Array:
    rows, columns = np.ogrid[: query.shape[-2], : key.shape[-2]]
    return attend(query, key, value, columns <= rows + 1 if is_causal else True)


def not_scaled(query: Array, key: Array, value: Array, *, is_causal: bool = False) -> Array:
    rows, columns = np.ogrid[: query.shape[-2], : key.shape[-2]]
    width = query.dtype.type(query.shape[-1])
    return attend(query * np.sqrt(width), key, value, columns <= rows if is_causal else True)


def checked(function: Any) -> Report:
    return check(SimpleNamespace(scaled_dot_product_attention=function), tier="quick", laws=("attention.*",))


@pytest.fixture(scope="module")
def causal() -> Report:
    return checked(one_key_too_many)


@pytest.fixture(scope="module")
def scale() -> Report:
    return checked(not_scaled)


def first_law(report: Report, law: str) -> LawResult:
    return next(result for result in report.results if result.law.id == law)


def test_the_last_screen_has_the_smallest_case_the_mistake_and_the_next_command(causal: Report) -> None:
    lines = report_text(causal, Options(width=80)).splitlines()
    assert max(map(cell_len, lines)) <= 80
    screen = lines[-24:]
    assert lines[1] == "✗ 6 of 34 laws do not hold"
    told = [
        "scaled_dot_product_attention ",
        "✗ attention.causal.no_future_leak",
        "smallest case",
        "who sees whom",
        "expected  ",
        "Diagnosis: ",
        "`causal_diagonal_off_by_one`",
        "veriformer explain causal_diagonal_off_by_one",
        "laws held, 6 violated",
    ]
    places = [next(number for number, line in enumerate(screen) if word in line) for word in told]
    assert places == sorted(places)


def test_who_sees_whom_is_drawn_as_it_should_be_and_as_the_mistake_has_it(causal: Report) -> None:
    found = seen(causal, first_law(causal, "attention.causal.no_future_leak"))
    assert found is not None
    expected, got = found
    assert expected.tolist() == [[True, False], [True, True]]
    assert got.tolist() == [[True, True], [True, True]]
    text = report_text(causal)
    assert "0 ● ·             0 ● ●✗" in text
    assert text.count("who sees whom") == 1


def test_nothing_is_drawn_where_the_mistake_shows_every_query_the_same_keys(scale: Report) -> None:
    assert any(diagnosis.suspects for diagnosis in scale.diagnoses)
    assert "who sees whom" not in report_text(scale, Options(verbose=True))


def test_the_error_is_a_bar_on_one_line(scale: Report) -> None:
    lines = report_text(scale, Options(verbose=True)).splitlines()
    at = next(number for number, line in enumerate(lines) if line.strip().startswith("error "))
    bar = lines[at + 1].split()
    assert bar[1].count("|") == bar[1].count("✗") == 1
    assert bar[1].index("|") < bar[1].index("✗")
    assert set(bar[1]) == set("░|·✗")


def test_a_narrow_terminal_gets_lines_that_fit_it(causal: Report) -> None:
    text = report_text(causal, Options(width=40))
    beyond = [line for line in text.splitlines() if cell_len(line) > 40]
    # What cannot be divided: the counts, which stand in the last line, and names.
    assert [line for line in beyond if len(line.split()) > 1] == [text.splitlines()[-1]]
    assert "causal_diagonal_off_by_one" in text
