"""What is compared of a feed-forward network: its matrices, its activation, its output."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.items import Item, Weight
from veriformer.conformance_tests.ports.stream_items import as_stored, choices, cut
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.heads import columns_of
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.networks import Branch, NetworkReading, matrix_of, network_aspects
from veriformer.conformance_tests.recognition.tracking import places


def network_items(flow: Flow, reading: NetworkReading, path: str) -> Iterator[Item]:
    """Yield what is compared of a network, in the order in which it happens."""
    found = {one.key: one for one in choices(network_aspects(flow, reading), path)}
    if reading.gate is not None and reading.up is not None:
        yield from _branch(flow, "gate", reading.gate, path)
        yield from _branch(flow, "up", reading.up, path)
    else:
        for number, one in enumerate(reading.sublayer.inner):
            yield from _map(flow, f"hidden {number}" if number else "hidden", "hidden", one, path)
            yield cut(flow, f"hidden {number} values", "hidden", one.output, path)
    yield from (found[name] for name in ("gated", "activation", "linear branch") if name in found)
    yield cut(flow, "activated", "activation", reading.sublayer.exit.input, path)
    yield from _map(flow, "output", "feed_forward", reading.sublayer.exit, path)
    yield cut(flow, "network output", "feed_forward", reading.sublayer.exit.output, path)


def _map(flow: Flow, name: str, step: StepName, one: LinearMap, path: str) -> Iterator[Weight]:
    yield Weight(f"{name} weight", step, one.step, path, matrix_of(flow, one), one.names)
    bias = None if one.bias is None else flow.array(one.bias).ravel()
    names = () if one.bias is None else flow.parameters_of(one.bias)
    yield Weight(f"{name} bias", step, one.step, path, bias, names, 0.0, stored=as_stored(flow, names))


def _branch(flow: Flow, name: str, branch: Branch, path: str) -> Iterator[Item]:
    """Yield one branch of a gated network, which may be a part of the columns of one map."""
    one = branch.map
    matrix = matrix_of(flow, one)
    columns = None if matrix is None else _columns(flow, one, flow.array(branch.start), matrix.shape[1])
    chosen = matrix if matrix is None or columns is None else matrix[:, columns]
    yield Weight(f"{name} weight", "hidden", one.step, path, chosen, one.names)
    bias = None if one.bias is None else flow.array(one.bias).ravel()
    bias = bias if bias is None or columns is None or bias.size <= columns.max() else bias[columns]
    names = () if one.bias is None else flow.parameters_of(one.bias)
    yield Weight(f"{name} bias", "hidden", one.step, path, bias, names, 0.0)
    yield cut(flow, f"{name} values", "hidden", branch.start, path)


def _columns(flow: Flow, one: LinearMap, part: Array, width: int) -> Array | None:
    """Return which columns of a map's output a part of it holds, in its order; None where it is all of it."""
    whole = flow.array(one.output)
    if part.size >= whole.size or whole.size % width:
        return None
    rows = columns_of(flow, one, whole.size // width, 1)
    moved = None if rows is None or rows.shape[1] != width else places(rows, part)
    if moved is None:
        return None
    columns = moved % width
    for axis in range(part.ndim):
        along = np.moveaxis(columns, axis, -1).reshape(-1, part.shape[axis])
        if len(np.unique(along[0])) == part.shape[axis] and (along == along[:1]).all():
            return np.asarray(along[0])
    return None
