"""A sublayer in its place in the model, with everything that was read of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.networks import NetworkReading
from veriformer.conformance_tests.recognition.streams import Place
from veriformer.conformance_tests.recognition.suspicion import Suspicion


@dataclass(eq=False)
class Layered:
    """A sublayer in its place.

    `kind` is "self_attention", "cross_attention" or "feed_forward"; `stack` counts streams, such as those of encoder
    and decoder, and `layer` the layers in each. `idle` says that nothing reads its stream, which is said elsewhere.
    """

    place: Place
    kind: str
    path: str
    stack: int
    layer: int
    attention: AttentionReading | None = None
    network: NetworkReading | None = None
    suspicions: list[Suspicion] = field(default_factory=list)
    idle: bool = False

    @property
    def first_step(self) -> int:
        """Its place in the order of execution."""
        return self.place.sublayer.first_step
