"""The scalar loops whose operations are counted compute what the operations are, and read every number they count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from veriformer.reference.attention import scaled_dot_product_attention
from veriformer.reference.feed_forward import feed_forward, gated_feed_forward
from veriformer.reference.layer_weights import DecoderLayerWeights, EncoderLayerWeights, NormWeights
from veriformer.reference.layers import decoder_layer, encoder_layer
from veriformer.reference.multi_head import multi_head_attention
from veriformer.reference.normalisation import layer_norm, rms_norm
from veriformer.reference.softmax import softmax
from veriformer.reference.weights import FeedForwardWeights, GatedFeedForwardWeights, MultiHeadWeights
from veriformer.spec.cost import layer_loops, scalar_loops
from veriformer.spec.cost.machine import INPUTS, CountingMachine, Table

B, L, S, E, H, G, D, F, N = 1, 3, 5, 8, 4, 2, 2, 7, 6
LAYER = (E, H, D, F)


class RandomArrays(dict[str, Any]):
    """Arrays by name, drawn with the shape that the test asks for."""

    def __init__(self, **shapes: tuple[int, ...]) -> None:
        generator = np.random.default_rng(0)
        super().__init__({name: generator.normal(size=shape) for name, shape in shapes.items()})


def run(loops: Callable[[CountingMachine], Table], arrays: dict[str, Any], *shape: int) -> np.ndarray:
    machine = CountingMachine(arrays)
    result = loops(machine)
    assert not machine.unread
    return np.array([result[place].value for place in np.ndindex(*shape)]).reshape(shape)


def attention_shapes(name: str, kv_heads: int) -> dict[str, tuple[int, ...]]:
    columns = {"q": H * D, "k": kv_heads * D, "v": kv_heads * D}
    shapes: dict[str, tuple[int, ...]] = {f"w_{name}{part}": (E, width) for part, width in columns.items()}
    shapes |= {f"b_{name}{part}": (width,) for part, width in columns.items()}
    return {**shapes, f"w_{name}o": (H * D, E), f"b_{name}o": (E,)}


def network_shapes(name: str) -> dict[str, tuple[int, ...]]:
    return {f"w_{name}1": (E, F), f"b_{name}1": (F,), f"w_{name}2": (F, E), f"b_{name}2": (E,)}


def norm_shapes(*names: str) -> dict[str, tuple[int, ...]]:
    return {f"{part}_{name}": (E,) for name in names for part in ("gamma", "beta")}


def attention_weights(arrays: dict[str, Any], name: str) -> MultiHeadWeights:
    parts = [arrays[f"{kind}_{name}{part}"] for kind in "wb" for part in "qkvo"]
    return MultiHeadWeights(*parts)


def network_weights(arrays: dict[str, Any], name: str) -> FeedForwardWeights:
    return FeedForwardWeights(*(arrays[f"{kind}_{name}{place}"] for kind in "wb" for place in "12"))


def norm_weights(arrays: dict[str, Any], name: str) -> NormWeights:
    return NormWeights(arrays[f"gamma_{name}"], arrays[f"beta_{name}"])


def read_x(machine: CountingMachine, rows: int = L, name: str = "x") -> Table:
    return machine.table(INPUTS, name, rows, E)


def test_softmax_of_rows() -> None:
    arrays = RandomArrays(x=(L, E))
    got = run(lambda machine: scalar_loops.softmax(machine, read_x(machine), L, E), arrays, L, E)
    np.testing.assert_allclose(got, softmax(arrays["x"]))


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    arrays = RandomArrays(query=(H, L, D), key=(H, S, D), value=(H, S, 3))
    got = run(
        lambda machine: scalar_loops.separate_attention(machine, H, L, S, D, 3, causal), arrays, L, H * 3
    ).reshape(L, H, 3)
    query, key, value = (arrays[name][None] for name in ("query", "key", "value"))
    wanted = scaled_dot_product_attention(query, key, value, is_causal=causal, causal_alignment="bottom_right")
    np.testing.assert_allclose(got.swapaxes(0, 1), wanted[0])


def test_multi_head_attention_with_grouped_heads() -> None:
    arrays = RandomArrays(x=(L, E), context=(S, E), **attention_shapes("", G))

    def loops(machine: CountingMachine) -> Table:
        context = read_x(machine, S, "context")
        return scalar_loops.multi_head_attention(machine, read_x(machine), context, "", (L, S, E, H, G, D))

    weights = attention_weights(arrays, "")
    wanted = multi_head_attention(arrays["x"][None], arrays["context"][None], weights, num_heads=H, num_kv_heads=G)
    np.testing.assert_allclose(run(loops, arrays, L, E), wanted[0])


@pytest.mark.parametrize("kind", ["relu", "gelu", "silu"])
def test_feed_forward(kind: Any) -> None:
    arrays = RandomArrays(x=(L, E), **network_shapes(""))
    got = run(lambda machine: scalar_loops.feed_forward(machine, read_x(machine), "", L, E, F, kind), arrays, L, E)
    np.testing.assert_allclose(got, feed_forward(arrays["x"], network_weights(arrays, ""), activation=kind))


def test_gated_feed_forward() -> None:
    arrays = RandomArrays(x=(L, E), w_gate=(E, F), w_up=(E, F), w_down=(F, E))
    got = run(lambda machine: scalar_loops.gated_feed_forward(machine, read_x(machine), L, E, F), arrays, L, E)
    weights = GatedFeedForwardWeights(arrays["w_gate"], arrays["w_up"], arrays["w_down"])
    np.testing.assert_allclose(got, gated_feed_forward(arrays["x"], weights, activation="silu"))


def test_norms() -> None:
    arrays = RandomArrays(x=(L, E), **norm_shapes(""))
    got = run(lambda machine: scalar_loops.layer_norm(machine, read_x(machine), "", L, E), arrays, L, E)
    np.testing.assert_allclose(got, layer_norm(arrays["x"], arrays["gamma_"], arrays["beta_"], eps=1e-5))
    got = run(lambda machine: scalar_loops.rms_norm(machine, read_x(machine), L, E), arrays, L, E)
    np.testing.assert_allclose(got, rms_norm(arrays["x"], arrays["gamma_"], eps=1e-5))


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(norm_first: bool) -> None:
    arrays = RandomArrays(x=(L, E), **attention_shapes("", H), **network_shapes(""), **norm_shapes("1", "2"))
    weights = EncoderLayerWeights(
        attention_weights(arrays, ""),
        norm_weights(arrays, "1"),
        network_weights(arrays, ""),
        norm_weights(arrays, "2"),
    )
    got = run(
        lambda machine: layer_loops.encoder_layer(machine, read_x(machine), "", L, LAYER, "relu", norm_first),
        arrays,
        L,
        E,
    )
    options: dict[str, Any] = {"num_heads": H, "norm_first": norm_first, "activation": "relu", "eps": 1e-5}
    np.testing.assert_allclose(got, encoder_layer(arrays["x"][None], weights, **options)[0])


def test_decoder_layer() -> None:
    """Counted with all pairs, so that its loops attend to later tokens too: compared for a single token."""
    shapes = {**attention_shapes("self_", H), **attention_shapes("cross_", H), **network_shapes("")}
    arrays = RandomArrays(x=(1, E), memory=(S, E), **shapes, **norm_shapes("1", "2", "3"))
    weights = DecoderLayerWeights(
        attention_weights(arrays, "self_"),
        norm_weights(arrays, "1"),
        attention_weights(arrays, "cross_"),
        norm_weights(arrays, "2"),
        network_weights(arrays, ""),
        norm_weights(arrays, "3"),
    )

    def loops(machine: CountingMachine) -> Table:
        memory = read_x(machine, S, "memory")
        return layer_loops.decoder_layer(machine, read_x(machine, 1), memory, "", (1, S), LAYER)

    options: dict[str, Any] = {"num_heads": H, "norm_first": False, "activation": "relu", "eps": 1e-5}
    wanted = decoder_layer(arrays["x"][None], arrays["memory"][None], weights, **options)[0]
    np.testing.assert_allclose(run(loops, arrays, 1, E), wanted)


def test_decode_step_is_the_last_row_of_the_layer_when_the_cache_holds_the_keys_of_the_others() -> None:
    arrays = RandomArrays(x=(L, E), **attention_shapes("", H), **network_shapes(""), **norm_shapes("1", "2"))
    full = run(lambda machine: layer_loops.encoder_layer(machine, read_x(machine), "", L, LAYER), arrays, L, E)
    cached = {
        f"cached_{name}": arrays["x"][:-1] @ arrays[f"w_{part}"] + arrays[f"b_{part}"]
        for name, part in (("keys", "k"), ("values", "v"))
    }
    step = {**arrays, **cached, "x": arrays["x"][-1:]}
    got = run(lambda machine: layer_loops.decode_step(machine, read_x(machine, 1), L, LAYER), step, 1, E)
    np.testing.assert_allclose(got[0], full[-1])


def test_an_array_that_loops_do_not_read_is_seen() -> None:
    machine = CountingMachine(RandomArrays(x=(L, E), y=(2,)))
    machine.table(INPUTS, "y", 2)[1]
    assert machine.unread == {("y", 0)}
