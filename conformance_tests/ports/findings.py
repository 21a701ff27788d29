"""What was found of two models: the parts that belong together, and where and why the second one differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.conformance_tests.core.presentation import Judged
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.recognition.findings import Departure, StepName

PortVerdict = Literal["agree", "differ", "inside"]
CauseKind = Literal["weight", "convention", "mistake", "factor", "precision", "unknown"]
Departing = Literal["A", "B", "both", "neither"]
PairStatus = Literal["same", "inside", "differs", "unmatched"]
SituationStatus = Literal["same", "differs", "beyond", "measured", "unknown"]


NO_NAME = "none that is known"


@dataclass(frozen=True)
class Cause:
    """Why two models differ somewhere.

    `name` is a slug of the catalogue of mistakes, or a few words: "transposed", "eps". `sentence` says what each of
    the two does. `confidence` lies in [0, 1]. `change` is what the second one must change to do as the first.
    """

    kind: CauseKind
    name: str
    sentence: str
    confidence: float = 1.0
    change: str = ""

    @classmethod
    def unknown(cls, sentence: str, change: str = "") -> Cause:
        """Return that two models differ for a reason that is not known."""
        return cls("unknown", NO_NAME, sentence, 0.0, change)


@dataclass(frozen=True)
class Difference:
    """One place where the second model does not do what the first one does.

    Paths are modules or parameters in each model's own names, files and lines are the user's code; "" and 0 where the
    framework does not tell. `layer` counts from 0 in the first model, None outside of layers. `own` is what the second
    model departs in from the Transformer that it otherwise is, where that is the same place; `own_a` the same of the
    first model. `situation` is where alone it shows, such as "with padding on the left"; empty if one ordinary pass
    shows it.
    """

    path_a: str
    path_b: str
    layer: int | None
    step: StepName
    operation: str
    file_a: str
    line_a: int
    file_b: str
    line_b: int
    cause: Cause
    own: Departure | None = None
    own_a: Departure | None = None
    situation: str = ""

    @property
    def departs(self) -> Departing:
        """Which of the two departs from the Transformer here; neither where correct ones disagree, or in a weight."""
        if self.own_a is None:
            return "neither" if self.own is None else "B"
        return "A" if self.own is None else "both"


@dataclass(frozen=True)
class Situation:
    """A comparison that was repeated with other inputs, or in another way: "at length 64", "with a cache".

    `apart` is as in `PortComparison`. "beyond" is a difference beyond the lengths that both models were made for, and
    "measured" a number that is held against neither, such as R, the error of B as a multiple of A's. "unknown" says
    that nothing could be compared, and `sentence` why.
    """

    name: str
    status: SituationStatus
    sentence: str = ""
    apart: float = 0.0


@dataclass(frozen=True)
class WeightPair:
    """A weight of the first model and what it is in the second: names of parameters, and how they are related.

    `relation` is "same", "transposed", "permuted", "scaled", "rounded", "elsewhere", "missing" and so on. `harmless`
    says that the rest of the part makes up for it.
    """

    names_a: tuple[str, ...]
    names_b: tuple[str, ...]
    relation: str
    sentence: str
    harmless: bool = False


@dataclass(frozen=True)
class PartPair:
    """A part of the first model and the one of the second that it belongs to; an empty path where there is none."""

    role: str
    layer: int | None
    path_a: str
    path_b: str
    status: PairStatus
    summary: str = ""


@dataclass(frozen=True)
class PortComparison(Judged):
    """The outcome of comparing two whole models on the same inputs, each with its own weights.

    `apart` is the largest difference of their results as a part of the largest entry; infinite where these have other
    shapes. `inside` are differences that no result shows. `interrupted` says that an interrupt ended it, so that what
    is repeated on other inputs may be missing.
    """

    first: str
    second: str
    frameworks: tuple[str, str]
    dtypes: tuple[str, str]
    verdict: PortVerdict
    apart: float
    pairs: tuple[PartPair, ...] = ()
    differences: tuple[Difference, ...] = ()
    inside: tuple[Difference, ...] = ()
    weights: tuple[WeightPair, ...] = ()
    notices: tuple[str, ...] = ()
    inputs: str = ""
    seconds: float = 0.0
    situations: tuple[Situation, ...] = ()
    smallest: str = ""
    interrupted: bool = False

    @property
    def exit_status(self) -> int:
        """0 where the results agree, 1 where they differ; what cannot be compared has none, since it raises."""
        return 1 if self.verdict == "differ" else 0

    @property
    def changes(self) -> tuple[str, ...]:
        """What the second model must change, each thing once."""
        return tuple(dict.fromkeys(one.cause.change for one in self.differences if one.cause.change))

    @property
    def headline(self) -> str:
        """What was found, in one line."""
        first, second = plain(self.first), plain(self.second)
        if self.verdict == "differ":
            places = counted(len(self.differences), "place") if self.differences else "its results"
            return f"{second} differs from {first} in {places}"
        return f"{second} agrees with {first}{', though not inside' if self.verdict == 'inside' else ''}"

    def __repr__(self) -> str:
        return f"<PortComparison: {self.headline}>"
