"""What is drawn: the description of a call, a few numbers and names from which every array follows.

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

    if TYPE_CHECKING:  # the members of every case, which it declares in an order of its own

        @property
        def dtype(self) -> str:
            """The dtype of its arrays."""

        @property
        def seed(self) -> int:
            """The seed that they are filled from."""

    # The sizes by which a case is the longer to read.
    axes: ClassVar[tuple[str, ...]] = ()

    @property
    def size(self) -> int:
        """How much there is to read: the sum of the sizes, so that no axis stays long for the sake of another."""
        return sum(getattr(self, name) for name in self.axes)

    @abstractmethod
    def describe(self) -> str:
        """Return the sizes and settings in one line."""

    def offered(self, fixed: FixedChoices, space: Space | None) -> Self:
        """Return the case with what an implementation offers of its choices, wherever the space leaves that free."""
        return self


@dataclass(frozen=True)
class BatchableCase(Case):
    """A case whose arrays are filled with numbers, one sample like another: a call can carry many.

    Of a costly one a law has fewer calls: drawing, judging and answering one takes milliseconds.
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
            """What they are multiplied by."""

        @property
        def regimes(self) -> tuple[Regime, ...]:
            """What each sample is filled with, where they differ."""

    @property
    @abstractmethod
    def numbers(self) -> int:
        """About how many numbers a sample has, counted as often as a law computes with them."""
