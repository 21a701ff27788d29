"""What differs in a norm is named wherever the norm stands, of a Transformer or not."""

from __future__ import annotations

import lone_norms
import pytest
from veriformer.conformance_tests import check
from veriformer.conformance_tests.ports.compare_models import compare_models

WRONG = {
    "Unbiased": ("unbiased_variance", "n − 1"),
    "EpsOutside": ("layernorm_eps_outside_sqrt", "eps is added to the root"),
    "WithoutGain": ("missing", "gain"),
    "NotCentred": ("final norm: kind", "rms_norm"),
}


@pytest.mark.parametrize("place", lone_norms.PLACES)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_norm_that_differs_is_named_wherever_it_stands(place: str, wrong: str) -> None:
    right, other = (lone_norms.model(place, getattr(lone_norms, name)) for name in ("Right", wrong))
    found = compare_models(right, other, lone_norms.given(place))
    name, words = WRONG[wrong]
    assert [one.cause.name for one in found.differences] == [name]
    assert words in found.differences[0].cause.sentence
    assert found.differences[0].step == "final_norm"
    assert all("aten" not in change and not change.startswith(":") for change in found.changes)


@pytest.mark.parametrize("place", lone_norms.PLACES)
def test_a_norm_at_the_end_is_judged_wherever_it_stands(place: str) -> None:
    given = lone_norms.given(place)
    right, wrong = (
        check(lone_norms.model(place, norm), inputs=given) for norm in (lone_norms.Right, lone_norms.Unbiased)
    )
    assert not right.departures
    assert [one.suspects[0].name for one in wrong.departures] == ["unbiased_variance"]
    assert "departs" in {part.status for part in wrong.parts if part.role == "layer_norm"}
