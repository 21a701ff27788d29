"""The modules of a model that are one operation each, with where their weights lie: what laws can be tried on.

A module is bound only where a call of it alone gives what the operation gives (`run/bound_parts.py`): what it was
recognised as may be done around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from veriformer.adapters.fixed_values import FixedValue
from veriformer.adapters.whole_models.bound_part import BoundPart, WeightPlace
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.embeddings import Embedding, positions_of
from veriformer.conformance_tests.recognition.expressions import Activated, Expression, Norm, Product
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.locating import place_of_matrix, place_of_vector
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.networks import Branch, NetworkReading, matrix_of
from veriformer.conformance_tests.recognition.operands import read_operand
from veriformer.conformance_tests.recognition.stream_parts import norms_of, path_of_norm

# The activations of the interface, with the form of GELU, by the names that they are recognised under.
_ACTIVATIONS: Mapping[str, tuple[str, str]] = {
    "relu": ("relu", ""),
    "silu": ("silu", ""),
    "gelu": ("gelu", "erf"),
    "gelu_tanh": ("gelu", "tanh"),
    "gelu_sigmoid": ("gelu", "sigmoid"),
}
_LISTS = ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict")


@dataclass
class _Weights:
    """Weights by their names in the interface, as they are found; `missing` where one of them was not."""

    flow: Flow
    places: dict[str, WeightPlace] = field(default_factory=dict)
    missing: bool = False

    def matrix(self, name: str, matrix: Array | None, names: Sequence[str]) -> None:
        """Add a matrix (in, out) that is made of named parameters."""
        self._add(name, None if matrix is None else place_of_matrix(self.flow, matrix, names))

    def vector(self, name: str, value: int, columns: Array | None = None, one_plus: bool = False) -> None:
        """Add a vector that a value of the pass holds, or some `columns` of it; what is one less where it is counted
        from one.
        """
        vector = self.flow.array(value).ravel() - (1.0 if one_plus else 0.0)
        chosen = vector if columns is None else vector[columns]
        self._add(name, place_of_vector(self.flow, chosen, self.flow.parameters_of(value)))

    def kept(self, *, biases: bool) -> dict[str, WeightPlace]:
        """Return the weights that are set, without the biases where the operation has none."""
        return {name: place for name, place in self.places.items() if biases or not name.startswith("b_")}

    def zeroed(self, *, biases: bool) -> tuple[WeightPlace, ...]:
        """Return the biases that are zero in every call, since the operation has none."""
        return tuple(place for name, place in self.places.items() if name.startswith("b_") and not biases)

    def _add(self, name: str, place: WeightPlace | None) -> None:
        if place is None:
            self.missing = True
        else:
            self.places[name] = place


@dataclass(frozen=True)
class _Candidate:
    """A module, what it is alike in with others, and how its part is made."""

    path: str
    alike: tuple[Any, ...]
    made: Callable[[], BoundPart | None]


def bound_parts(model: ModelReading) -> tuple[BoundPart, ...]:
    """Return the modules that may be bound, in the order of execution; of several that are alike the first."""
    found: dict[tuple[Any, ...], BoundPart | None] = {}
    for one in _candidates(model):
        path = _callable_module(model, one.path)
        # The root is the whole model, which is called as such.
        if path:
            key = (model.trace.modules[path], *one.alike)
            if key not in found:
                made = one.made()
                found[key] = None if made is None else replace(made, path=path, kind=model.trace.modules[path])
    return tuple(part for part in found.values() if part is not None)


def _callable_module(model: ModelReading, path: str) -> str:
    """Return the module at a path, or the first around it that is more than a list of others; "" without any."""
    while path and model.trace.modules.get(path, "") in ("", *_LISTS):
        path = path.rpartition(".")[0]
    return path


def _candidates(model: ModelReading) -> Iterator[_Candidate]:
    for layered in model.readings:
        for _, norm in norms_of(layered.place):
            yield from _of_norm(model, norm)
        if layered.network is not None:
            yield from _of_network(model, layered, layered.network)
        elif layered.attention is not None and layered.kind == "self_attention":
            yield from _of_attention(model, layered, layered.attention)
    for one in model.ends:
        read = model.reader.read(one.input)
        if isinstance(read, Norm):
            yield from _of_norm(model, read)


def _shape(model: ModelReading) -> tuple[int, int]:
    return model.batch, model.length()


# --- norms ------------------------------------------------------------------------------------------------------------


def _of_norm(model: ModelReading, norm: Norm) -> Iterator[_Candidate]:
    if norm.kind not in ("layer_norm", "rms_norm") or norm.mistake is not None or norm.eps is None:
        return
    standard = norm.placement == "inside_root" and norm.eps > 0
    if not standard or (norm.kind == "rms_norm" and norm.shift is not None) or norm.gain is None:
        return
    if norm.one_plus and norm.kind == "layer_norm":
        return
    width = model.flow.shape(norm.value)[-1]
    alike = (norm.kind, width, norm.eps, norm.one_plus, norm.shift is None)
    yield _Candidate(path_of_norm(model.flow, norm), alike, lambda: _norm_part(model, norm, width))


def _norm_part(model: ModelReading, norm: Norm, width: int) -> BoundPart | None:
    weights = _Weights(model.flow)
    if norm.gain is not None:
        weights.vector("gamma", norm.gain, one_plus=norm.one_plus)
    if norm.shift is not None:
        weights.vector("beta", norm.shift)
    if weights.missing or norm.eps is None:
        return None
    gain = "one_plus_gamma" if norm.one_plus else "gamma"
    return BoundPart(
        path_of_norm(model.flow, norm),
        norm.kind,
        weights.places,
        {"d_model": width, "eps": norm.eps},
        _shape(model),
        {"rms_norm_gain": gain} if norm.kind == "rms_norm" else {},
    )


# --- networks ---------------------------------------------------------------------------------------------------------


def _of_network(model: ModelReading, layered: Layered, network: NetworkReading) -> Iterator[_Candidate]:
    if network.activation not in _ACTIVATIONS:
        return
    yield from _of_activation(model, layered, network)
    exit_map = network.sublayer.exit
    sizes = (model.flow.shape(exit_map.output)[-1], model.flow.shape(exit_map.input)[-1])
    biased = tuple(one.bias is not None for one in (*network.sublayer.inner, exit_map))
    alike = ("network", network.gated, network.activation, sizes, biased)
    make = _gated_part if network.gated else _network_part
    yield _Candidate(layered.path, alike, lambda: make(model, layered, network, *sizes))


def _of_activation(model: ModelReading, layered: Layered, network: NetworkReading) -> Iterator[_Candidate]:
    """Yield the module of an activation, where it has one."""
    operation, form = _ACTIVATIONS[network.activation or ""]
    activated = _activated(model.reader.read(network.sublayer.exit.input))
    step = None if activated is None else model.flow.making(activated.value)
    if step is None or operation == "relu" or step.module == layered.path:
        return
    conventions = {"gelu_form": form} if form else {}
    part = BoundPart(step.module, operation, {}, {}, _shape(model), conventions)
    yield _Candidate(step.module, (operation, form), lambda: part)


def _activated(expression: Expression) -> Activated | None:
    if isinstance(expression, Product):
        return _activated(expression.first) or _activated(expression.second)
    return expression if isinstance(expression, Activated) else None


def _network_part(
    model: ModelReading, layered: Layered, network: NetworkReading, width: int, hidden: int
) -> BoundPart | None:
    if len(network.sublayer.inner) != 1:
        return None
    weights = _Weights(model.flow)
    maps = {"1": network.sublayer.inner[0], "2": network.sublayer.exit}
    for name, one in maps.items():
        weights.matrix(f"w_{name}", matrix_of(model.flow, one), one.names)
        if one.bias is not None:
            weights.vector(f"b_{name}", one.bias)
    if weights.missing:
        return None
    return _network(model, layered, network, weights, width, hidden, biases="b_1" in weights.places)


def _gated_part(
    model: ModelReading, layered: Layered, network: NetworkReading, width: int, hidden: int
) -> BoundPart | None:
    if network.gate is None or network.up is None or any(map(_is_special, (network.gate, network.up))):
        return None
    weights = _Weights(model.flow)
    for name, branch in (("w_gate", network.gate), ("w_up", network.up)):
        columns = _columns_of(model.flow, branch.map, branch.start, hidden)
        matrix = matrix_of(model.flow, branch.map)
        weights.matrix(name, None if matrix is None or columns is None else matrix[:, columns], branch.map.names)
    weights.matrix("w_down", matrix_of(model.flow, network.sublayer.exit), network.sublayer.exit.names)
    maps = dict.fromkeys((network.gate.map, network.up.map, network.sublayer.exit))
    for number, bias in enumerate(one.bias for one in maps if one.bias is not None):
        weights.vector(f"b_{number}", bias)
    return None if weights.missing else _network(model, layered, network, weights, width, hidden, biases=False)


def _is_special(branch: Branch) -> bool:
    """Return whether something is done to a branch that the operation does not do."""
    return branch.limited or branch.shift != 0.0


def _columns_of(flow: Flow, one: LinearMap, value: int, hidden: int) -> Array | None:
    """Return the columns of a map's output that a value (…, F) holds, such as the half of a fused projection."""
    whole = flow.array(one.output)
    whole, part = whole.reshape(-1, whole.shape[-1]), flow.array(value).reshape(-1, hidden)
    if len(whole) != len(part):
        return None
    order = np.argsort(whole[0], kind="stable")
    columns = order[np.minimum(np.searchsorted(whole[0][order], part[0]), len(order) - 1)]
    return columns if np.array_equal(whole[:, columns], part) else None


def _network(
    model: ModelReading,
    layered: Layered,
    network: NetworkReading,
    weights: _Weights,
    width: int,
    hidden: int,
    *,
    biases: bool,
) -> BoundPart:
    activation, form = _ACTIVATIONS[network.activation or ""]
    return BoundPart(
        layered.path,
        "gated_feed_forward" if network.gated else "feed_forward",
        weights.kept(biases=biases),
        {"d_model": width, "d_ff": hidden, "activation": activation},
        _shape(model),
        {"gelu_form": form} if form else {},
        () if biases or network.gated else ("biases",),
        weights.zeroed(biases=biases),
    )


# --- attention --------------------------------------------------------------------------------------------------------


def _of_attention(model: ModelReading, layered: Layered, reading: AttentionReading) -> Iterator[_Candidate]:
    width = model.flow.shape(reading.sublayer.exit.output)[-1]
    if not _is_plain(reading, width):
        return
    biased = tuple(one.bias is not None for one in (*reading.sublayer.entries, reading.sublayer.exit))
    causal = reading.setting is not None and reading.setting.is_causal
    alike = ("attention", width, reading.head_count, reading.group_count, biased, causal)
    yield _Candidate(layered.path, alike, lambda: _attention_part(model, layered, reading, width, causal=causal))


def _is_plain(reading: AttentionReading, width: int) -> bool:
    """Return whether an attention is the operation's: nothing between projections and products, the usual scale."""
    operands = (reading.query, reading.key, reading.value)
    setting = reading.setting
    if setting is None or reading.merge is None or not all(one.understood and not one.order for one in operands):
        return False
    special = (setting.window, setting.scale, setting.softcap, setting.bias, setting.sinks)
    usual = all(one is None for one in special) and reading.merge.rows_kept and reading.merge.in_order
    widths = {one.heads.shape[-1] for one in operands}
    return usual and len(widths) == 1 and reading.head_count * widths.pop() == width


def _attention_part(
    model: ModelReading, layered: Layered, reading: AttentionReading, width: int, *, causal: bool
) -> BoundPart | None:
    weights, sublayer = _Weights(model.flow), reading.sublayer
    for name in ("query", "key", "value"):
        _add_projection(weights, model.flow, reading, name)
    weights.matrix("w_o", matrix_of(model.flow, sublayer.exit), sublayer.exit.names)
    if sublayer.exit.bias is not None:
        weights.vector("b_o", sublayer.exit.bias)
    if weights.missing:
        return None
    biases = {"b_q", "b_k", "b_v"} <= weights.places.keys()
    fixed: dict[str, FixedValue] = {"d_model": width, "num_heads": reading.head_count}
    fixed |= {"num_kv_heads": reading.group_count, "max_length": _longest(model, layered)}
    return BoundPart(
        layered.path,
        "multi_head_attention",
        weights.kept(biases=biases),
        fixed | ({"is_causal": True} if causal else {}),
        _shape(model),
        {},
        ("context", "value_width", *(() if biases else ("biases",))),
        weights.zeroed(biases=biases),
    )


def _add_projection(weights: _Weights, flow: Flow, reading: AttentionReading, name: str) -> None:
    """Add the matrix of queries, keys or values, and its bias, heads side by side as in the interface."""
    maps: tuple[LinearMap, ...] = getattr(reading.sublayer, name)
    heads: list[Array | None] = [_head_columns(flow, reading, one, place, name) for place, one in enumerate(maps)]
    letter = name[0]
    matrices = [matrix_of(flow, one) for one in maps]
    if any(one is None for one in (*heads, *matrices)):
        weights.missing = True
        return
    chosen = [matrix[:, columns] for matrix, columns in zip(matrices, heads, strict=True) if matrix is not None]
    names = tuple(dict.fromkeys(name for one in maps for name in one.names))
    weights.matrix(f"w_{letter}", np.concatenate(chosen, axis=1), names)
    if len(maps) == 1 and maps[0].bias is not None:
        weights.vector(f"b_{letter}", maps[0].bias, heads[0])
    elif any(one.bias is not None for one in maps):
        weights.missing = True


def _head_columns(flow: Flow, reading: AttentionReading, one: LinearMap, place: int, name: str) -> Array | None:
    """Return the columns of a projection that hold the heads, in order."""
    operand = getattr(reading, name)
    if len(getattr(reading.sublayer, name)) > 1:
        site = reading.sublayer.sites[place]
        operand = read_operand(flow, one, getattr(site, name), getattr(site, f"{name}_value"))
    columns = None if operand.split is None else operand.split.columns
    return None if columns is None else np.asarray(columns).ravel()


def _longest(model: ModelReading, layered: Layered) -> int:
    """Return the largest length that a model is known to take: the rows of its learned positions, else the pass's."""
    rows = [_rows_of_positions(model, one) for stack, one in model.embeddings if stack == layered.stack]
    own = layered.attention.heads.query.shape[2] if layered.attention is not None else model.length()
    return max((own, *(count for count in rows if count is not None)))


def _rows_of_positions(model: ModelReading, embedding: Embedding) -> int | None:
    """Return how many learned positions there are; None where positions are not learned."""
    flow, width = model.flow, model.sublayers.width
    found = positions_of(flow, embedding, width, model.batch)
    if found is None or found.kind != "learned":
        return None
    for term in embedding.terms:
        if not flow.depends_on_input(term.value) and flow.depends_on_parameters(term.value):
            sizes = [flow.array(flow.trace.parameters[name]).size for name in flow.parameters_of(term.value)]
            return max(sizes) // width - found.start
    return None
