"""Which row of a table of relative positions each pair of a query and a key gets, and by which rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.flow import Flow

# A table may be rounded to single precision before it is added.
_CLOSE = 1e-6
_FURTHEST = (*range(2, 257), 512, 1024, 2048)


@dataclass(frozen=True)
class BucketRule:
    """A rule of T5: its directions, its distances, and whether it takes key minus query or the reverse.

    `buckets` gives the row of each relative position, key minus query, that was seen. `furthest` are the least and the
    greatest of the largest distances that give these rows; (0, 0) where no rule of T5 gives them.
    """

    buckets: tuple[tuple[int, int], ...]
    count: int
    bidirectional: bool = False
    reversed: bool = False
    offset: int = 0
    furthest: tuple[int, int] = (0, 0)

    @property
    def is_of_t5(self) -> bool:
        """Whether a rule of T5 gives the rows."""
        return self.furthest != (0, 0)

    @property
    def directions(self) -> str:
        """Of which keys distances are told apart, and what is done to them."""
        if not self.is_of_t5:
            return ""
        turned = ", with the sign of relative positions exchanged" if self.reversed else ""
        offset = f", each relative position moved by {self.offset}" if self.offset else ""
        return f"of {'earlier and later' if self.bidirectional else 'earlier'} keys{turned}{offset}"

    @property
    def words(self) -> str:
        """The rule in words."""
        if not self.is_of_t5:
            return f"{self.count} rows by relative position, by a rule that is none of T5's"
        directions = "earlier and later keys" if self.bidirectional else "earlier keys"
        low, high = self.furthest
        reach = f"{low}" if low == high else f"{low} or more" if high == _FURTHEST[-1] else f"{low} to {high}"
        turned = ", with the sign of relative positions exchanged" if self.reversed else ""
        offset = f", each relative position moved by {self.offset}" if self.offset else ""
        return f"{self.count} buckets for {directions}, up to a distance of {reach}{turned}{offset}"

    def __eq__(self, other: object) -> bool:
        """Return whether no relative position that both have seen tells two rules apart."""
        if not isinstance(other, BucketRule):
            return NotImplemented
        own, others = dict(self.buckets), dict(other.buckets)
        return all(others.get(distance, bucket) == bucket for distance, bucket in own.items())

    def __hash__(self) -> int:
        """Rules that have seen other positions may be the same."""
        return 0


@dataclass(frozen=True, eq=False)
class Buckets:
    """A table of parameters (buckets, heads), and the row (L, S) that each visible pair gets of it."""

    table: Array
    names: tuple[str, ...]
    rows: Array
    visible: Array

    @property
    def rule(self) -> BucketRule | None:
        """Return the rule by relative position; None where the same relative position gets several rows."""
        relative = np.arange(self.rows.shape[1])[None, :] - np.arange(self.rows.shape[0])[:, None]
        pairs = sorted(set(zip(relative[self.visible].tolist(), self.rows[self.visible].tolist(), strict=True)))
        if len({distance for distance, _ in pairs}) < len(pairs):
            return None
        found = BucketRule(tuple(pairs), len(self.table))
        return next(_of_known(found), found)


def buckets_of(flow: Flow, setting: Setting, visible: Array) -> Buckets | None:
    """Return the rows that a bias takes from a table of parameters; None where it takes none, or changes them."""
    if setting.bias is None or setting.bias_value is None:
        return None
    bias = np.moveaxis(setting.bias[0], 0, -1)
    heads = bias.shape[-1]
    for name in flow.parameters_of(setting.bias_value):
        array = flow.array(flow.trace.parameters[name])
        for table in (array, array.T) if array.ndim == 2 else ():
            if table.shape[1] != heads or len(table) < 2:
                continue
            distance = np.stack([np.abs(bias - row).max(axis=-1) for row in table], axis=-1)
            if distance.min(axis=-1)[visible].max(initial=0.0) <= _CLOSE * max(1.0, float(np.abs(table).max())):
                return Buckets(table, (name,), distance.argmin(axis=-1), visible)
    return None


def _of_known(seen: BucketRule) -> Iterator[BucketRule]:
    """Yield the rules that give these rows, the simplest first."""
    distances = np.array([distance for distance, _ in seen.buckets])
    rows = np.array([bucket for _, bucket in seen.buckets])
    if len(rows) < 2 or np.ptp(rows) == 0:
        return
    for offset in (0, 1, -1):
        for turned in (False, True):
            for both in (False, True):
                given = (-distances if turned else distances) + offset
                fitting = [far for far in _FURTHEST if _gives(given, rows, both, seen.count, far)]
                if fitting:
                    reach = fitting[0], fitting[-1]
                    yield BucketRule(seen.buckets, seen.count, both, turned, offset, reach)


def _gives(distances: Array, rows: Array, bidirectional: bool, count: int, furthest: int) -> bool:
    try:
        found = reference.relative_position_bucket(
            distances, bidirectional=bidirectional, num_buckets=count, max_distance=furthest
        )
    except ValueError:
        return False
    return bool(np.array_equal(found, rows))
