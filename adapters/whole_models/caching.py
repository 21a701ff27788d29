"""How a model is fed a sequence in parts, with a cache of what it has seen: found by trying the usual ways.

A way is taken if later results depend on earlier parts: whether they are right is for the law to say.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.adapters.whole_models.arguments import parameters_of
from veriformer.adapters.whole_models.cache_arrays import BITS, cast, dtypes_in
from veriformer.adapters.whole_models.cache_makers import Maker, for_any_size, makers_of, model_of
from veriformer.adapters.whole_models.sequence import Array, Sequences

_CACHE = re.compile(r"^(past_key_values?|layer_past|pasts?|presents?|(kv_?|k_v_)?caches?|memory_cache|mems|states?)$")
_FLAG = re.compile(r"^(use_cache|use_kv_cache|return_cache|return_past|use_past)$")
# A number of tokens that came before, or a position for each token.
_START = re.compile(
    r"^(start_pos|start|start_index|offset|pos(ition)?_offset|cache_(position|index|pos)|input_pos|past_len(gth)?|cur_pos)$"
)
_EACH = re.compile(r"^(position_ids?|pos_ids?|positions?|pos|input_pos|cache_position)$")
_PROBE = (4, 1, 1)
# Their classes are arrays and modules.
_NO_CACHES = ("builtins", "typing", "torch", "numpy")
_EQUAL = 1e-3
# Up to this part of the largest result a cache of few bits may have lost, so that nothing is known: eight bits lose
# 1/254 of the largest entry of each vector, and four lose 1/14. What reads its integers as numbers is further off.
_LOST_BY_FEW_BITS = 0.25
_APART = 1e-6
# Down to this part of the largest result a cache loses nothing that a law would see.
_EXACT = 1e-10


@dataclass(frozen=True)
class Caching:
    """How a model is fed in parts.

    `cache` is the argument that takes the cache, empty if the model keeps it itself; `start` makes what begins a
    sequence, None if the argument is left out then. `flag` is the argument that asks for a cache. `positions` is the
    argument that says where a part begins, as a number ("start") or as positions (T,) or (B, T).
    """

    cache: str
    start: Maker | None
    flag: str = ""
    positions: str = ""
    shape: str = ""

    def outputs(self, sequences: Sequences, inputs: Any, parts: Sequence[int], extra: Mapping[str, Any]) -> Any:
        """Return the results of all parts of a sequence, one after the other, (B, L, ·)."""
        held, begin, results = self._begun(sequences, int(inputs.shape[0]), sum(parts)), 0, []
        for length in parts:
            part = inputs[:, begin : begin + length]
            returned = sequences.returned(part, {**extra, **self._own(sequences, held, begin, part)})
            result = sequences.result(returned, int(part.shape[0]), length)
            results.append(sequences.as_numpy(result))
            held = self._held(sequences, returned, held)
            begin += length
        return sequences.as_framework(np.concatenate(results, axis=1))

    def dtypes(self, sequences: Sequences, inputs: Array) -> list[str]:
        """Return the dtypes of the arrays that a cache holds after a first part."""
        part = sequences.as_framework(inputs[:, : _PROBE[0]])
        held = self._begun(sequences, *inputs.shape[:2])
        returned = sequences.returned(part, self._own(sequences, held, 0, part))
        return list(dtypes_in(sequences, self._held(sequences, returned, held)))

    def _begun(self, sequences: Sequences, samples: int, positions: int) -> Any:
        """Return what begins a sequence, arrays of floating-point numbers in it in the dtype of the stage."""
        return None if self.start is None else cast(sequences, self.start(samples, positions))

    def _own(self, sequences: Sequences, held: Any, begin: int, part: Any) -> dict[str, Any]:
        batch, length = int(part.shape[0]), int(part.shape[1])
        own: dict[str, Any] = {self.flag: True} if self.flag else {}
        if self.cache and (held is not None or begin):
            own[self.cache] = held
        if self.positions:
            each = np.arange(begin, begin + length)
            shapes = {"start": begin, "each": each, "batch": np.broadcast_to(each, (batch, length))}
            value = shapes[self.shape]
            own[self.positions] = sequences.as_framework(np.array(value)) if isinstance(value, np.ndarray) else value
        return own

    def _held(self, sequences: Sequences, returned: Any, held: Any) -> Any:
        if not self.cache:
            return None
        found = _cache_in(returned, self.cache, sequences)
        return held if found is None else found


def _cache_in(returned: Any, name: str, sequences: Sequences) -> Any:
    """Return the cache among what a model returned; None where there is none, or where it cannot be known."""
    if isinstance(returned, Mapping):
        names = [name, *(key for key in returned if _CACHE.match(str(key)))]
        return next((returned[key] for key in names if returned.get(key) is not None), None)
    if not isinstance(returned, tuple | list):
        return getattr(returned, name, None) if not sequences.stage.framework.is_array(returned) else None
    is_array = sequences.stage.framework.is_array
    others = [one for one in returned[1:] if one is not None and not (is_array(one) and one.ndim < 3)]
    packed = [one for one in others if not is_array(one)]
    return others[0] if len(others) == 1 else packed[0] if len(packed) == 1 else None


def caching_of(sequences: Sequences, draw: Callable[[int, int], Array], longest: int) -> Caching | None:
    """Return how a model is fed in parts; None where it has no cache, or where it cannot be found out how."""
    if None in sequences.axes or sequences.pooled or longest < sum(_PROBE) or not sequences.grows:
        return None
    inputs, changed = draw(2, sum(_PROBE)), draw(2, sum(_PROBE))
    changed[:, _PROBE[0] - 1 :] = inputs[:, _PROBE[0] - 1 :]
    whole = sequences.as_numpy(sequences.outputs(sequences.as_framework(inputs)))
    found = None
    for way in _ways(sequences):
        results = [_results(way, sequences, array) for array in (inputs, changed)]
        if results[0] is None or results[1] is None or results[0].shape != whole.shape:
            continue
        largest = np.abs(whole).max()
        if not np.abs(results[0] - results[1])[:, _PROBE[0] :].max() > _APART * largest:
            continue
        apart = np.abs(results[0] - whole).max()
        if _loses(sequences, way, inputs, apart / largest):
            # What its scheme loses is no error of the model, and not known.
            return None
        if apart <= _EQUAL * largest:
            return way
        found = found or way
    return found


def _loses(sequences: Sequences, way: Caching, inputs: Array, apart: float) -> bool:
    """Return whether a cache loses about so much by holding few bits, or fewer than the model computes with."""
    if not _EXACT < apart <= _LOST_BY_FEW_BITS:
        return False
    dtypes = way.dtypes(sequences, inputs)
    if apart > _EQUAL:
        return any("int8" in one for one in dtypes)
    return any(BITS[one] < BITS.get(sequences.stage.dtype, 0) for one in dtypes if one in BITS)


def _results(way: Caching, sequences: Sequences, inputs: Array) -> Array | None:
    try:
        return sequences.as_numpy(way.outputs(sequences, sequences.as_framework(inputs), _PROBE, {}))
    except Exception:
        return None


def _ways(sequences: Sequences) -> Iterator[Caching]:
    """Yield the usual ways to feed a model in parts, the likeliest first."""
    parameters = parameters_of(sequences.stage)
    names = [one.name for one in parameters]
    flag = next((name for name in names if _FLAG.match(name)), "")
    positions = [("", "")] if not any(map(_is_required_position, parameters)) else []
    starts = [(name, "start") for name in names if _START.match(name)]
    each = [(name, shape) for name in names if _EACH.match(name) for shape in ("each", "batch")]
    caches = [one for one in parameters if _CACHE.match(one.name)]
    # A model that takes the place where a part begins need not know it from its cache.
    known = [*positions, *starts, *each] if "past_key_values" in names else [*starts, *each, *positions]
    for cache in caches:
        kinds = _kinds_of(sequences.stage.called, cache)
        alone = [kind for kind in kinds if _needs_nothing(kind)]
        makers = makers_of(sequences.stage.called, kinds)
        for start in (*map(for_any_size, alone), *makers, None, *map(for_any_size, (dict, list))):
            for name, shape in known:
                yield Caching(cache.name, start, flag, name, shape)
    if not caches:
        for name, shape in (*starts, *each):
            yield Caching("", None, flag, name, shape)


def _kinds_of(called: Any, cache: inspect.Parameter) -> list[type]:
    """Return the classes that an argument is annotated with, or that are called caches."""
    forward = getattr(called, "forward", type(called).__call__ if model_of(called) is called else called)
    known = getattr(inspect.unwrap(forward), "__globals__", {})
    annotation = str(cache.annotation)
    kinds = {one: kind for one, kind in known.items() if isinstance(kind, type) and kind.__module__ not in _NO_CACHES}
    annotated = [kind for one, kind in kinds.items() if re.search(rf"\b{re.escape(one)}\b", annotation)]
    called_so = [kind for one, kind in kinds.items() if "cache" in one.casefold()]
    return list(dict.fromkeys([*annotated, *called_so]))


def _needs_nothing(kind: type) -> bool:
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters)


def _is_required_position(parameter: Any) -> bool:
    matches = _START.match(parameter.name) or _EACH.match(parameter.name)
    return bool(matches) and parameter.default is parameter.empty
