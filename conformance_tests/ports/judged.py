"""A pair of parts with everything that was found of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from veriformer.conformance_tests.ports.alignment import Pair
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.items import Cut
from veriformer.conformance_tests.recognition.findings import Departure, StepName


@dataclass
class Judged:
    """A pair of parts: what differs, and what the second one departs in from the Transformer that it otherwise is.

    `far` is how far the last values of both are apart, and `unknown` are the first values that are not the same.
    """

    pair: Pair
    findings: list[Finding] = field(default_factory=list)
    own: list[Departure] = field(default_factory=list)
    far: float = 0.0
    unknown: tuple[Cut, Cut] | None = None
    told: tuple[StepName, ...] = ()
    """The steps at which it was found to differ, where results show it."""
