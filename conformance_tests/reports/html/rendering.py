"""A page as HTML: the templates escape every text, and nothing on the page is loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

from veriformer.conformance_tests.core.text import printable
from veriformer.conformance_tests.reports.html.blocks import FormulaText, Page, Sentence, Text, anchor
from veriformer.pictures.formulas import mathml
from veriformer.pictures.html import STYLE, fragment, mathematics_style
from veriformer.pictures.prose import Piece, pieces, pieces_of_formula

if TYPE_CHECKING:
    from jinja2 import Environment

# No line of a text on a page is cut: a script that is copied must run.
_LONGEST_LINE = 1_000_000


def rendered(page: Page) -> str:
    """Return the whole document."""
    script = _file("page.js")
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            page=page,
            style=f"{STYLE}\n{_file('page.css')}\n",
            mathematics=mathematics_style(),
            script=script,
            script_hash=_hash(script),
            places=_Places(),
        )
    )


class _Places:
    """The names of places on one page, each given once."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def first(self, law: str) -> str:
        """Return the place of a law where it is named for the first time, else nothing."""
        place = f"law-{anchor(law)}"
        return "" if place in self._given else self.new(place)

    def new(self, place: str) -> str:
        """Return a place, with a number where another has its name."""
        name, number = place, 1
        while name in self._given:
            number += 1
            name = f"{place}-{number}"
        self._given.add(name)
        return name


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader(__package__, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters["drawn"] = lambda picture: Markup(fragment(picture))
    environment.filters["mathml"] = lambda latex: Markup(mathml(latex))
    environment.tests["formula"] = lambda text: isinstance(text, FormulaText)
    environment.filters["typeset"] = lambda text: Markup(_typeset(text))
    environment.filters["raw_text"] = Markup
    return environment


def _typeset(text: Text) -> str:
    """Return a text as HTML, the formulas of its sentences as MathML."""
    parts = (text,) if isinstance(text, str) else text
    return "".join(_piece(piece) for part in parts for piece in _pieces(part))


def _pieces(part: str) -> list[Piece]:
    shown = printable(part, _LONGEST_LINE)
    if isinstance(part, FormulaText):
        return pieces_of_formula(shown)
    return pieces(shown) if isinstance(part, Sentence) else [Piece(shown)]


def _piece(piece: Piece) -> str:
    return mathml(piece.latex, block=False) if piece.latex else escape(piece.text)


def _visible(value: Any) -> Any:
    """Return a text with its control characters written out; markup as it is."""
    return printable(value, _LONGEST_LINE) if type(value) is str else value


def _hash(script: str) -> str:
    """Return the hash by which the page allows its own script and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _file(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
