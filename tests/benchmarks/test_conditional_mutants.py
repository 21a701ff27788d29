"""The benchmark of conditional mutants: what is drawn is killed, what cannot be drawn survives."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import pytest


def named(benchmark: ModuleType, operation: str, name: str) -> object:
    (found,) = (one for one in benchmark.conditions_of(operation) if one.name == name)
    return found


def test_there_are_conditions_on_every_operation(benchmark: ModuleType) -> None:
    numbers = {operation: len(benchmark.conditions_of(operation)) for operation in benchmark.OPERATIONS}
    assert min(numbers.values()) >= 10
    assert sum(numbers.values()) >= 400


def test_a_backward_pass_has_the_conditions_of_its_forward_pass(benchmark: ModuleType) -> None:
    names = {one.name for one in benchmark.conditions_of("layer_norm_backward")}
    assert names >= {one.name for one in benchmark.conditions_of("layer_norm")}
    arguments = {"x": np.zeros((2, 3, 64)), "gamma": np.ones(64)}
    assert named(benchmark, "layer_norm_backward", "E > 16").holds(benchmark.Call("layer_norm_backward", arguments))


def test_no_two_conditions_of_an_operation_have_one_name(benchmark: ModuleType) -> None:
    for operation in benchmark.OPERATIONS:
        names = [one.name for one in benchmark.conditions_of(operation)]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("operation", "name"),
    (
        ("softmax", "n is odd and > 1"),
        ("layer_norm", "beta has a zero"),
        ("causal_mask", "S > L"),
        ("gelu", "every call after the first"),
        ("silu", "float64"),
        ("initial_weights", "config.num_layers 2, seed 0"),
    ),
)
def test_what_is_drawn_is_killed(benchmark: ModuleType, operation: str, name: str) -> None:
    assert benchmark.killed(named(benchmark, operation, name), "quick", 0)


def test_what_cannot_be_drawn_survives(benchmark: ModuleType) -> None:
    never = benchmark.Condition("softmax", "size", "n > 10,000,000", lambda call: call.sizes["n"] > 10_000_000)
    assert not benchmark.killed(never, "quick", 0)


def test_the_laws_that_meet_a_condition_kill_its_mutant(benchmark: ModuleType) -> None:
    met = benchmark.watched("padding_mask", "quick", 0)
    condition = named(benchmark, "padding_mask", "lengths with a 1")
    assert met[condition.name]
    assert benchmark.killed(condition, "quick", 0, met[condition.name])


@pytest.mark.parametrize(
    ("operation", "name"),
    (
        ("clip_by_global_norm", "a norm just beyond the bound"),
        ("adamw_step", "step > 1000"),
        ("warmup_cosine_learning_rate", "beyond the schedule"),
        ("feed_forward_backward", "F == 1"),
        ("softmax_backward", "n > 32768"),
        ("cross_entropy_backward", "reduction sum, more than 256 classes"),
        ("scaled_dot_product_attention_backward", "mask hides everything"),
        ("multi_head_attention_backward", "weights.b_q has a negative entry"),
        ("encoder_layer_backward", "B > 4"),
        ("encoder_decoder_backward", "S > 64"),
        ("language_model_backward", "N > 1000"),
    ),
)
def test_what_is_drawn_of_training_and_of_gradients_is_killed(benchmark: ModuleType, operation: str, name: str) -> None:
    assert benchmark.killed(named(benchmark, operation, name), "quick", 0)


def test_every_array_of_a_list_and_of_a_record_is_wrong() -> None:
    from conditions.mutants import wrong

    first, second = wrong([np.ones(2), np.zeros(3)])
    assert np.all(first != 1.0)
    assert np.all(second != 0.0)
    weights = SimpleNamespace(w_1=np.ones((2, 3)), b_1=None, b_2=np.zeros(2))
    changed = wrong((np.ones(2), weights))[1]
    assert np.all(changed.w_1 != 1.0)
    assert np.all(changed.b_2 != 0.0)
    assert changed.b_1 is None


@pytest.mark.parametrize("result", (np.ones(3, np.float32), np.array([True, False]), np.arange(3), np.float32(0.0)))
def test_every_entry_of_a_wrong_result_is_wrong(result: np.ndarray) -> None:
    from conditions.mutants import wrong

    changed = wrong(result)
    assert np.all(changed != result)
    assert changed.dtype == result.dtype
    assert np.shape(changed) == np.shape(result)


def test_the_page_names_what_survived_every_seed(benchmark: ModuleType) -> None:
    names = [one.name for one in benchmark.conditions_of("silu")]
    first = benchmark.Outcome("silu", "quick", 0, tuple(names[1:]), (names[0],), ())
    second = benchmark.Outcome("silu", "quick", 1, (names[0], *names[3:]), (names[1],), (names[2],))
    text = benchmark.page((first, second), ("quick",), (0, 1), "python benchmarks/conditional_mutants.py")
    assert "These 0 were caught at no seed" in text
    assert f"These {1} were caught at no seed" in benchmark.page((first,), ("quick",), (0,), "")
    assert f"- `silu`: {names[0]}\n" in benchmark.page((first,), ("quick",), (0,), "")
