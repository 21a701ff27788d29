"""Reads a feed-forward network: its hidden layer, its activation, and the mistakes in them."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.aspects import Aspect
from veriformer.conformance_tests.recognition.elementwise import CONSTANTS, factor_of
from veriformer.conformance_tests.recognition.expressions import (
    Activated,
    Expression,
    Limited,
    Output,
    Product,
    Shifted,
    Taken,
)
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap, factors
from veriformer.conformance_tests.recognition.naming import Call, named
from veriformer.conformance_tests.recognition.reader import Reader
from veriformer.conformance_tests.recognition.sublayers import FeedForwardSublayer
from veriformer.conformance_tests.recognition.suspicion import Suspicion, of_named, suspected
from veriformer.conformance_tests.recognition.tracking import places

# 0.044715 and the root of 2/π, which occur in no other activation.
_OF_GELU = (0.044715, math.sqrt(2.0 / math.pi))


@dataclass(frozen=True)
class Branch:
    """One of the two branches of a gated network: its map, the limits of its numbers, and what is added to them.

    `start` is the value before the limits.
    """

    map: LinearMap
    start: int
    low: float | None = None
    high: float | None = None
    shift: float = 0.0

    @property
    def limited(self) -> bool:
        """Whether its numbers were seen to be cut off."""
        return self.low is not None or self.high is not None


@dataclass(frozen=True, eq=False)
class NetworkReading:
    """What a feed-forward network was found to be.

    `activation` is "" where there is none and None where it was not recognised. `activated` is the value behind it.
    `gated` says that a second map's output multiplies what is activated; `gate` and `up` are those branches.
    """

    sublayer: FeedForwardSublayer
    activation: str | None
    gated: bool
    activated: int | None = None
    gate: Branch | None = None
    up: Branch | None = None

    @property
    def place(self) -> int:
        """The step behind the hidden layer."""
        return self.sublayer.exit.step


def read_network(reader: Reader, sublayer: FeedForwardSublayer) -> NetworkReading:
    """Return what a feed-forward network is."""
    inside = reader.read(sublayer.exit.input)
    if isinstance(inside, Activated) and isinstance(inside.of, Output | Taken):
        return NetworkReading(sublayer, inside.name, gated=False, activated=inside.value)
    if isinstance(inside, Output):
        return NetworkReading(sublayer, "", gated=False)
    if isinstance(inside, Product):
        for gate, up in ((inside.first, inside.second), (inside.second, inside.first)):
            if not isinstance(gate, Activated):
                continue
            branches = _branch_of(gate.of), _branch_of(up)
            if branches[0] is not None and branches[1] is not None:
                return NetworkReading(sublayer, gate.name, True, gate.value, *branches)
        both = _branch_of(inside.first), _branch_of(inside.second)
        if both[0] is not None and both[1] is not None and not any(one.limited or one.shift for one in both if one):
            return NetworkReading(sublayer, "", True, None, *both)
    return NetworkReading(sublayer, None, gated=len(sublayer.inner) > 1)


def branches_in_words(flow: Flow, network: NetworkReading) -> str:
    """Return in which order one map gives gate and up; nothing where each has its own, or the columns mix."""
    gate, up = network.gate, network.up
    if gate is None or up is None or gate.map.step != up.map.step:
        return ""
    output = flow.array(gate.map.output)
    first, whole, columns = {}, {}, {}
    for name, branch in (("gate", gate), ("up", up)):
        found = places(output, flow.array(branch.start))
        if found is None:
            return ""
        row = found.reshape(-1, found.shape[-1])[0]
        columns[name] = row % output.shape[-1]
        first[name], whole[name] = int(columns[name].min()), int(row.min())
    if first["gate"] == first["up"]:
        # Both have all columns where they lie along an axis of their own.
        first = whole
    if first["gate"] == first["up"]:
        return ""
    in_turns = all(len(one) > 1 and (np.diff(one) == len(first)).all() for one in columns.values())
    return f"one map for {' and '.join(sorted(first, key=first.__getitem__))}{' in turns' if in_turns else ''}"


def _branch_of(expression: Expression) -> Branch | None:
    """Return the branch that an expression is; None where it is none."""
    shift = expression.amount if isinstance(expression, Shifted) else 0.0
    expression = expression.of if isinstance(expression, Shifted) else expression
    low: float | None = None
    high: float | None = None
    while isinstance(expression, Limited):
        low = expression.low if low is None else low
        high = expression.high if high is None else high
        expression = expression.of
    start = expression.value
    while isinstance(expression, Taken) and len(expression.of) == 1:
        expression = expression.of[0]
    return Branch(expression.map, start, low, high, shift) if isinstance(expression, Output) else None


def network_aspects(flow: Flow, reading: NetworkReading) -> Iterator[Aspect]:
    """Yield what a network does, in the order in which it does it."""
    inner, exit_map = reading.sublayer.inner[0], reading.sublayer.exit
    biased: tuple[tuple[str, StepName, LinearMap], ...] = (
        ("hidden bias", "hidden", inner),
        ("output bias", "feed_forward", exit_map),
    )
    for name, step, one in biased:
        has = one.bias is not None
        yield Aspect(name, step, has, "a bias is added" if has else "no bias is added", one.step, rank=int(has))
    words = {"": "no activation", None: "an activation that is none of the known ones"}
    activation = words.get(reading.activation, reading.activation or "")
    making = None if reading.activated is None else flow.maker(reading.activated)
    place = reading.place if making is None else making
    yield Aspect(
        "activation",
        "activation",
        reading.activation,
        activation,
        place,
        mistake=lambda usual: _exchanged(reading.activation, usual),
        rank=int(reading.activation in ("gelu", "relu", "silu", "gelu_tanh")),
        path="" if making is None else flow.steps[making].module,
        is_choice=True,
    )
    yield Aspect("gated", "hidden", reading.gated, "gated" if reading.gated else "not gated", reading.place, rank=0)
    if reading.up is not None:
        shift = float(f"{reading.up.shift:.4g}")
        words_of_shift = f"{shift:g} is added to the linear branch"
        yield Aspect("linear branch", "hidden", shift, words_of_shift, reading.place, rank=int(shift == 0.0))


def _exchanged(activation: str | None, usual: Hashable) -> str:
    """Return the mistake that one activation in place of another is."""
    forms = {activation, usual}
    if forms == {"gelu", "gelu_tanh"}:
        return "gelu_tanh_vs_erf"
    return "gelu_quick_vs_erf" if forms == {"gelu", "gelu_sigmoid"} else "ffn_activation_arg_ignored"


def network_mistakes(flow: Flow, reading: NetworkReading) -> Iterator[Suspicion]:
    """Yield the mistakes of a network that can be told from its own numbers."""
    if reading.activation == "" and reading.gated:
        sentence = "the branches are multiplied as they are, which the bilinear unit of Shazeer (2020) does by design"
        yield Suspicion("activation", reading.place, sentence, (suspected("ffn_activation_misplaced", 0.5),))
        return
    if reading.activation == "":
        if _is_of_low_rank(flow, reading.sublayer):
            return
        sentence = "nothing is applied to the hidden layer: two linear maps in a row are one"
        yield Suspicion("activation", reading.place, sentence, (suspected("ffn_activation_misplaced", 0.8),))
        return
    if reading.activation is not None:
        yield from _of_limits(flow, reading)
        yield from _of_branches(flow, reading)
        return
    found = named(_calls(flow, reading.sublayer))
    if found:
        before = found[0].decision.startswith(("hidden_bias", "mixing", "combination"))
        step: StepName = "hidden" if before and found[0].option != "product_activated" else "activation"
        sentence = found[0].sentence or f"the hidden layer is explained by {found[0].decision} = {found[0].option}"
        yield Suspicion(step, reading.place, sentence, of_named(found))
    elif _has_constants_of_gelu(flow, reading.sublayer):
        sentence = "the constants of GELU's approximation are there, and what they give is not GELU"
        yield Suspicion("activation", reading.place, sentence, ())


def _is_of_low_rank(flow: Flow, sublayer: FeedForwardSublayer) -> bool:
    """Return whether the hidden layer is narrower than what comes in: two maps in place of a matrix of low rank."""
    inner = sublayer.inner[0]
    return flow.shape(inner.output)[-1] < flow.shape(inner.input)[-1]


def _of_limits(flow: Flow, reading: NetworkReading) -> Iterator[Suspicion]:
    """Yield that the linear branch beside a limited gate is limited on one side only."""
    gate, up = reading.gate, reading.up
    if gate is None or up is None or not gate.limited or (up.low is None) == (up.high is None):
        return
    numbers = flow.array(up.start)
    beyond = numbers.min() < -up.high if up.high is not None else numbers.max() > -(up.low or 0.0)
    if beyond:
        side = "below" if up.low is None else "above"
        yield Suspicion("hidden", reading.place, f"the linear branch is not limited from {side}", ())


# What the numbers of a map are called in it.
_NUMBERS = ("weight", "kernel", "bias", "w", "value", "_kernel")


def _parts(names: str) -> list[str]:
    return re.split(r"[.\s]+", names)


def _of_branches(flow: Flow, reading: NetworkReading) -> Iterator[Suspicion]:
    """Yield that both branches are one, or that the one called "up" is activated and the one called "gate" is not.

    Numbers cannot tell the latter, and names can.
    """
    if reading.gate is None or reading.up is None:
        return
    if np.array_equal(flow.array(reading.gate.start), flow.array(reading.up.start)):
        name, sentence = "combination=gate_twice", "one map stands in both branches"
        yield Suspicion("hidden", reading.place, sentence, (suspected(name, sentence=sentence),))
        return
    activated, linear = (" ".join(branch.map.names) for branch in (reading.gate, reading.up))
    by_name = "up" in _words(activated) and "gate" in _words(linear) and "gate" not in _words(activated)
    # LLaMA, Mistral and Mixtral compute w2(silu(w1 x) · w3 x).
    out = " ".join(reading.sublayer.exit.names)
    by_number = "w3" in _parts(activated) and "w1" in _parts(linear) and "w2" in _parts(out)
    if by_name or by_number:
        called = [next(word for word in reversed(_parts(one)) if word not in _NUMBERS) for one in (activated, linear)]
        sentence = f"the activation is applied to {called[0]}, and not to {called[1]}"
        yield Suspicion("activation", reading.place, sentence, (suspected("swiglu_gate_up_swapped", 0.8),))


def _words(names: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"[A-Z]?[a-z]+", names)}


def _has_constants_of_gelu(flow: Flow, sublayer: FeedForwardSublayer) -> bool:
    """Return whether a value is multiplied by a constant of GELU's approximation on the way through the network."""
    if len(sublayer.inner) != 1:
        return False
    for index in flow.between(sublayer.inner[0].output, sublayer.exit.input):
        for operand in flow.steps[index].operands:
            for result in flow.steps[index].results:
                factor = factor_of(flow.array(operand), flow.array(result), CONSTANTS)
                if factor is not None and any(abs(factor - one) <= 1e-6 * one for one in _OF_GELU):
                    return True
    return False


def matrix_of(flow: Flow, one: LinearMap) -> Array | None:
    """Return the matrix of a linear map as (in, out); None where the framework does not tell its axes."""
    step = flow.steps[one.step]
    if "contracted" not in step.attributes:
        return None
    at = factors(step).index(one.weight)
    summed = step.attributes["contracted"][at]
    array = flow.array(one.weight)
    own = [axis for axis in range(array.ndim) if axis not in summed]
    return array.transpose(*summed, *own).reshape(int(np.prod([array.shape[axis] for axis in summed])), -1)


def _calls(flow: Flow, sublayer: FeedForwardSublayer) -> Iterator[Call]:
    """Yield the network as a call of the specification, under each activation."""
    x, y = flow.array(sublayer.inner[0].input), flow.array(sublayer.exit.output)
    unit = max(flow.unit_between(sublayer.inner[0].output, sublayer.exit.input), CONSTANTS)
    matrices = [matrix_of(flow, one) for one in (*sublayer.inner, sublayer.exit)]
    if any(matrix is None for matrix in matrices):
        return
    biases = [None if one.bias is None else flow.array(one.bias).ravel() for one in (*sublayer.inner, sublayer.exit)]
    for activation in ("gelu", "silu", "relu"):
        if len(sublayer.inner) == 1:
            weights = {"w_1": matrices[0], "w_2": matrices[1], "b_1": biases[0], "b_2": biases[1]}
            given = {name: value for name, value in weights.items() if value is not None}
            arguments = {"x": x, "weights": _Weights(given), "activation": activation}
            for form in ("erf", "tanh") if activation == "gelu" else ("erf",):
                yield Call("feed_forward", arguments, y, unit, {"gelu_form": form})
        elif len(sublayer.inner) == 2 and not any(one is not None for one in biases):
            for gate, up in ((0, 1), (1, 0)):
                weights = {"w_gate": matrices[gate], "w_up": matrices[up], "w_down": matrices[2]}
                arguments = {"x": x, "weights": _Weights(weights), "activation": activation}
                for form in ("erf", "tanh") if activation == "gelu" else ("erf",):
                    yield Call("gated_feed_forward", arguments, y, unit, {"gelu_form": form})


class _Weights:
    """The weights of one network, with the names of the interface; a bias that is not there is None."""

    b_1: Array | None = None
    b_2: Array | None = None

    def __init__(self, arrays: Mapping[str, Array | None]) -> None:
        vars(self).update(arrays)
