"""The formulas in a sentence: "Dividing by √d_k keeps the variance where d_k = 64" has √d_k and d_k = 64.

pieces(sentence)            words and formulas in turn; together they are the sentence
pieces_of_formula(formula)  a formula with words in it, cut where a line may end
in_letters(sentence)        the sentence where nothing can be set, as in a drawing: divided by √dₖ
formula_in_letters(formula) the formula there, as in the title of a window
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Literal, NamedTuple

from veriformer.pictures.typed import SHORT_WORDS, Part, is_symbol, joined, latex_of, parts_of


class Piece(NamedTuple):
    """A piece of a sentence; `latex` is empty where it is words."""

    text: str
    latex: str = ""


# What a word between spaces is: a formula, a sign between two parts of one, one where a neighbour is, or words.
_Sort = Literal["formula", "sign", "symbol", "number", "function", "article", "word"]

_SURE = re.compile(r"[√⁰¹²³⁴-⁹⁻ᵀᵗ₀-₉α-ωΓΔΘΛΠΣΦΨΩ∞∂∘⊙⟨⟩⌊⌋‖ℓ≤≥≠≈∈∉⇔⇒→=·×−]")
_SIGNS = frozenset(
    [
        "=",
        "≤",
        "≥",
        "≠",
        "≈",
        "~",
        "∼",
        "∈",
        "∉",
        "⇔",
        "⇒",
        "→",
        "+",
        "−",
        "·",
        "×",
        "∘",
        "⊙",
        "/",
        "//",
        "<",
        ">",
        "∧",
        "∨",
        "±",
    ]
)
_NAME_WITH_INDEX = re.compile(r"(?<![\w`])([A-Za-zα-ω]+)_[\w({]")
# A power, an entry, a quotient of symbols, one with a bracket above or below, a function of a symbol.
_OF_SYMBOLS = re.compile(
    r"\w\^[\w({]|\b\w{1,2}\[[^\]]*\]|^\d*[A-Za-z]/\d*[A-Za-z]\d*$|/\([\w|]|\w\)/\w|\w\)[(|]\w"
    r"|\b(?!\w+\(s\))(?:[a-zA-Z]|LN|Var|mean|var|max|min|sin|cos|exp|log|ln|tanh|erf|diag)\(\w"
)
# A bracket that belongs to the formula before it: 1/(1, √(mean.
_OPENED = re.compile(r"[√/^_\w)]\([^)]*$")
_LONGEST_BRACKET = 8
_SYMBOL = re.compile(r"\d*(?:[b-zB-HJ-Z]|[a-z][A-Z]{1,2}|dx)['′]?(?:/\d+)?|[a-zA-Z]['′]")
_FUNCTIONS = frozenset(["sin", "cos", "tan", "tanh", "exp", "ln", "log", "max", "min", "mean", "beta", "gamma"])
_NUMBER = re.compile(r"\d[\d.,]*(?:/\d+)?")
# Code between backticks is one word, whatever it is.
_WORDS = re.compile(r"`[^`]*`|\s+|[^\s`]+")
_BEFORE, _AFTER = "“‘\"'", ".,;:?”’\"'!"
_CODE = re.compile(r"[a-z]+(?:_[a-z]+)+|[a-z]+\d+|[A-Z][a-z]+\w*")
# What has a dot before a name is a file or an attribute: norm_1.gamma, h.0.w_q, spec/rms_norm.py:12.
_PLACE = re.compile(r"[A-Za-z_./\\~][\w/\\~-]*(?:\.\w+)+(?::\w+)*")
_LONG = 48
_LOWERED = dict(zip("aehijklmnoprstuvx0123456789+−", "ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ₀₁₂₃₄₅₆₇₈₉₊₋", strict=True))
_RAISED = dict(zip("abcdefghijklmnoprstuvwxyz0123456789+−", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", strict=True))
_SCRIPT = re.compile(r"(?<=[\w)\]])([_^])(?:\(([^()]*)\)|\{([^{}]*)\}|(\w+))")


def pieces(sentence: str) -> list[Piece]:
    """Return the words and the formulas of a sentence in turn."""
    words = _WORDS.findall(sentence)
    marked = [(word, is_formula) for word, is_formula in zip(words, _marks(words), strict=True)]
    found: list[Piece] = []
    for is_formula, run in groupby(marked, key=lambda pair: pair[1]):
        text = "".join(word for word, _ in run)
        found += _formulas(text) if is_formula else [Piece(text)]
    return _merged(found)


def pieces_of_formula(formula: str) -> list[Piece]:
    """Return a formula with words in it as pieces, each short enough to stand on a line where it has a place to end."""
    found: list[Piece] = []
    run: list[Part] = []
    parts = parts_of(formula)
    for place, part in enumerate(parts):
        if part.kind == "separator" or (part.kind == "word" and not _is_quantity(parts, place)):
            found += [*_short(run), Piece(part.typed)]
            run = []
        else:
            run.append(part)
    return _merged([*found, *_short(run)])


def in_letters(sentence: str) -> str:
    """Return a sentence whose formulas have lowered and raised letters: √dₖ for √d_k."""
    return "".join(formula_in_letters(piece.text) if piece.latex else piece.text for piece in pieces(sentence))


def formula_in_letters(formula: str) -> str:
    """Return a formula with indices and powers in lowered and raised letters, where Unicode has them all."""
    return _SCRIPT.sub(_script, formula)


def _script(found: re.Match[str]) -> str:
    letters = _LOWERED if found[1] == "_" else _RAISED
    inside = found[2] or found[3] or found[4] or "_"
    if set(inside) <= set(letters):
        return "".join(letters[one] for one in inside)
    return found[1] + formula_in_letters(found[0][1:])


def _is_quantity(parts: list[Part], place: int) -> bool:
    """Return whether a word is added, multiplied or equated, as scale and bias are."""
    beside = [parts[near].kind for step in (-1, 1) if 0 <= (near := _past_space(parts, place, step)) < len(parts)]
    return "operator" in beside


def _past_space(parts: list[Part], place: int, step: int) -> int:
    near = place + step
    return near + step if 0 <= near < len(parts) and parts[near].kind == "space" else near


def _short(parts: list[Part]) -> Iterator[Piece]:
    """Yield parts of a formula as one piece, or as several where it is long, each of which begins with a sign."""
    begin = 0
    for place, part in enumerate(parts):
        length = sum(len(one.typed) for one in parts[begin:place])
        if length > _LONG and part.kind == "operator" and part.typed in "=≤≥+−·" and parts[place - 1].kind == "space":
            yield from _trimmed(parts[begin:place])
            begin = place
    yield from _trimmed(parts[begin:])


def _trimmed(parts: list[Part]) -> Iterator[Piece]:
    """Yield parts of a formula as a piece, with the spaces around it as words."""
    text = "".join(part.typed for part in parts)
    inside = text.strip()
    if not inside:
        yield Piece(text)
        return
    first = next(place for place, part in enumerate(parts) if part.kind != "space")
    last = max(place for place, part in enumerate(parts) if part.kind != "space")
    yield Piece(text[: len(text) - len(text.lstrip())])
    yield Piece(inside, joined(parts[first : last + 1]))
    yield Piece(text[len(text.rstrip()) :])


def _merged(found: list[Piece]) -> list[Piece]:
    """Return pieces without empty ones, and words next to words as one."""
    merged: list[Piece] = []
    for piece in found:
        if merged and not piece.latex and not merged[-1].latex:
            merged[-1] = Piece(merged[-1].text + piece.text)
        elif piece.text:
            merged.append(piece)
    return merged


def _marks(words: list[str]) -> list[bool]:
    """Return for each word, space among them, whether it belongs to a formula."""
    places = [place for place, word in enumerate(words) if not word.isspace()]
    sorts = [_sort(words[place]) for place in places]
    ends = [words[place][-1] in _AFTER for place in places]
    kept = [_belongs(number, sorts, ends) for number in range(len(places))]
    _complete(kept, ends, [words[place] for place in places])
    marks = [False] * len(words)
    for number, place in enumerate(places):
        marks[place] = kept[number]
        # A sentence's sign ends the formula before it.
        if number and kept[number - 1] and kept[number] and not ends[number - 1]:
            marks[place - 1] = True
    return marks


def _complete(kept: list[bool], ends: list[bool], words: list[str]) -> None:
    """Let a formula that opens a bracket go on to where it closes."""
    for number, word in enumerate(words):
        if not kept[number] or not _OPENED.search(word):
            continue
        depth, last = 0, number
        for last in range(number, min(number + _LONGEST_BRACKET, len(words))):
            depth += _excess(words[last])
            if depth <= 0:
                break
        if depth <= 0:
            kept[number : last + 1] = [True] * (last + 1 - number)
            ends[number:last] = [False] * (last - number)


def _belongs(number: int, sorts: list[_Sort], ends: list[bool]) -> bool:
    """Return whether a word belongs to a formula, by its sort and those of the words beside it."""
    sort = sorts[number]
    before = sorts[number - 1] if number and not ends[number - 1] else "word"
    after = sorts[number + 1] if number + 1 < len(sorts) and not ends[number] else "word"
    around = {before, after} - {"word", "article"}
    if sort in ("formula", "symbol"):
        return True
    if sort == "sign":
        return (bool(around) and before != "word") or after in ("formula", "symbol", "number")
    if sort == "number":
        return before == "sign" or after == "sign"
    if sort == "function":
        return after in ("formula", "symbol", "function") or (after == "number" and before != "word")
    if sort == "article":
        return (before == "sign" and after != "word") or after == "sign" or (before == "sign" and ends[number])
    return False


def _sort(word: str) -> _Sort:
    bare = word.strip(_BEFORE + '.,;:?”’"!')
    if not bare or bare.startswith("`"):
        return "word"
    if bare in _SIGNS:
        return "sign"
    core = bare.strip("()[]{}|")
    if core in ("a", "A", "I"):
        return "article"
    if _SYMBOL.fullmatch(core) and core not in SHORT_WORDS and bare != "(s)":
        return "symbol"
    if _NUMBER.fullmatch(core):
        return "number"
    if core in _FUNCTIONS:
        return "function"
    if _PLACE.fullmatch(core):
        return "word"
    return "formula" if _is_formula(word, bare) else "word"


def _is_formula(word: str, bare: str) -> bool:
    if _CODE.fullmatch(bare) and not is_symbol(bare.partition("_")[0]):
        return False
    if any(is_symbol(name) or len(name) <= 4 for name in _NAME_WITH_INDEX.findall(word)):
        return True
    long_words = [name for name in re.findall(r"[A-Za-z]{4,}", bare) if name not in _FUNCTIONS]
    if _SURE.search(bare):
        return not long_words or any(sign in bare for sign in "√^_()") or bool(re.search(r"[α-ωΣ]", bare))
    return any(map(_OF_SYMBOLS.search, (word, bare.strip("()")))) and not long_words


def _formulas(run: str) -> list[Piece]:
    """Return a run of marked words as a formula, without the signs of the sentence and brackets of words around it."""
    begin, end = 0, len(run)
    changed = True
    while changed and begin < end:
        changed = False
        inside = run[begin:end]
        if inside[0] in _BEFORE or (inside[0] in "([{" and _excess(inside) > 0):
            begin, changed = begin + 1, True
        elif (inside[-1] in _AFTER and not (inside[-1] in "'!" and inside[-2:-1].isalpha())) or (
            inside[-1] in ")]}" and _excess(inside) < 0
        ):
            end, changed = end - 1, True
    # A sign with nothing behind it goes with the word that follows: 0 · NaN.
    while (last := run[begin:end].rpartition(" "))[2] in _SIGNS and last[0]:
        end = begin + len(last[0])
    inside = run[begin:end]
    return [Piece(run[:begin]), Piece(inside, latex_of(inside)) if inside else Piece(""), Piece(run[end:])]


def _excess(text: str) -> int:
    """Return by how many brackets more are opened than closed."""
    return sum(sign in "([{" for sign in text) - sum(sign in ")]}" for sign in text)
