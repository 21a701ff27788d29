"""Errors carried through compositions: never less than what wrong arguments and rounding do, and not much more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from veriformer import reference
from veriformer.conformance_tests.operations.activations.bounds import activation_bound
from veriformer.conformance_tests.operations.attention.estimates import attended
from veriformer.conformance_tests.operations.embedding.estimates import embedded
from veriformer.conformance_tests.operations.feed_forward.estimates import fed_forward, gated_fed_forward
from veriformer.conformance_tests.operations.multi_head.estimates import multi_head_attended
from veriformer.conformance_tests.operations.normalisation.estimates import layer_normalised, rms_normalised
from veriformer.conformance_tests.operations.rotary.estimates import rotated
from veriformer.conformance_tests.rounding.carried import Normalised, carried_error
from veriformer.conformance_tests.rounding.estimates import Estimate, added, projected, unembedded
from veriformer.conformance_tests.rounding.precision import Precision

Array = np.ndarray
Step = Callable[[Estimate, Precision], Estimate]

# Steps in float64: their own rounding errors vanish beside the errors of the arguments.
FINE = Precision.of("float64")
WIDTH = 6
EPS = 1e-5


def _generator() -> np.random.Generator:
    return np.random.default_rng(0)


def _matrix(*shape: int) -> Array:
    return np.random.default_rng([1, *shape]).normal(size=shape)


GAMMA, BETA = _matrix(WIDTH), _matrix(WIDTH, 1)[:, 0]
MULTI_HEAD = reference.MultiHeadWeights(
    _matrix(WIDTH, WIDTH), _matrix(WIDTH, 2), _matrix(WIDTH, 2) + 1.0, _matrix(WIDTH, WIDTH) - 1.0, b_v=_matrix(2)
)
FEED_FORWARD = reference.FeedForwardWeights(_matrix(WIDTH, 9), _matrix(9, WIDTH), _matrix(9), _matrix(WIDTH))
GATED = reference.GatedFeedForwardWeights(_matrix(WIDTH, 9), _matrix(WIDTH, 9) + 1.0, _matrix(9, WIDTH))
VISIBLE = np.broadcast_to(reference.causal_mask(4, 4), (2, 3, 4, 4)).copy()
POSITIONS = np.array([0, 3, 1, 40])


def activated(x: Estimate, activation: str, precision: Precision, form: str = "erf") -> Estimate:
    value = reference.activate(activation, x.value, gelu_form=form)
    return Estimate(value, activation_bound(activation, form, x.value, precision, x.error))


def _heads(x: Estimate) -> Estimate:
    return x.mapped(lambda wide: reference.split_heads(wide, 3))


def _self_attention(x: Estimate, precision: Precision) -> Estimate:
    return multi_head_attended(x, x, MULTI_HEAD, VISIBLE, precision, num_heads=3, num_kv_heads=1)


STEPS: dict[str, Step] = {
    "layer norm": lambda x, p: layer_normalised(x, GAMMA, BETA, EPS, p),
    "layer norm, eps outside": lambda x, p: layer_normalised(x, GAMMA, BETA, EPS, p, eps_placement="outside_root"),
    "rms norm": lambda x, p: rms_normalised(x, GAMMA, EPS, p),
    "rms norm, one plus gamma": lambda x, p: rms_normalised(x, GAMMA, EPS, p, gain="one_plus_gamma"),
    "relu": lambda x, p: activated(x, "relu", p),
    "gelu": lambda x, p: activated(x, "gelu", p),
    "gelu tanh": lambda x, p: activated(x, "gelu", p, "tanh"),
    "gelu sigmoid": lambda x, p: activated(x, "gelu", p, "sigmoid"),
    "silu": lambda x, p: activated(x, "silu", p),
    "feed-forward": lambda x, p: fed_forward(x, FEED_FORWARD, "gelu", p),
    "gated": lambda x, p: gated_fed_forward(x, GATED, "silu", p),
    "sum": lambda x, p: added(x, x.mapped(lambda one: one[..., ::-1]), p),
    "projection": lambda x, p: projected(x, FEED_FORWARD.w_1, FEED_FORWARD.b_1, p),
    "unembedding": lambda x, p: unembedded(x, GATED.w_down, p),
    "rotary": lambda x, p: rotated(_heads(x), POSITIONS, p),
    "attention": lambda x, p: attended(*([_heads(x)] * 3), VISIBLE, p),
    "self-attention": _self_attention,
}


def _arguments(size: float) -> list[Estimate]:
    """Vectors of several regimes, one nearly constant, each entry wrong by up to `size` of its own."""
    generator = _generator()
    regimes = [generator.normal(size=(2, 4, WIDTH)), 5.0 + 0.01 * generator.normal(size=(2, 4, WIDTH))]
    return [Estimate(x, size * generator.random(x.shape)) for x in (*regimes, np.zeros((2, 4, WIDTH)))]


@pytest.mark.parametrize("size", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("name", STEPS)
def test_no_wrong_argument_moves_a_step_beyond_its_bound(name: str, size: float) -> None:
    step, generator = STEPS[name], _generator()
    for x in _arguments(size):
        estimate = step(x, FINE)
        for _ in range(20):
            wrong = x.value + x.error * generator.choice([-1.0, 1.0], x.value.shape)
            moved = np.abs(step(Estimate.exact(wrong), FINE).value - estimate.value)
            # The two float64 values that are compared have roundings of their own.
            assert (moved <= estimate.error * (1.0 + 1e-9) + 1e-14).all()


@pytest.mark.parametrize("name", STEPS)
def test_small_errors_are_not_blown_up(name: str) -> None:
    """Some direction moves some entry by a tenth of its bound at least: bounds that cover everything find nothing."""
    step, generator = STEPS[name], _generator()
    x = _arguments(1e-6)[0]
    estimate = step(x, FINE)
    most = 0.0
    for _ in range(50):
        wrong = x.value + x.error * generator.choice([-1.0, 1.0], x.value.shape)
        moved = np.abs(step(Estimate.exact(wrong), FINE).value - estimate.value)
        most = max(most, float((moved / np.maximum(estimate.error, 1e-300)).max()))
    assert most > 0.1


@pytest.mark.parametrize("centring", [True, False])
@pytest.mark.parametrize("size", [1e-4, 0.1, 3.0])
def test_no_corner_of_a_box_moves_a_norm_beyond_its_bound(size: float, *, centring: bool) -> None:
    """Every sign of every entry's error, over vectors from nearly constant to spread out."""
    width, generator = 4, _generator()
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * width)).reshape(width, -1).T
    for spread in (0.0, 1e-3, 1.0):
        x, error = spread * generator.normal(size=width) + 1.0, size * generator.random(width)

        def centred(vector: Array) -> Array:
            return vector - (vector.mean(axis=-1, keepdims=True) if centring else 0.0)

        exact = Normalised.of(centred(x), EPS)
        moved = np.abs(Normalised.of(centred(x + corners * error), EPS).result - exact.result)
        assert (moved <= carried_error(exact, error, centring=centring) * (1.0 + 1e-12)).all()


def test_two_components_hand_on_nearly_nothing() -> None:
    """A normalised vector of two components is ±(1, −1) but for eps: a bound by triangles would not know."""
    exact = Normalised.of(np.array([1.5, -1.5]), 1e-12)
    assert carried_error(exact, np.full(2, 1e-3), centring=True).max() < 1e-5


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_norm_ends_what_grows(dtype: str) -> None:
    """However wrong a vector is, its normalisation is one: bounds of deep models stay finite."""
    precision = Precision.of(dtype)
    x = Estimate(_generator().normal(size=(3, WIDTH)), np.full((3, WIDTH), 1e6))
    largest = 2.0 * np.sqrt(WIDTH) * np.abs(GAMMA) + 1.0
    assert (layer_normalised(x, GAMMA, BETA, EPS, precision).error <= 2.0 * largest).all()
    assert (rms_normalised(x, GAMMA, EPS, precision).error <= 2.0 * largest).all()


def test_a_lookup_errs_only_where_it_is_scaled() -> None:
    tokens, table = np.array([[0, 2]]), _matrix(3, WIDTH)
    assert not embedded(tokens, table, FINE).error.any()
    assert embedded(tokens, table, FINE, scale_by_sqrt_d_model=True).error.all()


def test_values_are_those_of_the_reference() -> None:
    x = _arguments(1e-3)[0]
    expected = reference.multi_head_attention(
        x.value, x.value, MULTI_HEAD, num_heads=3, num_kv_heads=1, mask=VISIBLE, empty_row="zeros"
    )
    np.testing.assert_allclose(_self_attention(x, FINE).value, expected, rtol=1e-13)


def test_hidden_keys_have_no_error() -> None:
    """Nothing of a padded position's error reaches those that cannot see it."""
    x = _arguments(1e-6)[0]
    padded = Estimate(x.value, np.where(np.arange(4)[:, None] == 3, 1e9, x.error))
    error = _self_attention(padded, FINE).error
    np.testing.assert_allclose(error[:, :3], _self_attention(x, FINE).error[:, :3], rtol=1e-12)
