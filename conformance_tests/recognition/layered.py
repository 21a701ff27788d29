"""A sublayer in its place in the model, with everything that was read of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.networks import NetworkReading
from veriformer.conformance_tests.recognition.streams import Place
from veriformer.conformance_tests.recognition.suspicion import Suspicion

# The numbers of one vector alone are explained in many ways.
LEAST_ROWS = 2


@dataclass(eq=False)
class Layered:
    """A sublayer in its place.

    `kind` is "self_attention", "cross_attention" or "feed_forward"; `stack` counts streams, such as those of encoder
    and decoder, and `layer` the layers in each. `idle` says that nothing reads its stream, which is said elsewhere.
    `rows` are the vectors that it ran on. `is_expert` says that it is one of those that a router chooses among, so
    that the mixture of them has a place in the stream, and it has none. `by_head` says that a map of an attention has
    a matrix of its own for each head that comes in, as absorbed latents have: such a map does not read the stream,
    and the attention was not recognised.
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
    rows: int = LEAST_ROWS
    is_expert: bool = False
    by_head: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether it shows enough: an expert that got no token, or one, shows nothing for sure."""
        return self.rows >= LEAST_ROWS and not self.by_head

    @property
    def path_of_maps(self) -> tuple[str, ...]:
        """The parameters of the map that leaves it."""
        return self.place.sublayer.exit.names

    @property
    def first_step(self) -> int:
        """Its place in the order of execution."""
        return self.place.sublayer.first_step
