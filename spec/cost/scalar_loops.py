"""Every operation of a Transformer as loops over scalars, which the formulas of this package count.

They are written for counting, not for use. On numbers they compute the operations; on symbols (see the derivation
`cost`) they give their own count for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veriformer.spec.cost.machine import INPUTS, OUTPUTS, PARAMETERS, Machine, Number, Table

Entry = Callable[..., Number]


def linear(
    machine: Machine, x: Table, name: str, rows: Any, inner: Any, columns: Any, bias: bool = True, into: Any = None
) -> Table:
    """X W + b; `into` = (table, first row) appends to a table that is there."""
    weight = machine.table(PARAMETERS, f"w_{name}", inner, columns)
    offset = machine.table(PARAMETERS, f"b_{name}", columns) if bias else None
    result, first = into or (machine.table(), 0)
    for row in machine.loop(rows):
        for column in machine.loop(columns):
            entry = machine.constant(0)
            for place in machine.loop(inner):
                entry = entry + x[row, place] * weight[place, column]
            result[first + row, column] = entry if offset is None else entry + offset[column]
    return result


def softmax_of_row(machine: Machine, row: Table, length: Any) -> None:
    """Replace logits by weights, the maximum subtracted."""
    largest, total = machine.constant("-inf"), machine.constant(0)
    for place in machine.loop(length):
        largest = largest.larger(row[place])
    for place in machine.loop(length):
        row[place] = (row[place] - largest).exponential()
        total = total + row[place]
    for place in machine.loop(length):
        row[place] = row[place] / total


def softmax(machine: Machine, x: Table, rows: Any, columns: Any) -> Table:
    """Softmax of each row."""
    result = machine.table()
    for row in machine.loop(rows):
        weights = machine.table()
        for column in machine.loop(columns):
            weights[column] = x[row, column]
        softmax_of_row(machine, weights, columns)
        for column in machine.loop(columns):
            result[row, column] = weights[column]
    return result


def attention(
    machine: Machine,
    query: Entry,
    key: Entry,
    value: Entry,
    sizes: tuple[Any, Any, Any, Any],
    visible: Callable[[Any], Any],
    result: Table,
) -> Table:
    """The concatenated outputs of the heads; query i sees the first visible(i) keys.

    `sizes` are the numbers of heads and queries and the widths of keys and values.
    """
    heads, queries, width, value_width = sizes
    scale = machine.constant(width**0.5)
    for head in machine.loop(heads):
        for row in machine.loop(queries):
            weights = machine.table()
            for place in machine.loop(visible(row)):
                logit = machine.constant(0)
                for component in machine.loop(width):
                    logit = logit + query(head, row, component) * key(head, place, component)
                weights[place] = logit / scale
            softmax_of_row(machine, weights, visible(row))
            for component in machine.loop(value_width):
                entry = machine.constant(0)
                for place in machine.loop(visible(row)):
                    entry = entry + weights[place] * value(head, place, component)
                result[row, head * value_width + component] = entry
    return result


def separate_attention(
    machine: Machine, heads: Any, queries: Any, keys: Any, width: Any, value_width: Any, causal: bool = False
) -> Table:
    """Attention of given queries to given keys; causal: row i sees all but the last L − 1 − i keys."""
    query = machine.table(INPUTS, "query", heads, queries, width)
    key = machine.table(INPUTS, "key", heads, keys, width)
    value = machine.table(INPUTS, "value", heads, keys, value_width)
    result = machine.table(OUTPUTS, "output", heads, queries, value_width)
    sizes = (heads, queries, width, value_width)

    def visible(row: Any) -> Any:
        return keys - queries + row + 1 if causal else keys

    def entry(table: Table) -> Entry:
        return lambda head, row, component: table[head, row, component]

    return attention(machine, entry(query), entry(key), entry(value), sizes, visible, result)


def multi_head_attention(
    machine: Machine,
    x: Table,
    context: Table,
    name: str,
    sizes: tuple[Any, Any, Any, Any, Any, Any],
    bias: bool = True,
    cached: Any = None,
) -> Table:
    """Project, attend in every head, project; `sizes` are L, S, E, H, G and D.

    `cached` are tables of keys and values to which those of the context, L of the S, are appended.
    """
    queries, keys, d_model, heads, kv_heads, width = sizes
    group = heads // kv_heads
    new, places = (keys, (None, None)) if cached is None else (queries, [(table, keys - queries) for table in cached])
    query = linear(machine, x, f"{name}q", queries, d_model, heads * width, bias)
    key = linear(machine, context, f"{name}k", new, d_model, kv_heads * width, bias, places[0])
    value = linear(machine, context, f"{name}v", new, d_model, kv_heads * width, bias, places[1])

    def of_query(head: Any, row: Any, component: Any) -> Number:
        return query[row, head * width + component]

    def of_group(table: Table) -> Entry:
        return lambda head, row, component: table[row, head // group * width + component]

    heads_beside = attention(
        machine,
        of_query,
        of_group(key),
        of_group(value),
        (heads, queries, width, width),
        lambda row: keys,
        machine.table(),
    )
    return linear(machine, heads_beside, f"{name}o", queries, heads * width, d_model, bias)


def activation(machine: Machine, kind: str, x: Number) -> Number:
    """max(x, 0), x (1 + erf(x √½)) ½, or x/(1 + e^(−x))."""
    zero, one = machine.constant(0), machine.constant(1)
    if kind == "relu":
        return x.larger(zero)
    if kind == "gelu":
        return x * (one + (x * machine.constant(0.5**0.5)).error_function()) * machine.constant(0.5)
    return x / (one + (zero - x).exponential())


def feed_forward(
    machine: Machine, x: Table, name: str, rows: Any, d_model: Any, d_ff: Any, kind: str = "relu", bias: bool = True
) -> Table:
    """activation(x W_1 + b_1) W_2 + b_2."""
    hidden = linear(machine, x, f"{name}1", rows, d_model, d_ff, bias)
    for row in machine.loop(rows):
        for unit in machine.loop(d_ff):
            hidden[row, unit] = activation(machine, kind, hidden[row, unit])
    return linear(machine, hidden, f"{name}2", rows, d_ff, d_model, bias)


def gated_feed_forward(machine: Machine, x: Table, rows: Any, d_model: Any, d_ff: Any, kind: str = "silu") -> Table:
    """(activation(x W_gate) ⊙ x W_up) W_down."""
    gate = linear(machine, x, "gate", rows, d_model, d_ff, bias=False)
    up = linear(machine, x, "up", rows, d_model, d_ff, bias=False)
    for row in machine.loop(rows):
        for unit in machine.loop(d_ff):
            up[row, unit] = activation(machine, kind, gate[row, unit]) * up[row, unit]
    return linear(machine, up, "down", rows, d_ff, d_model, bias=False)


def layer_norm(machine: Machine, x: Table, name: str, rows: Any, d_model: Any, eps: float = 1e-5) -> Table:
    """(x − μ)/√(v + ε) γ + β for each row."""
    gamma = machine.table(PARAMETERS, f"gamma_{name}", d_model)
    beta = machine.table(PARAMETERS, f"beta_{name}", d_model)
    result, size = machine.table(), machine.constant(d_model)
    for row in machine.loop(rows):
        total, squares = machine.constant(0), machine.constant(0)
        for place in machine.loop(d_model):
            total = total + x[row, place]
        mean = total / size
        for place in machine.loop(d_model):
            deviation = x[row, place] - mean
            squares = squares + deviation * deviation
            result[row, place] = deviation
        deviation_of_row = (squares / size + machine.constant(eps)).root()
        for place in machine.loop(d_model):
            result[row, place] = result[row, place] / deviation_of_row * gamma[place] + beta[place]
    return result


def rms_norm(machine: Machine, x: Table, rows: Any, d_model: Any, eps: float = 1e-5) -> Table:
    """x/√(mean x² + ε) γ for each row."""
    gamma = machine.table(PARAMETERS, "gamma_", d_model)
    result, size = machine.table(), machine.constant(d_model)
    for row in machine.loop(rows):
        squares = machine.constant(0)
        for place in machine.loop(d_model):
            squares = squares + x[row, place] * x[row, place]
        root = (squares / size + machine.constant(eps)).root()
        for place in machine.loop(d_model):
            result[row, place] = x[row, place] / root * gamma[place]
    return result


def added(machine: Machine, x: Table, other: Table, rows: Any, d_model: Any) -> Table:
    """X + y, the residual connection."""
    result = machine.table()
    for row in machine.loop(rows):
        for place in machine.loop(d_model):
            result[row, place] = x[row, place] + other[row, place]
    return result
