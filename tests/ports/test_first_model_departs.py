"""Where the first model departs from the Transformer, the difference says so."""

from __future__ import annotations

from typing import Any

import pytest
from small_models import converted, gpt
from small_numpy import port
from veriformer.conformance_tests.ports.compare_models import compare_models
from veriformer.conformance_tests.ports.findings import PortComparison
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.ports import port_lines
from veriformer.conformance_tests.reports.ports_json import ports_as_json

pytestmark = pytest.mark.long


def _first_is(tokens: Any, **mistakes: Any) -> PortComparison:
    model = gpt()
    return compare_models((port(**mistakes), converted(model)), model, tokens)


_MISTAKES = [
    ({"scale": 12**-0.5 * 4**0.5}, "scale_by_d_model_not_head_dim"),
    ({"scale": 2.0}, "scale_missing"),
    ({"sees": 1}, "causal_diagonal_off_by_one"),
    ({"sees": -1}, "causal_mask_excludes_self"),
]


@pytest.mark.parametrize(("mistake", "name"), _MISTAKES)
def test_the_first_model_departs(tokens: Any, mistake: dict[str, Any], name: str) -> None:
    found = _first_is(tokens, **mistake)
    assert found.verdict == "differ"
    assert {one.departs for one in found.differences} == {"A"}
    assert {(one.cause.kind, one.cause.name) for one in found.differences} == {("mistake", name)}
    assert all("it is A that departs here" in one.cause.sentence for one in found.differences)
    assert {one["departs"] for one in ports_as_json(found)["departures"]} == {"A"}
    report = " ".join(line.plain for line in port_lines(found, Options(width=1000)))
    assert "it is A that departs here" in report
    assert report.startswith(f"{found.first} departs, and {found.second} does not, in ")
    assert f"{found.first} must change:" in report
    assert f"{found.second} must change" not in report
    # A terminal ends with what matters most.
    last = report.partition("What matters most: ")[2]
    assert last.partition("cause")[0].strip().endswith(f"of {found.first}, which departs")
    assert f"{found.differences[0].file_a.rpartition('/')[2]}:{found.differences[0].line_a}" in last
    assert f"veriformer explain {name}" in last and found.smallest in last


def test_the_second_model_departs(ported: Any) -> None:
    found = ported(scale=2.0)
    assert {one.departs for one in found.differences} == {"B"}
    assert not any("it is A" in one.cause.sentence for one in found.differences)


def test_neither_departs_where_correct_models_disagree(ported: Any) -> None:
    found = ported(eps=1e-6)
    assert {one.departs for one in found.differences} == {"neither"}


def test_both_depart_in_the_same_step(tokens: Any) -> None:
    model = gpt()
    found = compare_models(
        (port(scale=12**-0.5 * 4**0.5), converted(model)), (port(scale=2.0), converted(model)), tokens
    )
    assert {one.departs for one in found.differences} == {"both"}
