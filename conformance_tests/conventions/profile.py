"""What was found out about an operation before its laws are tried."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from veriformer.conformance_tests.core.subject import Subject
from veriformer.conformance_tests.refusals.choices import Fixed
from veriformer.spec.conventions import CONVENTIONS

# Results that fit this value fit all, because the others allow more: where it fits, it excludes them.
_NARROWEST = {"softmax_dtype": "input"}


@dataclass(frozen=True)
class Finding:
    """The value of one convention for one operation, and how it is known.

    `standing` are the values that remain after the questions, where several do: the convention is unknown then, and
    `value` is the one assumed until laws tell.
    """

    operation: str
    convention: str
    value: str
    how: str  # "declared", "inferred" or "standard"
    standing: tuple[str, ...] = ()

    @property
    def unknown(self) -> bool:
        """Whether the convention bears on what was asked and several of its values stand."""
        return len(self.standing) > 1


@dataclass(frozen=True)
class Profile:
    """What was found out about an operation before its laws are tried.

    `lacking` says why it is not offered although the implementation has it, and is empty if it is.
    """

    subject: Subject
    findings: tuple[Finding, ...]
    equal_widths: bool
    refuses_bias_beside_mask: bool
    fixed: Fixed = field(default_factory=Fixed)
    lacking: str = ""


def values_standing(convention: str, fits: Iterable[str]) -> tuple[str, ...]:
    """Return the values that fit and may be inferred; only the narrowest where it allows less than all others."""
    kept = tuple(value for value in CONVENTIONS[convention].inferred_values if value in set(fits))
    narrowest = _NARROWEST.get(convention)
    return (narrowest,) if narrowest in kept else kept


def finding_of(operation: str, convention: str, fits: Iterable[str] | None) -> Finding:
    """Return what follows from the values that fit every result; `fits` is None where nothing was asked.

    Where none fits, the results are wrong in another way, or there are none: every value stands.
    """
    standard = CONVENTIONS[convention].standard
    if fits is None:
        return Finding(operation, convention, standard, "standard")
    standing = values_standing(convention, fits)
    if len(standing) == 1:
        return Finding(operation, convention, standing[0], "inferred")
    standing = standing or CONVENTIONS[convention].inferred_values
    value = standing[0]
    return Finding(operation, convention, value, "standard" if value == standard else "inferred", standing)
