"""The Markdown that the pages are made of, as GitHub renders it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# A fence is matched first, so that a `$$` quoted inside it stays as it is.
_FENCE_OR_BLOCK = re.compile(r"^```.*?^```$|^\$\$\s*(.+?)\s*\$\$$", re.MULTILINE | re.DOTALL)


def notice(source: str) -> str:
    """Return the comment at the top of a generated page: where to change what it says."""
    return f"<!-- Written by docs/build.py from {source}. Change that, then run: python docs/build.py -->"


def code(text: str) -> str:
    """Return text as code; ValueError where a backtick in it would end the code early."""
    if "`" in text:
        raise ValueError(f"text with a backtick cannot be shown as code: {text!r}")
    return f"`{text}`"


def formula(text: str) -> str:
    """Return a formula in Unicode as mathematics, which the site sets; ValueError as for code."""
    return f"{{formula}}{code(text)}"


def prose(text: str) -> str:
    r"""Return text with what Markdown would read as its own escaped, such as `W_k` or `(n*k)`."""
    return re.sub(r"([*_<>\[\]$])", r"\\\1", text)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a `|` in a cell is escaped, which also holds inside code."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in cells)} |" for cells in lines)


def anchor(heading: str) -> str:
    """Return the fragment by which GitHub addresses a heading: lower case, no punctuation, hyphens for spaces."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link(text: str, page: str, heading: str = "") -> str:
    """Return a link to a page, or to a heading of it."""
    return f"[{text}]({page}{'#' + anchor(heading) if heading else ''})"


def fenced_mathematics(markdown: str) -> str:
    r"""Return the text with every `$$` block as a fence called math.

    GitHub takes `\\` and `\{` in a `$$` block for escapes of Markdown; in a fence it leaves them alone.
    """
    return _FENCE_OR_BLOCK.sub(lambda match: f"```math\n{match[1]}\n```" if match[1] else match[0], markdown)


def filled(text: str, name: str, content: str) -> str:
    """Return a page with the table called `name` as given; ValueError when the page has no place for it."""
    begin, end = f"<!-- {name}: written by docs/build.py -->", f"<!-- end of {name} -->"
    place = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if not place.search(text):
        raise ValueError(f"no place for the {name}; put {begin} and {end} where the table belongs")
    return place.sub(lambda _: f"{begin}\n\n{content}\n\n{end}", text)


def page(*blocks: str) -> str:
    """Return the blocks as a page: an empty line between each two, one line end at the end."""
    return "\n\n".join(block.strip("\n") for block in blocks if block) + "\n"


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number and what is counted: "1 law", "226 laws"."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")
