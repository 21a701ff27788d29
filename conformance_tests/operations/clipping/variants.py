"""The family of clipping by the norm of all gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

Arrays = Sequence[Array]


def _square(array: Array) -> float:
    return float(np.sum(array * array))


def _norm(arrays: Arrays) -> float:
    return float(np.sqrt(sum(np.sum(array * array) for array in arrays)))


def _shared(measure: Callable[[Arrays], float]) -> Callable[[Arrays], list[float]]:
    """Return the function that measures all arrays together, as the norm of each."""
    return lambda arrays: [measure(arrays)] * len(arrays)


NORM = Decision(
    "norm",
    "What is compared with the bound?",
    (
        standard("of_all", _shared(_norm)),
        mistake("clip_norm_of_each_array", lambda arrays: [_norm([array]) for array in arrays]),
        mistake("clip_norm_without_root", _shared(lambda arrays: _norm(arrays) ** 2)),
        mistake("clip_norm_squared_twice", _shared(lambda arrays: _norm([np.array([_square(a) for a in arrays])]))),
        mistake("clip_sum_of_norms", _shared(lambda arrays: sum(_norm([array]) for array in arrays))),
        mistake("clip_norm_counts_array_twice", _shared(lambda arrays: _norm([*arrays, arrays[0]]))),
        mistake("clip_norm_of_last_array", _shared(lambda arrays: _norm(arrays[-1:]))),
        mistake("clip_norm_of_part", _shared(lambda arrays: _norm([array for array in arrays if array.ndim > 1]))),
        mistake(
            "clip_norm_grows_array_by_array",
            lambda arrays: [_norm(arrays[: place + 1]) for place in range(len(arrays))],
        ),
        mistake(
            "clip_root_mean_square",
            _shared(lambda arrays: _norm(arrays) / np.sqrt(sum(array.size for array in arrays))),
        ),
        mistake("clip_sum_of_magnitudes", _shared(lambda arrays: sum(float(np.abs(array).sum()) for array in arrays))),
        mistake("clip_largest_entry", _shared(lambda arrays: max(float(np.abs(array).max()) for array in arrays))),
        neighbour(
            "of_first", _shared(lambda arrays: _norm(arrays[:1])), "the norm of the first array is that of all of them"
        ),
        neighbour(
            "largest_of_norms",
            _shared(lambda arrays: max(_norm([array]) for array in arrays)),
            "the largest norm of an array is that of all of them",
        ),
        neighbour(
            "over_number_of_arrays",
            _shared(lambda arrays: _norm(arrays) / len(arrays)),
            "the norm is divided by the number of arrays",
        ),
        neighbour(
            "over_root_of_arrays",
            _shared(lambda arrays: _norm(arrays) / np.sqrt(len(arrays))),
            "the squares of the arrays' norms are averaged, not added up",
        ),
    ),
)
EPS = Decision(
    "eps",
    "What is added to the norm?",
    (
        standard("none", lambda norm: norm + 0.0),
        convention("1e-6", lambda norm: norm + 1e-6),
        neighbour("1e-3", lambda norm: norm + 1e-3, "0.001 is added to the norm"),
        neighbour("one", lambda norm: norm + 1.0, "1 is added to the norm"),
    ),
    convention="clip_norm_eps",
)
FACTOR = Decision(
    "factor",
    "By what are the gradients multiplied?",
    (
        standard("bound_over_norm", lambda norm, bound: bound / max(norm, bound)),
        mistake("clip_small_gradients_scaled_up", lambda norm, bound: bound / norm),
        mistake("clip_factor_at_least_one", lambda norm, bound: max(1.0, bound / norm)),
        mistake("clip_factor_inverted", lambda norm, bound: max(1.0, norm / bound)),
        mistake("clip_factor_of_squared_norm", lambda norm, bound: bound / norm**2 if norm > bound else 1.0),
        mistake("clip_to_norm_one", lambda norm, bound: 1.0 / norm if norm > bound else 1.0),
        mistake("clip_drops_large_gradients", lambda norm, bound: 0.0 if norm > bound else 1.0),
        mistake("clip_never", lambda norm, bound: 1.0),
        neighbour(
            "root_of_factor", lambda norm, bound: np.sqrt(bound / max(norm, bound)), "the factor's root is taken"
        ),
        neighbour(
            "bound_alone", lambda norm, bound: bound if norm > bound else 1.0, "the bound is not divided by the norm"
        ),
        neighbour(
            "inverse_of_norm", lambda norm, bound: 1.0 / norm, "gradients are divided by their norm, without a bound"
        ),
    ),
)
APPLIED = Decision(
    "applied",
    "How are the gradients changed?",
    (
        standard("multiplied", lambda array, factor, norm, bound, is_last: array * factor),
        mistake("clip_by_value", lambda array, factor, norm, bound, is_last: np.clip(array, -bound, bound)),
        mistake(
            "clip_nan_for_zero_gradients",
            lambda array, factor, norm, bound, is_last: array / norm * min(norm, bound),
        ),
        mistake(
            "clip_only_last_array", lambda array, factor, norm, bound, is_last: array * factor if is_last else array
        ),
        mistake("clip_sign_lost", lambda array, factor, norm, bound, is_last: np.abs(array) * factor),
        neighbour(
            "all_but_last",
            lambda array, factor, norm, bound, is_last: array if is_last else array * factor,
            "the last array is left as it is",
        ),
        neighbour(
            "matrices",
            lambda array, factor, norm, bound, is_last: array * factor if array.ndim > 1 else array,
            "arrays with one axis are left as they are",
        ),
        neighbour(
            "twice",
            lambda array, factor, norm, bound, is_last: array * factor * factor,
            "the factor is multiplied by twice",
        ),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the clipped gradients, one after the other, at a point of the family."""
    arrays, bound = arguments["gradients"], np.float64(arguments["max_norm"])
    last = len(arrays) - 1
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        norms = [np.float64(point["eps"](norm)) for norm in point["norm"](arrays)]
        clipped = [
            point["applied"](array, point["factor"](norm, bound), norm, bound, place == last)
            for place, (array, norm) in enumerate(zip(arrays, norms, strict=True))
        ]
    return np.concatenate([np.ravel(array) for array in clipped])


CLIPPING = Family("clip_by_global_norm", (NORM, EPS, FACTOR, APPLIED), compute)
