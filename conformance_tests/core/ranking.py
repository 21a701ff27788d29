"""Which violations are shown first: those that say most about what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

# A backward pass counts with its forward pass.
_STATED_OF = Counter(
    key for key, _ in {(law.claim.key, law.operation.forward or law.operation.name) for law in LAWS.values()}
)

_EXAMPLES = "worked_examples"
# What is wrong in a view may be wrong in any array.
_OF_VIEWS = "memory_layout"


def most_telling_first(results: Sequence[LawResult]) -> list[LawResult]:
    """Return the violations among one operation's results, the most informative first.

    A law about the optional inputs of its smallest case comes before one that fails only when they happen to be
    there, and a law about views after all others. Then, a mistake breaks the laws of its own family (`causal.*`,
    `mask.*`) all together and others here and there: the larger the part of a family that is broken, the more its laws
    say. Among equals, a property says more than an example, and the fewer operations a property is stated of, the more
    it says: one of a single operation is about what sets it apart. Then the order of the catalogue decides.
    A signature that does not fit comes before all: it may be why a feature was not tried at all.
    """
    judged = Counter(_family(result) for result in results if result.status in ("passed", "failed"))
    violated = [result for result in results if result.status == "failed"]
    broken = Counter(_family(result) for result in violated)

    def rank(result: LawResult) -> tuple[bool, bool, bool, float, bool, int]:
        family = _family(result)
        share = broken[family] / judged[family]
        of_views = result.law.claim.key == _OF_VIEWS
        said = (family == _EXAMPLES, _generality(result))
        return (family != "signature", of_views, _is_indirect(result), -share, *said)

    return sorted(violated, key=rank)


def _family(result: LawResult) -> str:
    return result.law.claim.key.partition(".")[0]


def _generality(result: LawResult) -> int:
    """Return 0 where the law's property is stated of one operation only, 1 of a few, 2 of more than a third of all."""
    stated_of = _STATED_OF[result.law.claim.key]
    if stated_of == 1:
        return 0
    return 2 if stated_of > len(OPERATIONS) / 3 else 1


def _is_indirect(result: LawResult) -> bool:
    """Return whether the smallest case has optional inputs that the law is not about."""
    calls = result.counterexample.calls if result.counterexample else ()
    present = {name for call in calls for name in call.arguments}
    return not present.intersection(result.law.operation.features) <= set(result.law.features)
