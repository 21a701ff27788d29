"""The record of one refusal."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.refusals.features import CallFeatures
from veriformer.conformance_tests.refusals.predicates import Both, Compared, Given, Predicate, SettingIs, Sized

_OF_SIZES = {
    Compared("L", ">", "S"): "more_queries_than_keys",
    Compared("L", "≠", "S"): "unequal_lengths",
    Compared("L", "<", "S"): "unequal_lengths",
    Compared("Dv", "≠", "D"): "value_width",
    Sized("E", "odd"): "odd_width",
    Sized("D", "odd"): "odd_width",
}
_GIVEN = {"biases": "biases", "num_kv_heads": "num_kv_heads", "another context": "context", "context": "context"}
_SETTINGS = ("norm_first", "activation", "eps")


@dataclass(frozen=True)
class Refusal:
    """Something that an operation refuses, with the exception that it raises."""

    operation: str
    predicate: Predicate
    exception: str
    declared: bool = False

    @property
    def sentence(self) -> str:
        """What is refused, as one sentence."""
        return f"{self.operation} refuses {self.predicate.words}"

    @property
    def words(self) -> str:
        """The sentence, with the exception that a call raised."""
        return f"{self.sentence}; it {self.exception}"

    @property
    def topics(self) -> tuple[str, ...]:
        """The keywords, and parts of the ids of laws, that stand for what is refused."""
        return self.predicate.topics

    def covers(self, call: CallFeatures) -> bool:
        """Return whether a call is refused."""
        return self.predicate.holds(call)


def limitation_of(predicate: Predicate) -> str:
    """Return the limitation that an implementation declares where it refuses this; empty where there is none."""
    if isinstance(predicate, Both):
        return limitation_of(predicate.what)
    if isinstance(predicate, Given):
        return _GIVEN.get(predicate.name, "")
    if isinstance(predicate, SettingIs):
        return predicate.name if predicate.name in _SETTINGS else ""
    return _OF_SIZES.get(predicate, "") if isinstance(predicate, Compared | Sized) else ""
