"""The kill matrix: which laws each planted mistake breaks, as `benchmarks/kill_matrix.py` measured it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from veriformer.conformance_tests.mistakes.files import read_json
from veriformer.conformance_tests.mistakes.mistake import Mistake, operations_of
from veriformer.spec.laws import LAWS


@dataclass(frozen=True)
class Killed:
    """A planted mistake and the laws that it breaks, of all that apply to its program.

    `stopped` are those that end with an error, because a call raises or returns a result that cannot be judged. That is
    a violation too, but says nothing about the law: any other would have ended so.
    """

    name: str
    slug: str
    source: str
    broken: tuple[str, ...]
    stopped: tuple[str, ...] = ()

    @property
    def violated(self) -> tuple[str, ...]:
        """The laws that are not passed, for either reason."""
        return (*self.broken, *self.stopped)


@dataclass(frozen=True)
class KillMatrix:
    """Mistakes × laws, at one tier and seed.

    `milliseconds` has each law tried on some program and its median time, which only distinguishes cheap laws from
    expensive ones.
    """

    tier: str
    seed: int
    milliseconds: Mapping[str, int]
    mistakes: tuple[Killed, ...]

    @property
    def laws(self) -> tuple[str, ...]:
        """The laws tried on some program."""
        return tuple(self.milliseconds)

    @property
    def caught(self) -> tuple[Killed, ...]:
        """The mistakes that violate at least one law."""
        return tuple(mistake for mistake in self.mistakes if mistake.violated)

    @property
    def by_law(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the mistakes that each law catches, by its own verdict."""
        found: dict[str, list[str]] = {law: [] for law in self.laws}
        for mistake in self.mistakes:
            for law in mistake.broken:
                found[law].append(mistake.name)
        return {law: tuple(names) for law, names in found.items()}

    @property
    def catching_nothing(self) -> tuple[str, ...]:
        """The laws that no mistake breaks, even if it stops them."""
        return tuple(law for law, names in self.by_law.items() if not names)

    @property
    def caught_by_one_law(self) -> tuple[Killed, ...]:
        """The mistakes that only one law catches."""
        return tuple(mistake for mistake in self.mistakes if len(mistake.violated) == 1)


@cache
def kill_matrix() -> KillMatrix:
    """Return the matrix of the last measurement."""
    record = read_json("kill_matrix.json")
    mistakes = (
        Killed(entry["name"], entry["slug"], entry["source"], tuple(entry["broken"]), tuple(entry["stopped"]))
        for entry in record["mistakes"]
    )
    return KillMatrix(record["tier"], record["seed"], MappingProxyType(record["laws"]), tuple(mistakes))


def shown_in(mistake: Mistake) -> tuple[str, ...]:
    """Return the operations in which a mistake shows, each once: first those of the laws that are about it.

    The others are measured: a softmax over the wrong axis also breaks laws that are about heads or the causal mask.
    """
    return tuple(dict.fromkeys((*mistake.operations, *_measured_in().get(mistake.slug, ()))))


@cache
def _measured_in() -> Mapping[str, tuple[str, ...]]:
    """Return the operations whose laws break, by the slug of the mistake, in the order of the specification."""
    broken: dict[str, set[str]] = {}
    for mistake in kill_matrix().mistakes:
        broken.setdefault(mistake.slug, set()).update(mistake.broken)
    return {slug: operations_of(tuple(law for law in LAWS if law in laws)) for slug, laws in broken.items()}


@cache
def reasons_for_catching_nothing() -> Mapping[str, str]:
    """Return why laws exist that no planted mistake breaks, by the id of a law, or by the key of similar laws."""
    return MappingProxyType(read_json("catching_nothing.json"))
