"""The statement of a law: what must hold, why, and where that is said. How it is judged is elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.spec.operations import OPERATIONS, Operation

Tier = Literal["must", "should"]


@dataclass(frozen=True)
class Property:
    """What one or several operations must satisfy; stated of an operation it becomes a law.

    `derivation` names the derivation that proves it. A property that nothing can prove because it is part of the
    interface itself carries `reason` instead; exactly one of the two is given.
    """

    key: str
    statement: str
    formula: str
    source: str
    derivation: str | None = None
    reason: str | None = None
    tier: Tier = "must"
    features: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.derivation is None) == (self.reason is None):
            raise ValueError(f"property {self.key!r} needs a derivation or a reason for having none, and not both")


@dataclass(frozen=True)
class LawStatement:
    """A property stated of one operation, under an id that is never renumbered or reused."""

    operation: Operation
    claim: Property

    @property
    def id(self) -> str:
        """The stable id, such as `attention.causal.no_future_leak`."""
        return f"{self.operation.prefix}.{self.claim.key}"

    @property
    def statement(self) -> str:
        """One sentence: what holds."""
        return self.claim.statement

    @property
    def formula(self) -> str:
        """The statement as a formula."""
        return self.claim.formula

    @property
    def tier(self) -> Tier:
        """`must`, or `should` where correct libraries are known to differ."""
        return self.claim.tier

    @property
    def features(self) -> tuple[str, ...]:
        """The optional keywords without which the law cannot be put to the operation."""
        return self.claim.features


def state(properties: tuple[Property, ...], *operations: str) -> tuple[LawStatement, ...]:
    """Return the laws that the properties become when stated of each of the operations named."""
    return tuple(LawStatement(OPERATIONS[name], item) for name in operations for item in properties)
