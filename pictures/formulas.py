"""Formulas as MathML, which every browser draws without fonts or scripts."""

from __future__ import annotations


def mathml(latex: str, *, block: bool = True) -> str:
    """Return a formula in LaTeX as MathML, in a line of its own or inside a sentence."""
    from latex2mathml.converter import convert

    return str(convert(latex, display="block" if block else "inline"))
