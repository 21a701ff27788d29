"""What is compared of a feed-forward network: its matrices, its activation, its output."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.items import Item, Weight
from veriformer.conformance_tests.ports.stream_items import choices, cut
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.networks import Branch, NetworkReading, matrix_of, network_aspects


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
    yield Weight(f"{name} bias", step, one.step, path, bias, names, 0.0)


def _branch(flow: Flow, name: str, branch: Branch, path: str) -> Iterator[Item]:
    """Yield one branch of a gated network, which may be a part of the columns of one map."""
    one = branch.map
    matrix = matrix_of(flow, one)
    columns = None if matrix is None else _columns(flow.array(one.output), flow.array(branch.start), matrix.shape[1])
    chosen = matrix if matrix is None or columns is None else matrix[:, columns]
    yield Weight(f"{name} weight", "hidden", one.step, path, chosen, one.names)
    bias = None if one.bias is None else flow.array(one.bias).ravel()
    bias = bias if bias is None or columns is None or bias.size <= columns.max() else bias[columns]
    names = () if one.bias is None else flow.parameters_of(one.bias)
    yield Weight(f"{name} bias", "hidden", one.step, path, bias, names, 0.0)
    yield cut(flow, f"{name} values", "hidden", branch.start, path)


def _columns(whole: Array, part: Array, width: int) -> Array | None:
    """Return which columns of a map's output a part of it holds; None where it is all of it, or none that are known."""
    if part.size >= whole.size or whole.size % width:
        return None
    rows = whole.reshape(-1, width)
    chosen = part.reshape(len(rows), -1) if part.size % len(rows) == 0 else None
    if chosen is None:
        return None
    order = np.argsort(rows[0], kind="stable")
    at = np.minimum(np.searchsorted(rows[0][order], chosen[0]), width - 1)
    columns = np.asarray(order[at])
    return columns if np.array_equal(rows[:, columns], chosen) else None
