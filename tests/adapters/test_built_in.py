"""The built-in implementations against plain formulas, written out here in NumPy and nowhere else."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer import conformance_tests
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import OperationRaised
from veriformer.adapters.loading import load
from veriformer.spec.operations import OPERATIONS

B, H, G, L, S, D = 2, 6, 2, 3, 5, 4
RANDOM = np.random.default_rng(11)
CLOSE = {"float64": 1e-12, "float32": 2e-6, "bfloat16": 4e-2, "float16": 5e-3}
NAMES = ("numpy", "torch", "jax")


def numbers(*shape: int) -> np.ndarray:
    """Return multiples of 1/16 between −2 and 2: exact in every dtype."""
    return RANDOM.integers(-32, 33, shape) / 16.0


QUERY, KEY, VALUE = numbers(B, H, L, D), numbers(B, H, S, D), numbers(B, H, S, D)
MASK = RANDOM.random((B, 1, L, S)) > 0.4
MASK[..., 0] = True
BIAS = numbers(H, L, S)[None]


def plain_softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def plain_attention(query, key, value, mask=None, bias=None, is_causal=False, scale=None):
    result = np.zeros((*query.shape[:3], value.shape[-1]))
    for b, h, i in np.ndindex(query.shape[:3]):
        group = h // (query.shape[1] // key.shape[1])
        seen = [j for j in range(key.shape[2]) if not is_causal or j <= i]
        if mask is not None:
            table = np.broadcast_to(mask, (*query.shape[:3], key.shape[2]))
            seen = [j for j in seen if table[b, h, i, j]]
        logits = np.array([query[b, h, i] @ key[b, group, j] for j in seen])
        logits = logits * (query.shape[-1] ** -0.5 if scale is None else scale)
        if bias is not None:
            logits = logits + np.broadcast_to(bias, (*query.shape[:3], key.shape[2]))[b, h, i, seen]
        result[b, h, i] = plain_softmax(logits) @ value[b, group, seen]
    return result


def run(name, operation, dtype, **arguments):
    implementation = load(name)
    conventions = {
        convention: implementation.declared_convention(convention, operation) or default
        for convention, default in (("layout", "bhld"), ("mask_polarity", "true_attends"))
    }
    return prepare(implementation, operation, arguments, dtype=dtype, **conventions).run()


def check(name, operation, dtype, expected, **arguments):
    result = run(name, operation, dtype, **arguments)
    assert result.dtype == dtype
    np.testing.assert_allclose(result.value, expected, atol=CLOSE[dtype], rtol=CLOSE[dtype])


DTYPES = {
    "numpy": ("float32", "float64"),
    "torch": ("float32", "float64", "bfloat16", "float16"),
    "jax": ("float32", "bfloat16"),
}
EVERY_DTYPE = [(name, dtype) for name, dtypes in DTYPES.items() for dtype in dtypes]

# jax is compiled once for each combination, which takes most of the time of these tests.
FEATURES = {
    "plain": {},
    "mask": {"mask": MASK},
    "matrix mask": {"mask": MASK[0, 0]},
    "bias and scale": {"bias": BIAS, "scale": 0.75},
    "causal": {"is_causal": True},
    "mask and bias": {"mask": MASK, "bias": BIAS},
}


@pytest.mark.parametrize(("name", "dtype"), EVERY_DTYPE)
def test_softmax(name, dtype):
    check(name, "softmax", dtype, plain_softmax(QUERY), x=QUERY)


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES.keys())
@pytest.mark.parametrize("name", NAMES)
def test_scaled_dot_product_attention(name, features):
    expected = plain_attention(QUERY, KEY, VALUE, **features)
    arguments = {"query": QUERY, "key": KEY, "value": VALUE} | features
    check(name, "scaled_dot_product_attention", "float32", expected, **arguments)


@pytest.mark.parametrize("features", [FEATURES["mask"], FEATURES["causal"]], ids=["mask", "causal"])
@pytest.mark.parametrize("name", NAMES)
def test_grouped_query_attention(name, features):
    key, value = KEY[:, :G], VALUE[:, :G]
    expected = plain_attention(QUERY, key, value, **features)
    check(name, "grouped_query_attention", "float32", expected, query=QUERY, key=key, value=value, **features)


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in EVERY_DTYPE if pair[1] != "float32"])
@pytest.mark.parametrize("operation", ["scaled_dot_product_attention", "grouped_query_attention"])
def test_attention_in_the_other_dtypes(name, dtype, operation):
    key, value = (KEY, VALUE) if operation.startswith("scaled") else (KEY[:, :G], VALUE[:, :G])
    expected = plain_attention(QUERY, key, value, mask=MASK)
    check(name, operation, dtype, expected, query=QUERY, key=key, value=value, mask=MASK)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_values_wider_than_keys(name):
    value = numbers(B, H, S, D + 3)
    expected = plain_attention(QUERY, KEY, value, is_causal=True)
    arguments = {"query": QUERY, "key": KEY, "value": value, "is_causal": True}
    check(name, "scaled_dot_product_attention", "float32", expected, **arguments)


def test_jax_refuses_values_of_another_width_as_it_declares():
    pytest.importorskip("jax")
    assert load("jax").limited("scaled_dot_product_attention", "value_width")
    with pytest.raises(OperationRaised, match="raised ValueError"):
        run("jax", "scaled_dot_product_attention", "float32", query=QUERY, key=KEY, value=numbers(B, H, S, D + 3))


@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_a_mask_and_the_causal_flag_intersect_as_declared(name):
    assert load(name).declared_convention("causal_with_mask", "scaled_dot_product_attention") == "intersect"
    features = {"mask": MASK, "bias": BIAS, "is_causal": True}
    expected = plain_attention(QUERY, KEY, VALUE, **features)
    check(name, "scaled_dot_product_attention", "float32", expected, query=QUERY, key=KEY, value=VALUE, **features)


@pytest.mark.parametrize("feature", ["mask", "bias"])
@pytest.mark.parametrize("operation", ["scaled_dot_product_attention", "grouped_query_attention"])
def test_torch_rejects_a_mask_or_bias_beside_the_causal_flag_as_declared(operation, feature):
    pytest.importorskip("torch")
    assert load("torch").declared_convention("causal_with_mask", operation) == "rejects"
    features = {"is_causal": True, feature: FEATURES["mask and bias"][feature]}
    with pytest.raises(OperationRaised, match="torch refuses attn_mask together with is_causal"):
        run("torch", operation, "float32", query=QUERY, key=KEY, value=VALUE, **features)


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES.keys())
def test_attention_weights(features):
    identity = np.broadcast_to(np.eye(S), (B, H, S, S))
    expected = plain_attention(QUERY, KEY, identity, **features)
    check("numpy", "attention_weights", "float64", expected, query=QUERY, key=KEY, **features)


def multi_head_weights(width: int, kv_width: int, biases: tuple[str, ...]) -> SimpleNamespace:
    shapes = {"q": (width, width), "k": (width, kv_width), "v": (width, kv_width), "o": (width, width)}
    weights = SimpleNamespace(**{f"w_{name}": numbers(*shape) / 2 for name, shape in shapes.items()})
    for name, shape in shapes.items():
        setattr(weights, f"b_{name}", numbers(shape[1]) if name in biases else None)
    return weights


def plain_multi_head(x, context, weights, num_heads, num_kv_heads, **features):
    def heads(source, letter, count):
        bias = getattr(weights, f"b_{letter}")
        projected = source @ getattr(weights, f"w_{letter}") + (0 if bias is None else bias)
        return projected.reshape(*source.shape[:2], count, -1).transpose(0, 2, 1, 3)

    query, key, value = heads(x, "q", num_heads), heads(context, "k", num_kv_heads), heads(context, "v", num_kv_heads)
    merged = plain_attention(query, key, value, **features).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
    return merged @ weights.w_o + (0 if weights.b_o is None else weights.b_o)


X, CONTEXT = numbers(B, L, 12), numbers(B, S, 12)


@pytest.mark.parametrize("biases", [(), ("q", "k", "v", "o"), ("k", "o")], ids=["none", "all", "some"])
@pytest.mark.parametrize("mask", [None, MASK, MASK[0, 0], RANDOM.random((B, 3, L, S)) > 0.2])
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_multi_head_attention(name, mask, biases):
    weights = multi_head_weights(12, 12, biases)
    expected = plain_multi_head(X, CONTEXT, weights, 3, 3, mask=mask)
    arguments = {"x": X, "context": CONTEXT, "weights": weights, "num_heads": 3, "mask": mask}
    check(name, "multi_head_attention", "float32", expected / 8, **_eighth(arguments))


def _eighth(arguments):
    """Scale the output projection, so that absolute tolerances fit."""
    weights = SimpleNamespace(**vars(arguments["weights"]))
    weights.w_o = weights.w_o / 8
    weights.b_o = None if weights.b_o is None else weights.b_o / 8
    return arguments | {"weights": weights}


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_torch_multi_head_attention_keeps_the_dtype(dtype):
    pytest.importorskip("torch")
    weights = multi_head_weights(12, 12, ("q", "v"))
    result = run("torch", "multi_head_attention", dtype, x=X, context=CONTEXT, weights=weights, num_heads=3)
    assert result.dtype == dtype
    expected = plain_multi_head(X, CONTEXT, weights, 3, 3)
    assert np.abs(result.value - expected).max() <= 2 * CLOSE[dtype] * np.abs(expected).max()


def test_torch_self_attention_takes_one_array_for_both():
    pytest.importorskip("torch")
    weights = multi_head_weights(12, 12, ("q", "k", "v", "o"))
    arguments = {"x": X, "context": X, "weights": weights, "num_heads": 3, "mask": np.tri(L, L, dtype=bool)}
    expected = plain_multi_head(X, X, weights, 3, 3, mask=np.tri(L, L, dtype=bool))
    check("torch", "multi_head_attention", "float32", expected / 8, **_eighth(arguments))


def test_torch_multi_head_attention_draws_no_random_numbers_and_keeps_the_weights():
    torch = pytest.importorskip("torch")
    weights = multi_head_weights(12, 12, ("q",))
    arguments = {"x": X, "context": CONTEXT, "weights": weights, "num_heads": 3}
    prepared = prepare(load("torch"), "multi_head_attention", arguments, dtype="float32")
    state, before = torch.random.get_rng_state(), prepared.arguments_now()
    first, second = prepared.run(), prepared.run()
    np.testing.assert_array_equal(first.value, second.value)
    assert torch.equal(state, torch.random.get_rng_state())
    for name, array in prepared.arguments_now().items():
        np.testing.assert_array_equal(array, before[name])


def test_torch_multi_head_attention_refuses_values_of_another_width_as_it_declares():
    pytest.importorskip("torch")
    assert load("torch").limited("multi_head_attention", "value_width")
    weights = multi_head_weights(12, 12, ())
    weights.w_v, weights.w_o = numbers(12, 6), numbers(6, 12)
    with pytest.raises(OperationRaised, match="raised RuntimeError"):
        run("torch", "multi_head_attention", "float32", x=X, context=CONTEXT, weights=weights, num_heads=3)


def test_numpy_multi_head_attention_with_grouped_heads():
    weights = multi_head_weights(12, 4, ("q", "k", "v", "o"))
    expected = plain_multi_head(X, CONTEXT, weights, 3, 1, is_causal=True)
    arguments = {"x": X, "context": CONTEXT, "weights": weights, "num_heads": 3, "num_kv_heads": 1, "is_causal": True}
    check("numpy", "multi_head_attention", "float64", expected, **arguments)


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in EVERY_DTYPE if pair[0] != "jax"])
def test_layer_norm(name, dtype):
    x, gamma, beta = numbers(B, L, D), numbers(D), numbers(D)
    centred = x - x.mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 0.5) * gamma + beta
    check(name, "layer_norm", dtype, expected, x=x, gamma=gamma, beta=beta, eps=0.5)


TOKENS = np.array([[4, 0, 2], [2, 2, 1]])
TARGETS = {"plain": TOKENS, "ignored": np.where(TOKENS == 2, -1, TOKENS)}


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in EVERY_DTYPE if pair[0] != "jax"])
def test_token_embedding(name, dtype):
    table = numbers(5, D)
    result = run(name, "token_embedding", dtype, tokens=TOKENS, table=table)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.value, [[table[token] for token in row] for row in TOKENS])


def test_numpy_scales_a_token_embedding():
    table = numbers(5, 9)
    arguments = {"tokens": TOKENS, "table": table, "scale_by_sqrt_d_model": True}
    check("numpy", "token_embedding", "float64", 3.0 * table[TOKENS], **arguments)


@pytest.mark.parametrize("label_smoothing", [None, 0.25])
@pytest.mark.parametrize("targets", TARGETS)
@pytest.mark.parametrize(("name", "dtype"), [pair for pair in EVERY_DTYPE if pair[0] != "jax"])
def test_cross_entropy(name, dtype, targets, label_smoothing):
    logits, share = numbers(B, L, 5), label_smoothing or 0.0
    losses = []
    for b, i in np.ndindex(B, L):
        if TARGETS[targets][b, i] >= 0:
            surprise = -np.log(plain_softmax(logits[b, i]))
            losses.append((1 - share) * surprise[TARGETS[targets][b, i]] + share * surprise.mean())
    features = {"label_smoothing": label_smoothing, "ignore_index": -1 if targets == "ignored" else None}
    check(name, "cross_entropy", dtype, np.mean(losses), logits=logits, targets=TARGETS[targets], **features)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("name", "dtype"), [pair for pair in EVERY_DTYPE if pair[0] != "jax"])
def test_reductions_of_cross_entropy(name, dtype, reduction):
    logits, targets = numbers(B, L, 5), TARGETS["ignored"]
    each = np.zeros((B, L))
    for b, i in np.argwhere(targets >= 0):
        each[b, i] = -np.log(plain_softmax(logits[b, i]))[targets[b, i]]
    expected = {"mean": each.sum() / (targets >= 0).sum(), "sum": each.sum(), "none": each}[reduction]
    check(name, "cross_entropy", dtype, expected, logits=logits, targets=targets, ignore_index=-1, reduction=reduction)


@pytest.mark.parametrize(("name", "dtype"), [pair for pair in EVERY_DTYPE if pair[0] != "jax"])
def test_rms_norm(name, dtype):
    x, gamma = numbers(B, L, D), numbers(D)
    expected = x / np.sqrt((x**2).mean(-1, keepdims=True) + 0.5) * gamma
    check(name, "rms_norm", dtype, expected, x=x, gamma=gamma, eps=0.5)


def plain_gelu(x, form):
    if form == "tanh":
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@pytest.mark.parametrize(("name", "dtype"), EVERY_DTYPE)
def test_gelu_in_the_form_that_is_declared(name, dtype):
    form = load(name).declared_convention("gelu_form", "gelu")
    assert form == ("tanh" if name == "jax" else "erf")
    check(name, "gelu", dtype, plain_gelu(2 * QUERY, form), x=2 * QUERY)


def test_the_two_forms_of_gelu_differ_by_more_than_is_allowed_for():
    difference = np.abs(plain_gelu(2 * QUERY, "tanh") - plain_gelu(2 * QUERY, "erf"))
    assert difference.max() > 50 * CLOSE["float32"]


@pytest.mark.parametrize(("name", "dtype"), EVERY_DTYPE)
def test_silu(name, dtype):
    check(name, "silu", dtype, QUERY / (1 + np.exp(-QUERY)), x=QUERY)


ACTIVATIONS = {
    "relu": lambda z: np.where(z > 0, z, 0.0),
    "gelu": lambda z: plain_gelu(z, "erf"),
    "silu": lambda z: z / (1 + np.exp(-z)),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("biases", [(None, None), (numbers(7), numbers(D))], ids=["none", "both"])
def test_numpy_feed_forward(activation, biases):
    x, w_1, w_2 = numbers(B, L, D), numbers(D, 7), numbers(7, D)
    b_1, b_2 = (0 if bias is None else bias for bias in biases)
    expected = ACTIVATIONS[activation](x @ w_1 + b_1) @ w_2 + b_2
    weights = SimpleNamespace(w_1=w_1, w_2=w_2, b_1=biases[0], b_2=biases[1])
    check("numpy", "feed_forward", "float64", expected, x=x, weights=weights, activation=activation)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_numpy_gated_feed_forward(activation):
    x, w_gate, w_up, w_down = numbers(B, L, D), numbers(D, 7), numbers(D, 7), numbers(7, D)
    expected = (ACTIVATIONS[activation](x @ w_gate) * (x @ w_up)) @ w_down
    weights = SimpleNamespace(w_gate=w_gate, w_up=w_up, w_down=w_down)
    check("numpy", "gated_feed_forward", "float64", expected, x=x, weights=weights, activation=activation)


def test_numpy_masks_and_positions():
    causal = run("numpy", "causal_mask", "float32", query_length=2, key_length=3)
    assert (causal.dtype, causal.value.tolist()) == ("bool", [[True, False, False], [True, True, False]])
    padding = run("numpy", "padding_mask", "float32", lengths=np.array([2, 0]), max_length=3)
    assert padding.value.tolist() == [[True, True, False], [False, False, False]]
    table = run("numpy", "sinusoidal_positions", "float32", length=3, d_model=4).value
    angles = np.arange(3)[:, None] * np.array([1.0, 0.01])
    np.testing.assert_allclose(table[:, ::2], np.sin(angles), atol=1e-15)
    np.testing.assert_allclose(table[:, 1::2], np.cos(angles), atol=1e-15)


def test_numpy_declares_every_operation_with_every_feature():
    found = load("numpy")
    # A black box is whatever its author makes it: the reference has none.
    assert list(found.operations) == [name for name in OPERATIONS if name != "model"]
    for name, operation in OPERATIONS.items():
        assert name == "model" or found.features(name) == set(operation.features)


def test_torch_declares_only_what_it_has():
    pytest.importorskip("torch")
    forward = {
        "attention_weights",
        "single_head_attention",
        "causal_mask",
        "padding_mask",
        "sinusoidal_positions",
        "rotary_embedding",
        "alibi_bias",
        "relative_position_bucket",
        "feed_forward",
        "gated_feed_forward",
        "merge_attention",
        "next_token_loss",
        "next_token_loss_backward",
        "warmup_cosine_learning_rate",
        "warmup_inverse_root_learning_rate",
        "training_steps",
        "initial_weights",
        "decode_step",
        "model",
    }
    absent = forward | {name for name, operation in OPERATIONS.items() if operation.forward in forward}
    # Its attention has a bias and no sinks.
    assert set(load("torch").operations) == set(OPERATIONS) - absent - {"attention_sinks_backward"}


def test_jax_declares_only_what_it_has():
    pytest.importorskip("jax")
    pytest.importorskip("optax")
    forward = {"softmax", "gelu", "silu", "scaled_dot_product_attention", "grouped_query_attention"}
    training = {"adamw_step", "clip_by_global_norm", "warmup_cosine_learning_rate"}
    backward = {f"{name}_backward" for name in (*forward, "attention_bias")}
    assert set(load("jax").operations) == forward | backward | training


@pytest.mark.parametrize("name", NAMES)
def test_the_dtypes_tried_here_are_those_that_are_declared(name):
    assert load(name).dtypes == DTYPES[name]


def test_the_compiled_functions_of_jax_show_their_features():
    pytest.importorskip("jax")
    assert load("jax").features("grouped_query_attention") == {"mask", "bias", "is_causal", "scale", "window"}


def test_torch_makes_its_masks_where_the_arguments_are():
    # A new tensor on another device than its arguments would end a call on a GPU; "meta" stands for the other device.
    torch = pytest.importorskip("torch")
    laws = [
        f"{part}.padding.content" for part in ("decoder_layer", "encoder", "encoder_decoder.target", "language_model")
    ]
    with torch.device("meta"):
        report = conformance_tests.check("torch", laws=tuple(laws), dtypes=("float32",), tier="quick")
    assert {result.law.id: result.status for result in report.results} == dict.fromkeys(laws, "passed")
