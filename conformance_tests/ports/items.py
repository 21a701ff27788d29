"""What is compared of a part of a model, in the order in which it happens: weights, choices, and values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import DOUBLE
from veriformer.conformance_tests.recognition.findings import StepName


@dataclass(frozen=True, eq=False)
class Item:
    """One thing in a part; `key` is the same in both models, `place` a step of the trace, `path` where it is."""

    key: str
    step: StepName
    place: int
    path: str


@dataclass(frozen=True, eq=False)
class Weight(Item):
    """Numbers of parameters in the specification's layout, however the model stores them.

    `array` is None where the model has none: a norm without a shift. `neutral` is the number that has the same effect
    as having none, None where there is no such number. `heads` is the axis that counts heads, None without one.
    `names` are the parameters that it is made of. `matrix` says that it is a matrix, of inputs first.
    """

    array: Array | None
    names: tuple[str, ...] = ()
    neutral: float | None = None
    heads: int | None = None
    component: int | None = None
    """The axis that counts the components of a head, which a rotary pairing may order in another way."""
    stored: Array | None = None
    """The whole matrix (in, out) as the map uses it, before its columns were told apart."""
    axes: tuple[str, ...] = ()
    """What the first axes are called, where a model may take them in another order: those of a patch."""

    @property
    def label(self) -> str:
        """How a reader finds it."""
        return ", ".join(self.names) or self.path


@dataclass(frozen=True, eq=False)
class Choice(Item):
    """How something is done, in one of several ways.

    `words` say it. `mistake` is the slug for this way, or gives it from the way that the other model has.
    """

    value: Hashable
    words: str
    mistake: str | Callable[[Hashable], str] = ""

    def slug(self, usual: Hashable) -> str:
        """Return the mistake that this way is where the other model has the `usual` one; "" where it has no name."""
        return self.mistake if isinstance(self.mistake, str) else self.mistake(usual)


@dataclass(frozen=True, eq=False)
class Cut(Item):
    """A value of the pass, in the specification's layout; `unit` is the precision that it was computed in."""

    array: Array
    unit: float = DOUBLE
    heads: int | None = None


@dataclass(eq=False)
class PortPart:
    """A part of a model with its items, in the order in which they happen; no result depends on an `unused` one."""

    role: str
    stack: int
    layer: int | None
    path: str
    place: int
    items: list[Item] = field(default_factory=list)
    unused: bool = False

    def weights(self) -> Sequence[Weight]:
        """Return its weights."""
        return [item for item in self.items if isinstance(item, Weight)]

    def by_key(self, key: str) -> Item | None:
        """Return the item of a key."""
        return next((item for item in self.items if item.key == key), None)
