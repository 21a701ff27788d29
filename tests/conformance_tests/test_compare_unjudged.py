"""Two implementations, of which one does not answer: what could not be judged is nobody's mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.loading import load_isolated
from veriformer.conformance_tests.comparison.comparing import compare_implementations
from veriformer.conformance_tests.comparison.comparison import Comparison
from veriformer.conformance_tests.conventions.identification import identify
from veriformer.conformance_tests.reports.comparison_json import comparison_as_json
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.two_implementations import details, outcome_words, summary

RIGHT = """
import numpy as np
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
def silu(x):
    return x / (1 + np.exp(-x))
"""
HANGS = "import time\n" + RIGHT.replace("    e = np", "    time.sleep(60)\n    e = np")
SOMETIMES = "import time\n" + RIGHT.replace(
    "    e = np", "    if x.shape[-1] in (7, 8, 9):\n        time.sleep(60)\n    e = np"
)
WRONG_TOO = SOMETIMES.replace("e / e", "1.5 * e / e")


@pytest.fixture
def compared(tmp_path: Path):
    opened = []

    def compare(source: str) -> Comparison:
        (tmp_path / "port.py").write_text(source)
        opened.append(load_isolated(str(tmp_path / "port.py"), ProcessLimits(seconds=0.4, loading=30)))
        return compare_implementations("numpy", opened[-1], operations=("softmax", "silu"), tier="quick")

    yield compare
    for implementation in opened:
        implementation.close()


def shown(comparison: Comparison) -> str:
    console = Console(width=200, record=True)
    with console.capture() as capture:
        for line in details(comparison, Options(width=200)):
            console.print(line)
    words = [outcome_words(operation, comparison) for operation in comparison.operations]
    return "\n".join([*words, capture.get(), summary(comparison)])


def test_a_port_that_never_answers_has_made_no_mistake(compared) -> None:
    comparison = compared(HANGS)
    softmax, silu = comparison.operations
    assert (softmax.causes, softmax.cases, silu.agrees) == ((), 0, True)
    assert "did not return within 0.4 s" in softmax.reason
    assert (comparison.verdict, comparison.exit_status) == ("error", 2)
    text = shown(comparison)
    assert "could not be judged" in text
    for word in ("side with", "mistake;", "correct what", "raises", "wrong"):
        assert word not in text.replace("0 by a mistake", "")


def test_what_was_answered_is_compared_all_the_same(compared) -> None:
    comparison = compared(SOMETIMES)
    softmax = comparison.operations[0]
    assert softmax.causes == ()
    assert softmax.cases > 5
    assert softmax.unjudged > 0
    assert not softmax.agrees
    assert comparison.exit_status == 2
    told = comparison_as_json(comparison)["operations"][0]
    assert (told["status"], told["unjudged"]) == ("not_compared", softmax.unjudged)
    assert "agree" in told["reason"]
    json.dumps(told, allow_nan=False)


def test_where_they_part_they_part(compared) -> None:
    comparison = compared(WRONG_TOO)
    softmax = comparison.operations[0]
    assert [cause.side for cause in softmax.causes] == ["first"]
    assert not any(cause.raised for cause in softmax.causes)
    assert (comparison.verdict, comparison.exit_status) == ("part", 1)
    assert "could not be judged" in shown(comparison)


def test_a_question_without_an_answer_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import time\ndef gelu(x):\n    time.sleep(60)\n")
    implementation = load_isolated(str(tmp_path / "mine.py"), ProcessLimits(seconds=0.4, loading=30))
    try:
        (answer, *_) = identify(implementation).conventions
    finally:
        implementation.close()
    assert (answer.told, answer.how, answer.fits, answer.evidence) == ("untold", "standard", (), ())
    assert "did not return within 0.4 s" in answer.reason
