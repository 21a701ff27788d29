"""Pictures on a page: their markup, which Markdown passes on as it is."""

from __future__ import annotations

import re

from veriformer.pictures.html import fragment
from veriformer.pictures.model import Picture


def drawn(picture: Picture) -> str:
    """Return a picture as a block of a page."""
    return block(str(fragment(picture)))


def block(markup: str) -> str:
    """Return markup as one block of Markdown, which an empty line would end."""
    return re.sub(r"\n\s*\n+", "\n", f"<div>\n{markup.strip()}\n</div>")
