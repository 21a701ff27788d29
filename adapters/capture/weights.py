"""The weights of a recorded pass: random instead of initial ones, so that no two arrays of a model are alike by chance.

A new model has gains of one, biases of zero, and scores so small that softmax is almost uniform. What it computes then
looks the same with many of its steps left out or done wrongly.
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

LEAST_DEVIATION = 0.15
"""A table of many rows would be drawn almost zero otherwise, and the model would hardly look at its tokens."""
VECTOR_DEVIATION = 0.3
SCALAR_DEVIATION = 0.1


def generator_of(seed: int, index: int) -> np.random.Generator:
    """Return the generator for the parameter at `index` in the order of the model's parameters.

    A draw depends on nothing else, so the number and the shapes of the other parameters do not matter.
    """
    return np.random.default_rng([seed, index])


def perturbed(array: Array, generator: np.random.Generator) -> Array:
    """Return what a parameter is replaced by for the pass: a new array of the same shape and dtype.

    Rank 2 and more: drawn anew, normal with deviation 1.5 / √(mean of the two last axes), at least 0.15. Rank 1: the
    old value + 0.3 · normal, so that a gain stays near its start. Rank 0: the old value · (1 + 0.1 · normal). What is
    not floating-point stays as it is. `array` itself is left alone; where parameters share storage, perturb it once.
    """
    array = np.asarray(array)
    if not is_floating(array.dtype):
        return array
    noise = generator.standard_normal(array.shape)
    if array.ndim >= 2:
        noise *= deviation(array.shape)
        return noise.astype(array.dtype, copy=False)
    old = array.astype(np.float64)
    new = old + VECTOR_DEVIATION * noise if array.ndim == 1 else old * (1 + SCALAR_DEVIATION * noise)
    return np.asarray(new, dtype=array.dtype)


def is_formula(array: Array) -> bool:
    """Return whether an array has values that a formula gives and nobody learns, such as a mask or rotary angles.

    Needed where a framework does not tell parameters from other arrays: a mask that is drawn anew is no mask. Known
    are, of rank 1, equal steps (positions) and powers of one base (frequencies, slopes); of rank 2 and more, masks,
    matrices with equal diagonals (a bias by distance) and tables of sines and cosines.
    """
    array = np.asarray(array)
    if not is_floating(array.dtype) or array.size < 2:
        return False
    values = array.astype(np.float64).squeeze()
    if array.ndim == 1:
        return _has_equal_steps(values) or _has_powers_of_one_base(values)
    return _is_mask(values) or (values.ndim >= 2 and (_has_equal_diagonals(values) or _is_table_of_waves(values)))


def _has_equal_steps(values: Array) -> bool:
    steps = np.diff(values)
    return bool(len(values) >= 3 and steps[0] != 0 and np.allclose(steps, steps[0], rtol=1e-5, atol=0))


def _has_powers_of_one_base(values: Array) -> bool:
    if not (values > 0).all() or len(np.unique(values)) < len(values):
        return False
    if len(values) < 4:
        # So few would fit by chance; these begin as frequencies do, or are whole powers of two, as slopes are.
        whole = bool((np.log2(values) == np.log2(values).round()).all())
        return bool((np.diff(values) < 0).all()) and (values[0] == 1 or whole)
    steps = np.diff(np.sort(np.log(values)))
    multiples = steps / steps.min()
    # Random numbers are near whole multiples by chance only where these are large.
    return bool(multiples.max() < 4 and np.abs(multiples - multiples.round()).max() < 1e-3)


def _is_mask(values: Array) -> bool:
    if values.min() < -1e4:
        return True
    return bool(np.isin(values, (0.0, 1.0)).all() and 0 < values.mean() < 1)


def _has_equal_diagonals(values: Array) -> bool:
    if values.shape[-1] != values.shape[-2] or values.shape[-1] < 3 or values.min() == values.max():
        return False
    return bool((values[..., 1:, 1:] == values[..., :-1, :-1]).all())


def _is_table_of_waves(values: Array) -> bool:
    """Return whether each column is a sine of a growing angle: f(k − 1) + f(k + 1) = 2 cos θ · f(k) for all k."""
    # Later angles are large, and their sines are not exact in single precision.
    rows = values[..., :8, :]
    if rows.shape[-2] < 4 or np.abs(rows).max() > 1 + 1e-6 or (rows == rows[..., :1, :]).all():
        return False
    middle = rows[..., 1:-1, :]
    around = rows[..., :-2, :] + rows[..., 2:, :]
    size = np.abs(around).max(axis=-2) * np.abs(middle).max(axis=-2)
    difference = np.abs(around * middle[..., :1, :] - around[..., :1, :] * middle).max(axis=-2)
    return bool((difference <= 1e-4 * size).all())


def deviation(shape: tuple[int, ...]) -> float:
    """Return the standard deviation of the entries that a parameter of rank 2 or more is drawn with."""
    # Which of the two axes is contracted depends on the framework and on the layer; their mean does for both.
    fan_in = (shape[-1] + shape[-2]) / 2
    return max(1.5 / float(np.sqrt(max(fan_in, 1.0))), LEAST_DEVIATION)


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Return whether a dtype is floating-point, bfloat16 and the eight-bit formats among them."""
    # NumPy does not know the additional formats, whose kind is that of opaque bytes.
    return dtype.kind == "f" or "float" in dtype.name
