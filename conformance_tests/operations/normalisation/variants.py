"""The families of the norms: layer normalisation and root-mean-square normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, NotDefined, Point

Axes = tuple[int, ...] | None
_VECTOR: Axes = (-1,)
_POSITIONS: Axes = (-2,)
_SAMPLE: Axes = (-2, -1)

EPS_VALUE = Decision(
    "eps_value",
    "Which eps is added?",
    (
        standard("as_given", lambda eps: eps),
        *(
            mistake("norm_eps_value_mismatch", lambda eps, value=value: value, f"always_{value:g}")
            for value in (1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3)
        ),
        mistake("norm_eps_value_mismatch", lambda eps: 0.0, "none", "no eps is added under the root"),
        mistake("", lambda eps: eps * eps, "squared", "the square of eps is added"),
    ),
)


def _mean(x: Array, axes: Axes) -> Array:
    return np.asarray(x.mean(axis=axes, keepdims=True))


def _deviation(axes: Axes, variance_axes: Axes = None, *, about_own_mean: bool = False) -> Any:
    """Return what takes vectors to their centred entries, the entries whose square is averaged, and over which axes."""

    def statistics(x: Array) -> tuple[Array, Array, Axes]:
        centred = x - _mean(x, axes)
        over = axes if variance_axes is None else variance_axes
        return centred, x - _mean(x, over) if about_own_mean else centred, over

    return statistics


def _over_everything(x: Array) -> tuple[Array, Array, Axes]:
    centred = x - x.mean()
    return centred, centred, None


def _not_centred(x: Array) -> tuple[Array, Array, Axes]:
    return x, x - _mean(x, _VECTOR), _VECTOR


def _centred_over_its_mean_square(x: Array) -> tuple[Array, Array, Axes]:
    return x - _mean(x, _VECTOR), x, _VECTOR


def _not_centred_at_all(x: Array) -> tuple[Array, Array, Axes]:
    return x, x, _VECTOR


_WRONG_AXIS = "layernorm_wrong_axis"
STATISTICS = Decision(
    "statistics",
    "Over which entries are mean and variance taken, and from what is the mean removed?",
    (
        standard("each_vector", _deviation(_VECTOR)),
        mistake(_WRONG_AXIS, _deviation(_POSITIONS), "over_positions"),
        mistake(_WRONG_AXIS, _deviation(_SAMPLE), "over_each_sample"),
        mistake(_WRONG_AXIS, _over_everything, "over_everything"),
        mistake(_WRONG_AXIS, _deviation((0,)), "over_the_batch"),
        mistake(_WRONG_AXIS, _deviation(_SAMPLE, _VECTOR), "mean_of_each_sample"),
        mistake(_WRONG_AXIS, _deviation(_POSITIONS, _VECTOR), "mean_over_positions"),
        mistake(_WRONG_AXIS, _deviation(_SAMPLE, _VECTOR, about_own_mean=True), "mean_alone_of_each_sample"),
        mistake(_WRONG_AXIS, _deviation(_POSITIONS, _VECTOR, about_own_mean=True), "mean_alone_over_positions"),
        mistake(_WRONG_AXIS, _deviation(_VECTOR, _SAMPLE), "squares_over_each_sample"),
        mistake(_WRONG_AXIS, _deviation(_VECTOR, _POSITIONS), "squares_over_positions"),
        mistake(_WRONG_AXIS, _deviation(_VECTOR, _SAMPLE, about_own_mean=True), "variance_of_each_sample"),
        mistake(_WRONG_AXIS, _deviation(_VECTOR, _POSITIONS, about_own_mean=True), "variance_over_positions"),
        mistake("", _not_centred, "numerator_not_centred", "x is divided by its deviation, its mean is not removed"),
        mistake("", _centred_over_its_mean_square, "square_not_centred", "x − mean x is divided by √(mean x²)"),
        mistake("", _not_centred_at_all, "not_centred", "the mean is not removed, as in a root-mean-square norm"),
    ),
)


def _mean_square(entries: Array, over: Axes) -> Array:
    return np.asarray(np.square(entries).mean(axis=over, keepdims=True))


def _unbiased(entries: Array, over: Axes) -> Array:
    total = np.square(entries).sum(axis=over, keepdims=True)
    return np.asarray(total / np.float64(entries.size // total.size - 1))


def _total_square(entries: Array, over: Axes) -> Array:
    return np.asarray(np.square(entries).sum(axis=over, keepdims=True))


VARIANCE = Decision(
    "variance",
    "By what is the sum of the squared deviations divided?",
    (
        standard("by_n", _mean_square),
        mistake("unbiased_variance", _unbiased),
        mistake("", _total_square, "sum", "the squared deviations are summed, not averaged"),
    ),
)

EPS_PLACEMENT = Decision(
    "eps_placement",
    "Is eps added inside or outside the root?",
    (
        standard("inside_root", lambda variance, eps: np.sqrt(variance + eps)),
        convention("outside_root", lambda variance, eps: np.sqrt(variance) + eps, "layernorm_eps_outside_sqrt"),
        mistake("", lambda variance, eps: variance + eps, "no_root", "the variance is divided by, not its root"),
        mistake(
            "",
            lambda variance, eps: np.sqrt(np.maximum(variance, eps)),
            "at_least_eps",
            "eps bounds the variance from below instead of being added",
        ),
    ),
    convention="layer_norm_eps",
)

GAIN_AND_SHIFT = Decision(
    "gain_and_shift",
    "How do gamma and beta enter?",
    (
        standard("gain_then_shift", lambda normalised, gamma, beta: normalised * gamma + beta),
        mistake("", lambda n, gamma, beta: n * gamma, "no_shift", "beta is not added"),
        mistake("", lambda n, gamma, beta: n + beta, "no_gain", "gamma is not multiplied by"),
        mistake("", lambda n, gamma, beta: n, "neither", "neither gamma nor beta is used"),
        mistake("", lambda n, gamma, beta: (n + beta) * gamma, "shift_before_gain", "beta is added before gamma"),
        mistake("", lambda n, gamma, beta: n * beta + gamma, "exchanged", "gamma and beta are taken for each other"),
        mistake("gain_counted_from_one", lambda n, gamma, beta: n * (1.0 + gamma) + beta),
    ),
)


def layer_norm(arguments: Arguments, point: Point) -> Array:
    """Return layer normalisation at a point of the family, of the shape of x."""
    x, gamma, beta = (np.asarray(arguments[name], dtype=np.float64) for name in ("x", "gamma", "beta"))
    eps = point["eps_value"](arguments["eps"])
    centred, entries, over = point["statistics"](x)
    variance = point["variance"](entries, over)
    divisor = point["eps_placement"](variance, eps)
    result: Array = point["gain_and_shift"](centred / divisor, gamma, beta)
    return result


LAYER_NORM = Family("layer_norm", (STATISTICS, VARIANCE, EPS_VALUE, EPS_PLACEMENT, GAIN_AND_SHIFT), layer_norm)


def _with_axes(axes: Axes) -> Any:
    return lambda x: np.square(x).mean(axis=axes, keepdims=True)


def _half(x: Array, which: str) -> Array:
    width = x.shape[-1]
    middle = (width + 1) // 2 if which == "first_half_with_middle" else width // 2
    half = x[..., middle:] if which == "second_half" else x[..., :middle]
    if half.shape[-1] == 0:
        raise NotDefined("nothing has no mean")
    return half


MEAN_SQUARE = Decision(
    "mean_square",
    "What is the size of a vector, squared?",
    (
        standard("mean_over_vector", _with_axes(_VECTOR)),
        mistake("rmsnorm_sum_of_squares", lambda x: np.square(x).sum(axis=-1, keepdims=True)),
        *(
            mistake("mean_square_of_half", lambda x, half=half: _with_axes(_VECTOR)(_half(x, half)), half)
            for half in ("first_half", "first_half_with_middle", "second_half")
        ),
        mistake(_WRONG_AXIS, _with_axes(None), "mean_over_everything"),
        mistake(_WRONG_AXIS, _with_axes(_SAMPLE), "mean_over_each_sample"),
        mistake(_WRONG_AXIS, _with_axes(_POSITIONS), "mean_over_positions"),
        mistake(_WRONG_AXIS, _with_axes((0,)), "mean_over_the_batch"),
        mistake(
            "",
            lambda x: np.square(x).sum(axis=-1, keepdims=True) / np.float64(x.shape[-1] - 1),
            "divided_by_one_less",
            "the sum of the squares is divided by n − 1 instead of n",
        ),
    ),
)


def _magnitude(x: Array) -> Array:
    return np.asarray(np.abs(x).mean(axis=-1, keepdims=True))


RMS_DIVISOR = Decision(
    "divisor",
    "By what is a vector divided?",
    (
        standard("root_with_eps_inside", lambda x, square, eps: np.sqrt(square + eps)),
        mistake("rmsnorm_eps_outside_sqrt", lambda x, square, eps: np.sqrt(square) + eps),
        mistake("rmsnorm_double_sqrt", lambda x, square, eps: np.sqrt(np.sqrt(square) + eps)),
        mistake("rmsnorm_double_sqrt", lambda x, square, eps: np.sqrt(np.sqrt(square + eps)), "root_of_root"),
        mistake("rmsnorm_mean_magnitude", lambda x, square, eps: _magnitude(x) + eps),
        mistake(
            "rmsnorm_mean_magnitude",
            lambda x, square, eps: np.sqrt(np.square(_magnitude(x)) + eps),
            "mean_magnitude_under_root",
        ),
        mistake("", lambda x, square, eps: square + eps, "no_root", "the mean square is divided by, not its root"),
        mistake(
            "",
            lambda x, square, eps: np.sqrt(np.maximum(square, eps)),
            "at_least_eps",
            "eps bounds the mean square from below instead of being added",
        ),
    ),
)

CENTRING = Decision(
    "centring",
    "Is the mean of the vector removed?",
    (
        standard("nowhere", lambda x: (x, x)),
        mistake("rmsnorm_centred", lambda x: (x - _mean(x, _VECTOR), x), "in_the_numerator"),
        mistake("rmsnorm_centred", lambda x: (x - _mean(x, _VECTOR),) * 2, "everywhere"),
        mistake("rmsnorm_centred", lambda x: (x, x - _mean(x, _VECTOR)), "in_the_mean_square"),
    ),
)

EPS_ON_VECTOR = Decision(
    "eps_on_vector",
    "Is eps added to the vector?",
    (
        standard("no", lambda numerator, measured, eps: (numerator, measured)),
        mistake("eps_added_to_vector", lambda numerator, measured, eps: (numerator + eps, measured)),
        mistake("eps_added_to_vector", lambda numerator, measured, eps: (numerator + eps, measured + eps), "before"),
    ),
)

GAIN = Decision(
    "gain",
    "Is the stored gain gamma, or gamma − 1?",
    (
        standard("gamma", lambda gamma: gamma),
        convention("one_plus_gamma", lambda gamma: 1.0 + gamma),
        mistake("", np.ones_like, "none", "gamma is not multiplied by"),
    ),
    convention="rms_norm_gain",
)

GAIN_PLACE = Decision(
    "gain_place",
    "Is the gain applied before or after the normalisation?",
    (
        standard("after", lambda x, gain: (x, gain)),
        mistake("rmsnorm_gain_before_norm", lambda x, gain: (x * gain, 1.0)),
        mistake("", lambda x, gain: (x * gain, gain), "before_and_after", "the gain is applied twice"),
    ),
)


def rms_norm(arguments: Arguments, point: Point) -> Array:
    """Return root-mean-square normalisation at a point of the family, of the shape of x."""
    x, gamma = (np.asarray(arguments[name], dtype=np.float64) for name in ("x", "gamma"))
    eps = point["eps_value"](arguments["eps"])
    x, gain = point["gain_place"](x, point["gain"](gamma))
    numerator, measured = point["eps_on_vector"](*point["centring"](x), eps)
    divisor = point["divisor"](measured, point["mean_square"](measured), eps)
    return np.asarray(numerator / divisor * gain)


RMS_NORM = Family(
    "rms_norm", (MEAN_SQUARE, RMS_DIVISOR, CENTRING, EPS_ON_VECTOR, EPS_VALUE, GAIN, GAIN_PLACE), rms_norm
)
