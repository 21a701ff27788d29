"""The result of checking a derivation: for every step, three checks, each passed or with the reason why not."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CheckResult:
    """One check of one step: whether it passed, how many points or alterations it took, and what was seen."""

    passed: bool
    count: int
    detail: str


@dataclass(frozen=True)
class StepResult:
    """The three checks of a step, and how much processor time they took."""

    step: str
    statement: str
    proof: CheckResult
    spot_check: CheckResult
    vacuity: CheckResult
    seconds: float

    @property
    def proved(self) -> bool:
        """Whether the prover proved the step."""
        return self.proof.passed

    @property
    def spot_checked(self) -> bool:
        """Whether direct evaluation agrees."""
        return self.spot_check.passed

    @property
    def not_vacuous(self) -> bool:
        """Whether the same prover rejected every altered statement."""
        return self.vacuity.passed

    @property
    def holds(self) -> bool:
        """Whether all three checks passed."""
        return self.proved and self.spot_checked and self.not_vacuous

    @property
    def sentence(self) -> str:
        """What the checks found, in a sentence."""
        if self.holds:
            return f"Checked: {self.spot_check.detail}; {self.vacuity.detail}."
        return f"NOT ESTABLISHED: {self.report}"

    @property
    def report(self) -> str:
        """One line when the step holds; otherwise the step, its statement, and every check that failed."""
        if self.holds:
            return f"✓ {self.step}"
        checks = {"proof": self.proof, "spot check": self.spot_check, "vacuity check": self.vacuity}
        failed = [f"  {name} failed: {check.detail}" for name, check in checks.items() if not check.passed]
        return "\n".join([f"✗ {self.step}", f"  {self.statement}", *failed])


@dataclass(frozen=True)
class DerivationResult:
    """The results of all steps of a derivation."""

    id: str
    steps: tuple[StepResult, ...]

    @property
    def holds(self) -> bool:
        """Whether every step holds."""
        return all(step.holds for step in self.steps)

    @property
    def failures(self) -> tuple[StepResult, ...]:
        """The steps that do not hold."""
        return tuple(step for step in self.steps if not step.holds)

    @property
    def seconds(self) -> float:
        """The processor time that all checks took."""
        return sum(step.seconds for step in self.steps)

    @property
    def report(self) -> str:
        """A line for the derivation and one for each step, with the reasons where a step fails."""
        held = sum(step.holds for step in self.steps)
        title = f"{self.id}: {held} of {len(self.steps)} steps hold ({self.seconds:.2f} s)"
        return "\n".join([title, *(step.report for step in self.steps)])
