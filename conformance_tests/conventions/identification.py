"""Which conventions an implementation obeys, with the evidence: what was asked, what came, what that excludes."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from veriformer.adapters.files import place_of
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.conformance_tests.conventions.asking import WIDEST_FIRST, Answer, Asking, fitting_all
from veriformer.conformance_tests.conventions.evidence import Evidence, asked_words
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.conventions.profile import Profile, finding_of
from veriformer.conformance_tests.conventions.questions import answer
from veriformer.conformance_tests.conventions.standing import told_by_calls
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.interruption import until_interrupted
from veriformer.conformance_tests.core.presentation import Presented
from veriformer.conformance_tests.core.selection import Selection, UnknownName, several, unknown
from veriformer.conformance_tests.core.subject import Subject, standard_conventions
from veriformer.conformance_tests.core.text import counted, plain
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.operations.attention.case import MASK_KINDS, AttentionSpace
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS, Operation

Told = Literal["told", "untold", "mistake", "contradicted"]

COULD_NOT_RUN = 2
_MASKED = ("causal_with_mask", "empty_row", "masked_nonfinite")
_CALLS = 12


@dataclass(frozen=True)
class Identified:
    """The value of one convention for one operation, how it is known, and what stands against it.

    `told` is "told" where the answers fit this value and no other; "untold" where they do not tell; "mistake" where
    they fit only a value that must be declared, and is not; "contradicted" where they fit another value than the
    declared one. `reason` says more about all but the first. `fits` are the values that every answer fits.
    """

    operation: str
    convention: str
    value: str
    how: str  # "declared", "inferred" or "standard"
    told: Told
    reason: str = ""
    fits: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class Identification(Presented):
    """What is known of every convention of every operation of an implementation.

    `interrupted` says that an interrupt ended the questions; `operations` are those that were asked about.
    """

    implementation: str
    framework: str
    conventions: tuple[Identified, ...]
    operations: tuple[str, ...] = ()
    interrupted: bool = False

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

    @property
    def headline(self) -> str:
        """What was found, in one line."""
        name = plain(self.implementation)
        if self.contradicted:
            return f"{name} contradicts {counted(len(self.contradicted), 'declared value')}"
        known = sum(item.told == "told" for item in self.conventions)
        return f"{name}: {known} of {counted(len(self.conventions), 'convention')} known"

    def __repr__(self) -> str:
        return f"<Identification: {self.headline}>"


def identify(
    target: object,
    operations: str | Iterable[str] | None = None,
    *,
    conventions: str | Iterable[str] | None = None,
    keeps_interrupted: bool = False,
) -> Identification:
    """Return the value of each convention for each operation declared, how it is known, and the evidence.

    `target` is what `check` takes. Declared values are put to the question too; a value that counts as a mistake
    unless it is declared is never accepted. With `keeps_interrupted` an interrupt ends it with the answers until then,
    rather than with KeyboardInterrupt. Raises LoadError when the implementation cannot be loaded and
    UnknownName when an operation or a convention does not exist.
    """
    selection = Selection(several(operations))
    wanted = several(conventions)
    for name in wanted or ():
        if name not in CONVENTIONS:
            raise UnknownName(unknown("convention", name, CONVENTIONS, "veriformer list conventions"))
    implementation = load(place_of(target))
    implementation.framework.use_one_thread()
    chosen = [
        operation
        for operation in OPERATIONS.values()
        if implementation.declares(operation.name)
        and (selection.operations is None or operation.name in selection.operations)
    ]
    # What the implementation prints is no part of the answer.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        asked = (_identified(implementation, operation) for operation in chosen)
        found, interrupted = until_interrupted(asked, keeps=keeps_interrupted)
    if found or not interrupted:
        SO_FAR.forget(implementation.name)
    kept = tuple(item for items in found for item in items if wanted is None or item.convention in wanted)
    names = tuple(operation.name for operation, _ in zip(chosen, found, strict=False))
    return Identification(implementation.name, implementation.framework.name, kept, names, interrupted)


def _identified(implementation: Implementation, operation: Operation) -> tuple[Identified, ...]:
    """Return what is known of an operation; a derived one has the conventions of what it was derived from."""
    origin = implementation.derived.get(operation.name)
    if origin is not None:
        of_origin = _identified(implementation, OPERATIONS[origin])
        known = [replace(i, operation=operation.name) for i in of_origin if i.convention in operation.conventions]
        conventions = {**standard_conventions(), **{item.convention: item.value for item in known}}
        itself = Asking.of(Subject(implementation, operation, conventions), examine, thorough=True)
        # The backward pass may be another kernel's.
        return tuple(_asked(itself, "numerics", ()) if item.convention == "numerics" else item for item in known)
    asking = Asking.of(Subject(implementation, operation, standard_conventions()), examine, thorough=True)
    found: list[Identified] = []
    # All are asked in their order, whichever are wanted: later questions rely on earlier answers.
    for name in operation.conventions:
        found.append(_asked(asking, name, found))
    if all(item.told == "told" for item in found):
        return tuple(found)
    return _with_what_calls_tell(found, examine(implementation, operation))


def _asked(asking: Asking, convention: str, before: Sequence[Identified]) -> Identified:
    """Return what is known of a convention after those before it, and let every later call obey it."""
    declared = asking.subject.implementation.declared_convention(convention, asking.operation)
    found = answer(convention, asking)
    fits = fitting_all(convention, found.evidence)
    value, how = _value(asking.operation, convention, declared, found, fits)
    upside_down = any(item.convention == "mask_polarity" and item.told == "mistake" for item in before)
    told, reason = _judged(convention, declared, found, fits, upside_down)
    # Later questions rely on what the implementation does, where it is known to be another thing than declared.
    asking.settle(convention, fits[0] if told == "contradicted" else value)
    asking.subject.calls.clear()
    return Identified(asking.operation, convention, value, how, told, reason, fits, found.evidence)


def _value(
    operation: str, convention: str, declared: str | None, answer: Answer, fits: tuple[str, ...]
) -> tuple[str, str]:
    """Return the value and how it is known, from those that all evidence fits."""
    if declared is not None:
        return declared, "declared"
    if convention == "numerics" and "fused" in fits:
        return "fused", "inferred"
    if not set(fits) & set(CONVENTIONS[convention].inferred_values):
        return CONVENTIONS[convention].standard, "standard"
    # What a check infers may be one of several that the evidence fits, as it allows what the others do.
    single = answer.fits is not None and len(answer.fits) == 1 and answer.fits[0] in fits
    finding = finding_of(operation, convention, answer.fits if single else fits)
    return finding.value, finding.how


def _judged(
    convention: str, declared: str | None, answer: Answer, fits: tuple[str, ...], upside_down: bool
) -> tuple[Told, str]:
    """Return what the evidence tells, and why it tells no more."""
    if declared is not None and fits and declared not in fits:
        return "contradicted", f"declared {declared}; what came fits {' and '.join(fits)}"
    if convention in _MASKED and upside_down:
        return "untold", "the mask is understood the other way round, and nothing about masks can be relied on"
    if not answer.evidence:
        return "untold", f"the question could not be put: {answer.errors[0]}" if answer.errors else answer.reason
    if convention == "masked_nonfinite" and answer.errors:
        return "untold", f"a NaN behind the mask is refused: {answer.errors[0]}"
    if not fits:
        raised = f": {answer.errors[0]}" if answer.errors else "; a law says what is wrong (veriformer check)"
        return "untold", f"what came fits no value known{raised}"
    if declared is None and not set(fits) & set(CONVENTIONS[convention].inferred_values):
        return "mistake", f"what came fits {fits[0]}, which counts as a mistake unless it is declared"
    if convention == "numerics" and "eager" in fits:
        # Eager numerics allow all that fused ones do.
        return "told", ""
    return ("untold", f"what came fits {', '.join(fits)} alike") if len(fits) > 1 else ("told", "")


def _with_what_calls_tell(found: Sequence[Identified], profile: Profile) -> tuple[Identified, ...]:
    """Return what is known, with the values that ordinary calls tell where no question did."""
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
        equal_lengths=implementation.limited(name, "unequal_lengths"),
        compiles_per_shape=implementation.framework.compiles_per_shape,
    )
    if isinstance(space, AttentionSpace):
        # Rows without a key show that convention.
        space = replace(space, window="sometimes", mask_kinds=(*MASK_KINDS, "empty_rows"))
    choice, random = cases(space, limits), Random(limits.seed)
    yield from (draw_inputs(name, choice.sample(random)) for _ in range(_CALLS))
