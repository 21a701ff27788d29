"""What can be said of a printed value beside the exact one."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The judgement of one printed value, recomputed from the exact value by `judging.judge`.

    CORRECT: equal to the exact value. ROUNDED: the exact value rounded to the printed digits. CONDITIONAL: right
    where the example's condition holds and wrong where it does not. WRONG: an erratum. NOT_GIVEN: the document
    asks or leaves open, and the exact value completes it.
    """

    CORRECT = "correct"
    ROUNDED = "rounded"
    CONDITIONAL = "conditional"
    WRONG = "wrong"
    NOT_GIVEN = "not given"
