"""An executable law: its statement, the space of its cases, and its one assertion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Never, TypeVar, cast

import numpy as np
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict
from veriformer.conformance_tests.drawing.space import Space
from veriformer.spec.laws import LawStatement

# A check for any inputs: each is written for those of some operations, as its annotation says.
Check = Callable[[Trial[Never]], Verdict]
CheckT = TypeVar("CheckT", bound=Check)


@dataclass(frozen=True)
class Law:
    """A statement, the space of its cases, and the check that judges one case.

    A law that is not `batched` is tried on one case a call, because samples of several regimes would not be judged. If
    it held on all cases, it is judged once more `afterwards`, without a case, on the records of earlier calls.
    """

    statement: LawStatement
    space: Space
    check: Check
    batched: bool = True
    afterwards: Check | None = None

    @property
    def id(self) -> str:
        """The law's stable id."""
        return self.statement.id

    def judge(self, trial: Trial[Inputs | None]) -> Verdict:
        """Judge one case of the law's operation, or, without a case, the records of earlier calls."""
        check = (self.afterwards if trial.case is None else None) or self.check
        # Checks are found by the names of operations, which types do not know. A test holds what each is annotated
        # with to the inputs of the operations that it judges.
        # A wrong result may be as large as it likes; what NumPy says of that is no word of the implementation.
        with np.errstate(all="ignore"):
            return check(cast("Trial[Never]", trial))


# What judges a law, but for its statement: the other members of `Law`.
Judge = tuple[Space, Check, bool, Check | None]
_CHECKS: dict[tuple[str, str | None], Judge] = {}


def judges(
    *keys: str,
    space: Space,
    operations: tuple[str, ...] = (),
    batched: bool = True,
    afterwards: Check | None = None,
) -> Callable[[CheckT], CheckT]:
    """Register a check for the properties `keys` of the named operations, or of all that have no check of their own."""

    def register(check: CheckT) -> CheckT:
        for key in keys:
            for operation in operations or (None,):
                if (key, operation) in _CHECKS:
                    raise ValueError(f"two checks for property {key!r} of {operation or 'any operation'}")
                _CHECKS[key, operation] = (space, check, batched, afterwards)
        return check

    return register


def has_own_check(key: str, operation: str) -> bool:
    """Return whether a check is registered for a property of this operation by name."""
    return (key, operation) in _CHECKS


def check_of(key: str, operation: str) -> Judge | None:
    """Return the registered check for a property of an operation."""
    return _CHECKS.get((key, operation)) or _CHECKS.get((key, None))
