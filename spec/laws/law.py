"""The statement of a law: what must hold, why, and the source. Its check is in the conformance tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.spec.operations.operation import Operation

Obligation = Literal["must", "should"]


@dataclass(frozen=True)
class Property:
    """A property of one or several operations; stated for one operation it is a law.

    `derivation` names the derivation that proves it, `steps` the steps there. A definition, a
    convention or a part of the interface, which nothing can prove, carries `reason` instead; exactly one of the two is
    given.
    `motivation` names a derivation that explains the choice, and `steps` the steps there.
    """

    key: str
    statement: str
    formula: str
    source: str
    derivation: str | None = None
    steps: tuple[str, ...] = ()
    reason: str | None = None
    motivation: str | None = None
    obligation: Obligation = "must"
    features: tuple[str, ...] = ()
    conventions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.derivation is None) == (self.reason is None):
            raise ValueError(f"property {self.key!r} needs a derivation or a reason for having none, and not both")
        if self.derivation is not None and self.motivation is not None:
            raise ValueError(f"property {self.key!r} is derived: it takes no derivation that only motivates")
        if bool(self.background) != bool(self.steps):
            raise ValueError(f"property {self.key!r} names a derivation without its steps, or steps without one")

    @property
    def background(self) -> str | None:
        """The derivation that `steps` belong to: the one that proves the property, or says why it was chosen."""
        return self.derivation or self.motivation


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
    def obligation(self) -> Obligation:
        """`must`, or `should` where correct libraries are known to differ."""
        return self.claim.obligation

    @property
    def features(self) -> tuple[str, ...]:
        """The optional keywords without which the law cannot be tried on the operation."""
        return self.claim.features

    def __repr__(self) -> str:
        return f"<law {self.id}: {self.statement}>"

    def _repr_html_(self) -> str:
        from veriformer.pictures.html import Entry, card

        claim = self.claim
        why = f"proved by the derivation {claim.derivation}" if claim.derivation else f"not proved: {claim.reason}"
        return card(
            self.id,
            Entry(claim.statement),
            Entry(claim.formula, "formula", code=True),
            Entry(self.operation.name, "of"),
            Entry(why, "why"),
            Entry(claim.source, "source"),
        )


def state(properties: tuple[Property, ...], operation: Operation) -> tuple[LawStatement, ...]:
    """Return the laws that the properties become when stated of an operation."""
    return tuple(LawStatement(operation, item) for item in properties)
