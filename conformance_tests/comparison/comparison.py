"""The result of comparing two implementations, as data; reports/ shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from veriformer.conformance_tests.core.presentation import Judged
from veriformer.conformance_tests.core.subject import Refused
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.rarity import RareCase
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import Operation
from veriformer.spec.porting import port_change

# What only the first has, and what only the second.
Apart = tuple[tuple[str, ...], tuple[str, ...]]
Side = Literal["first", "second", "both", "neither"]
# Taken care of by how each is called, or within the tolerances.
_WITHOUT_EFFECT = ("layout", "mask_polarity", "kv_grouping", "softmax_dtype", "numerics")
# Where these differ, results differ only on cases that one refuses, or for which different results are expected.
_NOT_DRAWN = ("causal_with_mask", "empty_row", "masked_nonfinite")


@dataclass(frozen=True)
class Cause:
    """Why two implementations differ on a case.

    `side` says which of them returns what the laws ask for under its own conventions. Where both do, `conventions`
    names those that make the difference; `raised` says that one of them raised.
    """

    side: Side
    conventions: tuple[str, ...] = ()
    raised: bool = False


@dataclass(frozen=True, eq=False)
class CaseComparison:
    """One case put to both: the arguments, the results, what each should have returned, and where they differ.

    A result is None where that implementation raised; `errors` has the sentence. `excess` is the largest difference
    as a multiple of what the two tolerances allow together. Without a cause they agree, or neither returned anything;
    `contradicts` says which of two that agree does so against its own conventions. `lost` says that a call ended its
    process, or had to be ended with it; `unjudged` why a call that did not end, or was not made, cannot be judged;
    `refused` what each of them is known to refuse; no result counts then.
    """

    case: Case | RareCase
    dtype: str
    arguments: Mapping[str, Any]
    results: tuple[Array | None, Array | None]
    errors: tuple[str, str] = ("", "")
    expected: tuple[Array | None, Array | None] = (None, None)
    wrong: Array | None = None
    excess: float = 0.0
    cause: Cause | None = None
    contradicts: tuple[bool, bool] = (False, False)
    lost: bool = False
    unjudged: str = ""
    refused: tuple[Refused | None, Refused | None] = (None, None)

    @property
    def judged(self) -> bool:
        """Whether at least one of the two returned something, and both ended."""
        return not self.unjudged and any(result is not None for result in self.results)


@dataclass(frozen=True)
class ConventionPair:
    """The values that two implementations have of one convention, and how each is known.

    `how` is "declared", "inferred" or "standard". The last means that nothing shows it, except where only one answer
    is accepted without being declared: that one holds then.
    """

    name: str
    first: str
    second: str
    how: tuple[str, str]

    @property
    def differ(self) -> bool:
        """Whether both are known and are not the same."""
        return self.first != self.second and self.known

    @property
    def known(self) -> bool:
        """Whether both values are known rather than assumed."""
        return "standard" not in self.how or len(CONVENTIONS[self.name].inferred_values) == 1


@dataclass(frozen=True)
class OperationComparison:
    """One operation that both have.

    `differences` holds the smallest case found for each cause; `differing` counts the cases on which the two differ,
    before any was made small. `reason` says why nothing was compared, or not all that should have been: of `unjudged`
    cases a call did not end, or the package that has the operation raised, for the reason `unjudged_because`. `checks`
    has for each of the two that is wrong what the laws of the operation say of it alone, with its diagnosis. `keywords`
    and `limitations` are those that only the first has, and only the second: cases are drawn without them. `refusals`
    are what each was found to refuse, or says itself that it does; such cases are not compared. `refused_by_one` has
    the sentences about what the other takes, where no limitation says so. `functions` are what the operation is called
    in each, that of the forward pass where it is derived, and `places` where these stand, for objects of Python.
    """

    operation: Operation
    names: tuple[str, str]
    conventions: tuple[ConventionPair, ...] = ()
    cases: int = 0
    differing: int = 0
    differences: tuple[CaseComparison, ...] = ()
    largest_excess: float = 0.0
    contradicts: tuple[bool, bool] = (False, False)
    keywords: Apart = ((), ())
    limitations: Apart = ((), ())
    refusals: tuple[tuple[Refused, ...], tuple[Refused, ...]] = ((), ())
    refused_by_one: Apart = ((), ())
    reason: str = ""
    unjudged: int = 0
    unjudged_because: str = ""
    checks: tuple[Report | None, Report | None] = (None, None)
    functions: tuple[str, str] = ("", "")
    places: tuple[str, str] = ("", "")

    @property
    def agrees(self) -> bool:
        """Whether no case was found on which they differ, and neither refuses what the other answers."""
        return not self.differences and not self.reason and not any(self.refused_by_one)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Why they differ, mistakes before conventions."""
        return tuple(one.cause for one in self.differences if one.cause is not None)

    @property
    def responsible_conventions(self) -> tuple[str, ...]:
        """The conventions that made their outputs differ."""
        return tuple(dict.fromkeys(name for cause in self.causes for name in cause.conventions))

    @property
    def conventions_not_met(self) -> tuple[str, ...]:
        """The conventions in which they differ where no case is drawn, so that their outputs may agree regardless."""
        differing = [pair.name for pair in self.conventions if pair.differ and pair.name in _NOT_DRAWN]
        return tuple(name for name in differing if name not in self.responsible_conventions)

    @property
    def changes(self) -> dict[str, str]:
        """What the second must change to match the first, a sentence for each convention in which they differ."""
        return {
            pair.name: port_change(pair.name, pair.first, pair.second, self.names[1])
            for pair in self.conventions
            if pair.first != pair.second and (pair.name in self.responsible_conventions or self._to_change(pair))
        }

    def _to_change(self, pair: ConventionPair) -> bool:
        """Whether the values differ in fact: not where the results agree though by this convention they should not."""
        return pair.differ and (not any(self.contradicts) or pair.name in (*_NOT_DRAWN, *_WITHOUT_EFFECT))


@dataclass(frozen=True)
class Comparison(Judged):
    """Two implementations compared; `only_first` and `only_second` name the operations that the other lacks.

    `dtypes` are those that only one of them declares. `interrupted` says that an interrupt ended it, so that operations
    may be missing. `sources` are what commands call them, None for an object of Python.
    """

    first: str
    second: str
    frameworks: tuple[str, str]
    seed: int
    tier: str
    operations: tuple[OperationComparison, ...]
    only_first: tuple[str, ...] = ()
    only_second: tuple[str, ...] = ()
    dtypes: Apart = ((), ())
    notices: tuple[str, ...] = field(default=())
    seconds: float = 0.0
    interrupted: bool = False
    sources: tuple[str | None, str | None] = (None, None)

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called."""
        return self.first, self.second

    @property
    def compared(self) -> tuple[OperationComparison, ...]:
        """The operations of which every case could be compared, or on which they differ."""
        return tuple(operation for operation in self.operations if not operation.reason)

    @property
    def verdict(self) -> Literal["agree", "part", "error"]:
        """Whether they agree in every operation; `error` where nothing could be compared, or a case not judged."""
        if not all(operation.agrees for operation in self.compared):
            return "part"
        undecided = self.interrupted or any(operation.unjudged for operation in self.operations)
        return "error" if undecided or not self.compared else "agree"

    @property
    def exit_status(self) -> int:
        """0 they agree, 1 they differ, 2 nothing could be compared, or a case not judged."""
        return {"agree": 0, "part": 1, "error": 2}[self.verdict]

    @property
    def headline(self) -> str:
        """What was found, in one line."""
        both = f"{plain(self.first)} and {plain(self.second)}"
        differing = sum(not operation.agrees for operation in self.compared)
        if differing:
            return f"{both} differ in {differing} of {counted(len(self.compared), 'operation')}"
        if self.verdict == "error":
            return f"{both} could not be compared{' in every case' if self.compared else ''}"
        return f"{both} agree in {counted(len(self.compared), 'operation')}"

    def __repr__(self) -> str:
        return f"<Comparison: {self.headline}>"
