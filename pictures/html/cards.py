"""A page in small, for a notebook: a heading, then sentences and pictures, each with a label where it has one."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup
from veriformer.pictures.formulas import code
from veriformer.pictures.html.drawing import fragment
from veriformer.pictures.html.style import STYLE
from veriformer.pictures.model import Picture


@dataclass(frozen=True)
class Entry:
    """A sentence or a picture, and what it is: "source", "smallest case"; `code` keeps a text's spaces and signs."""

    content: str | Picture
    label: str = ""
    code: bool = False


def card(heading: str, *entries: Entry) -> str:
    """Return a heading with its entries, with the style that they need; every text is escaped."""
    body = Markup().join(map(_entry, entries))
    drawn = Markup('<div class="vf-picture vf-card"><div class="vf-headline">{}</div>{}</div>').format(heading, body)
    return f"<style>{STYLE}</style>{drawn}"


def _entry(entry: Entry) -> Markup:
    label = Markup('<span class="vf-label">{}</span> ').format(entry.label) if entry.label else Markup()
    if not isinstance(entry.content, str):
        return Markup('<div class="vf-entry">{}{}</div>').format(label, Markup(fragment(entry.content)))
    content = Markup(code(entry.content)) if entry.code else entry.content
    return Markup('<div class="vf-entry">{}{}</div>').format(label, content)
