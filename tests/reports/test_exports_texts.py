"""What a reader of an export sees is what was meant: for each sentence of the catalogues, and whatever names hold."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from veriformer.conformance_tests.core.text import plain, printable
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.recognition.findings import Departure, Part, Recognition, Suspected
from veriformer.conformance_tests.reports.exports.annotations import annotation_lines
from veriformer.conformance_tests.reports.exports.checks import report_outcome
from veriformer.conformance_tests.reports.exports.junit import junit
from veriformer.conformance_tests.reports.exports.markdown import markdown
from veriformer.conformance_tests.reports.exports.outcome import Checked, Outcome, Problem, Table
from veriformer.conformance_tests.reports.exports.rules import rule
from veriformer.conformance_tests.reports.exports.sarif import sarif
from veriformer.conformance_tests.reports.locations import Place
from veriformer.conformance_tests.run.model_report import model_report
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.laws import LAWS

LONGEST = 1000
PLACE = Place("my_attention.py", 3)
READ = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
# Where the exports put text, by the element in which a reader sees it.
ELEMENTS = ("h3", "p", "th", "td", "summary", "code", "pre")


def sentences() -> Iterator[str]:
    """Yield what the exports are made of: mistakes, what hides them, laws, formulas, conventions, rules."""
    for mistake in catalogue().values():
        yield from (mistake.sentence, mistake.hidden_when, rule(mistake.slug).help)
    for law in LAWS.values():
        yield from (law.id, law.statement, law.formula, rule(law.id).help)
    for convention in CONVENTIONS.values():
        yield convention.question
        yield from (value.meaning for value in convention.values)


SENTENCES = tuple(dict.fromkeys(filter(None, sentences())))


class Seen(HTMLParser):
    """The text of each element of a page as a browser shows it, by its tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: dict[str, list[str]] = {tag: [] for tag in ELEMENTS}
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._open.append(tag)
        if tag in ELEMENTS:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in set(self._open) & set(ELEMENTS):
            self.texts[tag][-1] += data

    def lines(self, tag: str) -> list[str]:
        """Return the texts of a tag, with spaces as a browser shows them."""
        return [shown(text.replace("\u200b", "")) for text in self.texts[tag]]


def shown(text: str) -> str:
    return " ".join(text.split())


def line(text: str) -> str:
    return shown(plain(text, LONGEST))


def outcome(*texts: str) -> Outcome:
    """Return an outcome that has each text wherever an export has one."""
    return Outcome(
        texts[0],
        texts[0],
        conforms=False,
        facts=texts[0],
        checked=tuple(Checked("softmax", str(n), "failed", text, text, place=PLACE) for n, text in enumerate(texts)),
        problems=tuple(Problem(text, "error", text, text, PLACE, (text, "b"), text) for text in texts),
        table=Table(("law", "what it says"), tuple((text, "x") for text in texts)),
        notices=texts,
    )


def check_markdown(*texts: str) -> None:
    seen = Seen(READ.render(markdown([outcome(*texts)], longest=10**9)))
    wanted = list(map(line, texts))
    assert seen.lines("h3") == [shown(f"✗ {wanted[0]}")]
    assert seen.lines("td") == [cell for text in wanted for cell in (text, "x")]
    assert seen.lines("summary") == wanted
    # Facts, then the place and the laws of each problem, then notices; an empty line is no paragraph.
    broken = [part for text in texts for part in ("my_attention.py:3", f"Broken: {line(f'{text}, b')}")]
    assert [text for text in seen.lines("p") if text] == list(filter(None, [wanted[0], *broken, *wanted]))
    cases = [printable(text.strip("\n")) for text in texts if text.strip()]
    assert [text.removesuffix("\n") for text in seen.texts["pre"]] == cases


def check_junit(*texts: str) -> None:
    (suite,) = ElementTree.fromstring(junit([outcome(*texts)]).encode("utf-8"))
    failures = list(suite.iter("failure"))
    assert suite.get("name") == plain(texts[0], LONGEST)
    assert [one.get("message") for one in failures] == [plain(text, LONGEST) for text in texts]
    told = [printable(f"my_attention.py:3\n{text}\n\n{text}".rstrip() + "\n") for text in texts]
    assert [one.text for one in failures] == told


def check_sarif(*texts: str) -> None:
    (run,) = json.loads(sarif([outcome(*texts)]).encode("utf-8"))["runs"]
    rules = [one["id"] for one in run["tool"]["driver"]["rules"]]
    assert len(run["results"]) == len(texts)
    for text, result in zip(texts, run["results"], strict=True):
        assert result["message"] == {"text": plain(text, LONGEST)}
        assert result["ruleId"] == rules[result["ruleIndex"]] == plain(text, LONGEST)
        assert result["locations"][0]["logicalLocations"][0]["name"] == plain(text, LONGEST)
        assert result["properties"]["smallestCase"] == printable(text)


def check_annotations(*texts: str) -> None:
    lines = annotation_lines([outcome(*texts)])
    assert len(lines) == len(texts)
    for text, annotation in zip(texts, lines, strict=True):
        command = re.fullmatch(r"::error file=my_attention\.py,line=3,title=([^:,]*)::([^\r\n]*)", annotation)
        assert command is not None
        assert read(command[2]) == plain(text, LONGEST)
        assert read(command[1].replace("%3A", ":").replace("%2C", ",")) == plain(text)


def read(data: str) -> str:
    return data.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")


CHECKS = pytest.mark.parametrize("check", (check_markdown, check_junit, check_sarif, check_annotations))
TEXTS = st.text(st.characters(), max_size=60) | st.text("\\|`*_<>&@#;x27[]()!~-+=.:1'\"a{}%,\n\r\t", max_size=40)


@CHECKS
def test_every_sentence_of_the_catalogues_is_read_as_it_was_meant(check) -> None:
    assert len(SENTENCES) > 4000
    assert sum("'" in text for text in SENTENCES) > 100
    check(*SENTENCES)


@CHECKS
@given(TEXTS, st.sampled_from(SENTENCES))
@example("the sublayer's output &#x27; #12 @you www.a.b https://c.d", "x")
@example("&amp; &lt;b&gt; &#39; \\& 'a' \"b\" <i>", "x")
@example("| a \\| b || - 1. # {0} {{x}} [a](b) ](c)", "x")
@example("", "x")
def test_whatever_a_name_or_message_holds_is_read_as_it_was_meant(check, text: str, sentence: str) -> None:
    check(text or " ", f"{text}{sentence}", f"{sentence} {text}")


def test_no_text_mentions_links_or_refers_to_anything() -> None:
    seen = Seen(READ.render(markdown([outcome("ask @you about a/b#12 at www.a.b, https://c.d or me@e.f's")])))
    texts = [text for tag in ("h3", "p", "td", "summary") for text in seen.texts[tag]]
    assert len(texts) > 6
    assert not re.search(r"[@#](?!\u200b)|www\.|://", " ".join(texts))


def test_a_departure_with_an_apostrophe_is_read_as_it_was_meant() -> None:
    said = "The norm is applied to the sublayer's output, instead of to the sublayer's input (#1)."
    part = Part("h.0.attn", "attention", 0, "attention", {}, "departs", 3, 3, 0)
    one = Departure("h.0.attn", 0, "norm", "layer_norm", "/m/gpt.py", 17, said, (Suspected("post_norm", "s", 1.0),), 7)
    checked = report_outcome(model_report("gpt", Recognition((part,), (one,), 4, 4, framework="torch")))
    (summary,) = Seen(READ.render(markdown([checked]))).lines("summary")
    assert said.rstrip(".") in summary
