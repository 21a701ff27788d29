"""A page as HTML: the templates escape every text, and nothing on the page is loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from veriformer.conformance_tests.core.text import printable
from veriformer.conformance_tests.reports.html.blocks import Page
from veriformer.pictures.formulas import mathml
from veriformer.pictures.html import STYLE, fragment

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
            page=page, style=f"{STYLE}\n{_file('page.css')}", script=script, script_hash=_hash(script), once=_Once()
        )
    )


class _Once:
    """Gives each law its place on the page, where it is named first."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, law: str) -> str:
        if law in self._seen:
            return ""
        self._seen.add(law)
        return f"law-{anchor(law)}"


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


def anchor(text: str) -> str:
    """Return a text as the name of a place on a page."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-")[:80]


def _hash(script: str) -> str:
    """Return the hash by which the page allows its own script and no other."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _file(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
