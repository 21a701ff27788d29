"""Pictures as fragments of HTML: tables and inline SVG, readable without a script.

fragment(picture)    the markup, which needs `STYLE` once on its page
standalone(picture)  the same with its style, for a notebook
card(heading, ...)   sentences and pictures under a heading, with the style too
mathematics_style()  the style of the formulas of a page, with their font

Every class begins with `vf-`, and nothing has an id, so that any number of pictures shares a page with anything.
Texts are escaped by `markupsafe`: what is put into a template is never read as markup.
"""

from __future__ import annotations

from veriformer.pictures.html.cards import Entry, card
from veriformer.pictures.html.drawing import fragment, standalone
from veriformer.pictures.html.mathematics import mathematics_style
from veriformer.pictures.html.style import STYLE

__all__ = ["STYLE", "Entry", "card", "fragment", "mathematics_style", "standalone"]
