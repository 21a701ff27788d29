"""The family of rotary position embeddings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.drawing.values import round_to_dtype
from veriformer.conformance_tests.operations.rotary.variants.positions import (
    POSITION_AS_NUMBER,
    POSITIONS,
    WHOSE_POSITIONS,
)
from veriformer.conformance_tests.variants.decision import Decision, Option, convention, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, NotDefined, Point
from veriformer.conformance_tests.variants.precision import HALVES

BASE = 10000.0

BASE_TAKEN = Decision(
    "base",
    "Which base have the frequencies?",
    (standard("as_given", lambda base: base), mistake("rope_theta_ignored", lambda base: BASE)),
)

# Of the width D of a vector and the rotary dimension r: how many components turn.
TURNED = Decision(
    "turned",
    "How many components turn?",
    (
        standard("rotary_dim", lambda width, rotary_dim: rotary_dim),
        mistake("rope_rotary_dim_ignored", lambda width, rotary_dim: width),
        mistake(
            "rope_frequency_count_halved", lambda width, rotary_dim: 2 * ((rotary_dim // 2 + 1) // 2), "only_half_turns"
        ),
    ),
)

WHICH_TURN = Decision(
    "which_turn",
    "Which components turn where not all do?",
    (
        standard("the_first", lambda width, turned: 0),
        mistake(
            "",
            lambda width, turned: width - turned,
            name="turns_last_components",
            meaning="the last components turn, where the first should",
        ),
    ),
)


def _powers(steps: Array, base: float) -> Array:
    return np.asarray(float(base) ** -steps)


# Of the number r of turned components, the width D, and the base.
FREQUENCIES = Decision(
    "frequencies",
    "How fast does each pair turn?",
    (
        standard("geometric", lambda turned, width, base: reference.rotary_frequencies(turned, base=base)),
        mistake(
            "rope_frequencies_of_whole_width",
            lambda turned, width, base: _powers(np.arange(0, turned, 2) / width, base),
        ),
        mistake(
            "rope_frequency_count_halved",
            lambda turned, width, base: _powers(np.arange(0, turned, 2) / (turned // 2), base),
        ),
        mistake(
            "",
            lambda turned, width, base: _powers(np.arange(turned // 2) / turned, base),
            name="exponent_halved",
            meaning="the exponent is k/r instead of 2k/r",
        ),
        mistake(
            "",
            lambda turned, width, base: _powers(-np.arange(0, turned, 2) / turned, base),
            name="exponent_sign",
            meaning="the exponent is positive: the pairs turn faster and faster",
        ),
        mistake(
            "",
            lambda turned, width, base: _powers((np.arange(0, turned, 2) + 2) / turned, base),
            name="counts_pairs_from_one",
            meaning="the pairs are counted from 1, so that none turns by the position itself",
        ),
        mistake(
            "",
            lambda turned, width, base: _powers(np.arange(turned // 2) / max(turned // 2 - 1, 1), base),
            name="last_frequency_exact",
            meaning="the frequencies are spaced by r/2 − 1, so that the last is exactly 1/base",
        ),
        mistake(
            "",
            lambda turned, width, base: reference.rotary_frequencies(turned, base=base)[::-1],
            name="frequencies_reversed",
            meaning="the frequencies stand in the opposite order",
        ),
        mistake(
            "",
            lambda turned, width, base: np.ones(turned // 2),
            name="one_frequency",
            meaning="every pair turns by the position itself, as with an exponent divided in integers",
        ),
    ),
)


def _interleaved(pairs: Array) -> Array:
    """Give component c the angle of pair c // 2."""
    return np.repeat(pairs, 2, axis=-1)


def _halves(pairs: Array) -> Array:
    """Give component c the angle of pair c mod r/2."""
    return np.concatenate([pairs, pairs], axis=-1)


_LAYOUTS = {"interleaved": (_interleaved, _halves), "half": (_halves, _interleaved)}


def _read_too_late(angles: Array) -> Array:
    """Return the angles behind half of the next power of two of r, where the sines are looked for behind r/2 cosines.

    What stands behind the table is 0, whose sine is 0 too.
    """
    pairs = angles.shape[-1]
    late = (1 << (2 * pairs - 1).bit_length()) // 2 - pairs
    return np.concatenate([angles[..., late:], np.zeros_like(angles[..., :late])], axis=-1)


# Of the angles of the pairs and the pairing: the angles of the components for the cosine and for the sine.
ANGLES = Decision(
    "angles",
    "Which angle does a component turn by?",
    (
        standard("that_of_its_pair", lambda angles, pairing: (_LAYOUTS[pairing][0](angles),) * 2),
        mistake("rope_cos_sin_pair_layout_mismatch", lambda angles, pairing: (_LAYOUTS[pairing][1](angles),) * 2),
        mistake(
            "rope_sines_reversed",
            lambda angles, pairing: (_LAYOUTS[pairing][0](angles), _LAYOUTS[pairing][0](angles[..., ::-1])),
        ),
        mistake(
            "rope_sines_reversed",
            lambda angles, pairing: (_LAYOUTS[pairing][0](angles[..., ::-1]), _LAYOUTS[pairing][0](angles)),
            "cosines_reversed",
        ),
        mistake(
            "rope_padded_dim_offset",
            lambda angles, pairing: (_LAYOUTS[pairing][0](angles), _LAYOUTS[pairing][0](_read_too_late(angles))),
        ),
    ),
)

# What the first and the second component of a pair get from their partner, and the functions of the angle.
TURN = Decision(
    "turn",
    "Which way, and how, does a pair turn?",
    (
        standard("counterclockwise", lambda cos, sin: (cos, sin, -1.0, 1.0)),
        mistake("rope_sign_flipped", lambda cos, sin: (cos, sin, 1.0, -1.0)),
        mistake(
            "",
            lambda cos, sin: (cos, sin, 1.0, 1.0),
            name="minus_missing",
            meaning="neither sine has a minus: pairs are mixed, not turned",
        ),
        mistake(
            "",
            lambda cos, sin: (cos, sin, -1.0, -1.0),
            name="minus_twice",
            meaning="both sines have a minus: pairs are mixed, not turned",
        ),
        mistake(
            "",
            lambda cos, sin: (sin, cos, -1.0, 1.0),
            name="sine_and_cosine_exchanged",
            meaning="the sine stands where the cosine belongs, and the converse",
        ),
        mistake(
            "",
            lambda cos, sin: (cos, sin, 0.0, 0.0),
            name="partner_ignored",
            meaning="components are multiplied by the cosine only",
        ),
    ),
)

VECTORS = Decision(
    "vectors",
    "What is turned?",
    (
        standard("as_given", lambda x: x),
        mistake("rope_normalises", lambda x: x / np.sqrt(1 + np.sum(x * x, axis=-1, keepdims=True))),
        mistake(
            "rope_normalises", lambda x: x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True)), "rope_normalises_length"
        ),
        mistake(
            "rope_normalises", lambda x: x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True)), "rope_normalises_root"
        ),
    ),
)


# Begins the names of those options by which cosines and sines are rounded as the angles are.
_TURNS_TOO = "turns_and"


def _turns(angles: Array, function: Callable[[Array], Array], point: Point) -> Array:
    precision = point.option("precision").name
    turns = function(angles)
    return round_to_dtype(turns, precision.rpartition("_")[2]) if precision.startswith(_TURNS_TOO) else turns


def _in_halves() -> Iterator[Option]:
    """Yield what rounds to 16 bits whatever the dtype of the vectors."""
    slug = "rope_low_precision_positions"
    for half in HALVES:
        narrow = partial(round_to_dtype, dtype=half)
        if half == "bfloat16":
            # float16 holds every position up to 2048.
            yield mistake(slug, lambda p, f, _, narrow=narrow: narrow(p) * f, f"positions_in_{half}")
        yield mistake(slug, lambda p, f, _, narrow=narrow: narrow(p * f), f"angles_in_{half}")
        yield mistake(slug, lambda p, f, _, narrow=narrow: p * narrow(f), f"frequencies_in_{half}")
        yield mistake(slug, lambda p, f, _, narrow=narrow: narrow(narrow(p) * narrow(f)), f"throughout_in_{half}")
        yield mistake(slug, lambda p, f, _, narrow=narrow: narrow(p * f), f"{_TURNS_TOO}_angles_in_{half}")
        yield mistake(
            slug, lambda p, f, _, narrow=narrow: narrow(narrow(p) * narrow(f)), f"{_TURNS_TOO}_throughout_in_{half}"
        )


# Of the positions, the frequencies, and what rounds to the dtype of the vectors.
PRECISION = Decision(
    "precision",
    "In which precision are the angles computed?",
    (
        standard("float32_at_least", lambda positions, frequencies, rounded: positions * frequencies),
        mistake(
            "rope_low_precision_positions",
            lambda positions, frequencies, rounded: rounded(positions) * frequencies,
        ),
        mistake(
            "rope_low_precision_positions",
            lambda positions, frequencies, rounded: rounded(positions * frequencies),
            "low_precision_angles",
        ),
        mistake(
            "rope_low_precision_positions",
            lambda positions, frequencies, rounded: positions * rounded(frequencies),
            "low_precision_frequencies",
        ),
        mistake(
            "rope_low_precision_positions",
            lambda positions, frequencies, rounded: rounded(rounded(positions) * rounded(frequencies)),
            "low_precision_throughout",
        ),
        *_in_halves(),
    ),
)


def _value_of_convention(*_: Any) -> None:
    """A placeholder for an option of which only the name matters."""


PAIRING = Decision(
    "rotary_pairing",
    "Which components form a pair?",
    (
        standard("interleaved", _value_of_convention),
        convention("half", _value_of_convention, "rope_interleaved_vs_half"),
    ),
    convention="rotary_pairing",
)


def _compute(arguments: Arguments, point: Point) -> Array:
    x, given = np.asarray(arguments["x"]), arguments.get("rotary_dim")
    width = x.shape[-1]
    turned = point["turned"](width, width if given is None else given)
    start = point["which_turn"](width, turned)
    frequencies = point["frequencies"](turned, width, point["base"](arguments.get("base", BASE)))
    positions = point["positions"](point["whose_positions"](np.asarray(arguments["positions"])), x.shape)
    if len(frequencies) != turned // 2:
        raise NotDefined
    result = np.array(point["vectors"](x), dtype=np.float64)
    part = slice(start, start + turned)
    rounded = partial(round_to_dtype, dtype=arguments.get("dtype", "float64"))
    angles = point["precision"](point["position_as_number"](positions)[..., None], frequencies, rounded)
    result[..., part] = _turned(result[..., part], angles, point)
    return result


def _turned(vectors: Array, angles: Array, point: Point) -> Array:
    pairing: Any = point.option("rotary_pairing").name
    for_cosine, for_sine = point["angles"](angles, pairing)
    cos, sin, to_first, to_second = point["turn"](_turns(for_cosine, np.cos, point), _turns(for_sine, np.sin, point))
    first, second = reference.pair_places(vectors.shape[-1], pairing)
    partners = np.empty_like(vectors)
    partners[..., first] = to_first * vectors[..., second]
    partners[..., second] = to_second * vectors[..., first]
    return np.asarray(vectors * cos + partners * sin)


ROTARY = Family(
    "rotary",
    (
        WHOSE_POSITIONS,
        POSITIONS,
        POSITION_AS_NUMBER,
        BASE_TAKEN,
        TURNED,
        WHICH_TURN,
        FREQUENCIES,
        PRECISION,
        PAIRING,
        ANGLES,
        TURN,
        VECTORS,
    ),
    _compute,
    needs_dtype=True,
)
