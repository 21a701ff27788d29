"""Functions of JAX, recorded: every kind of equation, control flow, precision, places."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from veriformer.adapters.capture.jax import capture  # noqa: E402
from veriformer.adapters.capture.trace import Kind  # noqa: E402
from veriformer.adapters.capture.weights import generator_of, perturbed  # noqa: E402
from veriformer.adapters.errors import LoadError  # noqa: E402

TOKENS = np.random.default_rng(7).integers(0, 13, (2, 11))
HEADS = 2


def normal(index, *shape):
    return np.random.default_rng(index).normal(size=shape).astype(np.float32)


def parameters():
    return {
        "table": normal(0, 13, 6),
        "layers": [
            {"qkv": normal(10 * i + 1, 6, 18), "out": normal(10 * i + 2, 6, 6), "gain": 1 + normal(10 * i + 3, 6)}
            for i in range(2)
        ],
    }


def block(layer, x):
    batch, length, width = x.shape
    y = x / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5) * layer["gain"]
    q, k, v = jnp.split(y @ layer["qkv"], 3, axis=-1)
    q, k, v = (t.reshape(batch, length, HEADS, width // HEADS).transpose(0, 2, 1, 3) for t in (q, k, v))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / (width // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
    mixed = jax.nn.softmax(scores, axis=-1) @ v
    return x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ layer["out"]


def language_model(weights, tokens):
    x = weights["table"][tokens]
    for layer in weights["layers"]:
        x = block(layer, x)
    return x @ weights["table"].T


def scanned(weights, tokens):
    x = weights["table"][tokens]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *weights["layers"])
    x, norms = jax.lax.scan(lambda x, layer: (block(layer, x), jnp.sum(x)), x, stacked)
    return x @ weights["table"].T, norms


def in_float64(function, weights, *inputs):
    """Return what a function returns in float64, operation by operation."""
    with jax.enable_x64(True), jax.disable_jit():
        wide = jax.tree.map(lambda array: jnp.asarray(array, dtype=jnp.float64), weights)
        return [np.asarray(leaf) for leaf in jax.tree.leaves(function(wide, *inputs))]


def outputs(trace):
    return [trace.values[index].array for index in trace.outputs]


def only(trace, operation):
    found = [step for step in trace.steps if step.operation == operation]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("function", [language_model, scanned, jax.jit(language_model), jax.checkpoint(language_model)])
def test_the_outputs_are_the_models_own_to_the_last_bit(function, assert_in_order):
    weights = parameters()
    trace = capture((function, weights), (TOKENS,))
    assert_in_order(trace)
    assert trace.dtype == "float64" and trace.framework == "jax"
    expected = in_float64(function, weights, jnp.asarray(TOKENS, dtype=jnp.int32))
    assert len(expected) == len(trace.outputs)
    for mine, its in zip(outputs(trace), expected, strict=True):
        assert mine.dtype == np.float64
        np.testing.assert_array_equal(mine, its)


def test_parameters_have_paths_and_inputs_names():
    trace = capture((language_model, parameters()), (TOKENS,))
    assert set(trace.parameters) == {
        "table",
        *(f"layers.{i}.{name}" for i in range(2) for name in ("qkv", "out", "gain")),
    }
    (taken,) = trace.inputs
    assert trace.values[taken].name == "tokens"
    np.testing.assert_array_equal(trace.values[taken].array, TOKENS)
    np.testing.assert_array_equal(trace.values[trace.parameters["table"]].array, parameters()["table"])


def test_inputs_by_keyword_and_in_a_dictionary_have_names():
    def function(weights, batch, *, scale):
        return weights["w"] * batch["x"] * scale

    trace = capture((function, {"w": np.ones(3)}), ({"x": np.ones(3)},), {"scale": np.array(2.0)})
    assert [trace.values[index].name for index in trace.inputs] == ["batch.x", "scale"]


def test_kinds_are_those_of_the_operations():
    trace = capture((language_model, parameters()), (TOKENS,))
    kinds = {step.operation: step.kind for step in trace.steps}
    assert kinds["dot_general"] is Kind.CONTRACTION
    assert kinds["gather"] is Kind.LOOKUP
    assert kinds["add"] is Kind.ADDITION
    assert kinds["reshape"] is kinds["transpose"] is kinds["split"] is Kind.REARRANGEMENT
    assert kinds["select_n"] is kinds["exp"] is kinds["mul"] is Kind.OTHER
    assert "jit" not in kinds


@pytest.mark.parametrize(
    ("take", "kind"),
    [
        (lambda table, tokens: table[tokens], Kind.LOOKUP),
        (lambda table, tokens: jnp.take(table, tokens, axis=0), Kind.LOOKUP),
        (lambda table, tokens: jax.vmap(jax.vmap(lambda token: table[token]))(tokens), Kind.LOOKUP),
        (lambda table, tokens: table[:, tokens], Kind.REARRANGEMENT),
        (lambda table, tokens: jnp.take_along_axis(table, tokens[:1, :6] % 2, axis=0), Kind.REARRANGEMENT),
        (lambda table, tokens: table[:11, tokens[0] % 6], Kind.REARRANGEMENT),
    ],
)
def test_a_lookup_takes_whole_rows(take, kind):
    function = lambda weights, tokens: take(weights["table"], tokens)  # noqa: E731
    trace = capture((function, {"table": normal(0, 13, 6)}), (TOKENS % 6,))
    gathers = [step for step in trace.steps if step.operation == "gather"]
    assert gathers and {step.kind for step in gathers} == {kind}


def test_a_product_with_one_hot_rows_stays_a_contraction():
    trace = capture((lambda w, t: jax.nn.one_hot(t, 13) @ w["table"], {"table": normal(0, 13, 6)}), (TOKENS,))
    assert only(trace, "dot_general").kind is Kind.CONTRACTION


def test_a_product_tells_its_axes():
    trace = capture(
        (lambda w, x: jnp.einsum("bqhd,bkhd->bhqk", x, x * w["g"]), {"g": normal(0, 3)}), (normal(1, 2, 5, 4, 3),)
    )
    step = only(trace, "dot_general")
    first, second = (trace.values[step.operands[place]].array for place in step.attributes["factors"])
    (one, other), (left, right) = step.attributes["contracted"], step.attributes["parallel"]
    assert (len(one), len(left)) == (1, 2)
    moved = np.moveaxis(first, left, (0, 1)), np.moveaxis(second, right, (0, 1))
    assert first.shape[one[0]] == second.shape[other[0]] == 3
    expected = np.einsum("bhqd,bhkd->bhqk", *moved)
    np.testing.assert_allclose(trace.values[step.results[0]].array, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("convert", "kind"),
    [
        (lambda x: x.astype(jnp.bfloat16), Kind.REARRANGEMENT),
        (lambda x: x.astype(jnp.int32), Kind.OTHER),
        (lambda x: (x > 0).astype(jnp.float32), Kind.OTHER),
    ],
)
def test_a_cast_moves_values_only_between_dtypes_of_a_kind(convert, kind):
    trace = capture((lambda w, x: convert(w * x), np.array([1.5, 2.5, -1.0], np.float32)), (np.ones(3),))
    assert only(trace, "convert_element_type").kind is kind


def test_a_scan_is_its_turns(assert_in_order):
    weights = parameters()
    trace = capture((scanned, weights), (TOKENS,))
    slices = [step for step in trace.steps if step.operation == "scan_slice"]
    assert len(slices) == 6 and all(step.kind is Kind.REARRANGEMENT for step in slices)
    taken = [trace.values[step.results[0]].array for step in slices if trace.values[step.results[0]].array.ndim == 1]
    np.testing.assert_array_equal(taken, [layer["gain"] for layer in weights["layers"]])
    stacked = only(trace, "scan_stack")
    assert len(stacked.operands) == 2 and stacked.kind is Kind.REARRANGEMENT
    assert stacked.results[0] == trace.outputs[1]


def test_a_scan_from_the_end(assert_in_order):
    def function(weight, xs):
        return jax.lax.scan(lambda c, x: (weight * (c + x), c), 0.0 * weight, xs, reverse=True)

    xs = np.array([1.0, 2.0, 4.0])
    trace = capture((function, np.array(0.5)), (xs,))
    assert_in_order(trace)
    last, carried = outputs(trace)
    np.testing.assert_array_equal(carried, [2.0, 2.0, 0.0])
    assert last == 1.5


def test_loops_and_branches_are_what_was_run(assert_in_order):
    def function(weight, x):
        doubled = jax.lax.while_loop(lambda c: jnp.sum(c) < 20, lambda c: c * weight, x)
        return jax.lax.cond(doubled[0] > 3, jnp.sin, jnp.cos, doubled)

    trace = capture((function, np.array(2.0)), (np.array([1.0, 2.0]),))
    assert_in_order(trace)
    operations = [step.operation for step in trace.steps]
    assert operations.count("mul") == 3 and operations.count("reduce_sum") == 4
    assert "sin" in operations and "cos" not in operations
    np.testing.assert_allclose(outputs(trace)[0], np.sin([8.0, 16.0]), rtol=1e-12)


def test_functions_with_derivatives_of_their_own_are_entered():
    @jax.custom_jvp
    def triple(x):
        return jnp.tanh(x) * 3

    triple.defjvps(lambda t, _, x: 3 * t)

    @jax.custom_vjp
    def square(x):
        return jnp.exp(x)

    square.defvjp(lambda x: (x, x), lambda x, t: (x * t,))
    trace = capture((lambda w, x: square(triple(w * x)), np.array(1.5)), (np.ones(3),))
    assert [step.operation for step in trace.steps] == ["mul", "tanh", "mul", "exp"]


def test_boundaries_make_no_step():
    trace = capture((lambda w, x: jax.lax.stop_gradient(jax.jit(lambda y: y)(w + x)), np.array(1.5)), (np.ones(3),))
    assert [step.operation for step in trace.steps] == ["add"]


def test_a_message_in_between_is_not_sent(capsys):
    def function(w, x):
        jax.debug.print("x is {}", x)
        return w * x

    trace = capture((function, np.array(1.5)), (np.ones(3),))
    assert [step.operation for step in trace.steps] == ["mul"]
    assert "x is" not in capsys.readouterr().out


def test_a_function_outside_of_jax_is_opaque():
    def function(w, x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), w * x)

    trace = capture((function, np.array(1.5, np.float32)), (np.ones(3),))
    np.testing.assert_allclose(outputs(trace)[0], np.sin(np.full(3, 1.5)), rtol=1e-6)
    assert "pure_callback" in trace.opaque[""]


def test_what_the_model_closes_over_is_constant():
    table = jnp.asarray(normal(0, 13, 6))
    trace = capture(lambda tokens: table[tokens], (TOKENS,))
    constants = [value.array for value in trace.values if value.origin == "constant" and value.array.ndim == 2]
    np.testing.assert_array_equal(constants[0], table)
    assert trace.parameters == {}
    np.testing.assert_array_equal(outputs(trace)[0], np.asarray(table)[TOKENS])


def test_a_parameter_that_occurs_twice_is_one_value():
    shared = normal(0, 13, 6)
    trace = capture((lambda w, t: w["in"][t] @ w["out"].T, {"in": shared, "out": shared}), (TOKENS,), seed=3)
    assert list(trace.parameters) == ["in"]
    value = trace.values[trace.parameters["in"]]
    assert value.aliases == ("out",)
    assert only(trace, "gather").operands[0] == trace.parameters["in"]


def test_numbers_among_the_parameters_stay_numbers():
    trace = capture((lambda w, x: x.reshape(w["heads"], -1) * w["scale"], {"heads": 3, "scale": 0.5}), (np.ones(6),))
    assert outputs(trace)[0].shape == (3, 2)


def test_a_seed_draws_the_parameters_and_leaves_the_model_alone():
    weights = parameters()
    before = jax.tree.map(np.copy, weights)
    trace = capture((language_model, weights), (TOKENS,), seed=5)
    again = capture((language_model, weights), (TOKENS,), seed=5)
    other = capture((language_model, weights), (TOKENS,), seed=6)
    assert jax.tree.all(jax.tree.map(np.array_equal, weights, before))
    drawn = trace.values[trace.parameters["table"]].array
    place = list(trace.parameters).index("table")
    np.testing.assert_array_equal(drawn, perturbed(weights["table"], generator_of(5, place)))
    np.testing.assert_array_equal(outputs(trace)[0], outputs(again)[0])
    assert not np.array_equal(outputs(trace)[0], outputs(other)[0])
    filled = jax.tree.unflatten(
        jax.tree.structure(weights), [trace.values[index].array for index in trace.parameters.values()]
    )
    np.testing.assert_array_equal(outputs(trace)[0], in_float64(language_model, filled, jnp.asarray(TOKENS))[0])


def test_a_mask_among_the_parameters_is_a_buffer_and_stays():
    mask = np.tril(np.ones((11, 11), np.float32))
    trace = capture(
        (lambda w, t: w["table"][t].sum(-1) @ w["mask"], {"table": normal(0, 13, 6), "mask": mask}), (TOKENS,), seed=1
    )
    assert list(trace.parameters) == ["table"]
    (buffer,) = [value for value in trace.values if value.origin == "buffer"]
    np.testing.assert_array_equal(buffer.array, mask)


def test_a_cast_to_the_models_own_precision_is_none():
    trace = capture((lambda w, x: jnp.exp((w * x).astype(jnp.float32)), normal(0, 3)), (np.ones(3),))
    assert trace.dtype == "float64"
    assert [step.operation for step in trace.steps] == ["mul", "exp"]
    np.testing.assert_allclose(outputs(trace)[0], np.exp(normal(0, 3).astype(np.float64)), rtol=1e-14)


def test_a_cast_down_is_done():
    trace = capture((lambda w, x: jnp.exp((w * x).astype(jnp.bfloat16)), normal(0, 3)), (np.ones(3),))
    assert trace.dtype == "bfloat16"
    error = np.abs(outputs(trace)[0] / np.exp(normal(0, 3).astype(np.float64)) - 1)
    assert 1e-4 < error.max() < 1e-1


def test_a_constant_that_was_rounded_to_single_precision_is_told():
    rounded = capture((lambda w, x: (w * x).astype(jnp.float32) * 0.123456789, normal(0, 3)), (np.ones(3),))
    exact = capture((lambda w, x: (w * x).astype(jnp.float32) * 0.375, normal(0, 3)), (np.ones(3),))
    assert (rounded.dtype, exact.dtype) == ("float32", "float64")


def test_a_constant_that_was_a_root_is_one_again():
    trace = capture((lambda w, x: (w * x).astype(jnp.float32) * 0.3535533905932738, normal(0, 3)), (np.ones(3),))
    assert trace.dtype == "float64"
    np.testing.assert_allclose(outputs(trace)[0], normal(0, 3).astype(np.float64) / 8**0.5, rtol=1e-15)


def test_a_table_that_was_rounded_to_single_precision_is_told():
    table = np.cos(np.arange(11)[:, None] / 100 ** (np.arange(6) / 6)).astype(np.float32)
    trace = capture((lambda w, t: w["table"][t] * w["cos"], {"table": normal(0, 13, 6), "cos": table}), (TOKENS,))
    assert trace.dtype == "float32"


def test_a_model_that_cannot_run_in_float64_is_recorded_as_it_is():
    def function(w, x):
        return jax.lax.add(w * x, jnp.ones(3, jnp.float32))

    trace = capture((function, normal(0, 3)), (np.ones(3),))
    assert trace.dtype == "float32"
    np.testing.assert_array_equal(outputs(trace)[0], (normal(0, 3) + np.float32(1)).astype(np.float64))


def test_x64_is_left_as_it_was():
    before = jax.config.jax_enable_x64
    capture((language_model, parameters()), (TOKENS,))
    assert jax.config.jax_enable_x64 == before
    assert jnp.ones(1).dtype == jnp.float32 or before


def test_lines_are_the_users():
    trace = capture((language_model, parameters()), (TOKENS,))
    start = inspect.getsourcelines(language_model)[1]
    assert {step.file for step in trace.steps} == {__file__}
    assert next(step for step in trace.steps if step.operation == "gather").line == start + 1
    assert trace.steps[-1].line == start + 4


def test_a_function_that_jax_keeps_has_the_line_of_this_call():
    def function(w, x):
        first = jax.nn.relu(w * x)
        return jax.nn.relu(first - 1)

    trace = capture((function, normal(0, 3)), (np.ones(3),))
    start = inspect.getsourcelines(function)[1]
    assert [step.line - start for step in trace.steps if step.operation == "max"] == [1, 2]


def test_named_scopes_are_modules_of_a_function():
    def function(w, x):
        with jax.named_scope("block_0"), jax.named_scope("attention"):
            return jnp.einsum("i,i->", w * x, x)

    trace = capture((function, normal(0, 3)), (np.ones(3),))
    assert {step.module for step in trace.steps} == {"block_0.attention"}


def test_complex_numbers_are_pairs():
    def function(w, x):
        turned = jax.lax.complex(x[..., 0], x[..., 1]) * jnp.exp(1j * w)
        return jnp.stack([turned.real, turned.imag], axis=-1)

    x = normal(1, 3, 2)
    trace = capture((function, np.array(0.3, np.float32)), (x,))
    (turn,) = [step for step in trace.steps if step.operation == "mul" and step.line == trace.steps[-1].line - 1][-1:]
    assert trace.values[turn.results[0]].array.shape == (3, 2)
    np.testing.assert_allclose(np.linalg.norm(outputs(trace)[0], axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-6)


def test_keys_of_generators_are_numbers():
    def function(w, x):
        return w * x + jax.random.normal(jax.random.key(3), x.shape)

    trace = capture((function, normal(0, 3)), (np.ones(3),))
    assert outputs(trace)[0].shape == (3,)


@pytest.mark.parametrize("model", [3, "model.py", (1, 2), {"w": 1}])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(LoadError, match="is no model of JAX; hand over"):
        capture(model, (TOKENS,))


def test_the_models_own_error_is_raised():
    def function(w, x):
        raise ValueError("this model wants three axes")

    with pytest.raises(ValueError, match="this model wants three axes"):
        capture((function, normal(0, 3)), (np.ones(3),))
