"""Cases of causal and padding masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import Space


@dataclass(frozen=True)
class CausalMaskCase(Case):
    """One call of `causal_mask`."""

    query_length: int
    key_length: int
    dtype: str = "float32"
    seed: int = 0

    axes: ClassVar[tuple[str, ...]] = ("query_length", "key_length")

    def describe(self) -> str:
        return f"L = {self.query_length}, S = {self.key_length}"


@dataclass(frozen=True)
class PaddingMaskCase(Case):
    """One call of `padding_mask`."""

    lengths: tuple[int, ...]
    max_length: int
    dtype: str = "float32"
    seed: int = 0

    @property
    def size(self) -> int:
        return len(self.lengths) + self.max_length

    def describe(self) -> str:
        """Return the lengths in one line."""
        return f"lengths {list(self.lengths)}, max_length {self.max_length}"


@dataclass(frozen=True)
class CausalMaskSpace(Space):
    """Cases of `causal_mask`."""

    square: bool = False


@dataclass(frozen=True)
class PaddingMaskSpace(Space):
    """Cases of `padding_mask`."""

    least_batch: int = 1


def causal_mask_cases(space: CausalMaskSpace, _: Limits) -> choices.Choice[CausalMaskCase]:
    """Return lengths of causal masks."""
    lengths = choices.integers(1, 9)
    if space.square:
        return choices.builds(lambda length: CausalMaskCase(length, length), lengths)
    return choices.builds(CausalMaskCase, lengths, lengths)


@choices.composite
def padding_mask_cases(draw: choices.Draw, space: PaddingMaskSpace, _: Limits) -> PaddingMaskCase:
    """Return lengths and the length that they are padded to."""
    lengths = draw(choices.lists(choices.integers(1, 7), min_size=space.least_batch, max_size=4))
    return PaddingMaskCase(tuple(lengths), max(lengths) + draw(choices.sampled_from((0, 0, 1, 2, 3))))
