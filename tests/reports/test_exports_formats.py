"""What is written for other programs, whatever names and messages hold."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from junitparser import Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt
from veriformer.conformance_tests.core.text import plain
from veriformer.conformance_tests.reports.exports.annotations import annotation_lines
from veriformer.conformance_tests.reports.exports.junit import junit
from veriformer.conformance_tests.reports.exports.markdown import LONGEST, markdown
from veriformer.conformance_tests.reports.exports.outcome import Checked, Outcome, Problem, Table
from veriformer.conformance_tests.reports.exports.sarif import sarif
from veriformer.conformance_tests.reports.locations import Place

HOSTILE = (
    "</script><img src=x onerror=alert(1)> @you owner/name#1 | \\| `x` **b** [a](javascript:b) <!-- --> &lt; ]]>",
    "\x00\x08\x1b[31m\r\n::error::x\n\n# title\n| a | b |\n\ud800\ufffe",
    "```\n</details>\n~~~",
    "- a",
    "12. b",
    "=== ",
    "\\",
    "_a_ ~~b~~ $x$ !c",
    "https://example.org www.example.org",
)
TEXTS = st.text(st.characters(), max_size=60) | st.text("\\|`*_<>&@#[]()!~-+=.:1a \n\r\t", max_size=30)


def outcome(text: str) -> Outcome:
    place = Place("my_attention.py", 3)
    return Outcome(
        text,
        f"said {text}",
        conforms=False,
        facts=text,
        checked=(
            Checked(text, "a.law"),
            Checked("softmax", text, "failed", text, text, 0.5, place),
            Checked("softmax", "c", "error", text, text),
            Checked("softmax", "d", "skipped", text),
        ),
        problems=(
            Problem(text, "error", text, text, place, (text, "other"), text),
            Problem("softmax.shift", "note", text, "softmax", expected=text or "known"),
        ),
        table=Table(("operation", "laws"), ((text, "1"), ("softmax", text))),
        notices=(text,),
        seconds=1.25,
    )


def hostile(test):
    for text in HOSTILE:
        test = example(text)(test)
    return given(TEXTS)(test)


@hostile
def test_junit_is_well_formed_and_counts_what_it_has(text: str) -> None:
    (suite,) = JUnitXml.fromstring(junit([outcome(text)]).encode("utf-8"))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 1, 1, 1)
    first, failed, _, skipped = suite
    assert first.is_passed
    assert failed.classname.endswith(".softmax")
    assert isinstance(failed.result[0], Failure)
    assert failed.result[0].text.startswith("my_attention.py:3\n")
    assert isinstance(skipped.result[0], Skipped)


@hostile
def test_an_annotation_is_one_line_and_one_command(text: str) -> None:
    (line,) = annotation_lines([outcome(text)])
    assert len(line.splitlines()) == 1
    command = re.fullmatch(r"::error file=my_attention\.py,line=3,title=([^:,]*)::(.*)", line)
    assert command is not None
    read = command[2].replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
    assert read == plain(text, 1000)


def test_separators_of_lines_end_no_annotation() -> None:
    (line,) = annotation_lines([outcome("one\u2028two\u2029three")])
    assert "one\\u2028two\\u2029three" in line
    assert len(line.splitlines()) == 1


class Seen(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.rows: list[int] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {f"{tag}.{name}" for name, _ in attrs}
        if tag == "tr":
            self.rows.append(0)
        if tag in ("td", "th"):
            self.rows[-1] += 1

    def handle_data(self, data):
        self.text += data


TAGS = ["h3", "p", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "code", "pre", "blockquote"]


@hostile
def test_markdown_holds_names_as_text_and_nothing_else(text: str) -> None:
    written = markdown([outcome(text)])
    page = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(written)
    seen = Seen()
    seen.feed(page)
    assert set(seen.tags) <= set(TAGS)
    assert seen.attributes <= {"code.class"}
    assert seen.rows == [2, 2, 2]
    assert seen.tags.count("details") == 2
    # A mention or a reference begins with these; outside of code a space of no width follows.
    outside = re.sub(r"<code.*?</code>", "", page, flags=re.DOTALL)
    assert not re.search(r"[@#](?!\u200b)", re.sub(r"&#\w+;|&\w+;", "", outside))
    shown = " ".join(seen.text.replace("\u200b", "").split())
    assert shown.count(" ".join(plain(text, 1000).split())) >= 5


def test_a_name_that_looks_like_html_is_shown() -> None:
    page = MarkdownIt("commonmark").enable("table").render(markdown([outcome("<b>@you</b> a|b")]))
    assert page.count("&lt;b&gt;@\u200byou&lt;/b&gt; a|b") >= 5


def test_a_comment_is_never_too_long() -> None:
    long = Problem("rule", "error", "s" * 900, "w", text="x" * 100 + "\n" + "|`" * 20_000)
    many = Outcome(
        "name", "sentence", False, problems=(long,) * 200, table=Table(("a", "b"), (("c", "d" * 300),) * 500)
    )
    written = markdown([many] * 20)
    assert 0.8 * LONGEST < len(written) <= LONGEST
    assert "sections left out" in written
    assert written.count("<details>") == written.count("</details>")


def test_a_case_in_a_comment_ends_where_its_fence_does() -> None:
    text = "a\n````\n</details>\n`````text"
    written = markdown([Outcome("n", "s", False, problems=(Problem("r", "error", "s", "w", text=text),))])
    page = MarkdownIt("commonmark").render(written)
    assert page.count("</details>") == 1
    assert "&lt;/details&gt;\n`````text" in page


@hostile
def test_sarif_has_what_the_standard_asks_for(text: str) -> None:
    log = json.loads(sarif([outcome(text), outcome("b")]).encode("utf-8"))
    assert log["version"] == "2.1.0"
    assert len({run["automationDetails"]["id"] for run in log["runs"]}) == (1 if text == "b" else 2)
    for run in log["runs"]:
        rules = run["tool"]["driver"]["rules"]
        assert len({rule["id"] for rule in rules}) == len(rules) == 2
        for rule in rules:
            assert rule["shortDescription"]["text"]
            assert rule["help"]["text"]
        for result in run["results"]:
            assert result["level"] in ("error", "warning", "note")
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            assert isinstance(result["message"]["text"], str)
            assert re.fullmatch("[0-9a-f]{32}", result["partialFingerprints"]["veriformer/v1"])
    known, expected = log["runs"][0]["results"]
    place = {"artifactLocation": {"uri": "my_attention.py", "uriBaseId": "%SRCROOT%"}, "region": {"startLine": 3}}
    assert known["locations"][0]["physicalLocation"] == place
    assert expected["suppressions"][0]["kind"] == "external"
    assert "physicalLocation" not in expected["locations"][0]


def test_a_fingerprint_outlives_a_moved_line_and_tells_mistakes_apart() -> None:
    def fingerprint(line: int, rule: str, sentence: str) -> str:
        problem = Problem(rule, "error", sentence, "softmax", Place("a.py", line))
        (run,) = json.loads(sarif([Outcome("a.py", "s", False, problems=(problem,))]))["runs"]
        found: str = run["results"][0]["partialFingerprints"]["veriformer/v1"]
        return found

    assert fingerprint(3, "softmax.shift", "by 1.5") == fingerprint(30, "softmax.shift", "by 1.6")
    assert fingerprint(3, "softmax.shift", "x") != fingerprint(3, "softmax.value", "x")


def test_a_rule_explains_itself() -> None:
    rules = ("softmax.shift", "softmax_no_max_subtraction", "departs_in_logits")
    problems = tuple(Problem(rule, "error", "s", "w") for rule in rules)
    (run,) = json.loads(sarif([Outcome("n", "s", False, problems=problems)]))["runs"]
    law, mistake, other = (rule["help"]["text"] for rule in run["tool"]["driver"]["rules"])
    assert "veriformer explain softmax.shift" in law
    assert "veriformer explain softmax_no_max_subtraction" in mistake
    assert "is no known mistake" in other


@pytest.mark.parametrize("write", (junit, sarif, markdown))
def test_nothing_to_write_is_written_too(write) -> None:
    assert write([])
