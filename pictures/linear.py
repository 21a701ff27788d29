"""MathML as one line of text: each element in the notation that people type, with the brackets that it then needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_Role = Literal[
    "operand",
    "fraction",
    "power",
    "function",
    "argument",
    "large",
    "sum",
    "relation",
    "word",
    "comma",
    "open",
    "close",
    "slash",
    "space",
]

_ROLES: dict[str, _Role] = {
    **dict.fromkeys("=≠≤≥<>≈≡∼→⇒⇔←↦∈∉⊂⊆∣∝≔≪≫", "relation"),
    **dict.fromkeys("+-−±∓", "sum"),
    **dict.fromkeys("∑∏∫", "large"),
    **dict.fromkeys((*"·⋅×∘⊙⊗*", "mod"), "word"),
    **dict.fromkeys(",;", "comma"),
    **dict.fromkeys("([{⌊⌈⟨", "open"),
    **dict.fromkeys(")]}⌋⌉⟩", "close"),
    "/": "slash",
}
_AS_TYPED = {"-": "−", "∑": "Σ", "*": "⋅", "ϵ": "ε", "ϕ": "φ"}
_SUPERSCRIPTS = str.maketrans("0123456789−T′", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ′")
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_ACCENTS = {"^": "\u0302", "ˆ": "\u0302", "~": "\u0303", "˜": "\u0303", "¯": "\u0304", "‾": "\u0304", "→": "\u20d7"}


@dataclass(frozen=True)
class _Piece:
    """A part of the line; `parts` are those that it was joined from."""

    text: str
    role: _Role = "operand"
    parts: tuple[_Piece, ...] = ()

    @property
    def is_single(self) -> bool:
        """Whether it needs no brackets as an operand."""
        return (self.role in ("operand", "argument") and len(self.parts) <= 1) or self.is_application

    @property
    def is_application(self) -> bool:
        """Whether it is a function with its argument."""
        return [part.role for part in self.parts] == ["function", "argument"]

    @property
    def is_product(self) -> bool:
        """Whether a fraction stroke behind it divides all of it."""
        return all(part.role in ("operand", "power", "function", "argument") for part in self.parts or (self,))


def linear(element: Element) -> str:
    """Return an element of MathML as one line."""
    return normalize("NFC", _piece(element).text)


def _piece(element: Element) -> _Piece:
    return _READERS.get(str(element.tag), _of_row)(element)


def _of_row(element: Element) -> _Piece:
    children = list(element)
    if children and children[0].get("fence") == "true" and children[0].get("form") == "prefix":
        return _fenced(children)
    pieces = [_piece(child) for child in children]
    if len(pieces) == 1:
        only = pieces[0]
        # Braces around a bracket are how an argument differs from a factor: f{(x)}, f (x).
        is_fence = only.role == "operand" and children[0].tag == "mrow" and only.text[:1] in "([{"
        return _Piece(only.text, "argument", only.parts) if is_fence else only
    return _Piece(_joined(pieces), "operand", tuple(piece for piece in pieces if piece.role != "space"))


def _fenced(children: Sequence[Element]) -> _Piece:
    left, *inside, right = children
    if len(inside) == 1 and inside[0].tag == "mtable" and left.text == "[":
        return _piece(inside[0])
    return _Piece(f"{left.text or ''}{_joined([_piece(child) for child in inside])}{right.text or ''}")


def _joined(pieces: Sequence[_Piece]) -> str:
    line = ""
    before: _Piece | None = None
    for number, piece in enumerate(pieces):
        after = pieces[number + 1].role if number + 1 < len(pieces) else "close"
        is_factor = piece.role == "fraction" and after in ("operand", "fraction", "power", "function", "large", "open")
        text = f"({piece.text})" if is_factor else piece.text
        line += (" " if before is not None and _apart(before, piece, pieces[: number - 1]) else "") + text
        before = piece
    return line


def _apart(before: _Piece, piece: _Piece, earlier: Sequence[_Piece]) -> bool:
    """Return whether a space stands between two pieces."""
    if before.role == "space" or piece.role in ("space", "comma", "close", "slash"):
        return False
    if before.role in ("open", "slash") or piece.text in ("!", "′"):
        return False
    if before.role == "sum":
        return bool(earlier) and earlier[-1].role not in ("relation", "comma", "open", "sum", "word", "large")
    if piece.role == "open":
        return before.role in ("relation", "comma", "word", "large", "fraction")
    is_name = before.role == "function" or (before.role == "operand" and piece.role == "argument")
    return not (is_name and piece.text[:1] in "([{")


def _of_name(element: Element) -> _Piece:
    text = (element.text or "").strip()
    # The converter takes brackets without \left for names.
    role = _ROLES.get(text, "function" if text == "𝔼" or len(text) > 1 else "operand")
    return _Piece(_AS_TYPED.get(text, text), role)


def _of_operator(element: Element) -> _Piece:
    text = (element.text or "").strip()
    return _Piece(_AS_TYPED.get(text, text), _ROLES.get(text, "function" if len(text) > 1 else "operand"))


def _of_number(element: Element) -> _Piece:
    return _Piece((element.text or "").strip())


def _of_text(element: Element) -> _Piece:
    text = (element.text or "").strip()
    # A short one is a quantity, such as eps, a long one a function, such as softmax.
    return _Piece(text, "function" if len(text) > 3 and text.isalpha() else "operand")


def _of_space(_element: Element) -> _Piece:
    return _Piece(" ", "space")


def _of_fraction(element: Element) -> _Piece:
    above, below = (_piece(child) for child in element)
    if above.text == "∂":
        return _Piece(f"∂/{below.text.replace(' ', '', 1)}")
    stroke_ends = below.is_single or below.role == "power"
    text = f"{above.text if above.is_product else _bracketed(above)}/{below.text if stroke_ends else _bracketed(below)}"
    return _Piece(text, "fraction")


def _of_root(element: Element) -> _Piece:
    inside = _Piece(_joined([_piece(child) for child in element]), "operand", tuple(map(_piece, element)))
    if len(inside.parts) == 1:
        inside = inside.parts[0]
    return _Piece("√" + (inside.text if inside.is_single and "^" not in inside.text else _bracketed(inside)))


def _of_higher_root(element: Element) -> _Piece:
    inside, degree = (_piece(child) for child in element)
    return _Piece(f"{_single(inside)}^(1/{_single(degree)})", "power")


def _of_sub(element: Element) -> _Piece:
    base, below = element
    return _Piece(_piece(base).text + _subscript(base, below), _named(base))


def _of_sup(element: Element) -> _Piece:
    base, above = element
    piece = _piece(base)
    is_name = piece.role == "function"
    return _Piece((piece.text if is_name else _single(piece)) + _superscript(above), "function" if is_name else "power")


def _of_both(element: Element) -> _Piece:
    base, below, above = element
    piece = _piece(base)
    if piece.role == "large":
        return _Piece(f"{piece.text}_({_index(below)}…{_index(above)})", "large")
    return _Piece(piece.text + _subscript(base, below) + _superscript(above), "power")


def _of_over(element: Element) -> _Piece:
    base, above = (_piece(child) for child in element)
    return _Piece(base.text + _ACCENTS.get(above.text, f"^({above.text})"))


def _of_table(element: Element) -> _Piece:
    rows = [", ".join(_joined([_piece(child) for child in entry]) for entry in row) for row in element]
    return _Piece(f"[{'; '.join(rows)}]")


def _named(base: Element) -> _Role:
    role = _piece(base).role
    return role if role in ("large", "function") else "operand"


def _subscript(base: Element, below: Element) -> str:
    index = _index(below)
    if "_" in _piece(base).text or any(part.tag == "msub" for part in base):
        return f"[{index.replace(',', ', ')}]"
    if index.isdigit():
        return index.translate(_SUBSCRIPTS)
    letters = index.split(",")
    if all(len(letter.rstrip("′'")) == 1 and letter[0].isalpha() for letter in letters):
        return f"_{''.join(letters)}"
    return f"_{index}" if index.isalnum() else f"_({index})"


def _superscript(above: Element) -> str:
    piece = _piece(above)
    if piece.text and all(ord(character) in _SUPERSCRIPTS for character in piece.text):
        return piece.text.translate(_SUPERSCRIPTS)
    return f"^{piece.text}" if piece.text.isalnum() else f"^{_bracketed(piece)}"


def _index(element: Element) -> str:
    """Return what stands below, without spaces; the lines of a stack are separated by commas."""
    tables = list(element.iter("mtable"))
    if tables:
        return ", ".join(_index(row) for row in tables[0])
    return _piece(element).text.replace(" ", "")


def _single(piece: _Piece) -> str:
    return piece.text if piece.is_single else _bracketed(piece)


def _bracketed(piece: _Piece) -> str:
    return f"({piece.text})"


_READERS: dict[str, Callable[[Element], _Piece]] = {
    "mi": _of_name,
    "mn": _of_number,
    "mo": _of_operator,
    "mtext": _of_text,
    "mspace": _of_space,
    "mfrac": _of_fraction,
    "msqrt": _of_root,
    "mroot": _of_higher_root,
    "msub": _of_sub,
    "munder": _of_sub,
    "msup": _of_sup,
    "msubsup": _of_both,
    "munderover": _of_both,
    "mover": _of_over,
    "mtable": _of_table,
}
