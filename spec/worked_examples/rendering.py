"""A worked example as Markdown: the fragment, what it prints, the exact value, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
from veriformer.spec.worked_examples.exact_arithmetic import Exact
from veriformer.spec.worked_examples.example import WorkedExample
from veriformer.spec.worked_examples.judging import Judgement, judge
from veriformer.spec.worked_examples.printed import Printed
from veriformer.spec.worked_examples.verdict import Verdict

_DIGITS = 6


def render_markdown(example: WorkedExample) -> str:
    """Return a section: heading, source and verdict, fragment, printed and exact values, correction, note."""
    judgement = judge(example)
    parts = [
        f"### {example.title}",
        *_words_of(example, judgement),
        f"Exact:\n\n$$\n{latex(example.exact)}\n$$",
    ]
    if judgement.verdict is Verdict.WRONG:
        parts.append(_correction(example))
    elif any(_is_worth_evaluating(entry) for entry in _leaves(example.exact)):
        parts.append(f"Evaluated: `{decimals(example.exact)}`")
    if example.otherwise is not None:
        parts.append(f"Otherwise: `{decimals(example.otherwise)}`")
    if example.note:
        parts.append(example.note)
    return "\n\n".join(parts) + "\n"


def _words_of(example: WorkedExample, judgement: Judgement) -> tuple[str, ...]:
    """Return the words of a document with the verdict on them, or the question of an example of the project."""
    if not example.document:
        return f"`{example.id}`", example.fragment
    return (
        f"`{example.id}` · {example.source} · **{_verdict_text(example, judgement)}**",
        f"```text\n{example.fragment}\n```",
        f"Printed: {_printed_text(example.printed)}",
    )


def decimals(exact: Exact, digits: int = _DIGITS) -> str:
    """Return nested exact values as nested decimals with `digits` significant digits; integers stay themselves."""

    def leaf(value: Any) -> str:
        return str(sympy.N(value, digits)) if _is_worth_evaluating(value) else sympy.sstr(value)

    return _bracketed(exact, leaf)


def latex(exact: Exact) -> str:
    """Return nested exact values in LaTeX: rectangles as matrices, vectors as rows."""
    if not isinstance(exact, tuple):
        return str(sympy.latex(exact))
    lines = exact if all(isinstance(row, tuple) for row in exact) else (exact,)
    body = r" \\ ".join(" & ".join(latex(entry) for entry in line) for line in lines)
    return rf"\begin{{bmatrix}} {body} \end{{bmatrix}}"


def _correction(example: WorkedExample) -> str:
    """Return what is right in the place of what the document prints or says."""
    said = f"the document has `{_texts(example.printed)}`"
    if all(entry.is_Boolean for entry in _leaves(example.exact)):
        return f"Correction: {said}, and this is not so."
    return f"Correction: {said}; the exact value is `{decimals(example.exact)}`."


def _verdict_text(example: WorkedExample, judgement: Judgement) -> str:
    text = str(judgement.verdict)
    if judgement.verdict is Verdict.CONDITIONAL:
        text += f" (where {example.condition})"
    if judgement.unit is None:
        return text
    joint = " to" if judgement.verdict is Verdict.ROUNDED else ", rounded to"
    return f"{text}{joint} {_unit_text(judgement.unit)}"


def _unit_text(unit: Any) -> str:
    if unit >= 1:
        return f"the nearest {unit}"
    places = len(str(unit.q)) - 1
    return f"{places} decimal place{'s' if places > 1 else ''}"


def _printed_text(printed: Printed | None) -> str:
    return "nothing" if printed is None else f"`{_texts(printed)}`"


def _texts(printed: Printed | None) -> str:
    return _bracketed(printed, lambda number: str(number.text))


def _bracketed(nested: Any, leaf: Callable[[Any], str]) -> str:
    if isinstance(nested, tuple):
        return "[" + ", ".join(_bracketed(part, leaf) for part in nested) + "]"
    return leaf(nested)


def _leaves(nested: Any) -> tuple[Any, ...]:
    if isinstance(nested, tuple):
        return tuple(entry for part in nested for entry in _leaves(part))
    return (nested,)


def _is_worth_evaluating(value: Any) -> bool:
    """Return whether a decimal tells more than the exact form does: not for integers, symbols or truth values."""
    return not (value.free_symbols or value.is_Boolean or value.is_Integer or value.is_infinite)
