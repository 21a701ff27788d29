"""A page as HTML: the templates escape every text, and nothing on the page is loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import is_dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from veriformer.conformance_tests.core.text import printable
from veriformer.conformance_tests.reports.html.blocks import Mathematics, Page, anchor
from veriformer.pictures.formulas import mathml
from veriformer.pictures.html import STYLE, fragment, mathematics_style

if TYPE_CHECKING:
    from jinja2 import Environment

# No line of a text on a page is cut: a script that is copied must run.
_LONGEST_LINE = 1_000_000


def rendered(page: Page) -> str:
    """Return the whole document."""
    script = _file("page.js")
    # The font of the formulas is half of a small page: only a page that shows some carries it.
    mathematics = mathematics_style() if _has_formulas(page) else ""
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            page=page,
            style=f"{STYLE}\n{_file('page.css')}\n{mathematics}",
            script=script,
            script_hash=_hash(script),
            fonts="data:" if mathematics else "'none'",
            places=_Places(),
        )
    )


def _has_formulas(part: Any) -> bool:
    """Return whether a formula is on a page, or in a part of it."""
    if isinstance(part, tuple | list):
        return any(map(_has_formulas, part))
    return isinstance(part, Mathematics) or (is_dataclass(part) and any(map(_has_formulas, vars(part).values())))


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
    environment.filters["raw_text"] = Markup
    return environment


def _visible(value: Any) -> Any:
    """Return a text with its control characters written out; markup as it is."""
    return printable(value, _LONGEST_LINE) if type(value) is str else value


def _hash(script: str) -> str:
    """Return the hash by which the page allows its own script and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _file(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
