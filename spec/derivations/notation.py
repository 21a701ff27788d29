"""The signs of the formulas that are no symbols of one derivation, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import sympy
from veriformer.spec.derivations.expressions import Expectation, Partial, Quotient, Remainder, Variance
from veriformer.spec.derivations.steps import Step


class Sign(NamedTuple):
    """A sign in LaTeX and in plain text, and its meaning."""

    latex: str
    text: str
    words: str


_SIGNS: dict[Any, Sign] = {
    sympy.KroneckerDelta: Sign(r"\delta_{ij}", "δ_ij", "1 where i = j, 0 elsewhere"),
    Quotient: Sign(r"\lfloor n / d \rfloor", "⌊n/d⌋", "n divided by d, without the remainder"),
    Remainder: Sign(r"n \bmod d", "n mod d", "the remainder of n divided by d"),
    Expectation: Sign(r"\mathbb{E}\left[X\right]", "E[X]", "the mean of a random number X"),
    Variance: Sign(r"\operatorname{Var}\left(X\right)", "Var(X)", "the variance of a random number X"),
    Partial: Sign(r"\frac{\partial}{\partial x} f", "∂f/∂x", "the derivative of f by x, where all else stays"),
    sympy.erf: Sign(r"\operatorname{erf} t", "erf t", "the error function, (2/√π) ∫ e^(−s²) ds from 0 to t"),
    sympy.exp: Sign("e^{x}", "e^x", "the exponential function of x"),
}


def signs_of(steps: Iterable[Step]) -> tuple[Sign, ...]:
    """The signs that occur in the formulas of the steps."""
    formulas = [part for step in steps for part in _formulas(step)]
    return tuple(sign for kind, sign in _SIGNS.items() if any(formula.has(kind) for formula in formulas))


def _formulas(step: Step) -> list[Any]:
    certificate = getattr(step, "certificate", None)
    parts = [] if certificate is None else [sympy.sympify(certificate)]
    return [*step.written_entries(), *(definition.right for definition in step.where), *parts]
