"""A step that states an inequality, with a certificate that is non-negative by its form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import sympy
from sympy import Expr
from veriformer.spec.derivations.definitions import evaluated
from veriformer.spec.derivations.index_sums import Normaliser
from veriformer.spec.derivations.nonnegativity import manifestly_nonnegative
from veriformer.spec.derivations.perturbation import perturbations
from veriformer.spec.derivations.printing import in_one_line
from veriformer.spec.derivations.results import CheckResult
from veriformer.spec.derivations.rules import NON_NEGATIVE, Rule
from veriformer.spec.derivations.steps import TOLERANCE, Step


@dataclass(frozen=True)
class Inequality(Step):
    """left ≥ right, because left − right = certificate and the certificate is non-negative by its form."""

    certificate: Any = field(default=None, kw_only=True)
    relation: ClassVar[str] = "≥"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that prove the step: one for the form of the difference, one for its sign."""
        return (*super().rules, NON_NEGATIVE)

    @property
    def method(self) -> str:
        """How the step is proved, in words."""
        shown = " = ".join(map(in_one_line, self.certificate_forms))
        return f"left − right = {shown} by {self.prover.name}, and this is non-negative by its form"

    @property
    def certificate_forms(self) -> tuple[Expr, ...]:
        """The certificate as it is written, and where a constraint is solved for also with the solution in it."""
        return (self.certificate, self._constrained()) if self.context.parametrisation else (self.certificate,)

    def prove(self, normaliser: Normaliser) -> CheckResult:
        """The difference equals the certificate, and the certificate is non-negative by its form."""
        if not self.accepts(self._difference(), self._certificate(), normaliser):
            return CheckResult(False, 1, f"{self.prover.name} does not prove left − right = {self.certificate}")
        if not manifestly_nonnegative(self._constrained(), self.context):
            return CheckResult(False, 1, f"{self.certificate} is not non-negative by its form")
        return CheckResult(True, 1, self.method)

    def values_agree(self, left: float, right: float) -> bool:
        """Whether left ≥ right up to rounding."""
        return left >= right - TOLERANCE

    def try_alterations(self, normaliser: Normaliser) -> CheckResult:
        """Altered certificates must be rejected, and neither −certificate nor certificate − 1 may pass as ≥ 0."""
        rejected = 0
        for name, altered in perturbations(self._certificate(), self.context):
            if self.accepts(self._difference(), altered, normaliser):
                return CheckResult(False, rejected, f"the prover also accepts {altered} ({name})")
            rejected += 1
        for altered in (-self._constrained(), self._constrained() - 1):
            if manifestly_nonnegative(altered, self.context):
                return CheckResult(False, rejected, f"{altered} also passes as non-negative")
            rejected += 1
        return CheckResult(True, rejected, f"{rejected} altered certificates are rejected")

    def _difference(self) -> Expr:
        return self.proved_left - self.proved_right

    def _certificate(self) -> Expr:
        return evaluated(self.certificate, self.where)

    def _constrained(self) -> Expr:
        certificate = self._certificate().xreplace(dict(self.context.parametrisation))
        return sympy.expand(certificate) if self.context.parametrisation else certificate
