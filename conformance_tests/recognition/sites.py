"""The places where a model attends: two products with a softmax between them, or one fused operation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from veriformer.adapters.capture.trace import Kind
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import Maps, canonical_factors, factors
from veriformer.conformance_tests.recognition.samples import samples_are_last
from veriformer.conformance_tests.recognition.tracking import carried


@dataclass(frozen=True, eq=False)
class Site:
    """One attention of the model, with what it took and gave in the specification's layout.

    `query` (B, H, L, D), `key` (B, H or G, S, D), `value` (B, H or G, S, Dv) and `output` (B, H, L, Dv) are the numbers
    that the model multiplied; the fields that end in `_value` are the values of the trace that hold them. `weights`
    (B, H, L, S) is None where the operation is fused. `otherwise` is the other reading where one axis holds heads and
    positions and their order is not known. `steps` are those from the first product to the last. `shifted` says that
    some logits never become a weight, so that values are multiplied by the weights of other keys. `order` (B, H, L, S)
    is where each weight is among the numbers that `weights_value` holds.
    """

    query: Array
    key: Array
    value: Array
    output: Array
    query_value: int
    key_value: int
    value_value: int
    output_value: int
    steps: tuple[int, ...]
    weights: Array | None = None
    logits_value: int | None = None
    weights_value: int | None = None
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    otherwise: Site | None = None
    shifted: bool = False
    order: Array | None = None

    @property
    def heads(self) -> int:
        """The number of query heads."""
        return int(self.query.shape[1])

    @property
    def first_step(self) -> int:
        """The step that marks its place in the order of execution."""
        return self.steps[0]

    @property
    def behind_first_product(self) -> int:
        """The step behind the product of queries and keys; that of the whole where it is one step."""
        return min(self.steps[0] + 1, self.steps[-1])


def find_sites(flow: Flow, maps: Maps, batch: int) -> tuple[Site, ...]:
    """Return every attention of the pass, in order. `batch` is the number of samples."""
    found = [*_fused(flow), *_of_two_products(flow, maps, batch)]
    return tuple(sorted(found, key=lambda site: site.first_step))


def _fused(flow: Flow) -> Iterator[Site]:
    for index, step in enumerate(flow.steps):
        if step.kind != Kind.ATTENTION:
            continue
        query, key, value = step.operands[:3]
        output = step.results[0]
        arrays = [flow.array(one) for one in (query, key, value, output)]
        if all(array.ndim == 4 for array in arrays):
            attributes = {**step.attributes, "mask": step.operands[3] if len(step.operands) > 3 else None}
            yield Site(
                query=arrays[0],
                key=arrays[1],
                value=arrays[2],
                output=arrays[3],
                query_value=query,
                key_value=key,
                value_value=value,
                output_value=output,
                steps=(index,),
                attributes=MappingProxyType(attributes),
            )


def _of_two_products(flow: Flow, maps: Maps, batch: int) -> Iterator[Site]:
    products = set(maps.products)
    outcomes = {flow.steps[one].results[0]: one for one in products}
    for last in sorted(products):
        for value in factors(flow.steps[last]):
            behind = flow.ancestors(value, stop=lambda one: one in outcomes or one in maps.by_output)
            before = [outcomes[one] for one in behind if one in outcomes and outcomes[one] != last]
            if before:
                first = max(before)
                order = _Order(samples_last=samples_are_last(flow, maps, first, batch))
                site = _site(flow, first, last, value, batch, order)
                if site is not None:
                    yield _with_windows(flow, maps, site, (first, last, value), batch, order)
                break


def _with_windows(
    flow: Flow, maps: Maps, site: Site, products: tuple[int, int, int], batch: int, order: _Order
) -> Site:
    """Return an attention with its reading as one of windows, or of rows of an image, which are samples of their own.

    They are cut into heads as such: a value between the projection and the product has more samples than the pass.
    """
    if site.otherwise is not None:
        return site
    near = flow.ancestors(site.query_value, stop=lambda one: one in maps.by_output)
    counts = {flow.shape(one)[0] for one in near if len(flow.shape(one)) > 2}
    for count in sorted(one for one in counts if one > batch and one % batch == 0):
        other = _site_with(flow, *products, count, order)
        if other is not None and other.query.shape[0] == count:
            return replace(site, otherwise=other)
    return site


@dataclass(frozen=True)
class _Order:
    """In which order axes are counted that hold two things: heads and positions, and heads and samples."""

    heads_first: bool = True
    samples_last: bool = False


def _site(flow: Flow, first: int, last: int, weights_value: int, batch: int, order: _Order) -> Site | None:
    """Return the attention between two products; None where their axes cannot be told."""
    one = _site_with(flow, first, last, weights_value, batch, order)
    if one is None or one.query.shape[1] == one.key.shape[1]:
        return one
    other = _site_with(flow, first, last, weights_value, batch, replace(order, heads_first=False))
    return one if other is None else replace(one, otherwise=other)


def _site_with(flow: Flow, first: int, last: int, weights_value: int, batch: int, order: _Order) -> Site | None:
    """Return the attention where one axis of queries counts heads and positions, either of them first."""
    similarity, average = flow.steps[first], flow.steps[last]
    one, other = factors(similarity)
    sides, ends = canonical_factors(flow, similarity), canonical_factors(flow, average)
    place = factors(average).index(weights_value)
    logits_value = similarity.results[0]
    moved = carried(flow, logits_value, weights_value)
    if sides is None or ends is None or moved is None:
        return None
    parallel = len(similarity.attributes["parallel"][0])
    weights_places = _turned(moved, average, place)
    keys_first = _keys_are_first(flow, similarity, weights_places)
    query_side, key_side = (sides[1], sides[0]) if keys_first else sides
    query_value, key_value = (other, one) if keys_first else (one, other)
    keys = int(np.prod(key_side.shape[parallel:-1]))
    shapes = _Shapes(batch, _length(query_side, similarity, keys), order)
    query = shapes.heads(query_side, parallel, shapes.length)
    key = shapes.heads(key_side, parallel, keys)
    value = shapes.heads(np.moveaxis(ends[1 - place], -1, -2), len(average.attributes["parallel"][0]), keys)
    table = _logits_places(flow, similarity, shapes, keys, keys_first=keys_first)
    if query is None or key is None or value is None or table is None or value.shape[2] != keys:
        return None
    at = _inverse(weights_places, flow.array(logits_value).size)[table]
    shifted = bool((at < 0).any())
    if shifted:
        at = _by_rows(at, weights_places.shape[-1])
    if at is None:
        return None
    weights = ends[place].ravel()[at]
    numbered = np.arange(flow.array(weights_value).size).reshape(flow.shape(weights_value))
    # Hidden keys all have the weight 0, so that their places may be exchanged; the largest weight is where it says.
    largest = np.take_along_axis(at, weights.argmax(axis=-1)[..., None], -1)[..., 0]
    return Site(
        query,
        key,
        value,
        _output_rows(flow, average, place)[largest // weights_places.shape[-1]],
        query_value,
        key_value,
        factors(average)[1 - place],
        average.results[0],
        tuple(sorted({first, last, *flow.between(logits_value, average.results[0])})),
        weights,
        logits_value,
        weights_value,
        shifted=shifted,
        order=_turned(numbered, average, place).ravel()[at],
    )


def _by_rows(at: Array, keys: int) -> Array | None:
    """Return the places of the weights by their rows alone; None where a row has none, or weights are not dropped."""
    rows = at.max(axis=-1) // keys
    dropped = (at < 0).sum(axis=-1)
    if at.shape[-1] != keys or (rows < 0).any() or (dropped != dropped.flat[0]).any():
        return None
    return np.asarray(rows[..., None] * keys + np.arange(keys))


def _logits_places(flow: Flow, similarity: Any, shapes: _Shapes, keys: int, *, keys_first: bool) -> Array | None:
    """Return where each logit (B, H, L, S) is in the result of the first product; None where it has other keys."""
    shape = flow.shape(similarity.results[0])
    parallel = len(similarity.attributes["parallel"][0])
    first = flow.array(factors(similarity)[0]).ndim - parallel - len(similarity.attributes["contracted"][0])
    numbered = np.arange(int(np.prod(shape))).reshape(shape)
    axes = list(range(len(shape)))
    own_of_first, own_of_second = axes[parallel : parallel + first], axes[parallel + first :]
    last = own_of_first if keys_first else own_of_second
    turned = numbered.transpose(*axes[:parallel], *(own_of_second if keys_first else own_of_first), *last)
    if int(np.prod([shape[axis] for axis in last])) != keys:
        return None
    turned = turned.reshape(*turned.shape[: turned.ndim - len(last)], keys)
    return shapes.heads(turned, parallel, shapes.length)


def _inverse(places: Array, size: int) -> Array:
    found = np.full(size, -1)
    known = places.ravel() >= 0
    found[places.ravel()[known]] = np.flatnonzero(known)
    return found


def _output_rows(flow: Flow, average: Any, place: int) -> Array:
    """Return the result of the second product as rows in the order of the weights' rows."""
    array = flow.array(average.results[0])
    parallel = len(average.attributes["parallel"][0])
    first = flow.array(factors(average)[0]).ndim - parallel - len(average.attributes["contracted"][0])
    if place == 1:
        # The values came first: (parallel…, own of the values, own of the weights).
        axes = list(range(array.ndim))
        array = array.transpose(*axes[:parallel], *axes[parallel + first :], *axes[parallel : parallel + first])
    return array.reshape(-1, array.shape[-1])


def _turned(moved: Array, average: Any, place: int) -> Array:
    summed, parallel = average.attributes["contracted"][place], average.attributes["parallel"][place]
    own = [axis for axis in range(moved.ndim) if axis not in summed and axis not in parallel]
    return np.asarray(moved.transpose(*parallel, *own, *summed))


def _keys_are_first(flow: Flow, similarity: Any, weights_places: Array) -> bool:
    """Return whether the first factor of q·k holds the keys: whether its axis of the logits is the one summed last."""
    logits = flow.shape(similarity.results[0])
    parallel = len(similarity.attributes["parallel"][0])
    first = factors(similarity)[0]
    own_of_first = flow.array(first).ndim - parallel - len(similarity.attributes["contracted"][0])
    if weights_places.shape[-1] < 2:
        return False
    along = weights_places.reshape(-1, weights_places.shape[-1])[0]
    if (along[:2] < 0).any():
        # What the first weights are made of is not among the logits.
        return False
    coordinates = np.unravel_index(along[:2], logits)
    varies = [axis for axis, places_there in enumerate(coordinates) if places_there[0] != places_there[1]]
    return bool(varies) and all(parallel <= axis < parallel + own_of_first for axis in varies)


def _length(query_side: Array, similarity: Any, keys: int) -> int:
    """Return the number of positions of the queries, whose axis may be joined with that of the heads of a group."""
    parallel = len(similarity.attributes["parallel"][0])
    own = query_side.shape[parallel:-1]
    if not own:
        return 1
    if len(own) == 1:
        return keys if own[0] % keys == 0 and keys > 1 else int(own[0])
    return keys if keys in own else int(max(own))


@dataclass(frozen=True)
class _Shapes:
    """Turns (parallel…, own…, width) into (B, H, length, width)."""

    batch: int
    length: int
    order: _Order

    def heads(self, array: Array, parallel: int, length: int) -> Array | None:
        own = array.shape[parallel:-1]
        places_of = self._arranged(
            np.arange(int(np.prod(array.shape[:-1]))).reshape(array.shape[:-1]), parallel, length
        )
        if places_of is None or not own:
            return None
        return np.asarray(array.reshape(-1, array.shape[-1])[places_of])

    def _arranged(self, rows: Array, parallel: int, length: int) -> Array | None:
        """Return the rows, numbered, as (B, H, length); None where the sizes do not allow it."""
        outer, own = rows.shape[:parallel], list(rows.shape[parallel:])
        if length in own:
            at = parallel + len(own) - 1 - own[::-1].index(length)
            rows = np.moveaxis(rows, at, -1)
        elif own and own[-1] % length == 0:
            others = own[-1] // length
            joined = (others, length) if self.order.heads_first else (length, others)
            rows = rows.reshape(*rows.shape[:-1], *joined)
            rows = rows if self.order.heads_first else rows.swapaxes(-1, -2)
        else:
            return None
        front = rows.shape[:-1]
        of_batch = [axis for axis, size in enumerate(front[: len(outer)]) if size == self.batch]
        total = int(np.prod(front)) if front else 1
        if total % self.batch:
            return None
        if of_batch:
            rows = np.moveaxis(rows, of_batch[-1 if self.order.samples_last else 0], 0)
        elif self.order.samples_last:
            return rows.reshape(total // self.batch, self.batch, length).swapaxes(0, 1)
        return rows.reshape(self.batch, total // self.batch, length)
