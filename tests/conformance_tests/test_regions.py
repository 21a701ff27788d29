"""A quick run visits the places where mistakes show: every named region, for every operation that it concerns.

What is drawn is looked at, and nothing judged, but for the laws that change their inputs before they call.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.loading import load
from veriformer.adapters.model_declarations import BlackBox
from veriformer.adapters.numpy_arrays import NumPyArrays
from veriformer.conformance_tests import check
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.space import EVERY_PALETTE
from veriformer.conformance_tests.mistakes import NOT_DRAWN, catalogue
from veriformer.conformance_tests.mistakes.files import read_json
from veriformer.conformance_tests.operations.attention.case import MASK_KINDS, MASK_SHAPES
from veriformer.conformance_tests.operations.attention.sizes import BLOCK_EDGES
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.rarities import RareCase
from veriformer.conformance_tests.operations.regions import REGIONS, Region
from veriformer.conformance_tests.search.search import Outcome, Search
from veriformer.spec.operations import OPERATIONS


def regions_of(operation: str) -> list[Region]:
    return [region for region in REGIONS.values() if operation in region.operations]


@dataclass
class Visit:
    """A case of an operation; `called` are the inputs that its law called with, where that was looked at."""

    case: Case
    called: list[Any] | None = None

    def inputs(self, operation: str) -> Iterator[Any]:
        yield from [draw_inputs(operation, self.case)] if self.called is None else self.called


@dataclass
class Recorded:
    """The visits of some runs, by operation."""

    visits: dict[str, list[Visit]] = field(default_factory=lambda: defaultdict(list))

    def cases(self, operation: str) -> list[Any]:
        return [visit.case for visit in self.visits[operation]]

    def meets(self, region: Region, operation: str) -> bool:
        # What a law makes of its inputs is looked at for the laws that the region names.
        visits = [visit for visit in self.visits[operation] if visit.called is not None or not region.laws]
        return any(region.has(visit.case, visit.inputs(operation)) for visit in visits)


def record(implementation: Implementation, into: Recorded, **settings: Any) -> None:
    """Add the cases of a run; only laws that make inputs of their own for a region call anything."""
    judge = Search.judge

    def recording(search: Search, case: Case | None) -> Outcome:
        operation, key = search.subject.operation.name, search.law.id.partition(".")[2]
        # What is drawn on purpose is watched by test_rarities.py; regions are of what is drawn at random.
        if case is None or isinstance(case, RareCase):
            return Outcome("holds")
        if not any(key in region.laws for region in regions_of(operation)):
            into.visits[operation].append(Visit(case))
            return Outcome("holds", case)
        outcome = judge(search, case)
        into.visits[operation].append(Visit(case, [call.inputs for call in search.subject.calls if call.inputs]))
        return outcome

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "judge", recording)
        check(implementation, diagnosis=False, **settings)


class Compiling(NumPyArrays):
    """NumPy that behaves as a framework that compiles, and counts for what it would."""

    compiles_per_shape = True

    def __init__(self) -> None:
        self.compiled: set[Any] = set()

    def call(self, function: Callable[..., Any], positional: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        given = {str(place): value for place, value in enumerate(positional)} | keywords
        self.compiled.add((function, *((name, _compiled_as(given[name])) for name in sorted(given))))
        return super().call(function, positional, keywords)


def _compiled_as(value: Any) -> Any:
    """Return what of an argument is compiled: shape and dtype, a flag's value, a number only as such."""
    if isinstance(value, np.ndarray):
        return value.shape, value.dtype.name
    return value if isinstance(value, bool) else type(value).__name__


def model(inputs: np.ndarray, padding_mask: np.ndarray | None = None) -> np.ndarray:
    """A model that looks at nothing but how many tokens are real."""
    real = np.ones(inputs.shape) if padding_mask is None else padding_mask
    return np.broadcast_to(real.sum(axis=-1)[:, None], inputs.shape).astype(np.float64)


def recorded_run(framework: NumPyArrays, seed: int) -> Recorded:
    """Return what a quick run visits: the reference, a model, and in 16 bits the law that is about them."""
    recorded = Recorded()
    reference = replace(load("numpy"), framework=framework)
    box = Implementation("box", framework, {"model": model}, black_box=BlackBox(vocabulary_size=11, max_length=9))
    record(reference, recorded, tier="quick", seed=seed)
    record(box, recorded, tier="quick", seed=seed)
    record(reference, recorded, tier="quick", seed=seed, dtypes=("float16",), laws=("*.scale.range",))
    return recorded


@pytest.fixture(scope="module", params=[0, 1], ids=["seed 0", "seed 1"])
def quick(request: pytest.FixtureRequest) -> Recorded:
    return recorded_run(NumPyArrays(), request.param)


@pytest.fixture(scope="module", params=[0, 1], ids=["seed 0", "seed 1"])
def compiled(request: pytest.FixtureRequest) -> Recorded:
    return recorded_run(Compiling(), request.param)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_quick_run_visits_every_region_of_an_operation(quick: Recorded, operation: str) -> None:
    missed = [region.name for region in regions_of(operation) if not quick.meets(region, operation)]
    assert not missed


def test_a_framework_that_compiles_visits_every_region(compiled: Recorded) -> None:
    """Each shape costs it a compilation, so that one operation visits a region for those that are alike."""
    missed = [
        region.name
        for region in REGIONS.values()
        if not any(compiled.meets(region, name) for name in region.operations)
    ]
    assert not missed


def test_a_region_is_a_part_of_the_space(quick: Recorded) -> None:
    """Each has a case outside, but those that reach as far as their operation; else it would show nothing."""
    whole = {"linear bias", "positions other than zero", "mean square other than one", "logarithms other than zero"}
    whole |= {"linear bias of several keys", "projections that differ", "branches that differ"}
    whole |= {"head projections that differ"}

    def leaves_something_out(region: Region) -> bool:
        return any(
            not region.has(visit.case, visit.inputs(name)) for name in region.operations for visit in quick.visits[name]
        )

    assert not [
        region.name for region in REGIONS.values() if region.name not in whole and not leaves_something_out(region)
    ]


def test_a_recorder_that_meets_nothing_misses_every_region() -> None:
    assert not any(Recorded().meets(region, name) for region in REGIONS.values() for name in region.operations)


def test_every_operation_has_regions_that_say_what_they_are() -> None:
    assert all(regions_of(name) for name in OPERATIONS)
    for name, region in REGIONS.items():
        assert name == region.name
        assert set(region.operations) <= OPERATIONS.keys()
        assert region.sentence.endswith(".")


def test_every_palette_and_kind_of_mask_has_a_region() -> None:
    assert {f"values {palette}" for palette in EVERY_PALETTE} <= REGIONS.keys()
    assert {f"mask {kind}" for kind in (*MASK_KINDS, *MASK_SHAPES)} <= REGIONS.keys()


def test_every_mistake_that_something_hides_shows_in_a_region() -> None:
    mapped = read_json("regions.json")
    assert mapped.keys() == {slug for slug, mistake in catalogue().items() if mistake.hidden_when}
    for slug, shown in mapped.items():
        mistake = catalogue()[slug]
        assert (shown == NOT_DRAWN) is (not mistake.planted), slug
        assert mistake.planted or mistake.reason, slug
        assert mistake.regions == (() if shown == NOT_DRAWN else tuple(shown)), slug
        assert set(mistake.regions) <= REGIONS.keys(), slug


def test_a_mistake_shows_in_a_region_of_each_operation_that_catches_it() -> None:
    missing = {
        (slug, operation)
        for slug, mistake in catalogue().items()
        if mistake.regions
        for operation in mistake.operations
        if not any(operation in REGIONS[name].operations for name in mistake.regions)
    }
    assert not missing


@pytest.fixture(scope="module")
def standard() -> Recorded:
    recorded = Recorded()
    operations = ("softmax", "layer_norm", "scaled_dot_product_attention", "multi_head_attention")
    record(load("numpy"), recorded, operations=operations)
    return recorded


def test_lengths_meet_every_edge_of_a_block(standard: Recorded) -> None:
    attention = standard.cases("scaled_dot_product_attention")
    edges = {length for block in BLOCK_EDGES for length in block}
    assert edges <= {case.query_length for case in attention}
    assert edges <= {case.key_length for case in attention}


def test_most_cases_are_small(standard: Recorded) -> None:
    attention = standard.cases("scaled_dot_product_attention")
    small = [case for case in attention if max(case.query_length, case.key_length) <= 8]
    assert len(small) > len(attention) / 3


def test_every_dtype_gets_its_share(standard: Recorded) -> None:
    for operation in ("softmax", "layer_norm", "scaled_dot_product_attention", "multi_head_attention"):
        dtypes = [case.dtype for case in standard.cases(operation)]
        assert min(dtypes.count("float32"), dtypes.count("float64")) > len(dtypes) / 4


def test_large_logits_exceed_what_exp_holds(standard: Recorded) -> None:
    """Exp overflows beyond 88 in float32: without subtracting the maximum, and with one maximum for all rows."""
    highest, spread = 0.0, 0.0
    for case in standard.cases("scaled_dot_product_attention"):
        if case.amplitude >= 10 and case.query_length * case.key_length < 200:
            inputs = draw_inputs("scaled_dot_product_attention", case)
            logits = inputs.query @ inputs.key.swapaxes(-1, -2) / np.sqrt(case.head_width)
            highest = max(highest, logits.max())
            spread = max(spread, np.ptp(logits.max(axis=-1)))
    assert highest > 89
    assert spread > 104


def test_what_is_compiled_stays_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each combination costs jax about 0.12 s. More cases do not mean more of them: the quick tier meets nearly all."""
    from veriformer.adapters import numpy as built_in

    names = ("softmax", "scaled_dot_product_attention", "grouped_query_attention")
    framework = Compiling()
    implementation = Implementation(
        "compiling",
        framework,
        {name: getattr(built_in, name) for name in names},
        conventions=built_in.conventions,
        dtypes=("float32", "float16"),
        limitations=("value_width",),
    )
    report = check(implementation, tier="quick")
    assert report.counts["failed"] == report.counts["errors"] == 0
    tried = sum(result.status == "passed" for result in report.results)
    # Mask and scale, and bias and flag, are given together in each of the two attentions, and the law of prefixes calls
    # each without the flag too.
    more = 6
    assert len(framework.compiled) <= 1.2 * tried + more
