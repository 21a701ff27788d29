"""A configuration is a witness: what it states and the model does not do departs, and what it does is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import pytest
from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.configuration import configuration_of
from veriformer.adapters.capture.models import find_model
from veriformer.adapters.capture.storage import read_trace, write_trace
from veriformer.conformance_tests.recognition.findings import Recognition
from veriformer.conformance_tests.recognition.recognise import recognise
from veriformer.conformance_tests.recognition.stated_rotations import is_share

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def stated(kind: Callable[[str], ModuleType]) -> ModuleType:
    return kind("stated")


def found(model: Any) -> Recognition:
    torch.manual_seed(0)
    return recognise(recorded_pass(find_model(model, "model"), seed=0).trace)


def test_what_is_stated_and_done_is_said(stated: ModuleType) -> None:
    recognition = found(stated.Configured())
    assert recognition.departures == ()
    assert set(recognition.agreed) == {
        "config.rope_theta 10000",
        "config.rms_norm_eps 1e-06",
        "config.hidden_act silu",
        "config.num_attention_heads 4",
    }


@pytest.mark.parametrize(
    ("named", "value", "sentence"),
    (
        ("rope_theta", 500000.0, "config.rope_theta is 500000, and the model turns with the base 10000"),
        ("rms_norm_eps", 1e-5, "config.rms_norm_eps is 1e-05, and the norms add 1e-06"),
        ("hidden_act", "gelu", "config.hidden_act is gelu, and the activation is silu"),
        (
            "query_pre_attn_scalar",
            24,
            "config.query_pre_attn_scalar is 24, and the logits are divided by the root of 12",
        ),
        (
            "use_parallel_residual",
            True,
            "config.use_parallel_residual is True, and the network reads the stream after the attention",
        ),
        ("rotary_pct", 0.5, "config.rotary_pct is 0.5, and 12 of 12 components of each head are turned"),
        ("tie_word_embeddings", True, "config.tie_word_embeddings is True, and the unembedding is not tied"),
        ("share_unembedding", True, "config.share_unembedding is True, and the unembedding is not tied"),
        ("num_attention_heads", 6, "config.num_attention_heads is 6, and the queries are cut into 4 heads"),
    ),
)
def test_what_is_stated_and_not_done_departs(stated: ModuleType, named: str, value: Any, sentence: str) -> None:
    recognition = found(stated.with_names(**{named: value}))
    said = f"the configuration says that {sentence}"
    assert {one.sentence for one in recognition.departures} == {said}
    of_layers = [one for one in recognition.departures if one.layer is not None]
    assert {one.layer for one in of_layers} in (set(), {0, 1})
    nested = found(stated.with_a_dictionary(**{named: value}))
    assert {one.sentence for one in nested.departures} == {said.replace("config.", "config.text_config.", 1)}


def test_arguments_that_a_model_keeps_are_a_configuration(stated: ModuleType) -> None:
    assert found(stated.KeepsItsArguments()).departures == ()
    departure, *_ = found(stated.KeepsItsArguments(rope_theta=500000.0)).departures
    assert departure.sentence.startswith("the configuration says that rope_theta is 500000, and")
    assert departure.suspects[0].name == "rope_theta_ignored"


def test_a_swish_of_another_slope_may_be_called_silu(stated: ModuleType) -> None:
    # As the experts of gpt-oss are.
    assert found(stated.with_swish_of_another_slope(hidden_act="silu")).departures == ()
    assert found(stated.with_swish_of_another_slope(hidden_act="relu")).departures


def test_a_value_that_stands_elsewhere_in_the_configuration_is_meant(stated: ModuleType) -> None:
    assert found(stated.with_names(rope_theta=500000.0, rope_local_base_freq=10000.0)).departures == ()
    assert found(stated.with_names(hidden_act="my_own")).departures == ()
    assert found(stated.with_names(layer_norm_eps=0.0)).departures == ()
    assert found(stated.with_names(rotary_pct=1.0, use_parallel_residual=False)).departures == ()


def test_a_configuration_that_cannot_be_read_states_nothing() -> None:
    class Closed:
        @property
        def config(self) -> Any:
            raise RuntimeError("not here")

    assert configuration_of(Closed()) == {}
    assert configuration_of(3) == {}


def test_a_record_keeps_it(stated: ModuleType, tmp_path: Path) -> None:
    trace = recorded_pass(find_model(stated.Configured(), "model"), seed=0).trace
    write_trace(trace, tmp_path / "model.trace")
    assert read_trace(tmp_path / "model.trace").configuration == trace.configuration


class Constants:
    rope_base, n_layers, name = 10000.0, 2, "small"


class Named(NamedTuple):
    rope_base: float = 10000.0
    n_layers: int = 2
    name: str = "small"


@pytest.mark.parametrize(
    "kept",
    (Constants, Constants(), Named(), {"rope_base": 10000.0, "n_layers": 2, "name": "small"}),
    ids=("class", "object", "named tuple", "dictionary"),
)
def test_a_configuration_may_have_any_name(kept: Any) -> None:
    stated = configuration_of(SimpleNamespace(c=kept, weight=torch.zeros(2)))
    assert stated == {"c.rope_base": 10000.0, "c.n_layers": 2, "c.name": "small"}


def test_parts_of_a_model_are_no_configuration() -> None:
    linear = SimpleNamespace(rows=2, columns=3, bias=True, weight=torch.zeros(2, 3))
    several = SimpleNamespace(rows=2, columns=3, bias=True, weights=[torch.zeros(2, 3)])
    parts = SimpleNamespace(first=linear, second=torch.nn.Linear(2, 2), third=several)
    assert configuration_of(parts) == {}


HOME = """
SETTINGS = {"rope_base": 500000.0, "n_heads": 4, "layers": 2}
class Model:
    def __call__(self, tokens):
        return SETTINGS["n_heads"]
def build():
    return Model()
"""


@pytest.mark.parametrize(
    ("source", "states"),
    (
        (HOME, True),
        # Read where a model is built, it may be changed before.
        (
            HOME.replace('return SETTINGS["n_heads"]', "return 0").replace(
                "return Model()", "return SETTINGS and Model()"
            ),
            False,
        ),
        (HOME + 'OTHER = {"rope_base": 10000.0, "n_heads": 4, "layers": 2}\n', False),
    ),
    ids=("read by the model", "read where it is built", "two of them"),
)
def test_a_configuration_of_the_module_is_that_which_the_model_reads(source: str, states: bool) -> None:
    home = ModuleType("home")
    exec(source, vars(home))
    stated = configuration_of(vars(home)["Model"](), home=home)
    assert stated.get("SETTINGS.rope_base") == (500000.0 if states else None)


def test_one_layer_contradicts_what_is_stated_of_all(stated: ModuleType) -> None:
    (departure,) = found(stated.with_another_activation_in_the_last_layer(hidden_act="silu")).departures
    assert (departure.layer, departure.step) == (1, "activation")
    assert departure.sentence == "the configuration says that config.hidden_act is silu, and the activation is gelu"
    assert found(stated.with_another_activation_in_the_last_layer(hidden_act="tanh")).departures == ()
    assert found(stated.with_another_activation_in_the_last_layer()).departures == ()


@pytest.mark.parametrize(("asked", "done"), [(True, True), (False, False), (True, False), (False, True)])
def test_what_a_part_keeps_under_a_name_of_one_meaning_is_stated(stated: ModuleType, asked: bool, done: bool) -> None:
    departures = found(stated.with_experts(asked, done)).departures
    assert [f"norm_topk_prob is {asked}" in one.sentence for one in departures] == [True] * (2 * (asked is not done))


def test_a_configuration_that_all_parts_keep_is_the_models(stated: ModuleType) -> None:
    assert found(stated.KeepsItInParts(rope_theta=10000.0)).agreed == ("config.rope_theta 10000",)
    assert {one.layer for one in found(stated.KeepsItInParts(rope_theta=500000.0)).departures} == {0, 1}


@pytest.mark.parametrize(
    ("stated", "turned", "same"),
    ((0.25, "4 of 16", True), (0.9, "14 of 16", True), (0.75, "8 of 16", False), (0.9, "8 of 16", False)),
)
def test_a_share_of_a_head_is_cut_down_to_its_own_pairs(stated: float, turned: str, same: bool) -> None:
    assert is_share(stated, turned) is same


@pytest.mark.parametrize("beside", ({}, {"use_sliding_window": True}, {"layer_types": ["sliding_attention"] * 2}))
def test_a_stated_window_that_no_layer_has_departs(stated: ModuleType, beside: dict[str, Any]) -> None:
    departures = found(stated.with_names(sliding_window=4, **beside)).departures
    sentence = "the configuration says that config.sliding_window is 4, and each query sees every earlier key"
    assert [(one.layer, one.sentence) for one in departures] == [(0, sentence), (1, sentence)]


@pytest.mark.parametrize(
    "explained",
    (
        {"sliding_window": 11},
        {"sliding_window": 0},
        {"sliding_window": None},
        {"window_size": 4},
        {"sliding_window": 4, "use_sliding_window": False},
        {"sliding_window": 4, "layer_types": ["full_attention", "full_attention"]},
        {"sliding_window": 4, "max_window_layers": 2},
        {"sliding_window": 4, "sliding_window_pattern": 1},
    ),
    ids=str,
)
def test_a_stated_window_that_nothing_shows_or_asks_for_does_not(stated: ModuleType, explained: dict[str, Any]) -> None:
    assert found(stated.with_names(**explained)).departures == ()


def test_a_stated_window_that_one_layer_has_does_not(stated: ModuleType) -> None:
    recognition = found(stated.with_a_window_in_the_last_layer(sliding_window=4))
    assert recognition.departures == ()
    assert recognition.agreed == ("config.sliding_window 4 (the query's own key among them)",)
