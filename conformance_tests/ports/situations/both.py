"""Two models that are run again on the same sequences."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from veriformer.adapters.errors import CaptureError, LoadError
from veriformer.adapters.whole_models.again import Offers, Repeatable, Run
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.comparing import Comparing
from veriformer.conformance_tests.ports.findings import Cause, Difference, Situation
from veriformer.conformance_tests.ports.precision import rounding_in
from veriformer.conformance_tests.ports.situations.speaking import Speaking
from veriformer.conformance_tests.recognition.agreement import distance
from veriformer.conformance_tests.recognition.findings import StepName

# The results of a run hold at most so many numbers.
_MOST_NUMBERS = 2**22


@dataclass(frozen=True)
class Outcome:
    """A situation, and the differences that show in it."""

    situation: Situation
    differences: tuple[Difference, ...] = ()


class Both:
    """Two models, what both can be run on, and how far apart their results may be."""

    def __init__(self, comparing: Comparing, first: Repeatable, second: Repeatable) -> None:
        self.comparing = comparing
        self.first, self.second = Speaking("A", first), Speaking("B", second)
        self.offers: tuple[Offers, Offers] = (self.first.offers(), self.second.offers())
        self.bound = max(comparing.bound, *(rounding_in(one.dtype) for one in self.offers))
        self._generator = np.random.default_rng(0)

    @property
    def longest(self) -> int:
        """The largest number of positions that both were found to run with and whose results are not too large."""
        widths: list[int] = [
            (one.shape or (1,))[-1]
            for side in (self.comparing.first, self.comparing.second)
            for one in side.outputs[:1]
        ]
        most = min(one.inputs.max_length or 1 for one in self.offers)
        return max(1, min(most, _MOST_NUMBERS // max(*widths, 1)))

    @property
    def shortest(self) -> int:
        """The smallest number of positions that both take."""
        return max(one.inputs.min_length for one in self.offers)

    def drawn(self, batch: int, length: int) -> Array:
        """Return random sequences that both take."""
        boxes = [one.inputs for one in self.offers]
        rows = [box.vocabulary_size for box in boxes if box.vocabulary_size is not None]
        if len(rows) == len(boxes):
            return self._generator.integers(max(box.lowest_token for box in boxes), min(rows), (batch, length))
        return self._generator.normal(size=(batch, length, boxes[0].d_model or 1))

    @property
    def take_the_same(self) -> bool:
        """Whether both take tokens, or vectors of one width."""
        one, other = (offers.inputs for offers in self.offers)
        return (one.vocabulary_size is None) == (other.vocabulary_size is None) and one.d_model == other.d_model

    def apart(self, first: Run, second: Run | None = None, *, real: Array | None = None) -> float:
        """Return how far the results of both are apart in the rows of real tokens; LoadError where one has none."""
        results = self.first.results(first), self.second.results(second or first)
        self._is_what_was_compared(*results)
        return rows_apart(*results, real)

    def _is_what_was_compared(self, *results: Array) -> None:
        """Raise CaptureError where a model that is run again gives another of its results."""
        for name, side, array in zip("AB", (self.comparing.first, self.comparing.second), results, strict=True):
            shape = side.outputs[0].shape if side.outputs else ()
            if shape and array.shape[-1] != shape[-1]:
                raise CaptureError(
                    f"run again, {name} gives a result of shape {array.shape}, and the one that was compared has "
                    f"shape {shape}"
                )

    def located(self, name: str, run: Run) -> tuple[Difference, ...]:
        """Return the differences of both in a run, part by part; none where no part was found to differ."""
        try:
            traces = self.first.recorded(run), self.second.recorded(run)
            names = self.comparing.first.name, self.comparing.second.name
            comparing = Comparing(names[0], traces[0], names[1], traces[1], padded=run.real is not None)
            found = comparing.result().differences
        except LoadError:
            return ()
        known = [one for one in found if one.cause.kind != "unknown"]
        placed = known or [one for one in found if one.path_b or one.line_b]
        return tuple(replace(one, situation=name) for one in placed)


def rows_apart(first: Array, second: Array, real: Array | None = None) -> float:
    """Return the largest difference of two results (B, L, ·), as a part of the largest entry of the first."""
    if first.shape != second.shape:
        return float("inf")
    rows = np.ones(first.shape[:2], dtype=bool) if real is None else real
    return distance(second[rows], first[rows])


def as_a_whole(name: str, step: StepName, cause: Cause) -> Difference:
    """Return a difference that belongs to no part."""
    return Difference("", "", None, step, "model", "", 0, "", 0, cause, situation=name)


def not_known(name: str, apart: float) -> Difference:
    """Return a difference of which nothing is known but how large it is."""
    sentence = f"the results differ by {apart:.1e} of the largest entry, and no part that was recognised in both does"
    return as_a_whole(name, "unembedding", Cause.unknown(sentence))


def judged(both: Both, name: str, run: Run, apart: float, bound: float) -> Outcome:
    """Return the outcome of a run by how far results are apart."""
    if apart <= bound:
        return Outcome(Situation(name, "same", "", apart))
    found = both.located(name, run) or (not_known(name, apart),)
    return Outcome(Situation(name, "differs", f"the results differ by {apart:.1e} of the largest entry", apart), found)
