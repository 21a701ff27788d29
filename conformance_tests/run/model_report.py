"""The results of checking a whole model as data, without their presentation."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.recognition.evidence import ENOUGH
from veriformer.conformance_tests.recognition.findings import Departure, Part, Recognition
from veriformer.conformance_tests.run.demands import NOTHING_DEMANDED, Demands
from veriformer.conformance_tests.run.judged import Judged
from veriformer.conformance_tests.run.report import Report, VerdictName


@dataclass(frozen=True)
class ModelReport(Report):
    """The outcome for a model that was handed over as it is: its parts, and where it departs from what they are.

    `laws` are those of what the model was wrapped as: of the whole model, and of its parts; `results` has all of them,
    one after the other. A departure violates, and so does a law that fails; one that a call of the model ends in an
    exception is not held against the model, which may refuse what it was not made for. A model of which too little
    was recognised, by what is known of models or by what `demands` ask, does not conform.
    """

    recognition: Recognition = field(default_factory=lambda: Recognition((), (), 0, 0))
    laws: tuple[Judged, ...] = ()
    demands: Demands = NOTHING_DEMANDED

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of the model in the order of execution."""
        return self.recognition.parts

    @property
    def departures(self) -> tuple[Departure, ...]:
        """Where the model departs, in the order of execution."""
        return self.recognition.departures

    @property
    def broken(self) -> tuple[LawResult, ...]:
        """The laws that are broken, of the whole model first."""
        return tuple(result for judged in self.laws for result in judged.broken)

    @property
    def is_recognised(self) -> bool:
        """Whether enough of the model belongs to parts that were understood, and some of them are a Transformer's."""
        enough = self.recognition.share_understood >= self.demands.least_share
        return enough and self.recognition.has_transformer_part

    @property
    def explained(self) -> int:
        """How many intermediates of the specification were found."""
        return sum(part.explained for part in self.parts)

    @property
    def steps(self) -> int:
        """How many intermediates of the specification there are to be found."""
        return sum(part.steps for part in self.parts)

    @property
    def counts(self) -> dict[str, int]:
        """What `Report.counts` has, then the parts by status, and the departures."""
        statuses = Counter(part.status for part in self.parts)
        return {
            **super().counts,
            "parts": len(self.parts),
            "holding": statuses["holds"],
            "departing": statuses["departs"],
            "unrecognised": statuses["unrecognised"],
            "departures": len(self.departures),
        }

    @property
    def verdict(self) -> VerdictName:
        """`violates` where the model departs or breaks a law, else `error` where too little was recognised."""
        if self.departures or self.broken:
            return "violates"
        return "conforms" if self.is_recognised else "error"

    @property
    def headline(self) -> str:
        """What was found, in one line."""
        name = plain(self.implementation)
        found = [
            f"departs in {counted(len(self.departures), 'place')}" if self.departures else "",
            f"violates {counted(len(self.broken), 'law')}" if self.broken else "",
        ]
        said = " and ".join(filter(None, found))
        if said:
            return f"{name} {said}"
        return f"{name} holds" if self.is_recognised else f"{name}: {self.reason}"

    # A dataclass writes its own otherwise.
    __repr__ = Report.__repr__

    @property
    def reason(self) -> str:
        """Why the model could not be judged as a whole; empty where it could."""
        if self.is_recognised:
            return ""
        if not self.recognition.has_transformer_part:
            return "no attention, feed-forward network or norm was found in it, so that there is nothing to judge"
        share = self.recognition.share_understood
        asked = f", and {100 * self.demands.least_share:g} % was asked for" if share >= ENOUGH else ""
        return f"only {int(100 * share)} % of the model was recognised{asked}"


def model_report(
    name: str,
    recognition: Recognition,
    laws: tuple[Judged, ...] = (),
    *,
    seed: int = 0,
    notes: tuple[str, ...] = (),
    seconds: float = 0.0,
    source: str | None = None,
    demands: Demands = NOTHING_DEMANDED,
) -> ModelReport:
    """Return the report on a model; `notes` are sentences about how it was run, such as on inputs that were guessed."""
    return ModelReport(
        implementation=name,
        framework=recognition.framework,
        seed=seed,
        # A model is run once; there are no more and no fewer calls to choose.
        tier="standard",
        results=tuple(result for one in laws for result in one.report.results),
        findings=tuple(finding for one in laws for finding in one.report.findings),
        notices=(*notes, *dict.fromkeys(notice for one in laws for notice in one.report.notices)),
        seconds=seconds,
        source=source,
        recognition=recognition,
        laws=laws,
        demands=demands,
    )
