"""`veriformer report badge`: what shields.io draws, from a report of check."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
LAWS = ("--law", "softmax.large_logits", "--law", "softmax.shape", "--tier", "quick")


def drawn(run: Run, *names: str, form: str = "json", more: tuple[str, ...] = ()) -> dict[str, object]:
    option = "--json" if form == "json" else "--report"
    run("check", *names, *LAWS, option, f"report.{form}", *more)
    status, out, err = run("report", "badge", f"report.{form}")
    assert (status, err) == (0, "")
    return json.loads(out)


def badge(message: str, color: str) -> dict[str, object]:
    return {"schemaVersion": 1, "label": "veriformer", "message": message, "color": color}


@pytest.mark.parametrize("form", ["json", "html"])
def test_laws_that_hold_are_green_and_broken_ones_red(run: Run, form: str) -> None:
    assert drawn(run, "right.py", form=form) == badge("2 laws hold", "brightgreen")
    assert drawn(run, "wrong.py", form=form) == badge("1 of 2 laws broken", "red")


def test_several_implementations_are_added_up(run: Run) -> None:
    assert drawn(run, "right.py", "wrong.py") == badge("1 of 4 laws broken", "red")


def test_what_could_not_be_loaded_is_grey(run: Run) -> None:
    assert drawn(run, "broken.py") == badge("not judged", "lightgrey")


def test_an_expected_failure_is_not_broken_and_a_stale_one_is(run: Run) -> None:
    Path("known.txt").write_text("softmax.large_logits  # it overflows\n", encoding="utf-8")
    known = ("--expected-failures", "known.txt")
    assert drawn(run, "wrong.py", more=known) == badge("1 law holds", "brightgreen")
    assert drawn(run, "right.py", more=known) == badge("1 stale exception", "red")


def test_it_is_written_to_a_file_that_is_no_source_of_it(run: Run) -> None:
    run("check", "right.py", *LAWS, "--json", "report.json")
    assert run("report", "badge", "report.json", "--output", "badge.json") == (0, "", "")
    assert json.loads(Path("badge.json").read_text(encoding="utf-8"))["message"] == "2 laws hold"
    assert run("report", "badge", "report.json", "--output", "report.json")[0] == 2


def test_other_reports_have_no_badge(run: Run) -> None:
    run("identify", "right.py", "--json", "identify.json")
    status, out, err = run("report", "badge", "identify.json")
    assert (status, out) == (2, "")
    assert "is no report of check" in err


def test_the_places_where_a_model_departs_are_counted_apart(run: Run) -> None:
    pytest.importorskip("torch")
    gpt = Path(__file__).resolve().parents[2] / "docs" / "examples" / "my_gpt.py"
    run("check", f"{gpt}:GPT", "--json", "gpt.json")
    assert json.loads(run("report", "badge", "gpt.json")[1]) == badge("3 departures", "red")
