"""Formulas as people type them, in Unicode, as LaTeX: √d_k, W_Q xᵀ, e^(−x²/2), Σ_j p_j ≤ 1.

A name of one letter is a symbol, a longer one a word; `_` and `^` take what follows them, or all of a bracket. A
quotient stays on its line, because only its author knows how far a stroke reaches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from unicodedata import normalize

Kind = Literal["operand", "word", "operator", "separator", "open", "close", "space"]

_OPERATORS = {
    **{sign: sign for sign in "=+<>/:!"},
    "−": "-",
    "-": "-",
    "·": r"\cdot",
    "×": r"\times",
    "∘": r"\circ",
    "⊙": r"\odot",
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "~": r"\sim",
    "∼": r"\sim",
    "∈": r"\in",
    "∉": r"\notin",
    "→": r"\to",
    "←": r"\leftarrow",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "∧": r"\wedge",
    "∨": r"\vee",
    "±": r"\pm",
    "≡": r"\equiv",
    "⧺": "⧺",
    "*": r"\ast",
    "⊂": r"\subset",
    "⊆": r"\subseteq",
    "≪": r"\ll",
    "≫": r"\gg",
}
_SYMBOLS = {
    "∞": r"\infty",
    "∂": r"\partial",
    "…": r"\ldots",
    "|": "|",
    "‖": r"\|",
    "#": r"\#",
    "%": r"\%",
    "Σ": r"\sum",
    "Π": r"\prod",
    "∫": r"\int",
    "∇": r"\nabla",
    "ℓ": r"\ell",
}
_OPENING = {"(": "(", "[": "[", "{": r"\{", "⟨": r"\langle", "⌊": r"\lfloor", "⌈": r"\lceil"}
_CLOSING = {")": ")", "]": "]", "}": r"\}", "⟩": r"\rangle", "⌋": r"\rfloor", "⌉": r"\rceil"}
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀᵗⁿⁱ", "0123456789+-Ttni", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_ACCENTS = {"\u0302": r"\hat", "\u0303": r"\tilde", "\u0304": r"\bar"}
_FUNCTIONS = frozenset(
    [
        "sin",
        "cos",
        "tan",
        "tanh",
        "exp",
        "ln",
        "log",
        "max",
        "min",
        "mean",
        "var",
        "erf",
        "mod",
        "sign",
        "rowsum",
        "softmax",
        "std",
        "lim",
    ]
)
_PRIMES = "′'"
# Two letters that are a word and no product.
SHORT_WORDS = frozenset(["an", "as", "at", "by", "if", "in", "is", "it", "no", "of", "on", "or", "to", "up"])
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<number>\d+(?:[.,]\d+)*)|(?P<quoted>\"[^\"]*\")|(?P<hyphened>[A-Za-z]{2,}(?:-[A-Za-z]{2,})+|[A-Za-z\d]-th\b)"
    r"|(?P<name>[A-Za-z]+(?:_[A-Za-z]{3,}\d?)+(?:_[A-Za-z]\b)*|[A-Za-z]+)|(?P<sign>.)",
    re.DOTALL,
)
# Raised letters are letters too, but no part of an index.
_LETTER = "[A-Za-zα-ωΑ-Ω0-9ℓ]"
_INDEX = re.compile(rf"{_LETTER}+[′']?(?:,{_LETTER}+)+(?:[+−]\d+)?|{_LETTER}+[′']?|−?\d+|[∞−]+")


@dataclass(frozen=True)
class Part:
    """A part of a formula: how it was typed, its LaTeX, and what it is."""

    typed: str
    latex: str
    kind: Kind


def latex_of(formula: str) -> str:
    """Return a typed formula in LaTeX."""
    return joined(parts_of(formula))


def joined(parts: list[Part]) -> str:
    """Return parts of a formula as LaTeX, with thin spaces between factors and wider ones around words."""
    line = ""
    for place, part in enumerate(parts):
        if part.kind != "space":
            line += part.latex + ("" if part.latex.endswith("}") else " ")
        elif 0 < place < len(parts) - 1:
            line += _gap(parts[place - 1], parts[place + 1])
    return line.strip()


def parts_of(formula: str) -> list[Part]:
    """Return the parts of a formula in their order; what is under a root, raised or lowered belongs to its part."""
    return list(_Reader(normalize("NFC", formula)).parts())


def _gap(before: Part, after: Part) -> str:
    kinds = {before.kind, after.kind}
    if "word" in kinds or before.kind == "separator":
        return r"\; "
    is_tight = "operator" in kinds or before.kind == "open" or after.kind in ("close", "separator")
    return "" if is_tight else r"\, "


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def parts(self) -> Iterator[Part]:
        while self.place < len(self.text):
            begin = self.place
            latex, kind = self._base()
            if kind in ("operand", "word", "close"):
                scripts = self._scripts()
                latex, kind = (f"{latex}{scripts}", "operand" if kind == "word" else kind) if scripts else (latex, kind)
            yield Part(self.text[begin : self.place], latex, kind)

    def _base(self) -> tuple[str, Kind]:
        token = _TOKEN.match(self.text, self.place)
        assert token is not None  # the last alternative takes anything
        self.place = token.end()
        if token["space"]:
            return " ", "space"
        if token["number"]:
            return f"{{{token[0]}}}", "operand"
        if token["quoted"] or token["hyphened"]:
            return _text(token[0]), "word"
        return self._name(token) if token["name"] else self._sign(token[0])

    def _name(self, token: re.Match[str]) -> tuple[str, Kind]:
        name = token[0]
        if "_" in name and not (is_symbol(name.partition("_")[0])):
            return _text(name), "operand"
        name = name.partition("_")[0]
        self.place = token.start() + len(name)
        if len(name) == 1:
            return name, "operand"
        if name == "sqrt" and (inside := self._bracket("(")) is not None:
            return rf"\sqrt{{{latex_of(inside)}}}", "operand"
        if name in _FUNCTIONS:
            return rf"\operatorname{{{name}}}", "operand"
        if len(name) == 2 and name not in SHORT_WORDS:
            return rf"{{{name[0]} {name[1]}}}", "operand"
        return _text(name), "operand" if self.text[self.place : self.place + 1] in ("(", "[", "_", "^") else "word"

    def _sign(self, sign: str) -> tuple[str, Kind]:
        if sign == "√":
            return rf"\sqrt{{{self._under_root()}}}", "operand"
        if sign == "/" and self.text[self.place : self.place + 1] == "/":
            self.place += 1
            return r"\;\text{//}\;", "operator"
        if sign in ",;":
            return sign, "separator"
        if sign in _OPENING or sign in _CLOSING:
            return (_OPENING[sign], "open") if sign in _OPENING else (_CLOSING[sign], "close")
        if sign in _OPERATORS:
            return _OPERATORS[sign], "operator"
        return _SYMBOLS.get(sign) or _accented(sign), "operand"

    def _under_root(self) -> str:
        if (inside := self._bracket("(")) is not None:
            return latex_of(inside)
        latex, _ = self._base()
        return latex + self._scripts(raised=False)

    def _scripts(self, raised: bool = True) -> str:
        """Return what is lowered and raised behind a name; several of one kind go into one bracket."""
        below, above = "", ""
        while self.place < len(self.text):
            sign = self.text[self.place]
            if sign in _LOWERED:
                below, self.place = below + _LOWERED[sign], self.place + 1
            elif sign in _RAISED and raised:
                above, self.place = above + _RAISED[sign], self.place + 1
            elif sign in _PRIMES and raised:
                above, self.place = above + r"\prime ", self.place + 1
            elif sign == "_" and (index := self._script()) is not None:
                below += index
            elif sign == "^" and raised and (index := self._script()) is not None:
                above += index
            else:
                break
        return (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")

    def _script(self) -> str | None:
        """Return what follows `_` or `^`; nothing where that is no index."""
        mark, self.place = self.text[self.place], self.place + 1
        for opening in "({":
            if (inside := self._bracket(opening)) is not None:
                return latex_of(inside)
        if self.text[self.place : self.place + 1] == "√":
            return self._base()[0]
        found = _INDEX.match(self.text, self.place)
        if found is None:
            self.place -= 1
            return None
        self.place = found.end()
        # An exponent has an index of its own, e^lse_a; an index has none.
        return _letters(found[0]) + (self._scripts(raised=False) if mark == "^" else "")

    def _bracket(self, opening: str) -> str | None:
        """Return what is in the bracket that begins here, without it; nothing where none begins or it does not end."""
        if self.text[self.place : self.place + 1] != opening:
            return None
        closing, depth = {"(": ")", "{": "}"}[opening], 0
        for place in range(self.place, len(self.text)):
            depth += (self.text[place] == opening) - (self.text[place] == closing)
            if depth == 0:
                inside, self.place = self.text[self.place + 1 : place], place + 1
                return inside
        return None


def is_symbol(name: str) -> bool:
    """Return whether a name can have an index that is a word, as W_gate can, and max_norm cannot."""
    return len(name) == 1 or (len(name) == 2 and name[0] == "d" and name not in SHORT_WORDS)


def _letters(index: str) -> str:
    """Return an index: letters that each count, or a word."""
    if index in ("in", "up", "out") or (len(index) > 2 and index.isalpha() and re.search("[aeou]", index)):
        return _text(index)
    spelled = index.replace("−", "-").replace("'", "′").replace("′", r"\prime ").replace("∞", r"\infty ")
    return re.sub(r"(?<![\\\w])[A-Za-z]{2,}(?!\w)", lambda letters: " ".join(letters[0]), spelled)


def _text(words: str) -> str:
    return rf"\text{{{words.replace('_', chr(92) + '_')}}}"


def _accented(sign: str) -> str:
    base, *marks = list(normalize("NFD", sign))
    for mark in marks:
        base = f"{_ACCENTS[mark]}{{{base}}}" if mark in _ACCENTS else base
    return base
