"""Which conventions an implementation obeys, with the evidence: what was asked, what came, what that excludes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from dataclasses import dataclass, replace

from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.conformance_tests.selection import Selection, UnknownName, unknown
from veriformer.conformance_tests.subject import Subject, standard_conventions
from veriformer.conformance_tests.witness import Identified, Witness
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS, Operation

COULD_NOT_RUN = 2


@dataclass(frozen=True)
class Identification:
    """What is known of every convention of every operation of an implementation."""

    implementation: str
    framework: str
    conventions: tuple[Identified, ...]
    operations: tuple[str, ...] = ()

    @property
    def contradicted(self) -> tuple[Identified, ...]:
        """The declared values that the implementation contradicts."""
        return tuple(item for item in self.conventions if item.told == "contradicted")

    @property
    def exit_status(self) -> int:
        """0, 1 where a declared value is contradicted, 2 where no operation was asked about."""
        if not self.operations:
            return COULD_NOT_RUN
        return 1 if self.contradicted else 0

    def value(self, convention: str, operation: str) -> str:
        """Return the value of a convention for an operation; KeyError where it does not bear on it."""
        for item in self.conventions:
            if (item.convention, item.operation) == (convention, operation):
                return item.value
        raise KeyError(f"{convention} of {operation} was not asked about")


def identify(
    target: object, operations: Iterable[str] | None = None, *, conventions: Iterable[str] | None = None
) -> Identification:
    """Return the value of each convention for each operation declared, how it is known, and the evidence.

    `target` is what `check` takes. Declared values are put to the question too; a value that counts as a mistake
    unless it is declared is never accepted. Raises LoadError when the implementation cannot be loaded and
    UnknownName when an operation or a convention does not exist.
    """
    selection = Selection(None if operations is None else tuple(operations))
    wanted = None if conventions is None else tuple(conventions)
    for name in wanted or ():
        if name not in CONVENTIONS:
            raise UnknownName(unknown("convention", name, CONVENTIONS, "veriformer list conventions"))
    implementation = target if isinstance(target, Implementation) else load(target)
    implementation.framework.use_one_thread()
    chosen = [
        operation
        for operation in OPERATIONS.values()
        if implementation.declares(operation.name)
        and (selection.operations is None or operation.name in selection.operations)
    ]
    # What the implementation prints is no part of the answer.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        found = tuple(item for operation in chosen for item in _identified(implementation, operation))
    kept = tuple(item for item in found if wanted is None or item.convention in wanted)
    names = tuple(operation.name for operation in chosen)
    return Identification(implementation.name, implementation.framework.name, kept, names)


def _identified(implementation: Implementation, operation: Operation) -> tuple[Identified, ...]:
    """Return what is known of an operation; a derived one has the conventions of what it was derived from."""
    origin = implementation.derived.get(operation.name)
    if origin is not None:
        of_origin = _identified(implementation, OPERATIONS[origin])
        known = [replace(i, operation=operation.name) for i in of_origin if i.convention in operation.conventions]
        conventions = {**standard_conventions(), **{item.convention: item.value for item in known}}
        itself = Witness(Subject(implementation, operation, conventions))
        # The backward pass may be another kernel's.
        return tuple(itself.identify("numerics") if item.convention == "numerics" else item for item in known)
    witness = Witness(Subject(implementation, operation, standard_conventions()))
    # All are asked in their order, whichever are wanted: later questions rely on earlier answers.
    return tuple(witness.identify(name) for name in operation.conventions)
