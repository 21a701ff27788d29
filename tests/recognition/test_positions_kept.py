"""Vectors that go to other positions depart or are not judged; what comes back to its own is right."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.recognition.findings import Part, Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def late(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("late")


@pytest.fixture
def recognised(traced: Callable[..., Trace]) -> Callable[[object], Recognition]:
    def recognised_as(model: object) -> Recognition:
        return recognise(traced(model, torch.randint(2, 50, (3, 7))))

    return recognised_as


def part(found: Recognition, path: str) -> Part:
    return next(one for one in found.parts if one.path == path)


@pytest.mark.parametrize("name", ("LateBlock", "LateStream"))
def test_one_late_layer_departs_where_it_is_added(
    late: ModuleType, recognised: Callable[[object], Recognition], name: str
) -> None:
    found = recognised(late.one_of_three(getattr(late, name)))
    assert [(one.path, one.layer, one.step) for one in found.departures] == [("stack.blocks.1", 1, "residual")]
    assert part(found, "stack.blocks.1.network").status == "departs"
    assert part(found, "stack.blocks.0.network").status == "holds"


def test_late_layers_all_alike_depart(late: ModuleType, recognised: Callable[[object], Recognition]) -> None:
    found = recognised(late.all_of_three(late.LateBlock))
    assert [one.layer for one in found.departures] == [0, 1, 2]
    networks = [one for one in found.parts if one.role == "gated_feed_forward"]
    assert [one.status for one in networks] == ["departs"] * 3
    assert found.share_found < 1.0


def test_a_late_gate_inside_of_a_network_is_seen(late: ModuleType, recognised: Callable[[object], Recognition]) -> None:
    found = recognised(late.one_late_gate())
    assert part(found, "stack.blocks.1.network").status != "holds"
    assert {one.layer for one in (*found.departures, *(each.as_departure for each in found.differences))} == {1}


@pytest.mark.parametrize("name", ("RolledThere", "PositionsFirst"))
def test_what_comes_back_to_its_positions_holds(
    late: ModuleType, recognised: Callable[[object], Recognition], name: str
) -> None:
    found = recognised(late.one_of_three(getattr(late, name)))
    assert found.departures == found.differences == ()
    assert all(one.status == "holds" for one in found.parts)


@pytest.mark.parametrize(
    ("name", "status"),
    (("LateResults", "unrecognised"), ("WithoutTheLast", "unrecognised"), ("TimeMajorResults", "holds")),
)
def test_results_are_judged_where_they_are_returned_in_order(
    late: ModuleType, recognised: Callable[[object], Recognition], name: str, status: str
) -> None:
    found = recognised(getattr(late, name)())
    assert found.departures == ()
    assert part(found, "head").status == status


def test_a_norm_of_vectors_with_zeros_put_in_has_its_own_eps(
    late: ModuleType, recognised: Callable[[object], Recognition]
) -> None:
    found = recognised(late.layer_norms())
    assert found.departures == ()
    assert part(found, "stack.blocks.0.norm1").summary.startswith("layer_norm, eps 1e-05")


def test_repeated_values_one_position_late_are_stated(
    late: ModuleType, recognised: Callable[[object], Recognition]
) -> None:
    found = recognised(late.one_with_late_values())
    assert found.departures == ()
    assert {(one.as_departure.path, one.as_departure.step) for one in found.differences} == {
        ("stack.blocks.1.attention", "value")
    }


@pytest.mark.parametrize(("back", "displaced"), (((1, 2), []), ((1, 1), ["blocks.1.attention"])))
def test_whole_layers_in_windows_have_to_be_laid_back(
    kind: Callable[[str], ModuleType], back: tuple[int, int], displaced: list[str]
) -> None:
    torch.manual_seed(0)
    model = kind("windows").WholeLayersInWindows(back)
    found = recognise(recorded_pass(find_model(model, "model"), (torch.randn(2, 4, 8, 48),), seed=0).trace)
    assert [one.path for one in found.departures] == displaced
