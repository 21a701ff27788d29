"""Calling: what is handed over, what comes back, and what cannot be judged."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import OperationRaised, UnjudgeableResult, UnsupportedDtype
from veriformer.adapters.loading import load

B, H, L, S, D, WIDTH = 2, 3, 5, 7, 4, 6
RANDOM = np.random.default_rng(5)
QUERY = RANDOM.integers(-8, 8, (B, H, L, D)).astype(float)
KEY = RANDOM.integers(-8, 8, (B, H, S, D)).astype(float)
VALUE = RANDOM.integers(-8, 8, (B, H, S, WIDTH)).astype(float)
ATTENTION = {"query": QUERY, "key": KEY, "value": VALUE}


def call(function, operation="scaled_dot_product_attention", arguments=None, *, framework="numpy", **settings):
    implementation = load(SimpleNamespace(framework=framework, **{operation: function}))
    return prepare(implementation, operation, arguments or ATTENTION, **{"dtype": "float32"} | settings)


def returning(value: Any, framework: str = "numpy"):
    # Once: it takes the arrays of no other framework.
    once = iter([value])
    return call(lambda q, k, v: next(once), framework=framework)


@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
def test_arguments_arrive_by_position_in_the_framework_arrays(framework):
    seen = {}

    def attention(*positional, **keywords):
        seen.update(positional=positional, keywords=keywords)
        return positional[0]

    arguments = ATTENTION | {"mask": np.ones((L, S), bool), "scale": np.float64(0.5), "bias": None}
    result = call(attention, arguments=arguments, framework=framework).run()
    arrays = load(framework).framework
    assert [tuple(array.shape) for array in seen["positional"]] == [(B, H, L, D), (B, H, S, D), (B, H, S, WIDTH)]
    assert all(arrays.dtype_name(array) == "float32" for array in seen["positional"])
    assert set(seen["keywords"]) == {"mask", "scale"}
    assert arrays.dtype_name(seen["keywords"]["mask"]) == "bool"
    assert type(seen["keywords"]["scale"]) is float
    assert (result.dtype, result.shape) == ("float32", (B, H, L, D))
    np.testing.assert_array_equal(result.value, QUERY)


@pytest.mark.parametrize("operation", ["scaled_dot_product_attention", "grouped_query_attention"])
def test_layout_moves_heads_behind_lengths_and_back(operation):
    seen = []

    def attention(query, key, value, mask=None, bias=None):
        seen.extend([query.shape, key.shape, value.shape, mask.shape, bias.shape])
        return query

    arguments = ATTENTION | {"mask": np.ones((1, H, L, S), bool), "bias": np.zeros((B, 1, L, S))}
    result = call(attention, operation, arguments, layout="blhd").run()
    assert seen[:3] == [(B, L, H, D), (B, S, H, D), (B, S, H, WIDTH)]
    assert seen[3:] == [(1, H, L, S), (B, 1, L, S)]
    np.testing.assert_array_equal(result.value, QUERY)
    assert result.value.flags.c_contiguous


def test_layout_covers_queries_and_keys_but_not_the_weights_that_come_of_them():
    weights = call(lambda query, key: query, "attention_weights", {"query": QUERY, "key": KEY}, layout="blhd")
    assert weights.framework_arguments["query"].shape == (B, L, H, D)
    assert weights.run().shape == (B, L, H, D), "the result of attention_weights is handed back as it came"


def test_layout_does_not_hide_a_wrong_rank():
    assert call(lambda q, k, v: q[0], layout="blhd").run().shape == (L, H, D)


def test_polarity_inverts_the_mask_and_nothing_else():
    mask = RANDOM.random((L, S)) > 0.5
    prepared = call(lambda q, k, v, mask=None: q, arguments=ATTENTION | {"mask": mask}, mask_polarity="true_is_masked")
    np.testing.assert_array_equal(prepared.framework_arguments["mask"], ~mask)
    np.testing.assert_array_equal(prepared.framework_arguments["query"], QUERY)


@pytest.mark.parametrize("setting", [{"layout": "lbhd"}, {"mask_polarity": "true"}])
def test_unknown_conventions_are_refused(setting):
    with pytest.raises(ValueError, match="it is '"):
        call(lambda q, k, v: q, **setting)


def test_the_suite_own_mistakes_are_told():
    with pytest.raises(KeyError, match="does not declare softmax"):
        prepare(load(SimpleNamespace(layer_norm=abs)), "softmax", {}, dtype="float32")
    with pytest.raises(KeyError, match="has no parameter 'maks'"):
        call(lambda q, k, v: q, arguments=ATTENTION | {"maks": QUERY})
    with pytest.raises(ValueError, match="scaled_dot_product_attention needs key, value; received query"):
        call(lambda q, k, v: q, arguments={"query": QUERY})
    with pytest.raises(UnsupportedDtype):
        call(lambda q, k, v: q, dtype="bfloat16")


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_strided_arguments(framework):
    prepared = call(lambda q, k, v: q + 0, framework=framework, strided=True)
    query = prepared.framework_arguments["query"]
    assert not (query.flags.c_contiguous if framework == "numpy" else query.is_contiguous())
    np.testing.assert_array_equal(prepared.run().value, QUERY)


def test_a_call_can_be_repeated_on_the_same_arrays():
    seen = []
    prepared = call(lambda q, k, v: seen.append(q) or q * 2)
    first, second = prepared.run(), prepared.run()
    assert seen[0] is seen[1]
    np.testing.assert_array_equal(first.value, second.value)


def test_the_result_is_a_copy():
    prepared = call(lambda q, k, v: q)
    prepared.run().value[:] = 99
    np.testing.assert_array_equal(prepared.run().value, QUERY)


def test_one_array_given_twice_arrives_as_one():
    prepared = call(lambda q, k, v: q, arguments={"query": QUERY, "key": QUERY, "value": QUERY.copy()})
    arrays = prepared.framework_arguments
    assert arrays["query"] is arrays["key"]
    assert arrays["value"] is not arrays["query"]


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_a_changed_input_is_seen_and_the_canonical_arrays_are_safe(framework):
    def attention(q, k, v):
        k[0, 0, 0, 0] = 99
        return q

    key = KEY.copy()
    prepared = call(attention, framework=framework, arguments=ATTENTION | {"key": key})
    before = prepared.arguments_now()
    prepared.run()
    after = prepared.arguments_now()
    changed = [name for name in before if not np.array_equal(before[name], after[name])]
    assert changed == ["key"]
    assert after["key"][0, 0, 0, 0] == 99
    np.testing.assert_array_equal(key, KEY)


@dataclass(frozen=True)
class Weights:
    w_q: np.ndarray
    w_k: np.ndarray
    w_v: np.ndarray
    w_o: np.ndarray
    b_q: np.ndarray | None = None
    b_o: np.ndarray | None = None


MATRICES = {name: RANDOM.integers(-4, 4, (4, 4)).astype(float) for name in ("w_q", "w_k", "w_v", "w_o")}


@pytest.mark.parametrize("form", [Weights, dict, SimpleNamespace], ids=["dataclass", "mapping", "object"])
@pytest.mark.parametrize("framework", ["numpy", "torch", "jax"])
def test_weights_arrive_as_attributes_in_the_framework_arrays(form, framework):
    def multi_head(x, context, weights, *, num_heads):
        assert weights.b_q is None
        assert num_heads == 2
        return x @ weights.w_q + weights.b_o

    weights = form(**MATRICES, b_q=None, b_o=np.ones(4))
    x = RANDOM.integers(-4, 4, (1, 3, 4)).astype(float)
    arguments = {"x": x, "context": x, "weights": weights, "num_heads": 2}
    prepared = call(multi_head, "multi_head_attention", arguments, framework=framework)
    np.testing.assert_array_equal(prepared.run().value, x @ MATRICES["w_q"] + 1)
    assert set(prepared.arguments_now()) == {"x", "context", *(f"weights.{name}" for name in [*MATRICES, "b_o"])}


def test_groups_of_weights_and_mutated_weights():
    def multi_head(x, context, weights, *, num_heads):
        weights.inner.gamma += 1
        weights.w_q = None
        return x

    weights = {"inner": SimpleNamespace(gamma=np.zeros(2), eps=1e-5), "w_q": np.ones(2)}
    arguments = {"x": np.ones((1, 1, 2)), "context": np.ones((1, 1, 2)), "weights": weights, "num_heads": 1}
    prepared = call(multi_head, "multi_head_attention", arguments)
    assert prepared.arguments_now()["weights.inner.gamma"].tolist() == [0, 0]
    prepared.run()
    now = prepared.arguments_now()
    assert now["weights.inner.gamma"].tolist() == [1, 1]
    assert "weights.w_q" not in now
    assert weights["inner"].gamma.tolist() == [0, 0]


def test_integer_and_scalar_arguments():
    prepared = call(
        lambda lengths, max_length: np.arange(max_length) < lengths[:, None],
        "padding_mask",
        {"lengths": np.array([1, 3], dtype=np.int32), "max_length": np.int64(3)},
    )
    assert prepared.framework_arguments["lengths"].dtype == np.int64
    assert type(prepared.framework_arguments["max_length"]) is int
    result = prepared.run()
    assert (result.dtype, result.value.tolist()) == ("bool", [[True, False, False], [True, True, True]])


@pytest.mark.parametrize("error", [ValueError, SystemExit, GeneratorExit, StopIteration])
def test_an_exception_becomes_an_error_that_names_it(error):
    def attention(q, k, v):
        raise error("shapes do not fit\nsecond line")

    with pytest.raises(OperationRaised) as caught:
        call(attention).run()
    message = f"scaled_dot_product_attention raised {error.__name__}: shapes do not fit"
    assert str(caught.value) == message
    assert caught.value.operation == "scaled_dot_product_attention"
    assert type(caught.value.original) is error
    assert caught.value.__cause__ is caught.value.original


def test_long_and_broken_messages_are_bounded():
    class Broken(Exception):
        def __str__(self):
            raise RuntimeError

    def attention(q, k, v):
        raise error

    error = ValueError("x" * 10_000)
    with pytest.raises(OperationRaised) as caught:
        call(attention).run()
    assert len(str(caught.value)) < 300
    error = Broken()
    with pytest.raises(OperationRaised, match=r"raised Broken$"):
        call(attention).run()


def test_an_interrupt_passes():
    def attention(q, k, v):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call(attention).run()


def test_a_signature_that_does_not_fit_is_reported_as_raised():
    with pytest.raises(OperationRaised, match=r"raised TypeError: .*positional argument"):
        call(lambda q, k: q).run()


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (None, "None"),
        ((QUERY, None), "a tuple of 2 things"),
        ([QUERY], "a list of 1 things"),
        (1.5, "the Python number 1.5"),
        ("text", "a str"),
        (np.array([None]), "an array of dtype object"),
        (QUERY * 1j, "an array of dtype complex128"),
    ],
    ids=["none", "tuple", "list", "number", "text", "object", "complex"],
)
def test_what_cannot_be_judged(value, described):
    with pytest.raises(UnjudgeableResult) as caught:
        returning(value).run([(2, 3, 5, 7)])
    message = str(caught.value)
    assert message.startswith(f"scaled_dot_product_attention returned {described}; expected a numpy array of shape (2,")


def test_arrays_of_another_framework_cannot_be_judged():
    torch = pytest.importorskip("torch")
    with pytest.raises(UnjudgeableResult, match=r"returned a torch Tensor; expected a numpy array$"):
        returning(torch.ones(2)).run()
    with pytest.raises(UnjudgeableResult, match=r"a numpy ndarray; expected a torch tensor of shape \(2, 3\)$"):
        returning(np.ones(2), "torch").run([(2, 3)])


def test_a_numpy_array_is_no_jax_array():
    pytest.importorskip("jax")
    with pytest.raises(UnjudgeableResult, match=r"a numpy ndarray; expected a jax array$"):
        returning(np.ones(2), "jax").run()


def test_a_tensor_that_cannot_be_read():
    torch = pytest.importorskip("torch")
    with pytest.raises(UnjudgeableResult, match="returned a torch tensor that cannot be read"):
        returning(torch.ones(2, device="meta"), "torch").run()
    with pytest.raises(UnjudgeableResult, match="an array of dtype complex64"):
        returning(torch.ones(2, dtype=torch.complex64), "torch").run()


def test_the_expected_shape_is_told_in_the_implementation_layout():
    with pytest.raises(UnjudgeableResult, match=r"expected a numpy array of shape \(2, 5, 3, 7\)$"):
        call(lambda q, k, v: None, layout="blhd").run([(2, 3, 5, 7)])


def test_a_wrong_shape_is_a_result():
    assert returning(np.ones((1, 2), np.float16)).run([(2, 3, 5, 7)]).shape == (1, 2)


@pytest.mark.filterwarnings("error")
def test_numpy_warnings_about_nan_are_not_shown_but_errors_asked_for_are_kept():
    assert np.isnan(call(lambda q, k, v: q * 0 / 0).run().value).all()
    with np.errstate(divide="raise"), pytest.raises(OperationRaised, match="FloatingPointError"):
        call(lambda q, k, v: np.ones(2) / np.zeros(2)).run()


@pytest.mark.parametrize(("framework", "follows"), [("numpy", True), ("torch", True), ("jax", False)])
def test_a_result_that_is_an_argument_is_seen_to_change_with_it(framework, follows):
    other = call(lambda q, k, v: q, arguments=ATTENTION | {"query": QUERY + 1}, framework=framework)
    first, afterwards, second = call(lambda q, k, v: q, framework=framework).run_again_on(other)
    np.testing.assert_array_equal(first.value, QUERY)
    np.testing.assert_array_equal(afterwards.value, QUERY + follows)
    np.testing.assert_array_equal(second.value, QUERY + follows)


def test_a_result_in_a_buffer_is_seen_to_be_overwritten_by_the_second_call():
    buffer = np.zeros((B, H, L, D), dtype=np.float32)

    def attention(query, key, value):
        buffer[...] = 2 * query
        return buffer

    other = call(attention, arguments=ATTENTION | {"query": QUERY + 1})
    first, afterwards, _ = call(attention).run_again_on(other)
    np.testing.assert_array_equal(first.value, 2 * QUERY)
    np.testing.assert_array_equal(afterwards.value, 2 * QUERY + 2)


def test_an_argument_of_another_shape_is_not_overwritten():
    longer = ATTENTION | {"query": np.concatenate([QUERY, QUERY], axis=2)}
    first, afterwards, _ = call(lambda q, k, v: q).run_again_on(call(lambda q, k, v: q, arguments=longer))
    np.testing.assert_array_equal(first.value, afterwards.value)
