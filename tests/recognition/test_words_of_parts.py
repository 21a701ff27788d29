"""What is said of a part that holds: windows, patches, pooling, padding; and what is astray in them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise

torch = pytest.importorskip("torch")


def found(model: Any, *inputs: Any) -> Recognition:
    torch.manual_seed(0)
    return recognise(recorded_pass(find_model(model, "model", inputs or None), inputs or None, seed=0).trace)


def words(recognition: Recognition, role: str) -> list[str]:
    return [part.summary for part in recognition.parts if part.role == role]


def sentences(recognition: Recognition) -> set[str]:
    return {one.sentence for one in recognition.departures}


def test_windows_are_samples_of_their_own(kind: Callable[[str], ModuleType]) -> None:
    windows = kind("windows")
    recognition = found(windows.right(), windows.images())
    assert recognition.departures == ()
    attentions = words(recognition, "multi_head_attention")
    assert all("4 heads, in 4 windows of 16 positions, every key" in one for one in attentions)
    assert ["some keys hidden" in one for one in attentions] == [False, True]
    assert words(recognition, "input_projection") == ["input_projection"]
    assert words(recognition, "unembedding") == ["unembedding, of the mean over all positions"]


@pytest.mark.parametrize("name", ("shifted_twice", "not_laid_back"))
def test_what_comes_back_at_another_position_departs(kind: Callable[[str], ModuleType], name: str) -> None:
    windows = kind("windows")
    said = sentences(found(getattr(windows, name)(), windows.images()))
    assert said == {"what the sublayer gives for a position is added to another position"}


@pytest.mark.parametrize(
    ("cut", "said"),
    (
        ("by_squares", "patches of 3 × 3, row by row"),
        ("by_squares_of_columns", "patches of 3 × 3, column by column"),
    ),
)
def test_patches_and_their_order_are_said(kind: Callable[[str], ModuleType], cut: str, said: str) -> None:
    ends = kind("ends")
    recognition = found(ends.Encoder(getattr(ends, cut)), ends.images())
    assert recognition.departures == ()
    assert said in words(recognition, "input_projection")[0]


def test_pieces_that_are_no_patches_depart(kind: Callable[[str], ModuleType]) -> None:
    ends = kind("ends")
    recognition = found(ends.Encoder(ends.as_they_lie), ends.images())
    assert sentences(recognition) == {"the image is cut into pieces that are no patches: axes are not exchanged"}


@pytest.mark.parametrize(
    ("pooled", "said"),
    (
        ("first", "of position 0"),
        ("last", "of the last position"),
        ("mean", "of the mean over all positions"),
        ("mean_before_norm", "of the mean over all positions before the norm"),
        ("mean_without_first", "of the mean over the positions from 1"),
    ),
)
def test_what_the_end_reads_is_said(kind: Callable[[str], ModuleType], pooled: str, said: str) -> None:
    ends = kind("ends")
    recognition = found(ends.Encoder(pooled=getattr(ends, pooled)), ends.images())
    assert recognition.departures == ()
    assert words(recognition, "unembedding") == [f"unembedding, {said}"]


def test_the_token_that_a_mask_hides_is_said(kind: Callable[[str], ModuleType]) -> None:
    ends = kind("ends")
    recognition = found(ends.Padded(), ends.tokens())
    assert recognition.departures == ()
    (said,) = words(recognition, "multi_head_attention")
    assert said.endswith("masked: keys of token 0 hidden, one map for query, key, value")


def test_a_mask_that_shows_one_token_alone_departs(kind: Callable[[str], ModuleType]) -> None:
    ends = kind("ends")
    (departure,) = found(ends.Padded(inverted=True), ends.tokens()).departures
    assert departure.suspects[0].name == "mask_polarity_inverted"
    assert "keys of token 0 alone" in departure.sentence


def test_a_norm_that_is_called_again_for_the_residual_is_one_norm(kind: Callable[[str], ModuleType]) -> None:
    ends = kind("ends")
    recognition = found(ends.normed_twice(), torch.randn(3, 11, 48))
    assert {one.suspects[0].name for one in recognition.departures} == {"prenorm_residual_after_norm"}


@pytest.mark.parametrize(("renormalised", "said"), ((True, "softmax over the chosen"), (False, "softmax over all")))
def test_experts_in_one_stack_have_a_router(
    kind: Callable[[str], ModuleType], *, renormalised: bool, said: str
) -> None:
    more = kind("more_words")
    recognition = found(more.decoder(lambda: more.Stacked(renormalised)))
    assert recognition.departures == ()
    assert words(recognition, "router") == [f"router, top 2 of 4, {said}"] * 2


@pytest.mark.parametrize("way", ("gathered", "ordered"))
@pytest.mark.parametrize(("over", "said"), (("chosen", "softmax over the chosen"), ("all", "softmax over all")))
def test_experts_are_read_in_whatever_order_their_tokens_are(
    kind: Callable[[str], ModuleType], way: str, over: str, said: str
) -> None:
    recognition = found(kind("gathered").model(way, over))
    assert recognition.departures == ()
    expected = f"router, top 2 of 6, {said}; experts in one stack: gated_feed_forward, silu"
    assert words(recognition, "router") == [expected] * 2
    assert recognition.share_understood == 1.0


@pytest.mark.parametrize(("way", "added"), (("of_gpt_oss", "1"), ("of_gpt_oss_without_one", "nothing")))
def test_the_experts_of_gpt_oss_are_read_in_one_stack(kind: Callable[[str], ModuleType], way: str, added: str) -> None:
    torch.manual_seed(0)
    recognition = found(kind("gathered").model(way))
    assert recognition.departures == ()
    said = "nothing is added to the linear branch beside x σ(1.702 x); gpt-oss, which is built so, adds 1 to it"
    assert recognition.remarks == ((said,) if added == "nothing" else ())
    hidden = f"gated_feed_forward, x σ(1.702 x), {added} added to up"
    expected = f"router, top 2 of 6, softmax over the chosen; experts in one stack: {hidden}"
    assert words(recognition, "router") == [expected] * 2
    assert recognition.share_understood == 1.0


def test_an_expert_that_another_one_overwrites_is_missed(kind: Callable[[str], ModuleType]) -> None:
    said = sentences(found(kind("gathered").model("overwritten")))
    assert said == {"1 of the 2 experts that the shares of a token are made for are in its sum"}


@pytest.mark.parametrize("array", ("OneMap", "OneArray"))
@pytest.mark.parametrize(("gate_first", "said"), ((True, "gate and up"), (False, "up and gate")))
def test_the_order_of_gate_and_up_in_one_map_is_said(
    kind: Callable[[str], ModuleType], array: str, *, gate_first: bool, said: str
) -> None:
    more = kind("more_words")
    recognition = found(more.decoder(lambda: getattr(more, array)(gate_first)))
    assert recognition.departures == ()
    assert words(recognition, "gated_feed_forward") == [f"gated_feed_forward, silu, one map for {said}"] * 2


def test_a_stream_that_loses_the_attention_departs(kind: Callable[[str], ModuleType]) -> None:
    said = sentences(found(kind("more_words").dropping()))
    assert said == {"its output is added to the stream from before the attention, whose own output is lost"}


def test_weights_that_are_computed_coarsely_are_said(kind: Callable[[str], ModuleType]) -> None:
    attentions = words(found(kind("more_words").coarse()), "multi_head_attention")
    assert all("computed in half precision, though query and key are finer" in one for one in attentions)


@pytest.mark.parametrize("used", (True, False))
def test_an_argument_without_effect_is_unused(kind: Callable[[str], ModuleType], *, used: bool) -> None:
    tokens, segments = torch.arange(22).reshape(2, 11), torch.arange(22).reshape(2, 11) % 2
    recognition = found(kind("more_words").Segments(used), tokens, segments)
    assert recognition.unused == (() if used else ("segment_ids",))


def test_a_head_of_three_maps_is_added_to_nothing_and_right(kind: Callable[[str], ModuleType]) -> None:
    assert found(kind("more_words").Boxes()).departures == ()


@pytest.mark.parametrize("skewed", ("", "skewed"))
@pytest.mark.parametrize("scaled", (True, False))
def test_positions_that_are_multiplied_with_the_query_are_read(
    kind: Callable[[str], ModuleType], skewed: str, *, scaled: bool
) -> None:
    recognition = found(kind("relative").decoder(skewed, scaled))
    assert recognition.departures == ()
    said = "positions multiplied with the query, by distance" + (" and scaled" if scaled else "")
    attentions = words(recognition, "multi_head_attention")
    assert len(attentions) == 2
    assert all(f"causal, {said}, one map" in one for one in attentions)


def test_positions_at_other_keys_than_those_of_their_distance_depart(kind: Callable[[str], ModuleType]) -> None:
    said = sentences(found(kind("relative").decoder("not")))
    assert said == {"the products of queries and positions are added at other keys than those of their distance"}
