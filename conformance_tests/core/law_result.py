"""What came of one law, as data; how it is shown is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.spec.laws import LawStatement

Status = Literal["passed", "failed", "not_declared", "error", "not_tried"]


@dataclass(frozen=True)
class LawResult:
    """The outcome of one law.

    `reason` says in one sentence why a law was not declared or ended in an error; `traceback` is the
    implementation's own. `largest_excess` is the largest error met, as a fraction of what rounding explains; above
    one the law fails. `expected_failure` is the reason given for it in a list of expected failures. Where the call did
    not come back from its process, or did harm there, it was not `answered`, and tells nothing of what was computed.
    `notices` say which choices the operation was found not to offer. `refused` has a sentence for each thing that it
    was found to refuse in cases of the law, and how much the law is about it; `otherwise` is then what the law came to
    without these.
    `printed` begins what the implementation wrote meanwhile, or before, when the operation was examined. The search for
    a smaller counterexample was `cut_short` where the calls were too slow to end it.
    """

    law: LawStatement
    status: Status
    cases: int = 0
    seconds: float = 0.0
    largest_excess: float = 0.0
    counterexample: Counterexample | None = None
    reason: str = ""
    traceback: str = ""
    expected_failure: str | None = None
    answered: bool = True
    printed: str = ""
    cut_short: bool = False
    notices: tuple[str, ...] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    otherwise: LawResult | None = None


def is_broken(result: LawResult) -> bool:
    """Return whether a law fails or cannot be judged."""
    return result.status in ("failed", "error")
