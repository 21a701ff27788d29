"""The formulas between dollar signs in the text of a lesson."""

from __future__ import annotations

import re

from veriformer.pictures.formulas import one_line

# Code comes first, so that a dollar sign in it stays as it is.
_CODE_BLOCK_OR_FORMULA = re.compile(r"`[^`]*`|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+)\$", re.DOTALL)


def formulas_in(text: str) -> list[str]:
    """Return every formula of a text in LaTeX, in order."""
    found = _CODE_BLOCK_OR_FORMULA.finditer(text)
    return [formula for match in found if (formula := match["block"] or match["inline"])]


def as_code(text: str) -> str:
    """Return a text whose formulas are Unicode in code, which Markdown leaves as it is."""
    return _CODE_BLOCK_OR_FORMULA.sub(_written, text)


def _written(match: re.Match[str]) -> str:
    formula = match["block"] or match["inline"]
    return f"`{one_line(formula)}`" if formula else match[0]
