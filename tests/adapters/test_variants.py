"""Flax, Equinox, Keras and the variants give what the reference gives, each on the path that it is named after."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from veriformer import reference
from veriformer.adapters.built_in import BUILT_IN
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import LoadError, MissingFramework, OperationRaised
from veriformer.adapters.installation import installation
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check
from veriformer.conformance_tests.run.expected_failures import Entry, ExpectedFailures

pytestmark = pytest.mark.long

B, H, G, L, S, D = 2, 4, 2, 3, 5, 4
E = H * D
RANDOM = np.random.default_rng(23)
CLOSE = {"float64": 1e-12, "float32": 5e-6, "bfloat16": 5e-2, "float16": 6e-3}
SCALED, GROUPED, MULTI_HEAD = "scaled_dot_product_attention", "grouped_query_attention", "multi_head_attention"


def numbers(*shape: int) -> np.ndarray:
    """Return multiples of 1/16 between −2 and 2: exact in every dtype."""
    return RANDOM.integers(-32, 33, shape) / 16.0


MASK = RANDOM.random((B, 1, L, S)) > 0.4
MASK[..., 0] = True
SHARED = RANDOM.random((1, H, L, S)) > 0.4
SHARED[..., 0] = True
BIAS = numbers(1, H, L, S)
X, CONTEXT = numbers(B, L, E), numbers(B, S, E)
VARIANTS = [name for name, built_in in BUILT_IN.items() if built_in.is_variant]
ATTENTIONS = ["flax", "keras", "torch-math", "torch-flash", "torch-flex", "jax-vmap", "flax-vmap"]
MULTI_HEADS = [
    "flax", "torch-fast-path", "torch-need-weights", "flax-eager", "flax-vmap", "flax-sow-weights", "flax-decode",
    "equinox", "keras", "keras-scores",
]  # fmt: skip


def weights(kv_heads: int = H, biases: str = "qkvo") -> SimpleNamespace:
    shapes = {"q": (E, E), "k": (E, kv_heads * D), "v": (E, kv_heads * D), "o": (E, E)}
    drawn = SimpleNamespace(**{f"w_{name}": numbers(*shape) / 8 for name, shape in shapes.items()})
    for name, shape in shapes.items():
        setattr(drawn, f"b_{name}", numbers(shape[1]) if name in biases else None)
    return drawn


def run(name, operation, dtype="float32", **arguments):
    implementation = load(name)
    conventions = {
        convention: implementation.declared_convention(convention, operation) or default
        for convention, default in (("layout", "bhld"), ("mask_polarity", "true_attends"))
    }
    return prepare(implementation, operation, arguments, dtype=dtype, **conventions).run()


def agrees(name, operation, dtype="float32", **arguments):
    given = {key: value for key, value in arguments.items() if value is not None}
    positional = {"weights": reference.MultiHeadWeights(**vars(given["weights"]))} if "weights" in given else {}
    expected = getattr(reference, operation)(**(given | positional))
    result = run(name, operation, dtype, **arguments)
    assert result.dtype == dtype
    np.testing.assert_allclose(result.value, expected, atol=CLOSE[dtype], rtol=CLOSE[dtype])


@pytest.mark.parametrize(
    "features", [{"mask": MASK, "bias": BIAS}, {"mask": SHARED}, {"is_causal": True}], ids=["both", "shared", "causal"]
)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_scaled_dot_product_attention(name, features):
    agrees(name, SCALED, query=numbers(B, H, L, D), key=numbers(B, H, S, D), value=numbers(B, H, S, D), **features)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_grouped_query_attention(name):
    agrees(name, GROUPED, query=numbers(B, H, L, D), key=numbers(B, G, S, D), value=numbers(B, G, S, D), mask=MASK)


@pytest.mark.parametrize("name", ["jax-eager", "flax-eager"])
def test_attention_in_float16_that_is_not_compiled(name):
    drawn = {"query": numbers(B, H, L, D), "key": numbers(B, H, S, D), "value": numbers(B, H, S, D)}
    agrees(name, SCALED, "float16", **drawn)


@pytest.mark.parametrize("name", MULTI_HEADS)
def test_multi_head_attention(name):
    arguments = {"x": X, "context": CONTEXT, "weights": weights(biases="ko"), "num_heads": H}
    agrees(name, MULTI_HEAD, mask=MASK, **arguments)


@pytest.mark.parametrize("biases", ["", "qkvo"], ids=["plain", "biases"])
@pytest.mark.parametrize("name", ["torch-fast-path", "torch-need-weights"])
def test_self_attention_in_torch(name, biases):
    arguments = {"x": X, "context": X, "weights": weights(biases=biases), "num_heads": H}
    agrees(name, MULTI_HEAD, mask=MASK[..., :L], **arguments)


@pytest.mark.parametrize("mask", [None, MASK[..., :L], MASK[:, :, :1, :L]], ids=["plain", "full", "keys only"])
@pytest.mark.parametrize("name", ["flax", "flax-vmap", "flax-decode", "keras", "keras-scores"])
def test_causal_self_attention_with_grouped_heads(name, mask):
    arguments = {"x": X, "context": X, "weights": weights(G, "q"), "num_heads": H, "num_kv_heads": G}
    agrees(name, MULTI_HEAD, mask=mask, is_causal=True, **arguments)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "name", ["flax", "flax-eager", "flax-vmap", "flax-two-pass", "torch-modules", "equinox", "keras"]
)
def test_norms_and_embedding(name, dtype):
    x, gamma, beta = numbers(B, L, D), numbers(D), numbers(D)
    agrees(name, "layer_norm", dtype, x=x, gamma=gamma, beta=beta, eps=0.5)
    if name != "flax-two-pass":
        agrees(name, "rms_norm", dtype, x=x, gamma=gamma, eps=0.5)
        agrees(name, "token_embedding", dtype, tokens=np.array([[4, 0, 2], [2, 2, 1]]), table=numbers(5, D))


@pytest.mark.parametrize("name", ["torch-modules"])
def test_activations_and_loss_of_torch_modules(name):
    targets, logits = np.array([[4, 0, 2], [-1, 2, 1]]), numbers(B, L, 5)
    for operation in ("softmax", "gelu", "silu"):
        agrees(name, operation, x=numbers(B, L, D))
    agrees(name, "cross_entropy", logits=logits, targets=targets, ignore_index=-1, label_smoothing=0.25)
    for reduction in ("mean", "sum", "none"):
        agrees(name, "cross_entropy", logits=logits, targets=targets, ignore_index=-1, reduction=reduction)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("positions", [np.array([7, 0, 2048]), np.array([[1, 1, 4], [9, 2, 3]])], ids=["all", "each"])
@pytest.mark.parametrize("name", ["equinox"])
def test_rotary_embedding_at_any_position(name, positions, dtype):
    x = numbers(B, H, L, D)
    expected = reference.rotary_embedding(x, positions, pairing="half")
    result = run(name, "rotary_embedding", dtype, x=x, positions=positions)
    assert result.dtype == dtype
    # An angle of 2048 is exact to 2048 units of the last place of float32 only.
    np.testing.assert_allclose(result.value, expected, atol=max(CLOSE[dtype], 2048 * 2.0**-22))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(("name", "form"), [("keras", "tanh"), ("keras-activations", "erf")])
def test_activations_of_keras(name, form, dtype):
    x = numbers(B, L, D)
    agrees(name, "softmax", dtype, x=x)
    agrees(name, "silu", dtype, x=x)
    assert load(name).declared_convention("gelu_form", "gelu") == form
    result = run(name, "gelu", dtype, x=2 * x)
    np.testing.assert_allclose(result.value, reference.gelu(2 * x, form=form), atol=CLOSE[dtype], rtol=CLOSE[dtype])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("keras", {}),
        ("keras", {"ignore_index": 2}),
        ("keras", {"reduction": "sum"}),
        ("keras", {"reduction": "none", "ignore_index": 2}),
        ("keras-smoothing", {}),
        ("keras-smoothing", {"label_smoothing": 0.25}),
    ],
)
def test_losses_of_keras(name, feature, dtype):
    targets, logits = np.array([[4, 0, 2], [2, 2, 1]]), numbers(B, L, 5)
    agrees(name, "cross_entropy", dtype, logits=logits, targets=targets, **feature)


@pytest.mark.parametrize("name", ["jax-vmap"])
@pytest.mark.parametrize("shape", [(D,), (L, D), (B, L, D)])
def test_softmax_of_any_rank_under_vmap(name, shape):
    agrees(name, "softmax", x=numbers(*shape))


@pytest.mark.parametrize("name", ["flax-vmap"])
def test_one_sample_at_a_time_reaches_a_mapped_layer(name, monkeypatch):
    nnx = pytest.importorskip("flax.nnx")
    seen = []
    call = nnx.LayerNorm.__call__
    monkeypatch.setattr(nnx.LayerNorm, "__call__", lambda self, x: seen.append(x.shape) or call(self, x))
    run(name, "layer_norm", x=numbers(B, 11, D), gamma=numbers(D), beta=numbers(D), eps=0.5)
    assert seen == [(11, D)]


@pytest.mark.parametrize("name", ["torch", "torch-fast-path", "torch-need-weights"])
def test_the_fast_path_is_taken_where_it_is_meant(name, monkeypatch):
    torch = pytest.importorskip("torch")
    calls: Counter[str] = Counter()
    native = torch._native_multi_head_attention
    monkeypatch.setattr(torch, "_native_multi_head_attention", lambda *a: calls.update(["native"]) or native(*a))
    run(name, MULTI_HEAD, x=X, context=X, weights=weights(), num_heads=H)
    assert calls["native"] == (name == "torch-fast-path")
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("name", ["flax-decode"])
def test_causal_self_attention_is_handed_over_token_by_token(name, monkeypatch):
    nnx = pytest.importorskip("flax.nnx")
    seen = []
    call = nnx.MultiHeadAttention.__call__

    def spy(self, x, *others, **keywords):
        seen.append((x.shape[1], keywords.get("decode")))
        return call(self, x, *others, **keywords)

    monkeypatch.setattr(nnx.MultiHeadAttention, "__call__", spy)
    x = numbers(B, 6, E)
    run(name, MULTI_HEAD, x=x, context=x, weights=weights(), num_heads=H, is_causal=True)
    assert seen == [(1, True)] * 6


@pytest.mark.parametrize("name", ["torch-flash"])
def test_flash_refuses_values_of_another_width_as_it_declares(name):
    assert load(name).limited(SCALED, "value_width")
    with pytest.raises(OperationRaised, match="No available kernel"):
        run(name, SCALED, query=numbers(B, H, L, D), key=numbers(B, H, S, D), value=numbers(B, H, S, D + 1))


@pytest.mark.parametrize("name", ["keras", "keras-scores"])
def test_the_weights_of_keras_come_from_code_of_its_own(name, monkeypatch):
    load(name)
    calls: Counter[str] = Counter()
    kernel = import_module("keras").ops.dot_product_attention
    counted = lambda *a, **k: calls.update(["kernel"]) or kernel(*a, **k)  # noqa: E731
    monkeypatch.setattr("keras.src.ops.dot_product_attention", counted)
    x = numbers(B, 13, E)
    run(name, MULTI_HEAD, x=x, context=x, weights=weights(), num_heads=H)
    assert calls["kernel"] == (name == "keras")


def in_a_process_of_its_own(*arguments):
    command = [sys.executable, "-m", "veriformer.cli", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.parametrize("backend", ["torch", "tensorflow"])
def test_keras_on_another_backend_conforms(backend):
    if not (find_spec(backend) and find_spec("keras")):
        pytest.skip(f"{backend} or keras is not installed")
    laws = ("attention.mask.value", "multi_head.mask.value", "layer_norm.value", "rms_norm.value", "gelu.value")
    chosen = [word for law in laws for word in ("--law", law)]
    done = in_a_process_of_its_own(f"keras-{backend}", "--tier", "quick", *chosen)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 laws held, 0 violated" in done.stdout


@pytest.mark.parametrize("name", ["keras"])
def test_a_process_has_one_backend_of_keras(name, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    load(name)
    assert "KERAS_BACKEND" not in os.environ
    with pytest.raises(LoadError, match="imported on its jax backend in this process and cannot change to torch"):
        load("keras-torch")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    load(name)
    assert os.environ["KERAS_BACKEND"] == "torch"


def test_keras_on_tensorflow_adds_biases_along_the_tokens():
    if not (find_spec("tensorflow") and find_spec("keras")):
        pytest.skip("tensorflow or keras is not installed")
    done = in_a_process_of_its_own("keras-tensorflow", "--tier", "quick", "--law", "multi_head.grouped_heads")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "✗ multi_head.grouped_heads" in done.stdout


# These have another backend of Keras than `keras`, which is loaded in this process.
BACKENDS = ("keras-torch", "keras-tensorflow")


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in BACKENDS])
def test_a_variant_declares_operations_of_its_library(name):
    loaded, library = load(name), load(name.partition("-")[0])
    assert loaded.source == BUILT_IN[name].module
    assert loaded.framework is library.framework
    assert set(loaded.operations) <= set(library.operations)
    assert not loaded.notices


@pytest.mark.parametrize("library", ["flax", "equinox", "keras"])
@pytest.mark.parametrize("own", [True, False], ids=["itself", "jax"])
def test_a_library_without_a_missing_package(library, own, monkeypatch):
    pytest.importorskip("jax")
    package = library if own else "jax"
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingFramework) as caught:
        load(library)
    assert str(caught.value) == f"{package} is not installed: {installation().install(package)}"


@pytest.mark.parametrize(
    ("name", "laws"),
    [("torch-math", "attention.mask.*"), ("torch-need-weights", "multi_head.keys.*"), ("flax-two-pass", "*_mean")],
)
def test_a_variant_conforms(name, laws):
    report = check(name, tier="quick", laws=[laws])
    assert report.verdict == "conforms", [result.law.id for result in report.results if result.status == "failed"]


@pytest.mark.parametrize("name", ["flax"])
def test_the_default_layer_norm_of_flax_is_accused_as_documented(name):
    report = check(name, tier="quick", laws=["layer_norm.large_mean"])
    assert report.exit_status == 1
    expected = ExpectedFailures((Entry("layer_norm.large_mean", "one pass", name),))
    assert check(name, tier="quick", laws=["layer_norm.large_mean"], expected_failures=expected).exit_status == 0


def test_a_side_without_limit_reaches_as_far_as_a_mapped_sample_is_long() -> None:
    pytest.importorskip("jax")
    operations = load("jax-vmap").operations
    query, key = (np.random.default_rng(3).normal(size=(1, length, 1, 2)) for length in (9, 13))
    arrays = [load("jax-vmap").framework.from_numpy(array, "float32") for array in (query, key, key)]
    attention = operations["scaled_dot_product_attention"]
    causal, as_window = attention(*arrays, is_causal=True), attention(*arrays, window=(None, 0))
    np.testing.assert_allclose(np.asarray(as_window), np.asarray(causal), rtol=1e-6)
