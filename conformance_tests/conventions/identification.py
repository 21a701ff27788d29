"""Which conventions an implementation obeys, with the evidence: what was asked, what came, what that excludes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.conformance_tests.conventions.evidence import Evidence, asked_words
from veriformer.conformance_tests.conventions.inference import WIDEST_FIRST, Profile, examine
from veriformer.conformance_tests.conventions.standing import told_by_calls
from veriformer.conformance_tests.conventions.witness import Identified, Witness
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.selection import Selection, UnknownName, unknown
from veriformer.conformance_tests.core.subject import Subject, standard_conventions
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.attention.case import MASK_KINDS, AttentionSpace
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS, Operation

COULD_NOT_RUN = 2
_CALLS = 12


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
    found = tuple(witness.identify(name) for name in operation.conventions)
    if all(item.told == "told" for item in found):
        return found
    return _with_what_calls_tell(found, examine(implementation, operation))


def _with_what_calls_tell(found: tuple[Identified, ...], profile: Profile) -> tuple[Identified, ...]:
    """Return what is known, with what ordinary calls tell where no question did."""
    drawn = list(_drawn(profile)) if any(finding.unknown for finding in profile.findings) else []
    told = told_by_calls(profile, drawn) if drawn else profile
    pairs = zip(profile.findings, told.findings, strict=True)
    by_calls = {after.convention: after.value for before, after in pairs if before.unknown and not after.unknown}
    return tuple(
        _told(item, by_calls[item.convention], drawn) if item.told == "untold" and item.convention in by_calls else item
        for item in found
    )


def _told(item: Identified, value: str, drawn: Sequence[Inputs]) -> Identified:
    others = tuple(name for name in CONVENTIONS[item.convention].value_names if name != value)
    asked = f"{len(drawn)} calls on drawn cases, the first with {asked_words(drawn[0].arguments())}"
    came = f"more of the results are those of {value} than of any other value"
    evidence = (*(one for one in item.evidence if value in one.fits), Evidence(asked, came, (value,), others))
    return replace(item, value=value, how="inferred", told="told", reason="", fits=(value,), evidence=evidence)


def _drawn(profile: Profile) -> Iterator[Inputs]:
    """Yield the inputs of ordinary calls."""
    subject, name = profile.subject, profile.subject.operation.name
    implementation, space = subject.implementation, own_space(name)
    limits = Limits(
        operation=name,
        dtypes=(min(implementation.dtypes, key=WIDEST_FIRST.index),),
        features=subject.features,
        architectures=implementation.architectures.get(name, ()),
        left_padding=not implementation.limited(name, "left_padding"),
        equal_widths=profile.equal_widths,
        compiles_per_shape=implementation.framework.compiles_per_shape,
    )
    if isinstance(space, AttentionSpace):
        # Rows without a key tell what becomes of them.
        space = replace(space, window="sometimes", mask_kinds=(*MASK_KINDS, "empty_rows"))
    choice, random = cases(space, limits), Random(limits.seed)
    yield from (draw_inputs(name, choice.sample(random)) for _ in range(_CALLS))
