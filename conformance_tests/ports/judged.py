"""A pair of parts with everything that was found of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from veriformer.conformance_tests.ports.alignment import Pair
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.items import Choice, Cut, Item, PortPart
from veriformer.conformance_tests.recognition.findings import Departure, StepName


@dataclass
class Judged:
    """A pair of parts: what differs, and what one of them departs in from the Transformer that its model otherwise is.

    `own` are the departures of the second that the first does not have, `own_a` those of the first. `far` is how far
    the last values of both are apart, and `unknown` are the first values that are not the same.
    """

    pair: Pair
    findings: list[Finding] = field(default_factory=list)
    own: list[Departure] = field(default_factory=list)
    own_a: list[Departure] = field(default_factory=list)
    far: float = 0.0
    unknown: tuple[Cut, Cut] | None = None
    told: tuple[StepName, ...] = ()
    """The steps at which it was found to differ, where results show it."""

    def departure_of_first(self, finding: Finding) -> Departure | None:
        """Return what the first model departs in where a finding is; None where that may be about something else."""
        step = finding.item.step
        own = [one for one in self.own_a if one.step == step]
        if isinstance(finding.first, Choice) and isinstance(finding.second, Choice):
            slug = finding.first.slug(finding.second.value)
            said = [one for one in own if slug and slug in (suspect.name for suspect in one.suspects)]
            if said:
                return said[0]
        alone = sum(one.item.step == step for one in self.findings) == 1
        return own[0] if len(own) == 1 and alone else None

    def without_what_is_behind(self, lost: Item | None) -> None:
        """Leave out what was read off values that are not numbers; all of them are, where no first one is given.

        Weights are compared by themselves and stay.
        """
        kept = set() if lost is None else {*_keys_up_to(self.pair[0], lost.key), *_keys_up_to(self.pair[1], lost.key)}
        self.findings = [one for one in self.findings if one.relation is not None or one.key in kept]
        steps = {item.step for part in self.pair if part is not None for item in part.items if item.key in kept}
        self.own, self.own_a = ([one for one in own if one.step in steps] for own in (self.own, self.own_a))
        self.unknown = None if lost is None else self.unknown


def first_lost(pair: Pair) -> tuple[int, Cut] | None:
    """Return the first value of a pair that is not a number in one model only, and in which; None where none is."""
    for keys in ([item.key for item in part.items] for part in pair if part is not None):
        for key in keys:
            cuts = [part.by_key(key) if part is not None else None for part in pair]
            finite = [not isinstance(one, Cut) or bool(np.isfinite(one.array).all()) for one in cuts]
            for side, one in enumerate(cuts):
                if isinstance(one, Cut) and not finite[side] and all(finite[:side] + finite[side + 1 :]):
                    return side, one
    return None


def _keys_up_to(part: PortPart | None, last: str) -> list[str]:
    keys = [] if part is None else [item.key for item in part.items]
    return keys[: keys.index(last) + 1] if last in keys else keys
