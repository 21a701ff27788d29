"""A departure needs evidence: models that are right are not accused, and wrong ones do not pass in silence.

The models are in `kinds`, one file for each kind of thing that was once judged wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.models import find_model, load_model
from veriformer.conformance_tests import check
from veriformer.conformance_tests.recognition.findings import Part, Recognition
from veriformer.conformance_tests.recognition.recognise import recognise, recognised_twice
from veriformer.conformance_tests.reports.model import verdict_sentence
from veriformer.conformance_tests.run.model_report import ModelReport

torch = pytest.importorskip("torch")

KINDS = Path(__file__).with_name("kinds")


@pytest.fixture(autouse=True)
def _same_weights() -> None:
    torch.manual_seed(0)


def found(model: Any, inputs: Any = None, seed: int = 0) -> Recognition:
    built = find_model(model, "model")
    return recognise(recorded_pass(built, inputs, seed=seed).trace)


def slugs(recognition: Recognition) -> set[str]:
    return {suspect.name for one in recognition.departures for suspect in one.suspects}


def routers(recognition: Recognition) -> list[Part]:
    return [part for part in recognition.parts if part.role == "router"]


# --- experts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "scheme"),
    (
        ("many_of_which_some_are_idle", "top 2 of 24, softmax over the chosen"),
        ("switch", "top 1 of 4, softmax over all"),
        ("with_a_shared_one", "top 3 of 8 by corrected scores, sigmoid, of sum one, times 2.5"),
        ("within_groups", "top 3 of 8 within 2 of 4 groups, sigmoid, of sum one"),
    ),
)
@pytest.mark.parametrize("seed", (0, 1))
def test_experts_are_read_and_not_accused(kind: Callable[[str], ModuleType], name: str, scheme: str, seed: int) -> None:
    recognition = found(getattr(kind("experts"), name)(), seed=seed)
    assert recognition.departures == ()
    assert [part.summary for part in routers(recognition)] == [f"router, {scheme}"] * 2
    assert [part.layer for part in routers(recognition)] == [0, 1]
    assert recognition.share_understood >= 0.95


def test_experts_that_run_on_one_token_are_not_judged(kind: Callable[[str], ModuleType]) -> None:
    recognition = found(kind("experts").many_of_which_some_are_idle())
    assert recognition.unused
    few = [part for part in recognition.parts if "was sent to it" in part.summary]
    assert few
    assert {part.status for part in few} == {"unrecognised"}
    assert not any("on output" in part.summary for part in recognition.parts)


@pytest.mark.parametrize(
    ("name", "slug"),
    (
        ("exchanged", "moe_shares_exchanged"),
        ("of_the_next_token", "moe_shares_of_another_token"),
        ("over_tokens", "softmax_wrong_axis"),
        ("alike", "moe_scores_not_used"),
        ("lowest", "moe_lowest_chosen"),
        ("of_the_first", "moe_shares_of_the_first"),
        ("with_correction", "moe_correction_in_shares"),
        ("with_bare_correction", "moe_correction_in_shares"),
        ("outside_of_groups", "moe_best_groups_hidden"),
    ),
)
def test_wrong_shares_are_named(kind: Callable[[str], ModuleType], name: str, slug: str) -> None:
    recognition = found(getattr(kind("experts"), f"build_{name}")())
    assert slugs(recognition) == {slug}
    assert {part.status for part in routers(recognition)} == {"departs"}
    assert all(one.path.endswith("network") for one in recognition.departures)


def test_a_way_to_share_that_no_one_knows_is_said_not_to_be_judged(kind: Callable[[str], ModuleType]) -> None:
    report = check(kind("experts").build_squared())
    assert isinstance(report, ModelReport)
    assert report.departures == ()
    assert {part.status for part in report.parts if part.role == "router"} == {"unrecognised"}
    sentence = verdict_sentence(report)
    assert "holds as far as it is judged" in sentence
    assert "not judged: how experts are chosen and weighed (2 layers)" in sentence


# --- masks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ("Required", "Optional", "Keyword"))
def test_a_mask_that_the_tool_left_out_is_held_against_no_one(kind: Callable[[str], ModuleType], name: str) -> None:
    trace = recorded_pass(find_model(getattr(kind("masks"), name)(), name), seed=0).trace
    assert any("left out (None)" in note and "mask" in note for note in trace.notes)
    recognition = recognise(trace)
    assert recognition.departures == ()
    # A head that forward does not call is told, and no departure.
    assert recognition.unused == ("generator.weight", "generator.bias")


def test_a_mask_that_was_handed_over_and_not_used_departs(kind: Callable[[str], ModuleType]) -> None:
    masks, small = kind("masks"), kind("small")
    source, target = torch.arange(22).reshape(2, 11), torch.arange(14).reshape(2, 7)
    inputs = (source, target, torch.ones(2, 1, 1, 11, dtype=torch.bool), small.triangle(7))
    assert slugs(found(masks.NotHandedOn(), inputs)) == {"decoder_not_causal"}
    assert found(masks.Required(), inputs).departures == ()


@pytest.mark.parametrize("shape", ("pairs", "table", "additive"))
def test_a_triangle_of_the_caller_makes_no_model_causal(kind: Callable[[str], ModuleType], shape: str) -> None:
    table = kind("small").triangle(11)
    mask = {
        "pairs": table.expand(2, 11, 11),
        "table": table,
        "additive": torch.zeros(1, 1, 11, 11).masked_fill(~table, -1e9),
    }[shape]
    report = check(kind("masks").Decoder(), inputs={"tokens": torch.arange(22).reshape(2, 11), "attention_mask": mask})
    assert isinstance(report, ModelReport)
    assert report.departures == ()
    assert [result.law.id for result in report.broken] == []
    assert not report.recognition.causal


# --- norms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ("Normalised", "GainFirst", "ByLength"))
@pytest.mark.parametrize("place", ("before", "after"))
def test_rms_norms_in_other_words_are_right(kind: Callable[[str], ModuleType], name: str, place: str) -> None:
    norms = kind("norms")
    recognition = found(getattr(norms, place)(getattr(norms, name)))
    assert recognition.departures == ()
    assert recognition.share_found == 1.0
    assert sum(part.role == "rms_norm" for part in recognition.parts) >= 5


@pytest.mark.parametrize(
    ("name", "slug"),
    (
        ("EpsBesideDeviation", "layernorm_eps_outside_sqrt"),
        ("EpsBesideRoot", "rmsnorm_eps_outside_sqrt"),
        ("Unbiased", "unbiased_variance"),
    ),
)
@pytest.mark.parametrize("place", ("before", "after"))
def test_a_wrong_norm_departs_and_has_a_cross(
    kind: Callable[[str], ModuleType], name: str, slug: str, place: str
) -> None:
    norms = kind("norms")
    recognition = found(getattr(norms, place)(getattr(norms, name)))
    assert slugs(recognition) == {slug}
    wrong = {one.path for one in recognition.departures}
    lines = {part.path: part.status for part in recognition.parts}
    assert {path for path, status in lines.items() if status == "departs"} == wrong


# --- what is not recognised -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ("plain", "with_turned_keys", "from_a_buffer"))
def test_absorbed_latents_are_not_accused(kind: Callable[[str], ModuleType], name: str) -> None:
    recognition = found(getattr(kind("latents"), name)())
    assert recognition.departures == ()
    inside = [part for part in recognition.parts if ".attention" in part.path]
    assert not any(part.role == "unembedding" for part in inside)


@pytest.mark.parametrize("name", ("sandwiches", "plain", "post"))
def test_stacks_that_are_handed_vectors_are_right(kind: Callable[[str], ModuleType], name: str) -> None:
    vectors = kind("vectors")
    recognition = found(getattr(vectors, name)(), vectors.inputs())
    assert recognition.departures == ()
    assert recognition.share_found == 1.0


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ("Decorated", "Inside", "OfAPart", "Unused", "Floating", "Used"))
def test_inference_mode_and_sparse_tensors_are_read(kind: Callable[[str], ModuleType], name: str) -> None:
    model = getattr(kind("read"), name)()
    recognition = found(model)
    assert recognition.departures == ()
    assert recognition.share_found == 1.0
    # The model is as it was, and inference mode is what it was.
    with torch.inference_mode():
        assert torch.zeros(1).is_inference()


@pytest.mark.parametrize("name", ("partial_by_name", "partial_in_one", "partial_of_partial", "an_object"))
def test_functions_of_every_sort_make_a_pair(name: str) -> None:
    model = load_model(f"{KINDS}/pairs.py:{name}")
    assert model.framework == "numpy"
    recognition = recognise(recorded_pass(model, seed=0).trace)
    assert recognition.departures == ()
    assert sum(part.role == "feed_forward" for part in recognition.parts) == 2


@pytest.mark.parametrize("name", ("Segments", "LastRow", "ByFunction"))
def test_rows_of_padding_have_no_gradient_by_design(kind: Callable[[str], ModuleType], name: str) -> None:
    report = check(getattr(kind("tables"), name)())
    assert isinstance(report, ModelReport)
    assert [result.law.id for result in report.broken] == []
    assert "model.gradients.value" in {result.law.id for result in report.results if result.status == "passed"}


def test_a_table_that_no_gradient_reaches_is_found_beside_a_row_of_padding(kind: Callable[[str], ModuleType]) -> None:
    report = check(kind("tables").Detached())
    assert isinstance(report, ModelReport)
    assert [result.law.id for result in report.broken] == ["model.gradients.value"]


# --- frequencies ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    (
        ("plain", "base 500000"),
        ("usual", "base 10000"),
        ("slow_ones_divided", "frequencies of its own"),
        ("all_times_one_and_a_half", "frequencies of its own"),
        ("last_one_doubled", "frequencies of its own"),
    ),
)
def test_a_base_is_told_if_all_frequencies_have_it(kind: Callable[[str], ModuleType], name: str, words: str) -> None:
    recognition = found(getattr(kind("turned"), name)())
    turning = [part.summary for part in recognition.parts if "rotary" in part.summary]
    assert len(turning) == 2
    assert all(words in summary for summary in turning)


# --- a second run -----------------------------------------------------------------------------------------------------


def test_what_a_second_run_does_not_show_is_no_departure(kind: Callable[[str], ModuleType]) -> None:
    norms = kind("norms")
    wrong, right = norms.before(norms.Unbiased), norms.before(norms.Normalised)
    traces = [recorded_pass(find_model(one, "model"), seed=0).trace for one in (wrong, right)]
    assert recognise(traces[0]).departures
    assert recognised_twice(traces[0], traces[1]).departures == ()
    assert recognised_twice(traces[0], traces[0]).departures == recognise(traces[0]).departures


# --- decoders, pooled and tabular models ------------------------------------------------------------------------------


def test_queries_that_are_learned_are_decoded_at_once(kind: Callable[[str], ModuleType]) -> None:
    assert found(kind("decoded").LearnedQueries(), torch.randn(2, 9, 12)).departures == ()
    seen = found(kind("decoded").Translator(causal=False), (torch.randint(0, 40, (2, 9)), torch.randint(0, 40, (2, 7))))
    assert "decoder_not_causal" in slugs(seen)


def test_rows_of_a_table_are_samples(kind: Callable[[str], ModuleType]) -> None:
    recognition = found(kind("decoded").Tabular(), torch.randn(11, 7))
    assert recognition.departures == ()
    assert [part.status for part in recognition.parts] == ["holds"] * len(recognition.parts)
    # The first sublayer reads the stream as it is, and the others what is normalised: it is stated.
    assert [one.own for one in recognition.differences] == ["no norm before the self_attention"]


def test_a_norm_after_every_second_network_is_a_turn(kind: Callable[[str], ModuleType]) -> None:
    recognition = found(kind("decoded").Macaron(), torch.randn(2, 9, 48))
    assert recognition.departures == ()


@pytest.mark.parametrize(
    ("name", "expected"),
    (("Twice", {"combination=gate_twice"}), ("Bilinear", {"ffn_activation_misplaced"}), ("Fused", set())),
)
def test_branches_of_a_gated_network(kind: Callable[[str], ModuleType], name: str, expected: set[str]) -> None:
    branches = kind("branches")
    recognition = found(branches.of(getattr(branches, name)))
    assert slugs(recognition) == expected
    # A unit without an activation is one that people use on purpose.
    sure = {suspect.confidence for one in recognition.departures for suspect in one.suspects}
    assert (sure == {1.0}) == (name == "Twice")


def test_what_was_not_read_is_found_by_its_module_or_its_lines(kind: Callable[[str], ModuleType]) -> None:
    read = kind("read")

    class Strange(read.Floating):
        def forward(self, tokens: Any) -> Any:
            return super().forward(tokens).cumsum(-1).sin()

    unread = found(Strange(), torch.randint(0, 90, (2, 5))).unread
    assert sum(unread.values()) >= 2, unread
    assert any(re.fullmatch(r"\w+\.py:\d+(–\d+)?", place) for place in unread), unread


# --- parts that this pass does not use, and what a configuration means ------------------------------------------------


@pytest.mark.parametrize("name", ("SeesImages", "WithoutMemory", "low_rank", "SegmentsInEachLayer"))
def test_what_this_pass_does_not_use_is_not_missed(kind: Callable[[str], ModuleType], name: str) -> None:
    tokens = torch.randint(0, 40, (2, 9))
    assert found(getattr(kind("left_out"), name)(), tokens).departures == ()


def test_a_norm_that_is_not_called_is_missed_where_nothing_else_is_left_out(kind: Callable[[str], ModuleType]) -> None:
    recognition = found(kind("left_out").NormLeftOut(), torch.randint(0, 40, (2, 9)))
    assert any(one.step == "norm" for one in recognition.departures), recognition.departures


@pytest.mark.parametrize(
    ("stated", "accused"),
    (({"attention_multiplier": 1.0}, False), ({"query_pre_attn_scalar": 1}, False), ({"dropout": 1.0}, True)),
)
def test_a_scale_that_the_configuration_states_is_meant(
    kind: Callable[[str], ModuleType], stated: dict[str, float], accused: bool
) -> None:
    recognition = found(kind("left_out").unscaled(**stated), torch.randint(0, 40, (2, 9)))
    assert ("scale_missing" in slugs(recognition)) == accused
