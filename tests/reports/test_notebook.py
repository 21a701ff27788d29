"""Results where they are looked at: one line at a prompt, the terminal's text, and a card in a real Jupyter kernel."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.conformance_tests import Comparison, Identification, PortComparison, Report, check, compare, identify
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.ports.findings import Cause, Difference, PartPair
from veriformer.conformance_tests.recognition.findings import Departure, Part, Recognition
from veriformer.conformance_tests.reports.console import report_text
from veriformer.conformance_tests.run.model_report import model_report
from veriformer.spec.derivations import load_derivation
from veriformer.spec.laws import LAWS

EVIL = '<img src=x onerror="alert(1)">\x1b[2J'
CELL = """
import numpy as np
from types import SimpleNamespace
from veriformer.conformance_tests import check

def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()

check(SimpleNamespace(framework="numpy", softmax=softmax))
"""


class Words(HTMLParser):
    """The texts of a page, and the names of its elements and attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text = ""
        self.names: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names |= {tag, *(name for name, _ in attrs)}

    def handle_data(self, data: str) -> None:
        self.text += data


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def over_everything(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max())
    return e / e.sum()


RIGHT = SimpleNamespace(framework="numpy", softmax=softmax)
WRONG = SimpleNamespace(framework="numpy", softmax=over_everything)


@pytest.fixture(scope="module")
def wrong() -> Report:
    return check(WRONG, tier="quick")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    found = compare(RIGHT, WRONG, tier="quick")
    assert isinstance(found, Comparison)
    return found


@pytest.fixture(scope="module")
def identification() -> Identification:
    return identify(RIGHT)


def port_comparison(name: str = "ours") -> PortComparison:
    cause = Cause("weight", "transposed", f"{name} has it transposed", change="transpose it")
    difference = Difference("a.q", "b.q", 0, "query", "multi_head_attention", "", 0, "b.py", 7, cause)
    pairs = (PartPair("norm", 0, "a.n", "b.n", "same"), PartPair("attention", 0, "a.q", "b.q", "differs", name))
    return PortComparison(
        "theirs", name, ("torch", "jax"), ("float32", "float32"), "differ", 0.5, pairs, (difference,), seconds=1.0
    )


def model(name: str = "gpt.py:GPT") -> Report:
    parts = (
        Part("ln", "layer_norm", 0, "layer_norm", {}, "holds", 3, 3, 1),
        Part("attn", "multi_head_attention", 0, name, {}, "departs", 3, 3, 2),
    )
    departed = Departure("attn", 0, "logits", "multi_head_attention", "gpt.py", 7, f"{name} is not scaled", (), 2)
    return model_report(name, Recognition(parts, (departed,), 10, 10, framework="torch", dtype="float32"))


def test_a_report_is_one_line_at_a_prompt(wrong: Report) -> None:
    violated = sum(result.status == "failed" for result in wrong.results)
    judged = violated + sum(result.status == "passed" for result in wrong.results)
    assert violated > 0
    assert repr(wrong).startswith("<Report: ")
    assert repr(wrong).endswith(f" violates {violated} of {judged} laws>")
    assert not wrong


def test_the_text_of_a_report_is_that_of_the_terminal(wrong: Report) -> None:
    assert wrong.text() == report_text(wrong)
    assert len(wrong.text(60).splitlines()) > len(wrong.text(120).splitlines())


def test_the_card_of_a_report_has_verdict_mistake_and_pictures(wrong: Report) -> None:
    words = Words(wrong._repr_html_())
    assert wrong.headline in words.text
    for text in ("violated", "expected", "got", "difference", "✗", "rounding", "laws"):
        assert text in words.text
    assert {"table", "svg", "caption"} <= words.names
    assert "script" not in words.names


def test_a_report_without_violations_says_so() -> None:
    report = Report("mine", "numpy", 0, "quick", (LawResult(LAWS["softmax.shift"], "passed", 5),))
    assert repr(report) == "<Report: mine obeys 1 law>"
    assert report
    assert "mine obeys 1 law" in Words(report._repr_html_()).text


def test_a_report_of_nothing_says_so() -> None:
    assert repr(Report("mine", "numpy", 0, "quick", ())) == "<Report: mine: no law was judged>"
    assert not Report("mine", "numpy", 0, "quick", ())
    assert Report("mine", "numpy", 0, "quick", ())._repr_html_()


def test_an_error_is_shown_with_its_reason() -> None:
    result = LawResult(LAWS["softmax.shift"], "error", 1, reason="it raised ValueError: no")
    report = Report("mine", "numpy", 0, "quick", (result,))
    assert repr(report) == "<Report: mine violates 1 of 1 law>"
    assert "it raised ValueError: no" in Words(report._repr_html_()).text


def test_a_model_shows_its_parts_and_departures() -> None:
    report = model()
    assert repr(report) == "<ModelReport: gpt.py:GPT departs in 1 place>"
    words = Words(report._repr_html_())
    for text in ("gpt.py:GPT is not scaled", "attn", "gpt.py:7", "layer_norm"):
        assert text in words.text
    assert "gpt.py:GPT" in report.text()


def test_a_comparison_shows_the_outcome_of_each_operation(comparison: Comparison) -> None:
    assert repr(comparison).endswith("differ in 1 of 1 operation>")
    assert "softmax" in Words(comparison._repr_html_()).text
    text = comparison.text(80)
    assert "softmax" in text
    assert "1 by a mistake" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_comparison_of_models_shows_what_to_change() -> None:
    found = port_comparison()
    assert repr(found) == "<PortComparison: ours differs from theirs in 1 place>"
    words = Words(found._repr_html_())
    assert "transpose it" in words.text
    assert "a.q ↔ b.q" in words.text
    assert "transpose it" in found.text()


def test_an_identification_shows_its_conventions(identification: Identification) -> None:
    conventions = {item.convention for item in identification.conventions}
    told = sum(item.told == "told" for item in identification.conventions)
    assert f"{told} of {len(identification.conventions)} convention" in repr(identification)
    words = Words(identification._repr_html_())
    for convention in conventions:
        assert convention in words.text
        assert convention in identification.text()


def test_laws_and_derivations_show_themselves() -> None:
    law = LAWS["softmax.shift"]
    assert repr(law) == f"<law softmax.shift: {law.statement}>"
    assert law.formula in Words(law._repr_html_()).text
    derivation = load_derivation("softmax")
    assert repr(derivation).startswith("<derivation softmax: ")
    words = Words(derivation._repr_html_())
    assert "math" in words.names
    assert all(step.name in words.text for step in derivation.steps)


@pytest.mark.parametrize(
    "result",
    (
        Report(EVIL, EVIL, 0, "quick", (LawResult(LAWS["softmax.shift"], "error", reason=EVIL),), notices=(EVIL,)),
        model(EVIL),
        port_comparison(EVIL),
        Identification(EVIL, EVIL, (), ()),
        Comparison(EVIL, EVIL, ("", ""), 0, "quick", (), notices=(EVIL,)),
    ),
    ids=lambda result: type(result).__name__,
)
def test_an_untrusted_name_injects_nothing(result: Any) -> None:
    words = Words(result._repr_html_())
    assert not {"img", "onerror", "src"} & words.names
    assert "<img src=x" in words.text
    for line in (repr(result), *result.text().splitlines()):
        assert line.isprintable()


def test_a_result_can_be_looked_at_in_a_jupyter_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (shown,) = [output.data for output in notebook.cells[0].outputs if output.output_type == "execute_result"]
    assert shown["text/plain"].startswith("<Report: ")
    assert "violates" in shown["text/plain"]
    assert "\n" not in shown["text/plain"]
    words = Words(shown["text/html"])
    assert "violated" in words.text
    assert {"table", "svg"} <= words.names
