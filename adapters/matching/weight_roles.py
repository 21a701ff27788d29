"""Which array of a class is which of the weights of an operation: by names, and by shape where no name says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.matching.inner_arrays import Place
from veriformer.adapters.matching.names import words_of
from veriformer.adapters.matching.namespaces import joined, reshaped, shape_of, size_of, transposed
from veriformer.adapters.matching.wired import DoesNotFit

_GENERIC = frozenset(
    """
    w b weight weights bias biases kernel proj projection projections projector linear dense layer layers fc lin to
    matrix mat net param params transform attn attention self c mha multi head heads embed 0
    """.split()  # noqa: SIM905
)
_KERNELS, _BIASES = frozenset({"weight", "kernel", "w", "weights"}), frozenset({"bias", "b"})
_OF_ATTENTION: Mapping[str, str] = {
    **dict.fromkeys(("q", "query", "queries", "qry"), "q"),
    **dict.fromkeys(("k", "key", "keys"), "k"),
    **dict.fromkeys(("v", "value", "values", "val"), "v"),
    **dict.fromkeys(("o", "out", "output", "outputs", "combine", "concat", "final", "unify"), "o"),
    **dict.fromkeys(("qkv", "in", "input"), "qkv"),
    **dict.fromkeys(("kv",), "kv"),
}
_GATES = frozenset({"gate", "gated", "g", "w1", "1", "gating"})
_UPS = frozenset({"up", "u", "w3", "3", "v", "value"})


@dataclass(frozen=True)
class Slot:
    """An array of a class and the weights that stand in it, one after the other along its last axis.

    `interleaved` says how many heads each have their part of all of them.
    """

    place: Place
    roles: tuple[str, ...]
    interleaved: int = 0

    def value(self, members: Mapping[str, Any]) -> Any:
        """Return what the place holds for these weights; ValueError where they are of other sizes."""
        parts = [members[role] for role in self.roles]
        whole = self._joined(parts) if len(parts) > 1 else parts[0]
        shape = shape_of(whole)
        if self.place.turned:
            whole = transposed(whole, (1, 0))
        held = self.place.shape
        other = shape_of(whole) != held
        if size_of(held) != size_of(shape) or (other and len(held) == len(shape)):
            raise ValueError(f"the class was built for {self.place.name} of the shape {held}; received {shape}")
        return whole if shape_of(whole) == held else reshaped(whole, held)

    def _joined(self, parts: Sequence[Any]) -> Any:
        axis = len(shape_of(parts[0])) - 1
        if not self.interleaved:
            return joined(parts, axis)
        outer = shape_of(parts[0])[:-1]
        apart = [reshaped(one, (*outer, self.interleaved, shape_of(one)[-1] // self.interleaved)) for one in parts]
        together = joined(apart, axis + 1)
        return reshaped(together, (*outer, sum(shape_of(one)[-1] for one in parts)))


@dataclass(frozen=True)
class Roles:
    """The weights of a class by their places; `sizes` are those that their shapes tell, by the interface's letters."""

    operation: str
    slots: tuple[Slot, ...]
    sizes: Mapping[str, int]
    has_all_biases: bool = False
    names: Mapping[str, str] | None = None


def roles_in(operation: str, places: Sequence[Place]) -> Roles:
    """Return which of the arrays of a class are which weights; DoesNotFit where one of them is none."""
    matrices = [one for one in places if _is_matrix(one)]
    vectors = [one for one in places if not _is_matrix(one) and not _is_large(one)]
    if operation == "multi_head_attention":
        return _of_attention(matrices, vectors)
    return _of_network(matrices, vectors)


def _is_matrix(place: Place) -> bool:
    return len(place.shape) >= 2 and not _is_bias(place) and not _is_large(place)


def _is_large(place: Place) -> bool:
    """Return whether an array has one axis of length 1 at least besides two others, as masks and tables do."""
    return len(place.shape) >= 3 and place.shape[0] == 1


def _is_bias(place: Place) -> bool:
    return len(place.shape) == 1 or place.name.rpartition(".")[2] in _BIASES


def _words(place: Place) -> list[str]:
    """Return the words of a name that say which weight it is: "q" for "wq.weight" and "b_q"."""
    found = []
    for word in (one for part in place.name.split(".") for one in words_of(part)):
        bare = word[1:] if len(word) > 1 and word[0] in "wb" and word[1:] in _OF_ATTENTION else word
        for end in ("proj", "weight", "bias", "linear"):
            if bare.endswith(end) and bare[: -len(end)] in _OF_ATTENTION:
                bare = bare[: -len(end)]
        bare = bare[2:] if bare.startswith("to") and bare[2:] in _OF_ATTENTION else bare
        if bare not in _GENERIC:
            found.append(bare)
    return found


def _part_of_attention(place: Place) -> str | None:
    found = {_OF_ATTENTION[word] for word in _words(place) if word in _OF_ATTENTION}
    return next(iter(found)) if len(found) == 1 else None


def _lengths(place: Place, *, out: bool = False) -> tuple[int, int]:
    """Return the lengths of what goes into a matrix and of what comes out of it."""
    shape = place.shape
    if len(shape) == 2:
        return (shape[1], shape[0]) if place.turned else (shape[0], shape[1])
    return (size_of(shape[:-1]), shape[-1]) if out else (shape[0], size_of(shape[1:]))


def _of_attention(matrices: Sequence[Place], vectors: Sequence[Place]) -> Roles:
    parts: dict[str, Place] = {}
    left = []
    for one in matrices:
        part = _part_of_attention(one)
        if part is None:
            left.append(one)
        elif part in parts:
            raise DoesNotFit(f"`{parts[part].name}` and `{one.name}` are both called like one matrix")
        else:
            parts[part] = one
    _by_elimination(parts, left)
    roles = {"q": ("w_q",), "k": ("w_k",), "v": ("w_v",), "qkv": ("w_q", "w_k", "w_v"), "kv": ("w_k", "w_v")}
    complete = sorted(parts) in (["k", "o", "q", "v"], ["o", "qkv"], ["kv", "o", "q"])
    if left or not complete:
        raise DoesNotFit(f"the matrices {_listed(matrices)} are not those of queries, keys, values and a result")
    slots = [Slot(one, roles.get(part, ("w_o",))) for part, one in parts.items()]
    sizes = _sizes_of_attention(parts)
    biases = _biases(slots, vectors, _part_of_attention)
    has_all = {role for one in biases for role in one.roles} >= {"b_q", "b_k", "b_v", "b_o"}
    return Roles("multi_head_attention", (*slots, *biases), sizes, has_all)


def _by_elimination(parts: dict[str, Place], left: list[Place]) -> None:
    """Find the matrix of the results, and the one of all three, among those whose names do not tell."""
    if not parts and len(left) == 2:
        wide = [one for one in left if _lengths(one)[1] > _lengths(one)[0]]
        if len(wide) == 1:
            parts["qkv"] = wide[0]
            left.remove(wide[0])
    lacks_result = "o" not in parts and (set(parts) in ({"q", "k", "v"}, {"qkv"}, {"q", "kv"}))
    if lacks_result and len(left) == 1:
        parts["o"] = left.pop()
    elif "o" in parts and len(parts) == 1 and len(left) == 1:
        parts["qkv"] = left.pop()


def _sizes_of_attention(parts: Mapping[str, Place]) -> dict[str, int]:
    inner, width = _lengths(parts["o"], out=True)
    if inner != width:
        raise DoesNotFit(f"its heads are {inner} wide together and its vectors {width}; the laws have both alike")
    if "qkv" in parts:
        both = _lengths(parts["qkv"])[1] - inner
        keys = values = both // 2
    elif "kv" in parts:
        keys = values = _lengths(parts["kv"])[1] // 2
    else:
        keys, values = _lengths(parts["k"])[1], _lengths(parts["v"])[1]
    given = {_lengths(one)[0] for part, one in parts.items() if part != "o"}
    if keys != values or keys <= 0 or given != {width} or ("q" in parts and _lengths(parts["q"])[1] != inner):
        raise DoesNotFit("its matrices are of other sizes than those of attention between vectors of one width")
    return {"d_model": width, "keys": keys}


def _biases(slots: Sequence[Slot], vectors: Sequence[Place], part_of: Callable[[Place], str | None]) -> list[Slot]:
    """Return the places of the biases; DoesNotFit for a vector that is none."""
    found = []
    for vector in vectors:
        owner = vector.name.rpartition(".")[0]
        of_owner = [one for one in slots if owner and one.place.name.rpartition(".")[0] == owner]
        matrices = of_owner if len(of_owner) == 1 else []
        if not matrices:
            name = part_of(vector)
            matrices = [one for one in slots if name is not None and part_of(one.place) == name]
        size = size_of(vector.shape)
        if len(matrices) != 1 or not _is_bias(vector) or size not in _lengths(matrices[0].place, out=True):
            raise DoesNotFit(f"`{vector.name}` {vector.shape} is none of its weights")
        found.append(Slot(vector, tuple(role.replace("w_", "b_") for role in matrices[0].roles)))
    return found


def _of_network(matrices: Sequence[Place], vectors: Sequence[Place]) -> Roles:
    if len(matrices) not in (2, 3):
        raise DoesNotFit(f"it has the matrices {_listed(matrices) or 'none'}; a network has two, or three with a gate")
    shapes = [_lengths(one) for one in matrices]
    down = _down(matrices, shapes)
    width = shapes[down][1]
    hidden = shapes[down][0]
    others = [one for number, one in enumerate(matrices) if number != down]
    if any(_lengths(one) not in ((width, hidden), (width, 2 * hidden)) for one in others):
        raise DoesNotFit(f"the matrices {_listed(matrices)} do not lead from one width to another and back")
    last = matrices[down]
    if len(others) == 1 and _lengths(others[0])[1] == hidden:
        slots = [Slot(others[0], ("w_1",)), Slot(last, ("w_2",))]
        operation = "feed_forward"
    else:
        gate, names = _gate_of(others)
        slots = [Slot(one, roles) for one, roles in gate] + [Slot(last, ("w_down",))]
        sizes = {"d_model": width, "d_ff": hidden}
        biases = _biases(slots, vectors, _number_of)
        return Roles("gated_feed_forward", (*slots, *biases), sizes, False, names)
    biases = _biases(slots, vectors, _number_of)
    has_all = {role for one in biases for role in one.roles} == {"b_1", "b_2"}
    return Roles(operation, (*slots, *biases), {"d_model": width, "d_ff": hidden}, has_all)


def _down(matrices: Sequence[Place], shapes: Sequence[tuple[int, int]]) -> int:
    """Return which matrix leads back: the only one of its shape, or of three the one that is unlike the others."""
    if len(matrices) == 3:
        alone = [number for number, one in enumerate(shapes) if shapes.count(one) == 1]
        if len(alone) == 1:
            return alone[0]
    elif shapes[1][1] == shapes[0][0]:
        return 1
    elif shapes[0][1] == shapes[1][0]:
        return 0
    raise DoesNotFit(f"which of the matrices {_listed(matrices)} leads back does not follow from their shapes")


def _gate_of(others: Sequence[Place]) -> tuple[list[tuple[Place, tuple[str, ...]]], Mapping[str, str]]:
    """Return the gate and the other matrix, and what they are called where their names do not say which is which."""
    if len(others) == 1:
        return [(others[0], ("w_gate", "w_up"))], {"w_gate": "w1", "w_up": "w3"}
    says = [set(_words(one)) for one in others]
    if "gate" in says[1] or "up" in says[0]:
        return [(others[1], ("w_gate",)), (others[0], ("w_up",))], {}
    if "gate" in says[0] or "up" in says[1]:
        return [(others[0], ("w_gate",)), (others[1], ("w_up",))], {}
    swapped = bool(says[1] & _GATES or says[0] & _UPS) and not (says[0] & _GATES or says[1] & _UPS)
    first, second = (1, 0) if swapped else (0, 1)
    return [(others[first], ("w_gate",)), (others[second], ("w_up",))], {"w_gate": "w1", "w_up": "w3"}


def _number_of(place: Place) -> str | None:
    return "".join(one.removeprefix("w").removeprefix("b") for one in _words(place)) or None


def _listed(places: Sequence[Place]) -> str:
    return ", ".join(f"`{one.name}` {one.shape}" for one in places)
