"""Gradients of a loss by each parameter, in whatever layout the two models have it.

For a parameter w with the gradient ∂, two numbers do not depend on the layout: ⟨∂, w⟩, which also stays as it is where
w is multiplied by a factor that is taken back elsewhere, and ‖∂‖, which stays where a constant is added to w.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from veriformer.adapters.errors import LoadError
from veriformer.adapters.whole_models.again import Run
from veriformer.conformance_tests.core.text import counted
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.findings import Cause, Difference, Situation, WeightPair
from veriformer.conformance_tests.ports.items import Weight
from veriformer.conformance_tests.ports.side import Side
from veriformer.conformance_tests.ports.situations.both import Both, Outcome
from veriformer.conformance_tests.recognition.paths import code_of

_NAME = "in the gradients"
_BATCH, _LENGTH = 2, 6
# What a weight may be in B so that its gradient can be compared.
_COMPARABLE = ("same", "longer", "shorter", "scaled", "heads permuted", "rotary order")
_OF_OTHER_SIZES = ("longer", "shorter")
_CLOSE = 1e-3


@dataclass
class _Group:
    """Parameters of both models that hold the same weights: one on either side, or several that are fused in one."""

    names: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))
    is_known: bool = True
    is_of_one_size: bool = True

    def with_all_of(self, other: _Group) -> _Group:
        """Return a group with the parameters of both."""
        names = self.names[0] | other.names[0], self.names[1] | other.names[1]
        known, of_one_size = self.is_known and other.is_known, self.is_of_one_size and other.is_of_one_size
        return _Group(names, known, of_one_size)


def of_the_loss(both: Both, weights: Sequence[WeightPair]) -> Iterator[Outcome]:
    """Yield whether the gradients of the mean cross-entropy are the same; of a random sum where there are no tokens."""
    if not all(one.parameters for one in both.offers):
        return
    inputs = both.drawn(_BATCH, max(both.shortest, min(_LENGTH, both.longest)))
    try:
        cotangent = _cotangent(inputs, both.first.results(Run(inputs)))
        rows = both.first.gradients(inputs, cotangent), both.second.gradients(inputs, cotangent)
    except LoadError as error:
        yield Outcome(Situation(_NAME, "unknown", str(error)))
        return
    found = [dict(zip(one.parameters, array, strict=True)) for one, array in zip(both.offers, rows, strict=True)]
    sizes = [_sizes(side) for side in (both.comparing.first, both.comparing.second)]
    groups = [group for group in _groups(weights) if _is_whole(group, found) and _has_all(group, sizes)]
    if not groups:
        yield Outcome(Situation(_NAME, "unknown", "no parameter of A was found in B"))
        return
    wrong = [one for group in groups for one in _of_group(both, group, found)]
    number = counted(len(groups), "parameter or group of parameters", "parameters or groups of parameters")
    if wrong:
        first, place = _first_going_back(both, wrong)
        sentence = (
            f"{counted(len(wrong), 'gradient')} of {number} differ; going back from the loss, {place} is the first"
        )
        yield Outcome(Situation(_NAME, "differs", sentence), (first,))
    else:
        yield Outcome(Situation(_NAME, "same", number))


def _first_going_back(both: Both, differences: Sequence[Difference]) -> tuple[Difference, str]:
    """Return the difference that is met first on the way from the loss to the inputs, and what it is called.

    What is wrong there reaches the parameters of all earlier steps.
    """
    side = both.comparing.second

    def place(one: Difference) -> int:
        weight = _weight_named(side, one.path_b)
        return -1 if weight is None else weight.place

    first = max(differences, key=place)
    return first, f"that of {first.path_b}"


def _cotangent(inputs: Array, results: Array) -> Array:
    """Return the gradient of the mean cross-entropy by the logits, with the next tokens as labels."""
    if inputs.ndim != 2 or inputs.dtype.kind not in "iu" or inputs.shape[1] < 2 or results.shape[-1] <= inputs.max():
        return np.random.default_rng(1).normal(size=results.shape)
    shifted = np.exp(results - results.max(-1, keepdims=True))
    gradient = shifted / shifted.sum(-1, keepdims=True)
    gradient[:, :-1] -= np.eye(results.shape[-1])[inputs[:, 1:]]
    gradient[:, -1] = 0.0
    return np.asarray(gradient / inputs[:, 1:].size)


def _groups(weights: Sequence[WeightPair]) -> list[_Group]:
    """Return the parameters that belong together, since one holds a part of the other."""
    groups: list[_Group] = []
    for pair in weights:
        names = set(pair.names_a), set(pair.names_b)
        own = _Group(names, pair.relation in _COMPARABLE, pair.relation not in _OF_OTHER_SIZES)
        for other in [one for one in groups if any(map(set.intersection, one.names, own.names))]:
            groups.remove(other)
            own = own.with_all_of(other)
        groups.append(own)
    return groups


def _is_whole(group: _Group, found: Sequence[Mapping[str, Array]]) -> bool:
    """Return whether all of a group's gradients are known."""
    sides = zip(group.names, found, strict=True)
    return group.is_known and all(names and names <= set(known) for names, known in sides)


def _sizes(side: Side) -> Mapping[str, int]:
    return {name: side.trace.values[index].array.size for name, index in side.trace.parameters.items()}


def _has_all(group: _Group, sizes: Sequence[Mapping[str, int]]) -> bool:
    """Return whether a group has as many numbers in both models, or copies of one parameter in one of them.

    Otherwise it lacks some, such as those of experts that no token chose.
    """
    if not group.is_of_one_size:
        return True
    counts = [[own.get(name, 0) for name in names] for names, own in zip(group.names, sizes, strict=True)]
    few, many = sorted(counts, key=sum)
    return sum(few) == sum(many) or all(one == sum(few) for one in many)


def _of_group(both: Both, group: _Group, found: Sequence[Mapping[str, Array]]) -> Iterator[Difference]:
    """Yield the difference of a group's gradients: both numbers that no layout changes are others then."""
    inner, norm = zip(*(_numbers(names, known) for names, known in zip(group.names, found, strict=True)), strict=True)
    if np.isnan(norm).all():
        # NaN in both is no difference.
        return
    # A gradient is a sum of products, whose rounding errors grow with the largest of them.
    size = max(float(array[1] * array[2]) for known in found for array in known.values())
    weight = max(max(float(known[name][2]) for name in names) for names, known in zip(group.names, found, strict=True))
    allowed = both.bound * size
    if abs(inner[0] - inner[1]) <= allowed or abs(norm[0] - norm[1]) * weight <= allowed:
        return
    names = [sorted(one) for one in group.names]
    uses = sum(names[1][0] in weight.names for part in both.comparing.second.parts for weight in part.weights())
    yield _difference(both, names, _cause(names, inner, norm, uses))


def _numbers(names: set[str], known: Mapping[str, Array]) -> tuple[float, float]:
    rows = np.array([known[name] for name in sorted(names)])
    return float(rows[:, 0].sum()), float(np.sqrt((rows[:, 1] ** 2).sum()))


def _cause(names: Sequence[Sequence[str]], inner: Sequence[float], norm: Sequence[float], uses: int) -> Cause:
    """Return why a gradient is another one; `uses` counts the parts of B's model that take the parameter."""
    label_a, label_b = (", ".join(one) for one in names)
    change = f"{label_b}: let the gradient be that of A's {label_a}"
    if not norm[1]:
        sentence = f"no gradient reaches B's {label_b}, and one reaches A's {label_a}: it is cut off on the way"
        return Cause("mistake", "gradient cut off", sentence, 1.0, change)
    ratio = norm[1] / norm[0] if norm[0] else float("inf")
    if norm[0] and abs(inner[1] - ratio * inner[0]) <= _CLOSE * abs(inner[1]):
        sentence = f"the gradient of B's {label_b} is {ratio:.6g} times that of A's {label_a}"
        return Cause("factor", "gradient scaled", sentence, 0.8, change)
    sentence = f"the gradient of B's {label_b} has the length {norm[1]:.3g}, and that of A's {label_a} {norm[0]:.3g}"
    if uses > 1 and norm[1] < norm[0]:
        words = f"{sentence}: it is used in {uses} places, and may be cut off behind one of them"
        return Cause("mistake", "gradient cut off", words, 0.5, change)
    return Cause.unknown(sentence, change)


def _difference(both: Both, names: Sequence[Sequence[str]], cause: Cause) -> Difference:
    sides = both.comparing.first, both.comparing.second
    weights = [_weight_named(side, one[0]) for side, one in zip(sides, names, strict=True)]
    places = [("", 0) if w is None else code_of(s.flow, w.place) for s, w in zip(sides, weights, strict=True)]
    known = weights[1] or weights[0]
    step = "embedding" if known is None else known.step
    (file_a, line_a), (file_b, line_b) = places
    return Difference(
        names[0][0], names[1][0], None, step, "gradient", file_a, line_a, file_b, line_b, cause, situation=_NAME
    )


def _weight_named(side: Side, name: str) -> Weight | None:
    weights = (weight for part in side.parts for weight in part.weights())
    return next((weight for weight in weights if name in weight.names), None)
