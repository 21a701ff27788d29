"""Formulas in LaTeX, as MathML for a browser and as one line of Unicode for a terminal.

mathml(latex)    needs no script, and one font for all; only elements and attributes of mathematics pass
one_line(latex)  such as "p_i = e^(x_i)/(Σ_(j=1…n) e^(x_j))"
code(formula)    of a formula that is Unicode already, as those of operations and laws are
"""

from __future__ import annotations

import re
from html import escape, unescape
from typing import TYPE_CHECKING

from veriformer.pictures.linear import linear

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_NAMESPACE = "http://www.w3.org/1998/Math/MathML"
_ELEMENTS = re.compile(
    "math|m(row|i|n|o|text|space|frac|sqrt|root|sub|sup|subsup|under|over|underover|table|tr|td|style|padded|phantom)"
)
# No `href`, `style`, `class` or `id`, which LaTeX commands can write.
_ATTRIBUTES = re.compile(
    "display|stretchy|fence|form|mathvariant|displaystyle|scriptlevel|columnalign|rowspacing|columnspacing|width"
    "|linethickness|lspace|rspace|accent|largeop|movablelimits|symmetric|minsize|maxsize|columnlines|rowlines"
)
# Names whose letters are no product; commands and what already is a text stay as they are.
_KEPT = r"\\(?:begin|end|operatorname|text|math[a-z]+)\*?\s*\{[^{}]*\}|\\[a-zA-Z]+"


def mathml(latex: str, *, block: bool = True) -> str:
    """Return a formula in LaTeX as MathML, in a line of its own or inside a sentence; as code where it is no LaTeX."""
    from xml.etree.ElementTree import tostring

    try:
        root = _element(latex, shortest_name=3, block=block)
        root.set("alttext", linear(root))
    except Exception:  # the converter raises what it likes on what it cannot read
        return code(latex)
    root.set("xmlns", _NAMESPACE)
    return tostring(root, encoding="unicode", short_empty_elements=False)


def code(formula: str) -> str:
    """Return a formula that is written in Unicode for HTML, its spaces and signs kept."""
    return f'<code class="vf-formula">{escape(formula)}</code>'


def one_line(latex: str) -> str:
    """Return a formula in LaTeX as one line of Unicode, without backslashes and dollar signs."""
    try:
        line = linear(_element(latex, shortest_name=2, block=False))
    except Exception:  # as above
        line = latex
    return " ".join(re.sub(r"[\\$]", " ", line).split())


def _element(latex: str, shortest_name: int, block: bool) -> Element:
    from latex2mathml.converter import convert_to_element

    named = re.sub(f"{_KEPT}|[A-Za-z]{{{shortest_name},}}", _whole, re.sub(r"[\x00-\x1f]", " ", latex).strip(" $"))
    return _clean(convert_to_element(named, display="block" if block else "inline"))


def _whole(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("\\") else rf"\text{{{found[0]}}}"


def _clean(element: Element) -> Element:
    """Return a copy without anything that is no mathematics, its references to characters resolved."""
    from xml.etree.ElementTree import Element

    known = _ELEMENTS.fullmatch(str(element.tag)) is not None
    copy = Element(
        str(element.tag) if known else "mrow",
        {name: value for name, value in element.attrib.items() if _ATTRIBUTES.fullmatch(name)},
    )
    # The converter leaves the backslash of an underscore inside of a text.
    copy.text = unescape(element.text or "").replace(r"\_", "_") if known else None
    copy.extend([_clean(child) for child in element])
    return copy
