"""What a user says of a program from outside: its framework, and which function is which operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.arrays import FRAMEWORKS
from veriformer.adapters.errors import LoadError
from veriformer.adapters.spelling import listing, suggestion
from veriformer.spec.operations import OPERATIONS


@dataclass(frozen=True)
class Asked:
    """What overrules a program's own declarations and what is found of it.

    `framework`: the arrays that its operations take, None to find it out.
    `pairs`: functions' names, each with the operation that the function is; the name "" stands for the only function.
    """

    framework: str | None = None
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def operations(self) -> dict[str, str]:
        """The operation that a function is, by the function's name."""
        return dict(self.pairs)

    def operation_of(self, name: str) -> str | None:
        """Return the operation that a function of this name is said to be; None where nothing is said."""
        return self.operations.get(name, self.operations.get(""))

    def plain(self) -> dict[str, Any]:
        """Return the same as JSON."""
        return {"framework": self.framework, "operations": self.operations}


def asked_again(plain: Mapping[str, Any]) -> Asked:
    """Return what is asked from its JSON."""
    return Asked(plain["framework"], tuple(plain["operations"].items()))


NOTHING_ASKED = Asked()


def read_asked(framework: str | None, operations: Iterable[str]) -> Asked:
    """Return what is asked for in words: a framework, and "OPERATION" or "FUNCTION=OPERATION".

    LoadError for a framework or an operation that does not exist.
    """
    if framework is not None and framework not in FRAMEWORKS:
        raise LoadError(
            f"there is no framework {framework!r}; known are {listing(FRAMEWORKS)}{suggestion(framework, FRAMEWORKS)}"
        )
    pairs = (one.rpartition("=") for one in operations)
    return Asked(framework, tuple((function, _known(operation)) for function, _, operation in pairs))


def asked_of(operation: str | None, framework: str | None) -> Asked:
    """Return what is asked of the only function of a program; LoadError for what does not exist."""
    return read_asked(framework, () if operation is None else (operation,))


def _known(operation: str) -> str:
    if operation not in OPERATIONS:
        hint = suggestion(operation, OPERATIONS) or "; `veriformer list operations` has them all"
        raise LoadError(f"there is no operation {operation!r}{hint}")
    return operation
