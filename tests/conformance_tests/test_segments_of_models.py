"""An argument that tells to which segment each token belongs is named where it changes nothing."""

from __future__ import annotations

from typing import Any

import pytest
from veriformer.adapters.capture.models import find_model
from veriformer.adapters.whole_models.session import opened
from veriformer.adapters.whole_models.whole import WholeModel
from veriformer.conformance_tests.run.checking_models import check_model

torch = pytest.importorskip("torch")


class OfSegments(torch.nn.Module):
    """A small network on tokens, to which a row for each segment is added where `used` is set."""

    def __init__(self, used: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.used = used
        self.tokens, self.segments = torch.nn.Embedding(40, 24), torch.nn.Embedding(2, 24)
        self.norm, self.up, self.down = torch.nn.LayerNorm(24), torch.nn.Linear(24, 48), torch.nn.Linear(48, 24)

    def through(self, tokens: Any, segments: Any) -> Any:
        x = self.tokens(tokens)
        if self.used:
            x = x + self.segments(torch.zeros_like(tokens) if segments is None else segments)
        return x + self.down(torch.relu(self.up(self.norm(x))))


def model(name: str, *, used: bool, optional: bool = True) -> OfSegments:
    """Return a model whose second argument is called so."""
    made: dict[str, Any] = {}
    exec(
        f"def forward(self, tokens, {name}{'=None' if optional else ''}):\n    return self.through(tokens, {name})",
        made,
    )
    return type("Model", (OfSegments,), {"forward": made["forward"]})(used)


def notices(name: str, **how: bool) -> list[str]:
    with opened(find_model(model(name, **how), "model"), seed=0) as session:
        (wrapped,) = session.wrapped([WholeModel(causal=False)])
        assert wrapped.implementation is not None, wrapped.reason
        return [one for one in wrapped.implementation.notices if "has no effect" in one]


@pytest.mark.parametrize("optional", (True, False))
@pytest.mark.parametrize(
    "name", ("token_type_ids", "segment_ids", "segment_id", "segments", "doc_ids", "documents", "type_ids", "seg_ids")
)
def test_segments_without_effect_are_named(name: str, *, optional: bool) -> None:
    said = f"`{name}` has no effect: the results are the same whatever segments it tells"
    assert notices(name, used=False, optional=optional) == [said]
    assert notices(name, used=True, optional=optional) == []


@pytest.mark.parametrize("name", ("labels", "flags", "position_ids", "input_types"))
def test_what_is_called_otherwise_is_not_tried(name: str) -> None:
    assert notices(name, used=False) == []


def test_the_report_names_it() -> None:
    said = "`token_type_ids` has no effect: the results are the same whatever segments it tells"
    assert said in check_model(model("token_type_ids", used=False)).notices
    assert said not in check_model(model("token_type_ids", used=True)).notices
