"""A derivation: a law deduced in named steps, each of which a machine proves, evaluates, and tries to break."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from veriformer.spec.derivations.differences import Difference
from veriformer.spec.derivations.inequalities import Inequality
from veriformer.spec.derivations.limits import Limit
from veriformer.spec.derivations.results import DerivationResult
from veriformer.spec.derivations.steps import Step

__all__ = ["Derivation", "Difference", "Inequality", "Limit", "Meaning", "Scope", "Source", "Step"]


class Scope(Enum):
    """The sizes for which a derivation holds."""

    SYMBOLIC = "symbolic"
    INDUCTION = "induction"
    INSTANCES = "instances"

    @property
    def meaning(self) -> str:
        """The scope in words."""
        return {
            Scope.SYMBOLIC: "all sizes: lengths and widths are symbols",
            Scope.INDUCTION: "all sizes, by an induction whose step is proved",
            Scope.INSTANCES: "the listed sizes only",
        }[self]


class Source(NamedTuple):
    """A source that states the law, its words (empty if none are quoted), and a comment on them."""

    where: str
    quotation: str = ""
    comment: str = ""

    @property
    def citation(self) -> str:
        """The source in one line."""
        quoted = f": “{self.quotation}”" if self.quotation else ""
        return f"{self.where}{quoted}{f' ({self.comment})' if self.comment else ''}"


class Meaning(NamedTuple):
    """Symbols of a derivation, as they stand in its formulas, and what they stand for."""

    symbols: tuple[Any, ...]
    words: str


@dataclass(frozen=True)
class Derivation:
    """A law's derivation.

    `opening` has two sentences: which question is answered, and why one would care. `symbols` says what the symbols
    stand for that no step defines, `see_also` names related derivations. `assumptions` are those of the steps,
    `sources` state the law, `remarks` tell the reader what no step says. If no result of an implementation can show
    the subject, `reason_without_law` says so; a law names every other derivation.
    """

    id: str
    title: str
    scope: Scope
    assumptions: tuple[str, ...]
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    remarks: tuple[str, ...] = ()
    reason_without_law: str | None = None
    opening: str = field(default="", kw_only=True)
    symbols: tuple[Meaning, ...] = field(default=(), kw_only=True)
    see_also: tuple[str, ...] = field(default=(), kw_only=True)

    def check(self, limit: float | None = None) -> DerivationResult:
        """Check every step, each for at most `limit` seconds of processor time. Failures are reported, not raised."""
        return DerivationResult(self.id, tuple(step.check(limit) for step in self.steps))

    def __repr__(self) -> str:
        return f"<derivation {self.id}: {self.title}; {len(self.steps)} steps>"

    def _repr_html_(self) -> str:
        from veriformer.spec.derivations.notebook import render_html

        return render_html(self)
