"""The formulas of the steps of a derivation in LaTeX."""

from __future__ import annotations

import sympy
from veriformer.spec.derivations.definitions import Definition
from veriformer.spec.derivations.limits import Limit
from veriformer.spec.derivations.printing import as_latex
from veriformer.spec.derivations.steps import Step

_RELATIONS = {"=": "=", "≠": r"\neq", "≥": r"\geq", "→": r"\to"}


def step_latex(step: Step) -> str:
    """The statement of a step in LaTeX: the sides as they are written."""
    left, right = (as_latex(side, step.as_written) for side in (step.left, step.right))
    if isinstance(step, Limit):
        return rf"\lim_{{{sympy.latex(step.variable)} \to {sympy.latex(step.point)}}} {left} = {right}"
    return f"{left} {_RELATIONS[step.relation]} {right}"


def definition_latex(definition: Definition) -> str:
    """What a name stands for, in LaTeX."""
    return f"{as_latex(definition.left)} = {as_latex(definition.right)}"
