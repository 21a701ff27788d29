"""The result of a diagnosis, as data; reports/ shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.conformance_tests.variants.family import Change

How = Literal["reproduced", "named_by_laws", "unknown"]


@dataclass(frozen=True)
class Suspect:
    """One explanation: a mistake, or two that are made together.

    `mistakes` are slugs of the catalogue, or `decision=option` where the option has none; `changes` are the decisions
    of the family in which they differ from the reference, empty for what is no choice in a formula. `confidence` lies
    in [0, 1] and is comparable across operations.
    """

    mistakes: tuple[str, ...]
    confidence: float
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """Which known mistakes explain what an operation returns, the likeliest first; none where none does.

    `how` says how they are known: "reproduced" where computing the mistake gives the results of `calls` calls, and
    `excluded` other known decisions and pairs of them do not; "named_by_laws" where no formula shows the mistake, but
    the laws that it breaks are broken; "unknown" where nothing known explains them. `calls` and `excluded` count what
    was computed without success too. `laws` are the broken laws. `separated_by` describes an input on which the
    remaining suspects would differ, if one was found. `unexplained` are the broken laws that no program with the first
    suspect was seen to break, where it is named by laws. The search was `cut_short` where the calls were too slow.
    `untried` counts the pairs of mistakes for which the work of a search that found nothing did not suffice.
    `problem` is the sentence about a package whose code raised during the search; nothing else is known then.
    """

    operation: str
    how: How
    suspects: tuple[Suspect, ...]
    laws: tuple[str, ...]
    calls: int = 0
    excluded: int = 0
    separated_by: str = ""
    unexplained: tuple[str, ...] = ()
    cut_short: bool = False
    untried: int = 0
    problem: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether computing one mistake, or one pair of them, gives the results, and no other does."""
        return self.how == "reproduced" and len(self.suspects) == 1
