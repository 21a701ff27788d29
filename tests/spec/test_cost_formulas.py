"""The formulas of costs against counts: scalar loops that are run, on every size of a grid.

A count is a polynomial in the sizes, of degree 2 at most in a length and 1 in every width (no loop nest has more loops
over it). Two such polynomials that agree on three values of each length and two of each width are equal.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import pytest
from veriformer.spec.cost import decoding, layer_loops, operations, parameters, scalar_loops, traffic
from veriformer.spec.cost.count import Count
from veriformer.spec.cost.machine import ARITHMETIC, FUNCTIONS, INPUTS, PARAMETERS, CountingMachine
from veriformer.spec.cost.operations import triangle

LENGTHS, WIDTHS = (1, 2, 4), (1, 3)


def counting(tokens: int = 0) -> CountingMachine:
    """A machine on which every array is full of ones and halves."""
    return CountingMachine(defaultdict(lambda: defaultdict(lambda: 0.5)), (0,) * tokens)


def x_of(machine: CountingMachine, rows: int, columns: int) -> Any:
    return machine.table(INPUTS, "x", rows, columns)


def assert_counted(machine: CountingMachine, formula: Count) -> None:
    assert machine.counts[ARITHMETIC] == formula.arithmetic
    assert machine.counts[FUNCTIONS] == formula.functions


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    for queries, cached, heads, width, value_width in itertools.product(LENGTHS, (0, 1, 3), *[WIDTHS] * 3):
        machine = counting()
        keys = cached + queries
        scalar_loops.separate_attention(machine, heads, queries, keys, width, value_width, causal)
        visible = operations.causal_attention(heads, queries, cached, width, value_width)
        formula = visible if causal else operations.attention(heads, queries, keys, width, value_width)
        assert_counted(machine, formula)
        moved = traffic.attention(heads, heads, queries, keys, width, value_width)
        assert machine.counts[INPUTS] == moved.inputs


def test_multi_head_attention() -> None:
    for queries, keys, d_model, group, kv_heads, width in itertools.product((1, 2), (1, 2), *[WIDTHS] * 4):
        machine, heads = counting(), group * kv_heads
        x, context = x_of(machine, queries, d_model), x_of(machine, keys, d_model)
        sizes = (queries, keys, d_model, heads, kv_heads, width)
        scalar_loops.multi_head_attention(machine, x, context, "", sizes)
        assert_counted(machine, operations.multi_head_attention(*sizes))
        moved = traffic.multi_head_attention(*sizes)
        assert (machine.counts[INPUTS], machine.counts[PARAMETERS]) == (moved.inputs, moved.parameters)


@pytest.mark.parametrize("kind", operations.ACTIVATIONS)
def test_feed_forward_networks(kind: str) -> None:
    for rows, d_model, d_ff in itertools.product(WIDTHS, repeat=3):
        machine = counting()
        scalar_loops.feed_forward(machine, x_of(machine, rows, d_model), "", rows, d_model, d_ff, kind)
        assert_counted(machine, operations.feed_forward(rows, d_model, d_ff, kind))
        assert machine.counts[PARAMETERS] == traffic.feed_forward(rows, d_model, d_ff).parameters
        machine = counting()
        scalar_loops.gated_feed_forward(machine, x_of(machine, rows, d_model), rows, d_model, d_ff, kind)
        assert_counted(machine, operations.gated_feed_forward(rows, d_model, d_ff, kind))
        assert machine.counts[PARAMETERS] == traffic.gated_feed_forward(rows, d_model, d_ff).parameters


def loops_of_rows(name: str, machine: CountingMachine, rows: int, columns: int) -> None:
    x = x_of(machine, rows, columns)
    if name == "softmax":
        scalar_loops.softmax(machine, x, rows, columns)
    elif name == "layer_norm":
        scalar_loops.layer_norm(machine, x, "", rows, columns)
    else:
        scalar_loops.rms_norm(machine, x, rows, columns)


@pytest.mark.parametrize("name", ["softmax", "layer_norm", "rms_norm"])
def test_row_by_row_operations(name: str) -> None:
    for rows, columns in itertools.product(WIDTHS, repeat=2):
        machine = counting()
        loops_of_rows(name, machine, rows, columns)
        assert_counted(machine, getattr(operations, name)(rows, columns))
        moved = getattr(traffic, name)(rows, columns)
        assert (machine.counts[INPUTS], machine.counts[PARAMETERS]) == (moved.inputs, moved.parameters)


def test_layers() -> None:
    for rows, *sizes in itertools.product(LENGTHS, *[(1, 2)] * 4):
        d_model, heads, width, d_ff = sizes
        machine = counting()
        layer_loops.encoder_layer(machine, x_of(machine, rows, d_model), "", rows, (d_model, heads, width, d_ff))
        assert_counted(machine, operations.encoder_layer(rows, d_model, heads, width, d_ff))
        assert machine.counts[PARAMETERS] == parameters.encoder_layer(d_model, heads, width, d_ff)
        for keys in (1, 2):
            machine = counting()
            x, memory = x_of(machine, rows, d_model), x_of(machine, keys, d_model)
            layer_loops.decoder_layer(machine, x, memory, "", (rows, keys), (d_model, heads, width, d_ff))
            assert_counted(machine, operations.decoder_layer(rows, keys, d_model, heads, width, d_ff))
            assert machine.counts[PARAMETERS] == parameters.decoder_layer(d_model, heads, width, d_ff)


def test_models() -> None:
    """The widths inside a layer are fixed here: `test_layers` varies them."""
    for rows, layers, vocabulary, d_model in itertools.product(LENGTHS, (1, 2), (1, 3), (1, 2)):
        machine = counting(rows)
        layer_loops.language_model(machine, rows, layers, vocabulary, (d_model, 2, 1, 3))
        assert_counted(machine, operations.language_model(rows, layers, d_model, 2, 1, 3, vocabulary))
        moved = traffic.language_model(rows, layers, d_model, 2, 1, 3, vocabulary)
        assert (machine.counts[INPUTS], machine.counts[PARAMETERS]) == (moved.inputs, moved.parameters)
        machine = counting(rows)
        layer_loops.encoder_decoder(machine, (rows, 1), layers, vocabulary, (d_model, 2, 1, 3))
        assert machine.counts[PARAMETERS] == parameters.encoder_decoder(layers, d_model, 2, 1, 3, vocabulary)


def test_decoding_steps_add_up() -> None:
    sizes = (4, 2, 3, 5)
    with_cache = without_cache = Count()
    for tokens in range(1, 6):
        machine = counting()
        layer_loops.decode_step(machine, x_of(machine, 1, 4), tokens, sizes)
        assert_counted(machine, decoding.decode_step(tokens, *sizes))
        assert machine.counts[INPUTS] == traffic.decode_step(tokens, *sizes).inputs
        with_cache += 7 * decoding.decode_step(tokens, *sizes)
        without_cache += 7 * operations.encoder_layer(tokens, *sizes)
        assert with_cache == decoding.decode_with_cache(tokens, 7, *sizes)
        assert without_cache == decoding.decode_without_cache(tokens, 7, *sizes)


def test_numbers_of_known_models() -> None:
    assert parameters.of_model(parameters.BASE_2017) == 63_082_496
    assert parameters.of_model(parameters.BIG_2017) == 214_245_376
    assert abs(parameters.of_model(parameters.BIG_2017) / 213e6 - 1) < 0.01
    assert parameters.language_model(12, 768, 12, 64, 3072, 50257) + 1024 * 768 == 124_439_808
    assert parameters.multi_head_attention(512, 8, 8, 64, bias=False) == 1_048_576
    assert decoding.cache_bytes(4096, 32, 8, 128, 2) == 2**29


def test_counts_add_and_multiply() -> None:
    assert 3 * Count(2, 1) + Count(1) == Count(7, 3)
    assert Count(7, 3).flops == 10
    assert traffic.softmax(2, 3).bytes(4) == 48
    assert triangle(4) == 1 + 2 + 3 + 4
