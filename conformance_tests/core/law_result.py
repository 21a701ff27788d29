"""The result of one law, as data."""

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
    implementation's own. `largest_excess` is the largest error found, as a fraction of what rounding explains; above
    one the law fails. `expected_failure` is its reason in a list of expected failures. A call that did not return from
    its process, or harmed it, was not `answered`, and its result is unknown. `notices` name choices that the operation
    does not offer. `refused` has a sentence for each refusal in cases of the law, with its relevance to the law;
    `otherwise` is then the result of the law without these. `printed` is the beginning of the implementation's output
    during the law and the examination of the operation. The search for a smaller counterexample was `cut_short` if the
    calls were too slow to end it.
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


def is_unexpected(result: LawResult) -> bool:
    """Return whether a law is broken and no list expects it."""
    return is_broken(result) and result.expected_failure is None
