"""A case: the description of a call, a few numbers and names from which every array follows.

Descriptions are drawn and shrunk, never arrays, so a counterexample is as small to read as to run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

if TYPE_CHECKING:
    from veriformer.conformance_tests.drawing.fixed import FixedChoices
    from veriformer.conformance_tests.drawing.regimes import Regime
    from veriformer.conformance_tests.drawing.space import Space

Palette = Literal["bits", "integers", "normal", "offset", "repeated"]
MaskKind = Literal["none", "random", "padding", "left_padding", "one_visible", "empty_rows"]


@dataclass(frozen=True)
class Case(ABC):
    """The description of one call: sizes, settings, the dtype of its arrays and the seed that they are filled from."""

    if TYPE_CHECKING:  # the members of every case, which declares them in its own order

        @property
        def dtype(self) -> str:
            """The dtype of its arrays."""

        @property
        def seed(self) -> int:
            """The seed that they are filled from."""

    # The sizes that make a case longer to read.
    axes: ClassVar[tuple[str, ...]] = ()

    @property
    def size(self) -> int:
        """The length of the description: the sum of the sizes, so that no axis stays long to shorten another."""
        return sum(getattr(self, name) for name in self.axes)

    @abstractmethod
    def describe(self) -> str:
        """Return the sizes and settings in one line."""

    def offered(self, fixed: FixedChoices, space: Space | None) -> Self:
        """Return the case with the choices that an implementation offers, where the space leaves them free."""
        return self


@dataclass(frozen=True)
class BatchableCase(Case):
    """A case whose arrays are filled with numbers, one sample like another: a call can carry many.

    A law has fewer calls of a costly one: drawing, judging and answering one takes milliseconds.
    """

    is_costly: ClassVar[bool] = False
    if TYPE_CHECKING:

        @property
        def batch(self) -> int:
            """How many samples it has."""

        @property
        def palette(self) -> Palette:
            """The palette of its numbers."""

        @property
        def amplitude(self) -> int:
            """The factor of the values."""

        @property
        def regimes(self) -> tuple[Regime, ...]:
            """The regime of each sample, if they differ."""

    @property
    @abstractmethod
    def numbers(self) -> int:
        """About how many numbers a sample has, counted as often as a law computes with them."""
