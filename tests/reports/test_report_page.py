"""The page of a report: what stands on it, that it is sound and small, and that no text becomes markup."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from html_pages import Parsed, is_in_order
from hypothesis import given, settings
from hypothesis import strategies as st
from veriformer.conformance_tests import Report, check
from veriformer.conformance_tests.comparison.comparison import CaseComparison, Comparison, OperationComparison
from veriformer.conformance_tests.comparison.comparison import Cause as Reason
from veriformer.conformance_tests.conventions.evidence import Evidence
from veriformer.conformance_tests.conventions.identification import Identification, Identified
from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.core.verdict import compare, words
from veriformer.conformance_tests.diagnosis.diagnosis import Diagnosis, Suspect
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.operations.attention.inputs import AttentionInputs
from veriformer.conformance_tests.ports.findings import Cause, Difference, PartPair, PortComparison, WeightPair
from veriformer.conformance_tests.recognition.findings import Departure, Part, Recognition, Suspected
from veriformer.conformance_tests.reports.html.pages import (
    check_page,
    comparison_page,
    identification_page,
    port_page,
    write_page,
)
from veriformer.conformance_tests.reports.html.wording import check_sentence
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.run.model_report import model_report
from veriformer.conformance_tests.run.report import Report as RunReport
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

LEAK = "attention.causal.no_future_leak"
SLUG = "causal_diagonal_off_by_one"
USUAL = 400_000


def leak() -> LawResult:
    """Return the violation of a causal mask whose diagonal is off by one."""
    case = AttentionCase(1, 1, 1, 2, 2, 1, 1, is_causal=True)
    arguments = {
        "query": np.ones((1, 1, 2, 1)),
        "key": np.array([[[[1.0], [5.0]]]]),
        "value": np.array([[[[0.0], [5]]]]),
    }
    arguments["is_causal"] = True
    expected, actual = np.zeros((1, 1, 2, 1)), np.array([[[[4.91], [0.0]]]])
    inputs = AttentionInputs.given("scaled_dot_product_attention", "float32", arguments)
    call = CallRecord("scaled_dot_product_attention", "float32", arguments, actual, inputs=inputs)
    verdict = compare(expected, actual, np.full(expected.shape, 1e-6))
    return LawResult(LAWS[LEAK], "failed", 25, 0.5, counterexample=Counterexample(case, (call,), verdict))


def passed(law: str) -> LawResult:
    return LawResult(LAWS[law], "passed", 25, 0.1)


def error(law: str, reason: str) -> LawResult:
    return LawResult(LAWS[law], "error", 1, reason=reason, traceback=f"Traceback\n  line\n{reason}\n")


def diagnosed() -> Diagnosis:
    suspect = Suspect((SLUG,), 1.0, (("causal_diagonal", SLUG),))
    return Diagnosis("scaled_dot_product_attention", "reproduced", (suspect,), (LEAK,), 12, 400)


def report(*results: LawResult, name: str = "my.py", **more: Any) -> RunReport:
    return replace(RunReport(name, "numpy", 0, "standard", results, seconds=2.3, source="my.py"), **more)


def one_mistake(**more: Any) -> RunReport:
    findings = (
        Finding("scaled_dot_product_attention", "empty_row", "nan", "inferred"),
        Finding(
            "scaled_dot_product_attention", "causal_alignment", "top_left", "standard", ("top_left", "bottom_right")
        ),
    )
    undeclared = LawResult(LAWS["attention.bias.value"], "not_declared", reason="no keyword bias")
    results = (leak(), passed("attention.shape"), undeclared)
    return report(*results, findings=findings, diagnoses=(diagnosed(),), **more)


@pytest.fixture(scope="module")
def page() -> str:
    return check_page([one_mistake()], command="veriformer check my.py")


def test_the_verdict_says_the_mistake_in_plain_words(page: str) -> None:
    said = "scaled_dot_product_attention lets each query see one key too many; one law says so"
    assert said in Parsed(page).text
    assert is_in_order(page)


def test_what_a_reader_needs_is_there(page: str) -> None:
    text = Parsed(page).text
    for part in (
        "veriformer check my.py", "seed 0, tier standard", "numpy", SLUG, "certain", "RVC-Boss/GPT-SoVITS#965",
        LAWS[LEAK].statement, "L = 2, S = 2", "4.91", "expected", "got", "difference", "Why it holds", "1 law holds",
        "What is the output of a query that may see no key?", "unknown: top_left or bottom_right", "no keyword bias",
    ):  # fmt: skip
        assert part in text


def test_who_sees_whom_is_drawn_with_the_mistake(page: str) -> None:
    text = Parsed(page).text
    assert "Which keys each query sees" in text
    assert "Which keys each query may see" not in text
    assert "Which keys each query may see" in Parsed(check_page([report(leak())])).text


def test_a_derivation_is_mathematics(page: str) -> None:
    assert any(tag == "math" for tag, _ in Parsed(page).elements)


def test_sentences_and_formulas_are_set_and_names_stay_as_they_are() -> None:
    def formulas(page: str) -> set[str]:
        return {attributes["alttext"] or "" for tag, attributes in Parsed(page).elements if tag == "math"}

    found = one_mistake(name="w_o.py", notices=("x_1 = 2 was guessed",))
    page = check_page([found])
    assert {"L = 2", "S = 2", "j ≤ i"} <= formulas(page)
    assert "w_o.py" in Parsed(page).text and "x_1 = 2 was guessed" in page
    assert not {"w_o", "x_1", "x_1 = 2"} & formulas(page)
    departing = Departure(
        "h_0", None, "logits", "self_attention", "", 0, "the factor is 0.14, where 1/√D = 0.29", (), 1
    )
    part = Part("h_0", "self_attention", None, "", {}, "departs", 1, 2, 1)
    recognition = Recognition((part,), (departing,), 10, 9, ("x_1",), "torch", "float64", {})
    page = check_page([model_report("w_o", recognition)])
    assert "w_o departs in h_0: the factor is 0.14, where 1/√D = 0.29" in Parsed(page).text
    assert formulas(page) == {"1/√D = 0.29"}
    port = replace(a_port("x"), differences=())
    cause = Cause("mistake", "x", "A: d_k = 4; B: d_k = 8", 1.0, "x")
    difference = Difference("w_o", "w_o", None, "norm", "norm", "", 0, "", 0, cause)
    page = port_page(replace(port, differences=(difference,)))
    assert formulas(page) == {"d_k = 4", "d_k = 8"}
    assert "A: d_k = 4; B: d_k = 8" in Parsed(page).text


def test_a_page_without_formulas_carries_no_font() -> None:
    plain_page = check_page([], [("broken.py", "x = 2")])
    assert "font/woff2" not in plain_page and "font-src 'none'" in plain_page
    assert "font/woff2" in check_page([one_mistake()]) and "font-src data:" in check_page([one_mistake()])


def test_the_snippet_runs_without_the_page(page: str) -> None:
    text = "".join(Parsed(page).texts)
    assert "result = implementation.scaled_dot_product_attention(query, key, value, is_causal=True)\n" in text


def test_the_data_is_what_json_has_of_declared_laws(page: str) -> None:
    data = Parsed(page).data
    (inside,) = data["reports"]
    written = report_as_json(one_mistake())
    empty = {"reason": "", "refused": [], "expected_failure": None, "counterexample": None, "diagnosis": []}
    filled = [{"statement": LAWS[law["id"]].statement, **empty, **law} for law in inside["laws"]]
    assert (data["schema"], data["kind"]) == (1, "check")
    assert {**inside, "laws": filled} == written


def test_no_script_but_its_own_may_run(page: str) -> None:
    (policy,) = [value for value in Parsed(page).values("content") if "default-src" in value]
    scripts = [text for attributes, text in Parsed(page).scripts if attributes.get("type") != "application/json"]
    hashed = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert len(scripts) == 1
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert f"script-src 'sha256-{hashed}'" in policy


def test_filters_have_something_to_find(page: str) -> None:
    parsed = Parsed(page)
    assert LEAK in " ".join(parsed.values("data-law")).split()
    assert SLUG in parsed.values("data-mistake")
    assert {"broken", "held"} <= set(parsed.values("data-status"))
    assert {f"mistake-{SLUG}", "conventions", "tried", "not-declared"} <= set(parsed.values("id"))
    assert {f"law-{LEAK}", "law-attention.shape"} <= set(parsed.values("id"))


def test_the_law_about_the_mistake_comes_first() -> None:
    hull = replace(leak(), law=LAWS["attention.values.hull"])
    diagnosis = replace(diagnosed(), laws=("attention.values.hull", LEAK))
    text = Parsed(check_page([report(hull, leak(), diagnoses=(diagnosis,))])).text
    assert f"The law that shows it best: {LAWS[LEAK].statement}" in text


def test_two_mistakes_have_a_card_each() -> None:
    second = replace(diagnosed(), operation="softmax", suspects=(Suspect(("log_softmax_returned",), 1.0),), laws=())
    broken = replace(passed("softmax.rows_sum_to_one"), status="failed")
    both = report(leak(), broken, diagnoses=(diagnosed(), second))
    said = "lets each query see one key too many, and softmax returns the logarithms"
    assert said in check_sentence([both])
    assert Parsed(check_page([both])).elements.count(("article", {})) == 0
    assert sum(tag == "article" for tag, _ in Parsed(check_page([both])).elements) == 2


def test_one_mistake_in_two_operations_has_one_card() -> None:
    second = replace(diagnosed(), operation="grouped_query_attention", laws=())
    other = replace(passed("grouped_query.causal.no_future_leak"), status="failed")
    both = check_page([report(leak(), other, diagnoses=(diagnosed(), second))])
    assert sum(tag == "article" for tag, _ in Parsed(both).elements) == 1
    assert "scaled_dot_product_attention, grouped_query_attention lets" in Parsed(both).text


def test_gradients_follow_the_forward_pass() -> None:
    backward = replace(passed("attention_backward.grad_value"), status="failed")
    derived = {"scaled_dot_product_attention_backward": "scaled_dot_product_attention"}
    text = Parsed(check_page([report(leak(), backward, diagnoses=(diagnosed(),), derived=derived)])).text
    assert "1 law of the gradients, which are derived from scaled_dot_product_attention and follow it" in text


def test_nothing_known_explains_it() -> None:
    unknown = replace(diagnosed(), how="unknown", suspects=())
    text = Parsed(check_page([report(leak(), diagnoses=(unknown,))])).text
    assert "scaled_dot_product_attention breaks one law, and no known mistake explains it" in text
    assert "None of the 400 that were computed" in text


def test_what_was_not_diagnosed_is_not_called_unknown() -> None:
    text = Parsed(check_page([report(leak())])).text
    assert "scaled_dot_product_attention breaks one law, and its mistake was not looked for" in text


def test_one_exception_of_many_laws_is_one_card() -> None:
    laws = ("softmax.shape", "softmax.shift", "layer_norm.shape")
    raised = [error(law, f"{LAWS[law].operation.name} raised ValueError: no {n}") for n, law in enumerate(laws)]
    page = check_page([report(*raised)])
    assert "3 laws of softmax, layer_norm could not be judged: softmax raised ValueError: no 0" in Parsed(page).text
    assert sum(tag == "article" for tag, _ in Parsed(page).elements) == 1


def test_what_cannot_be_loaded_has_a_page_too() -> None:
    page = check_page([], [("broken.py", "cannot load broken.py: no module named x")], seed=3, tier="quick")
    assert is_in_order(page)
    assert "broken.py could not be loaded: cannot load broken.py: no module named x" in Parsed(page).text
    assert Parsed(page).data["reports"][0]["reason"] == "cannot load broken.py: no module named x"


@pytest.mark.parametrize(
    ("one", "said"),
    (
        (report(passed("softmax.shape"), passed("softmax.shift")), "my.py obeys all 2 laws that were tried"),
        (report(replace(passed("softmax.shape"), status="not_declared")), "No law of my.py was judged"),
        (
            report(passed("softmax.shape"), replace(passed("softmax.shift"), status="not_tried")),
            "1 more were not tried",
        ),
        (report(passed("softmax.shape"), stale=("line 1: it holds",)), "1 expected failure no longer occurs"),
    ),
)
def test_verdicts_without_a_mistake(one: RunReport, said: str) -> None:
    assert said in check_sentence([one])
    assert is_in_order(check_page([one]))


def test_a_large_case_stays_small_on_the_page() -> None:
    large = np.random.default_rng(0).normal(size=(1, 8, 64, 64))
    arguments = {"query": large, "key": large, "value": large}
    verdict = compare(large, large + 1, np.full(large.shape, 1e-6))
    call = CallRecord("scaled_dot_product_attention", "float32", arguments, large + 1)
    result = replace(leak(), counterexample=Counterexample(AttentionCase(1, 8, 8, 64, 64, 64, 64), (call,), verdict))
    page = check_page([report(result)])
    case = Parsed(page).data["reports"][0]["laws"][0]["counterexample"]
    assert len(page.encode()) < 200_000
    assert case["calls"][0]["arguments"]["query"] == {"shape": [1, 8, 64, 64], "dtype": "float32", "values": None}
    assert "in 32,768 of 32,768 entries" in Parsed(page).text


def test_twenty_implementations_fit_on_a_page() -> None:
    many = [one_mistake(name=f"impl{number}.py") for number in range(20)]
    page = check_page([*many, report(passed("attention.shape"), name="right.py")])
    assert "20 of 21 break laws or depart: impl0.py, impl1.py, impl2.py and 17 more" in Parsed(page).text
    assert is_in_order(page)
    assert len(page.encode()) < USUAL


def test_several_models_and_implementations_have_places_of_their_own() -> None:
    page = check_page([a_model("one"), a_model("two"), one_mistake(), one_mistake(name="b.py")])
    assert is_in_order(page)
    assert {"departure-1", "departure-1-2", f"mistake-{SLUG}", f"mistake-{SLUG}-2"} <= set(Parsed(page).values("id"))


def test_a_real_check_gives_a_page_of_usual_size() -> None:
    class Overflowing:
        def softmax(self, x: np.ndarray) -> np.ndarray:
            e = np.exp(x)
            return e / e.sum(axis=-1, keepdims=True)

    with np.errstate(all="ignore"):
        found: Report = check(Overflowing(), tier="quick", laws=("softmax.*",))
    page = check_page([found])
    assert "softmax overflows where logits are large" in Parsed(page).text
    assert is_in_order(page)
    assert len(page.encode()) < USUAL


def test_the_page_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_page(path, check_page([one_mistake()]))
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


PIECES = (
    "<script>alert(1)</script>", "</script>", "<!--", "-->", '"><img src=x onerror=alert(1)>', "' onmouseover='x",
    "</style><style>*{display:none}", "</code></pre><h1>", "javascript:alert(1)", "&lt;b&gt;", "{{ 7 * 7 }}",
    "{% raw %}", "\x1b[2J", "\x00", "\u202e", "\ud800", "]]>", "<math>", "`",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(min_size=1, max_size=20), min_size=1, max_size=4).map(
    lambda parts: f"x{''.join(parts)}x"
)


def untrusted(text: str) -> list[str]:
    """Return pages on which a text stands wherever a text of others can stand."""
    worded = Counterexample(None, (), words(text, text, holds=False))
    noted = replace(leak(), counterexample=replace(leak().counterexample, verdict=replace(worded.verdict, note=text)))
    diagnosis = replace(diagnosed(), separated_by=text, problem=text)
    one = one_mistake(name=text, notices=(text,), source=f"{text}.py")
    results = (
        *one.results[1:],
        noted,
        error("softmax.shape", text),
        replace(passed("gelu.value"), expected_failure=text),
    )
    checked = replace(one, results=results, diagnoses=(diagnosis,), stale=(text,), framework="numpy")
    return [
        check_page([checked], command=text),
        check_page([checked, replace(checked, implementation="other")], [(text, text)]),
        check_page([a_model(text)]),
        port_page(a_port(text)),
        identification_page([an_identification(text)], [(text, text)]),
        comparison_page(a_comparison(text), command=text),
    ]


def a_model(text: str) -> Any:
    suspects = (Suspected(text, text, 1.0, ("a/b#1",)), Suspected(SLUG, text, 0.5))
    departure = Departure(text, None, "logits", "self_attention", f"{text}.py", 3, text, suspects, 1)
    parts = (
        Part(text, "layer_norm", None, text, {text: text}, "departs", 1, 2, 1),
        Part(f"h.0.{text}", text, 0, text, {}, "holds", 1, 1, 2),
    )
    recognition = Recognition(parts, (departure,), 10, 9, (text,), "torch", "float64", {text: text})
    return model_report(text, recognition, notes=(text,))


def a_port(text: str) -> PortComparison:
    cause = Cause("mistake", text, text, 1.0, text)
    difference = Difference(text, text, None, "norm", text, text, 1, text, 2, cause, situation=text)
    pair = PartPair(text, None, text, text, "differs", text)
    weight = WeightPair((text,), (text,), "scaled", text)
    found = PortComparison(text, text, ("torch", "flax"), ("float32", "float32"), "differ", 0.5, (pair,), (difference,))
    return replace(found, weights=(weight,), notices=(text,), inputs=text, smallest=text)


def an_identification(text: str) -> Identification:
    evidence = Evidence("asked", text, (), ())
    item = Identified("softmax", "softmax_dtype", "input", "declared", "contradicted", text, (), (evidence,))
    return Identification(text, "numpy", (item,), ("softmax",))


def a_comparison(text: str) -> Comparison:
    apart = ((text,), (text,))
    found = leak().counterexample
    answer = np.zeros((1, 1, 2, 1))
    answered = CaseComparison(
        found.case, "float32", found.calls[0].arguments, (answer, None), (text, text), (answer, None),
        cause=Reason("first", (), raised=True),
    )  # fmt: skip
    unjudged = OperationComparison(
        OPERATIONS["scaled_dot_product_attention"],
        (text, "other"),
        keywords=apart,
        refused_by_one=apart,
        reason=text,
        unjudged=1,
        unjudged_because=text,
    )
    differing = replace(unjudged, reason="", unjudged=0, differences=(answered,), checks=(one_mistake(name=text), None))
    return Comparison(
        text, "other", (text, "numpy"), 0, "quick", (unjudged, differing), (text,), (text,), apart, (text,)
    )


@pytest.fixture(scope="module")
def harmless() -> list[Parsed]:
    return [Parsed(page) for page in untrusted("xyzx")]


@settings(max_examples=12, deadline=None)
@given(text=HOSTILE)
def test_no_text_becomes_markup(harmless: list[Parsed], text: str) -> None:
    for page, expected in zip(untrusted(text), harmless, strict=True):
        assert is_in_order(page)
        assert Parsed(page).structure == expected.structure
        assert Parsed(page).data


def test_control_characters_are_written_out() -> None:
    page = check_page([one_mistake(name="a\x1b[2J\u202e\x00b")])
    assert "\\x1b[2J\\u202e\\x00b" in Parsed(page).text
    assert not {"\x1b", "\u202e", "\x00"} & set("".join(Parsed(page).texts))
