"""Experts that read what their router reads times their shares, in place of shares of what they give.

So Llama 4 has it (Meta 2025, modeling_llama4.py in transformers): y = Σ_e E_e(s_e x), with s_e the sigmoid of the score
of an expert that was chosen, and 0 for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.layered import Layered

# Tokens that tell such experts from all others, and by how much shares differ that are no rounding.
_LEAST_TOKENS = 4
_LEAST_DIFFERENCE = 1e-6


@dataclass(frozen=True, eq=False)
class WeightedInputs:
    """Experts with what their inputs are multiplied by for each token, and the value that is the sum of all.

    `shares` (N, E) has a column for each member, or for each expert of the one network that all are.
    """

    members: tuple[Layered, ...]
    shares: Array
    summed: int


def weighted_inputs(flow: Flow, rows: Array, count: int, networks: Sequence[Layered]) -> WeightedInputs | None:
    """Return the experts that read a router's rows (N, D), each times a number; None where there are none.

    `count` is the number of experts.
    """
    if count < 2 or len(rows) < _LEAST_TOKENS or not (rows**2).sum(axis=-1).all():
        return None
    stacked = (_stacked(flow, rows, count, one) for one in networks)
    return next((one for one in stacked if one is not None), None) or _side_by_side(flow, rows, count, networks)


def by_expert(array: Array, count: int, shape: tuple[int, ...]) -> Iterator[Array]:
    """Yield an array with a row of every expert for every token as (experts, tokens, width)."""
    if array.dtype.kind != "f" or array.shape[-1:] != shape[-1:] or array.size != count * int(np.prod(shape)):
        return
    for axis in (axis for axis in range(array.ndim - 1) if array.shape[axis] == count):
        yield np.moveaxis(array, axis, 0).reshape(count, *shape)


def _stacked(flow: Flow, rows: Array, count: int, one: Layered) -> WeightedInputs | None:
    sublayer = one.place.sublayer
    for given in _in_a_row_too(flow.array(sublayer.entry.input), count, rows.shape):
        shares = _shares(rows, given, flow.unit(sublayer.entry.input))
        summed = None if shares is None else _summed(flow, sublayer.exit.output, count, rows.shape)
        if shares is not None and summed is not None:
            return WeightedInputs((one,), shares, summed)
    return None


def _side_by_side(flow: Flow, rows: Array, count: int, networks: Sequence[Layered]) -> WeightedInputs | None:
    """Return networks of their own that read multiples of some of the rows, which are not all the rows themselves."""
    members, shares, total = [], [], np.zeros_like(rows)
    for one in networks:
        sublayer = one.place.sublayer
        given, made = flow.array(sublayer.entry.input), flow.array(sublayer.exit.output)
        if given.shape[-1:] != rows.shape[-1:] or made.shape[-1:] != rows.shape[-1:]:
            continue
        found = _multiples(rows, given.reshape(-1, rows.shape[1]), flow.unit(sublayer.entry.input))
        if found is None or not _differ(found[1]):
            continue
        places, factors = found
        members.append(one)
        shares.append(np.zeros(len(rows)))
        shares[-1][places] = factors
        total[places] += made.reshape(-1, rows.shape[1])
    if not 1 < len(members) <= count:
        return None
    summed = _sum_of(flow, members[-1].place.sublayer.exit.output, total)
    return None if summed is None else WeightedInputs(tuple(members), np.stack(shares, axis=1), summed)


def _multiples(rows: Array, given: Array, unit: float) -> tuple[Array, Array] | None:
    """Return of which rows the given ones are multiples, and by which numbers; None where one is of none."""
    squares = (rows**2).sum(axis=-1)
    factors = given @ rows.T / squares
    places = np.arange(len(given))
    if len(given) != len(rows) or not agree(given, factors.diagonal()[:, None] * rows, unit):
        places = np.argmax(factors**2 * squares, axis=1)
    own = factors[np.arange(len(given)), places]
    is_each_once = len(np.unique(places)) == len(places) > 0
    return (places, own) if is_each_once and agree(given, own[:, None] * rows[places], unit) else None


def _differ(factors: Array) -> bool:
    return bool(np.ptp(factors) > _LEAST_DIFFERENCE * np.abs(factors).max())


def _in_a_row_too(array: Array, count: int, shape: tuple[int, ...]) -> Iterator[Array]:
    """Yield the same, also where the tokens of one expert stand behind those of another in one axis."""
    yield from by_expert(array, count, shape)
    if array.shape == (count * shape[0], *shape[1:]):
        yield array.reshape(count, *shape)


def _shares(rows: Array, given: Array, unit: float) -> Array | None:
    """Return by what each row of each expert is a multiple of the router's row (N, E); None where one is no multiple.

    Where all are the same multiple, nothing is weighted.
    """
    shares = np.asarray((given * rows).sum(axis=-1) / (rows**2).sum(axis=-1))
    return shares.T if _differ(shares) and agree(given, shares[..., None] * rows, unit) else None


def _summed(flow: Flow, output: int, count: int, shape: tuple[int, ...]) -> int | None:
    """Return the value that is the sum of what all experts give."""
    array = flow.array(output)
    if array.size == int(np.prod(shape)):
        # One product over the hidden layers of all experts is their sum.
        return output
    sums = (_sum_of(flow, output, outputs.sum(axis=0)) for outputs in _in_a_row_too(array, count, shape))
    return next((one for one in sums if one is not None), None)


def _sum_of(flow: Flow, output: int, total: Array) -> int | None:
    """Return the first value made of the experts' outputs that is their sum."""
    for value in sorted(flow.descendants(output)):
        array = flow.array(value)
        is_of_stream = array.dtype.kind == "f" and array.size == total.size
        if is_of_stream and agree(array.reshape(total.shape), total, flow.unit_between(output, value)):
            return value
    return None
