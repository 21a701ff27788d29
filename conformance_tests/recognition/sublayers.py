"""The model's sublayers: which maps enter and leave each attention and each feed-forward network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from functools import cached_property

import numpy as np
from veriformer.conformance_tests.recognition.expressions import Attended, Expression, Fixed, Norm, Output, Sum, Taken
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap, Maps
from veriformer.conformance_tests.recognition.mixed_values import MixedValues, mixed_values
from veriformer.conformance_tests.recognition.reader import Reader
from veriformer.conformance_tests.recognition.sites import Site


@dataclass(frozen=True, eq=False)
class AttentionSublayer:
    """An attention with its projections.

    `sites` are several where each head is computed by itself. `narrowing` has the maps before a projection that narrow
    the stream for it, the first first: low-rank queries, keys and values have them. `mixed` says what else than their
    projection values are made of.
    """

    sites: tuple[Site, ...]
    query: tuple[LinearMap, ...]
    key: tuple[LinearMap, ...]
    value: tuple[LinearMap, ...]
    exit: LinearMap
    narrowing: Mapping[LinearMap, tuple[LinearMap, ...]] = field(default_factory=dict)
    mixed: MixedValues | None = None

    @property
    def entries(self) -> tuple[LinearMap, ...]:
        """The maps between the stream and the heads, each once."""
        before = [one for maps in self.narrowing.values() for one in maps]
        return tuple(dict.fromkeys((*before, *self.query, *self.key, *self.value)))

    @property
    def entry(self) -> LinearMap:
        """The map whose input is the sublayer's input."""
        return self.reading(self.query[0])

    def reading(self, one: LinearMap) -> LinearMap:
        """Return the map that reads the stream for a projection: itself, or the first that narrows."""
        return (*self.narrowing.get(one, ()), one)[0]

    @property
    def first_step(self) -> int:
        """Its place in the order of execution."""
        return min(one.step for one in self.entries)


@dataclass(frozen=True, eq=False)
class FeedForwardSublayer:
    """A feed-forward network: the maps into its hidden layer, and the one out of it."""

    inner: tuple[LinearMap, ...]
    exit: LinearMap

    @property
    def entries(self) -> tuple[LinearMap, ...]:
        """The maps that read the stream."""
        return self.inner

    @property
    def entry(self) -> LinearMap:
        """The map whose input is the sublayer's input."""
        return self.inner[0]

    @property
    def first_step(self) -> int:
        """Its place in the order of execution."""
        return min(one.step for one in self.inner)


Sublayer = AttentionSublayer | FeedForwardSublayer


class Sublayers:
    """All sublayers of a pass, in order, and the maps that belong to none."""

    def __init__(self, flow: Flow, maps: Maps, reader: Reader) -> None:
        self.flow = flow
        self.maps = maps
        self.reader = reader

    @cached_property
    def all(self) -> tuple[Sublayer, ...]:
        """The sublayers, in the order of execution."""
        return tuple(sorted((*self._attentions, *self._networks()), key=lambda one: one.first_step))

    @cached_property
    def others(self) -> tuple[LinearMap, ...]:
        """The maps in no sublayer, such as the unembedding."""
        inside = {one.step for sublayer in self.all for one in (*sublayer.entries, sublayer.exit)}
        return tuple(one for one in self.maps.linear if one.step not in inside)

    @cached_property
    def width(self) -> int:
        """The width of the stream: what most attentions give, else that of the tables, else what most maps read."""
        given = self._given_widths
        if given:
            return max(set(given), key=given.count)
        read = [self.flow.shape(one.input)[-1] for one in self.maps.linear if self.flow.shape(one.input)]
        tables = {self.flow.shape(one.output)[-1] for one in self.maps.lookups}
        common = [width for width in read if width in tables] or read
        return max(set(common), key=common.count) if common else 0

    @cached_property
    def _given_widths(self) -> list[int]:
        return [self.maps.width_out(one) for one, _ in self._leaving]

    @cached_property
    def _attentions(self) -> tuple[AttentionSublayer, ...]:
        found = []
        for one, sites in self._leaving:
            sources = [self._sources(site) for site in sites]
            query, key, value = (tuple(dict.fromkeys(m for source in sources for m in source[i])) for i in range(3))
            if query and key and value:
                mixed = self._mixed(sites, query, value)
                value = value if mixed is None else (mixed.own,)
                widths = {self.width, self.maps.width_out(one)}
                narrowing = {each: self._narrowing(each, widths) for each in (*query, *key, *value)}
                found.append(AttentionSublayer(sites, query, key, value, one, narrowing, mixed))
        return tuple(found)

    def _mixed(
        self, sites: Sequence[Site], query: Sequence[LinearMap], value: Sequence[LinearMap]
    ) -> MixedValues | None:
        """Return what values are mixed of beside those of the map that reads what the queries' map reads."""
        own = [one for one in value if one.input == query[0].input]
        if len(sites) > 1 or len(own) != 1:
            return None
        return mixed_values(self.flow, self.maps, sites[0], own[0], value)

    def _narrowing(self, one: LinearMap, widths: AbstractSet[int]) -> tuple[LinearMap, ...]:
        """Return the maps before a projection, the first first, whose outputs have none of the stream's widths."""
        before = self._joined(self.reader.read(one.input))
        if before is None or self.maps.width_out(before) in widths or self._gives_an_image(before):
            return ()
        return (*self._narrowing(before, widths), before)

    def _gives_an_image(self, one: LinearMap) -> bool:
        """Return whether a map's output has two axes of positions, as that of a convolution over patches."""
        return len(self.flow.shape(one.output)) > len(("samples", "positions", "width"))

    def _joined(self, read: Expression) -> LinearMap | None:
        """Return the one map whose output is normalised, cut or joined with itself here; None for all else."""
        found: dict[int, LinearMap] = {}
        for one in each_inside(read, lambda one: not isinstance(one, Norm | Taken)):
            if isinstance(one, Output):
                found[one.map.step] = one.map
            elif not isinstance(one, Norm | Taken | Fixed):
                return None
        return next(iter(found.values())) if len(found) == 1 else None

    @cached_property
    def _leaving(self) -> list[tuple[LinearMap, tuple[Site, ...]]]:
        """Return the maps that read what attentions gave, each with its attentions."""
        found = []
        for one in self.maps.linear:
            sites = tuple(dict.fromkeys(_attended(self.reader.read(one.input))))
            if sites:
                found.append((one, sites))
        return found

    def _sources(self, site: Site) -> tuple[list[LinearMap], list[LinearMap], list[LinearMap]]:
        """Return the maps that query, key and value come from."""
        query, key, value = (self._cut_from(one) for one in (site.query_value, site.key_value, site.value_value))
        return query, key, value

    def _cut_from(self, value: int) -> list[LinearMap]:
        """Return the maps that a value is made of: where several were joined and cut again, the one it is cut from."""
        maps = self.nearest_maps(value)
        if len(maps) < 2:
            return maps
        for one in self.flow.ancestors(value, stop=lambda one: one in self.maps.by_output):
            if one not in self.maps.by_output and self._goes_through(value, one):
                array = self.flow.array(one)
                sources = [each for each in maps if np.isin(array, self.flow.array(each.output)).all()]
                if len(sources) == 1:
                    return sources
        return maps

    def _goes_through(self, value: int, middle: int) -> bool:
        """Return whether no map is behind a value but through another."""
        near = self.flow.ancestors(value, stop=lambda one: one == middle or one in self.maps.by_output)
        return value == middle or not any(one in self.maps.by_output for one in near)

    def nearest_maps(self, value: int) -> list[LinearMap]:
        """Return the maps that a value is made of without another map between."""
        if value in self.maps.by_output:
            return [self.maps.by_output[value]]
        behind = self.flow.ancestors(value, stop=lambda one: one in self.maps.by_output)
        found = [self.maps.by_output[one] for one in sorted(behind) if one in self.maps.by_output]
        return list(dict.fromkeys(found))

    def _networks(self) -> Iterator[FeedForwardSublayer]:
        taken = {m.step for attention in self._attentions for m in (*attention.entries, attention.exit)}
        exits = {attention.exit.step for attention in self._attentions}
        for one in self.maps.linear:
            if one.step in taken or any(_attended(self.reader.read(one.input))) or self._mixes_positions(one.input):
                continue
            # One map may give queries, keys, values and the hidden layer of a network side by side.
            inner = [m for m in self.nearest_maps(one.input) if m.step not in exits]
            hidden = [m for m in inner if self._is_hidden(m, one)]
            if hidden and len(hidden) == len(self.nearest_maps(one.input)):
                yield FeedForwardSublayer(tuple(hidden), one)

    def _mixes_positions(self, value: int) -> bool:
        """Return whether two values of the pass are multiplied as matrices on the way from the maps behind a value."""
        behind = self.flow.ancestors(value, stop=lambda one: one in self.maps.by_output)
        makers = (self.flow.maker(one) for one in behind if one not in self.maps.by_output)
        return not set(self.maps.products).isdisjoint(one for one in makers if one is not None)

    def _is_hidden(self, inner: LinearMap, outer: LinearMap) -> bool:
        """Return whether one map's output is the hidden layer before another: both lead from and to the stream."""
        reads, gives = self.maps.width_in(inner), self.maps.width_out(outer)
        hidden = self.maps.width_in(outer)
        # Towers and stacks of one model may have different widths.
        is_stream = reads == gives and reads in {self.width, *self._given_widths}
        return is_stream and (hidden != reads or self._is_private(inner, outer))

    def _is_private(self, inner: LinearMap, outer: LinearMap) -> bool:
        """Return whether nothing but one map makes use of another's output."""
        after = self.flow.descendants(inner.output, stop=lambda one: one in self.maps.by_output)
        users = {self.maps.by_output[one].step for one in after if one in self.maps.by_output and one != inner.output}
        return users <= {outer.step, inner.step}


def narrowed_maps(sublayer: Sublayer) -> Iterator[LinearMap]:
    """Yield the maps of an attention that read a latent: what another map of it has narrowed."""
    if isinstance(sublayer, AttentionSublayer):
        yield from (one for one, before in sublayer.narrowing.items() if before)


def _attended(expression: Expression) -> Iterator[Site]:
    """Yield the attentions in an expression that no linear map has read yet."""
    for one in each_inside(expression, lambda one: isinstance(one, Attended | Output | Sum | Norm)):
        if isinstance(one, Attended):
            yield from one.sites


def each_inside(expression: Expression, stop: Callable[[Expression], bool] = lambda _: False) -> Iterator[Expression]:
    """Yield an expression and all that it is made of, each once; one for which `stop` is true is not looked into.

    Values are used more than once, so that there are far more ways into an expression than expressions in it.
    """
    seen: set[int] = set()
    waiting = [expression]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if not stop(one):
            waiting.extend(reversed(list(inner_expressions(one))))


def inner_expressions(expression: Expression) -> Iterator[Expression]:
    """Yield the expressions that one is directly made of."""
    for name in (one.name for one in fields(expression)):
        inner = getattr(expression, name)
        if isinstance(inner, Expression):
            yield inner
        elif isinstance(inner, Sequence):
            yield from (one for one in inner if isinstance(one, Expression))
