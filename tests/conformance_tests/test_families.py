"""Families: the standard point is the reference, every option is alive, and every mistake has its sources."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from random import Random
from typing import Any

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.loading import load
from veriformer.conformance_tests.conventions.inference import examine
from veriformer.conformance_tests.core.selection import WHOLE_MODELS
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.core.trial import NotOffered, Trial
from veriformer.conformance_tests.diagnosis.calls import ample_space
from veriformer.conformance_tests.diagnosis.elimination import differ
from veriformer.conformance_tests.diagnosis.observation import arguments_of, result_at
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import NoSpace
from veriformer.conformance_tests.mistakes import catalogue
from veriformer.conformance_tests.operations.cases import cases
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.variants import Family
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Change
from veriformer.reference.model_weights import arrays_of
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS

CASES = 40
# Each of them goes through several layers.
CASES_OF_A_MODEL = 15
# What tells some options apart is rare: one head in several, one length in many.
CASES_UNTIL_ALIVE = 400
CASES_OF_A_LAW = 10
WITH_FAMILY = [name for name in OPERATIONS if family_of(name) is not None]
FAMILIES = list(dict.fromkeys(family for name in OPERATIONS if (family := family_of(name)) is not None))


def drawn_inputs(operation: str, count: int, dtypes: tuple[str, ...] = ("float64",)) -> Iterator[Any]:
    implementation = load("numpy")
    limits = Limits(
        operation=operation,
        dtypes=dtypes,
        features=frozenset(OPERATIONS[operation].features),
        architectures=implementation.architectures.get(operation, ()),
    )
    choice, random = cases(ample_space(operation), limits), Random(3)
    for _ in range(count):
        yield draw_inputs(operation, choice.sample(random))


def family(operation: str) -> Family:
    found = family_of(operation)
    assert found is not None
    return found


def convention_sets(operation: str) -> Iterator[dict[str, str]]:
    """Yield the standard conventions, then each other value of one that the family decides."""
    yield standard_conventions()
    decided = {decision.convention for decision in family(operation).all_decisions.values()} - {""}
    for name in sorted(decided):
        for value in CONVENTIONS[name].value_names[1:]:
            yield {**standard_conventions(), name: value}


@pytest.mark.parametrize("operation", WITH_FAMILY)
def test_the_standard_point_is_the_reference_to_the_last_bit(operation: str) -> None:
    of_model = (*WHOLE_MODELS, "training_steps")
    count = CASES_OF_A_MODEL if operation.removesuffix("_backward") in of_model else CASES
    for conventions in convention_sets(operation):
        point = family(operation).under(conventions)
        for inputs in drawn_inputs(operation, count):
            with np.errstate(all="ignore"):
                expected = inputs.expected(conventions)
                right = of_reference(operation, inputs, conventions) if operation in of_model else expected.value
            result = point.compute(arguments_of(inputs))
            assert result.shape == right.shape == expected.value.shape
            np.testing.assert_array_equal(result[expected.judged], right[expected.judged])


def of_reference(operation: str, inputs: Any, conventions: Mapping[str, str]) -> Any:
    """Return what the reference's own function makes of a whole model's inputs, a chain of calls included."""
    compute = getattr(reference, operation)
    names = [field.name for field in fields(reference.ModelConventions)]
    chosen = reference.ModelConventions(**{name: conventions[name] for name in names})
    if operation == "training_steps":
        of_step = {
            "eps_placement": conventions["adamw_eps"],
            "decay": conventions["adamw_decay"],
            "decayed": conventions["decayed_weights"],
        }
        losses, weights = compute(**inputs.arguments(), conventions=chosen, **of_step)
        return np.concatenate([losses, *(array.ravel() for array in arrays_of(weights))])
    if not inputs.steps:
        return compute(**inputs.arguments(), conventions=chosen)
    caches: list[Any] = []
    logits = []
    for step in inputs.steps:
        cache = None if step.after is None else caches[step.after]
        answer, known = compute(step.tokens, cache, **inputs.arguments(), **step.keywords, conventions=chosen)
        logits.append(answer)
        caches.append(known)
    return np.concatenate(logits, axis=1)


@pytest.mark.parametrize("shared", FAMILIES, ids=lambda family: family.name)
def test_every_option_changes_something(shared: Family) -> None:
    """In one of the operations that share the family: some decisions bear on few of them.

    Parts are families that are tested themselves.
    """
    own = {decision.name for decision in shared.decisions}
    harmless = (change for changes in shared.standard.harmless_changes() for change in changes)
    dead: set[Change] = {change for change in (*shared.standard.single_changes(), *harmless) if change[0] in own}
    for source in (drawn_in_wide_and_narrow_dtypes, inputs_of_laws):
        for operation in WITH_FAMILY:
            if family_of(operation) is shared and dead:
                dead -= alive(shared, source(operation), dead)
    assert not dead


def drawn_in_wide_and_narrow_dtypes(operation: str) -> Iterator[Any]:
    """Yield drawn inputs, some in narrow dtypes, in which alone some mistakes show."""
    return drawn_inputs(operation, CASES_UNTIL_ALIVE, ("float64", "bfloat16", "float16"))


def inputs_of_laws(operation: str) -> Iterator[Any]:
    """Yield what the laws call a correct implementation on: a few cases of each, which are rarer than drawn ones.

    Numbers that leave the range of float32 are in that of float64.
    """
    implementation = load("numpy")
    profile = examine(implementation, OPERATIONS[operation])
    limits = Limits(
        operation=operation,
        dtypes=("float64", "float32"),
        features=profile.subject.features,
        architectures=implementation.architectures.get(operation, ()),
    )
    for law in laws().values():
        if law.statement.operation.name == operation and not isinstance(law.space, NoSpace):
            choice, random = cases(law.space, limits), Random(3)
            for _ in range(CASES_OF_A_LAW):
                case = choice.sample(random)
                profile.subject.calls.clear()
                with contextlib.suppress(NotOffered), np.errstate(all="ignore"):
                    law.judge(Trial(profile.subject, case, draw_inputs(operation, case)))
                calls = [record for record in profile.subject.calls if record.operation == operation]
                yield from (record.inputs for record in calls if record.inputs is not None)


def alive(shared: Family, source: Iterator[Any], changes: set[Change]) -> set[Change]:
    base, found = shared.standard, set[Change]()
    for inputs in source:
        arguments = arguments_of(inputs)
        right = base.compute(arguments)
        results = {change: result_at(base.changed(change), arguments) for change in changes - found}
        found |= {change for change, result in results.items() if result is not None and differ([right, result])}
        if found == changes:
            break
    return found


@pytest.mark.parametrize("operation", WITH_FAMILY)
def test_mistakes_have_their_sentence_and_conventions_their_values(operation: str) -> None:
    for name, decision in family(operation).all_decisions.items():
        for option in decision.options:
            if option.status == "mistake":
                assert option.slug in catalogue() or option.meaning, f"{name}: {option.name}"
            if option.status == "harmless":
                assert option.meaning, f"{name}: {option.name}"
        settled = {option.name for option in decision.options if option.status in ("standard", "convention")}
        if decision.convention:
            assert settled <= set(CONVENTIONS[decision.convention].value_names)
        else:
            assert settled == {decision.standard.name}


def test_a_decision_has_one_standard_option() -> None:
    with pytest.raises(ValueError, match="one standard option, the first"):
        Decision("scale", "?", (mistake("scale_missing", lambda: 1), standard("one", lambda: 1)))
    with pytest.raises(ValueError, match="two options of one name"):
        Decision("scale", "?", (standard("one", lambda: 1), mistake("one", lambda: 1)))
