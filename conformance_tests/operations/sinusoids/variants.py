"""The family of sinusoidal positions."""

from __future__ import annotations

import math

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

BASE = 10000.0

Frequencies = tuple[Array, Array]


def _both(frequencies: Array) -> Frequencies:
    """Return the frequencies of the sines and of the cosines where they are the same."""
    return frequencies, frequencies


def _columns(d_model: int) -> Array:
    """Return 0, 2, …: the columns of the sines, 2k."""
    return np.arange(0, d_model, 2)


def _of_each_column(d_model: int, factor: float) -> Frequencies:
    """Return 10000^(−factor · c / d) with the raw column c, which differs between a sine and its cosine."""
    columns = _columns(d_model)
    return BASE ** (-factor * columns / d_model), BASE ** (-factor * (columns + 1) / d_model)


def _precedence(d_model: int, step: int) -> Frequencies:
    """Return e^(k · (−ln 10000 / d // 2)): the division is floored."""
    exponents = np.arange(0, step * (d_model // 2), step)
    return _both(np.exp(exponents * (-math.log(BASE) / d_model // 2)))


def _to_the_last(d_model: int) -> Frequencies:
    """Return 10000^(−k / (d/2 − 1)), as tensor2tensor spaces them."""
    return _both(BASE ** (-np.arange(d_model // 2) / max(d_model // 2 - 1, 1)))


FREQUENCIES = Decision(
    "frequencies",
    "How fast do the clocks run?",
    (
        standard("geometric", lambda d_model: _both(reference.sinusoidal_frequencies(d_model))),
        mistake("sinusoidal_exponent_2i_doubled", lambda d_model: _both(BASE ** (-2 * _columns(d_model) / d_model))),
        mistake("sinusoidal_exponent_2i_doubled", lambda d_model: _of_each_column(d_model, 2), "doubled_raw_column"),
        mistake("sinusoidal_integer_division", lambda d_model: _both(np.ones(d_model // 2))),
        mistake("sinusoidal_wrong_base", lambda d_model: _both(1000.0 ** (-_columns(d_model) / d_model))),
        mistake("sinusoidal_power_args_swapped", lambda d_model: _both((_columns(d_model) / d_model) ** 1e-4)),
        mistake("sinusoidal_operator_precedence", lambda d_model: _precedence(d_model, 1)),
        mistake("sinusoidal_operator_precedence", lambda d_model: _precedence(d_model, 2), "precedence_of_columns"),
        mistake(
            "",
            lambda d_model: _of_each_column(d_model, 1),
            name="column_of_its_own",
            meaning="a cosine has a frequency of its own, that of column 2k + 1, instead of its sine's",
        ),
        mistake(
            "",
            lambda d_model: _both(BASE ** (-np.arange(d_model // 2) / d_model)),
            name="exponent_halved",
            meaning="the exponent is k/d instead of 2k/d",
        ),
        mistake(
            "",
            _to_the_last,
            name="last_frequency_exact",
            meaning="the frequencies are spaced by d/2 − 1, so that the last is exactly 1/10000 (as in tensor2tensor)",
        ),
        mistake(
            "",
            lambda d_model: _both(BASE ** (-(_columns(d_model) + 2) / d_model)),
            name="counts_pairs_from_one",
            meaning="the pairs are counted from 1, so that no clock has frequency 1",
        ),
        mistake(
            "",
            lambda d_model: _both(BASE ** (_columns(d_model) / d_model)),
            name="exponent_sign",
            meaning="the exponent is positive: the clocks run faster, not slower",
        ),
        mistake(
            "",
            lambda d_model: _both(100000.0 ** (-_columns(d_model) / d_model)),
            name="base_100000",
            meaning="base 100000 instead of 10000",
        ),
    ),
)

POSITIONS = Decision(
    "positions",
    "From where are positions counted?",
    (
        standard("from_zero", np.arange),
        mistake("", lambda length: np.arange(length) + 1, name="from_one", meaning="the first position is 1"),
        mistake("positions_divided_by_length", lambda length: np.arange(length) / max(length, 1)),
        mistake(
            "positions_divided_by_length", lambda length: np.arange(length) / max(length - 1, 1), "last_position_is_one"
        ),
    ),
)

FUNCTIONS = Decision(
    "functions",
    "Which functions does a pair of columns have?",
    (
        standard("sine_then_cosine", lambda sines, cosines: (np.sin(sines), np.cos(cosines))),
        mistake(
            "",
            lambda sines, cosines: (np.cos(sines), np.sin(cosines)),
            name="cosine_first",
            meaning="the cosine stands where the sine belongs, and the converse",
        ),
        mistake(
            "",
            lambda sines, cosines: (np.sin(sines), np.sin(cosines)),
            name="sines_only",
            meaning="both columns of a pair have the sine",
        ),
        mistake(
            "",
            lambda sines, cosines: (np.cos(sines), np.cos(cosines)),
            name="cosines_only",
            meaning="both columns of a pair have the cosine",
        ),
    ),
)

FACTOR = Decision(
    "factor",
    "By what is the table multiplied?",
    (
        standard("one", lambda table: table),
        mistake("pe_scaled_down", lambda table: table / np.sqrt(table.shape[-1])),
        mistake(
            "",
            lambda table: table * np.sqrt(table.shape[-1]),
            name="scaled_up",
            meaning="encodings are multiplied by the root of d_model, which is the factor of token embeddings",
        ),
    ),
)


def _interleaved(sines: Array, cosines: Array) -> Array:
    return np.stack([sines, cosines], axis=-1).reshape(len(sines), -1)


LAYOUT = Decision(
    "sinusoidal_layout",
    "Where do sines and cosines stand?",
    (
        standard("interleaved", _interleaved),
        convention("concatenated", lambda sines, cosines: np.concatenate([sines, cosines], axis=-1)),
    ),
    convention="sinusoidal_layout",
)


def _compute(arguments: Arguments, point: Point) -> Array:
    positions = point["positions"](arguments["length"])[:, None]
    sines, cosines = (positions * frequencies for frequencies in point["frequencies"](arguments["d_model"]))
    return np.asarray(point["factor"](point["sinusoidal_layout"](*point["functions"](sines, cosines))))


SINUSOIDS = Family("sinusoids", (FREQUENCIES, POSITIONS, FUNCTIONS, LAYOUT, FACTOR), _compute)
