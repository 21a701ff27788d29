"""Pictures in HTML: their structure, their texts, and that no text becomes markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from time import process_time
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from any_picture import HOSTILE, pictures
from hypothesis import given, settings
from veriformer.pictures.from_arrays import compared, masks, turned
from veriformer.pictures.html import STYLE, fragment, standalone
from veriformer.pictures.html.style import _DARK, _LIGHT
from veriformer.pictures.model import Cell, Chart, ErrorBar, Formula, Grid, Line, Node, Region, Row, Tree, Visits

TAGS = re.compile(
    "div|span|b|code|ul|li|table|caption|thead|tbody|tr|th|td|svg|title|desc|text|line|path|circle|rect"
    "|math|m(row|i|n|o|text|space|frac|sqrt|root|sub|sup|subsup|under|over|underover|table|tr|td|style|padded|phantom)"
)
FORBIDDEN = ("on", "href", "src", "style", "id", "action", "data")
EMPTY = ("line", "path", "circle", "rect")


class Markup(HTMLParser):
    """The elements, the attributes and the text of a fragment; a tag that closes no open one is an error."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        assert tag in EMPTY
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


@settings(max_examples=150, deadline=None)
@given(pictures)
def test_no_text_becomes_an_element_or_an_attribute(picture: Any) -> None:
    markup = Markup(fragment(picture))
    assert [tag for tag in markup.tags if not TAGS.fullmatch(tag)] == []
    assert [name for _, name, _ in markup.attributes if name.startswith(FORBIDDEN)] == []
    classes = [value or "" for _, name, value in markup.attributes if name == "class"]
    assert all(part.startswith("vf-") for value in classes for part in value.split())


def test_hostile_texts_arrive_as_they_are() -> None:
    for text in HOSTILE[:5]:
        for picture in (
            Grid(text, ((Cell(text),),)),
            Tree(text, (Node(text, text, place=text),)),
            Visits(text, ((text, (Region(text, 1),)),)),
            ErrorBar(text, 1.0, 0.1),
            Chart(text, (Line(text, ((0.0, 1.0),)),), text, text),
        ):
            assert text in Markup(fragment(picture)).text


def test_a_table_has_headers_for_rows_and_columns() -> None:
    cells = ((Cell("1/2"), Cell("1/4", "wrong")), (Cell("0"), Cell("1")))
    markup = Markup(fragment(Grid("values", cells, "query", "key")))
    assert markup.tags.count("caption") == 1
    scopes = [value for tag, name, value in markup.attributes if tag == "th" and name == "scope"]
    assert scopes == ["col", "col", "row", "row"]
    assert "1/4, wrong" in markup.text
    assert "query ↓ key →" in markup.text


def test_marks_are_signs_and_words_as_well_as_colours() -> None:
    markup = Markup(fragment(masks("masks", [[True, False]], [[True, True]])))
    for sign in ("●", "·", "✗", "sees", "does not see", "sees, wrong"):
        assert sign in markup.text
    classes = [value for tag, name, value in markup.attributes if (tag, name) == ("td", "class")]
    assert classes.count("vf-wrong") == 1
    assert classes.count("vf-hidden") == 1


def test_every_drawing_is_an_image_with_title_and_description() -> None:
    drawn = (
        ErrorBar("the error", 1e-2, 1e-8),
        turned("clocks", [0, 1], [1.0]),
        Chart("a chart", (Line("one", ((1.0, 1.0), (2.0, 3.0))), Line("two", ((1.0, 2.0),))), "x", "y"),
    )
    for picture in drawn:
        markup = fragment(picture)
        start, end = markup.index("<svg"), markup.index("</svg>") + len("</svg>")
        svg = ElementTree.fromstring(markup[start:end])
        space = "{http://www.w3.org/2000/svg}"
        assert svg.get("role") == "img"
        assert svg.findtext(f"{space}title") == picture.title
        assert len(svg.findtext(f"{space}desc") or "") > 20


def test_lines_of_a_chart_differ_in_more_than_colour() -> None:
    chart = Chart("", tuple(Line(str(k), ((0.0, float(k)), (1.0, k + 1.0))) for k in range(6)), "x", "y")
    markup = fragment(chart)
    for kind in range(6):
        assert f"vf-curve-{kind}" in markup
    rules = [line for line in STYLE.splitlines() if line.startswith(".vf-picture .vf-curve-")]
    dashes = {line.partition("stroke-dasharray:")[2] for line in rules}
    assert len(rules) == len(dashes) == 6


def test_an_error_inside_and_one_outside_have_other_signs() -> None:
    inside, outside = (fragment(ErrorBar("", error, 1e-6)) for error in (1e-7, 1e-5))
    assert "vf-within" in inside
    assert "vf-beyond" not in inside
    assert "vf-beyond" in outside
    assert "vf-within" not in outside


def test_what_may_be_too_wide_can_be_reached_by_keyboard() -> None:
    wide = Markup(fragment(Grid("many", (tuple(Cell("0.12345") for _ in range(12)),))))
    assert ("div", "tabindex", "0") in wide.attributes
    assert any(name == "aria-label" and value for _, name, value in wide.attributes)
    narrow = Markup(fragment(Grid("few", ((Cell("1"),),))))
    assert ("div", "tabindex", "0") not in narrow.attributes


def test_a_formula_is_mathml_and_what_is_none_is_code() -> None:
    assert "<mfrac>" in fragment(Formula(r"\frac{1}{2}"))
    assert '<code class="vf-formula">' in fragment(Formula(r"\frac{1}"))


def test_the_style_comes_once_and_only_with_a_picture_for_itself() -> None:
    picture = Row("", (Formula("x"), Formula("y")))
    style, _, rest = standalone(picture).partition("</style>")
    assert style == f"<style>{STYLE}"
    assert rest == f'<div class="vf-picture vf-card">{fragment(picture)}</div>'
    assert "<style" not in fragment(picture)
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_the_style_touches_nothing_but_pictures() -> None:
    selectors = [
        part.strip() for block in STYLE.split("}") for part in block.rpartition("{")[0].split("{")[-1].split(",")
    ]
    named = [selector for selector in selectors if selector and not selector.startswith("@")]
    assert len(named) > 50
    assert [selector for selector in named if ".vf-picture" not in selector] == []


def test_an_array_is_compared_as_fast_as_it_is_shown() -> None:
    large = np.random.default_rng(0).normal(size=(2000, 2000))
    started = process_time()
    fragment(compared("large", large, large + 1e-9))
    assert process_time() - started < 5


def colours(scheme: str) -> dict[str, str]:
    return dict(re.findall(r"--vf-([a-z-]+): (#[0-9a-f]+)", scheme))


def contrast(first: str, second: str) -> float:
    """Return the ratio of WCAG 2.2 between two colours."""
    lighter, darker = sorted((luminance(first), luminance(second)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def channels(colour: str) -> list[int]:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    return [int(digits[place : place + 2], 16) for place in (0, 2, 4)]


def luminance(colour: str) -> float:
    shares = [channel / 255 for channel in channels(colour)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_the_contrast_of_known_colours() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#fff") == pytest.approx(4.48, abs=0.01)


# White pages, those of Furo and Jupyter; their dark ones, and that of editors.
@pytest.mark.parametrize(
    ("scheme", "page", "text"),
    (
        (_LIGHT, "#ffffff", "#000"),
        (_LIGHT, "#f8f9fb", "#1a1a1a"),
        (_DARK, "#131416", "#e8e8e8"),
        (_DARK, "#111111", "#ffffff"),
        (_DARK, "#1e1e1e", "#d4d4d4"),
        # A card brings its own ground.
        (_LIGHT, colours(_LIGHT)["ground"], colours(_LIGHT)["ink"]),
        (_DARK, colours(_DARK)["ground"], colours(_DARK)["ink"]),
    ),
)
def test_texts_and_signs_have_the_contrast_that_wcag_asks_for(scheme: str, page: str, text: str) -> None:
    of = colours(scheme)
    for name in ("grey", "orange", "green", "purple"):
        assert contrast(of[name], page) >= 4.5, name
    assert contrast(of["blue"], page) >= 3
    assert contrast(of["blue"], of["on-blue"]) >= 4.5
    assert contrast(of["wrong"], of["on-wrong"]) >= 4.5
    assert contrast(of["orange"], page) >= 3
    darkest = [
        round(0.4 * shade + 0.6 * ground) for shade, ground in zip(*map(channels, (of["shade"], page)), strict=True)
    ]
    assert contrast("#" + "".join(f"{channel:02x}" for channel in darkest), text) >= 4.5
