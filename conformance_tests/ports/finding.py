"""One thing in which two parts that belong together differ."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.ports.arrangements import STORED, Relation
from veriformer.conformance_tests.ports.items import Item, Weight

# What may differ so little that only float64 shows it.
_FINE = ("eps", "eps place", "scale", "factor", "embedding factor", "softcap", "activation", "base", "positions")
_OF_STRUCTURE = (
    "norm before",
    "norm on_output",
    "norm after",
    "residual",
    "parallel",
    "merge",
    "final norm",
    "norms of the memory",
)
_FINE_RELATIONS = ("rounded", "scaled", "in part", STORED)


@dataclass(frozen=True, eq=False)
class Finding:
    """One thing that differs between two parts; an item is None where a model does not have it.

    `relation` is about weights. `harmless` says that something else in the part makes up for it; `is_layout` that
    nothing but the order of numbers in memory is meant. `elsewhere` is the weight of the first model that the second
    one has here. `cut_otherwise` says that the parameter is the same, and its numbers are taken in another order, or
    times a number.
    """

    first: Item | None
    second: Item | None
    relation: Relation | None = None
    elsewhere: Weight | None = None
    harmless: str = ""
    held: str = ""
    """The parameters of the second model with the first one's numbers, which its code does not take here."""
    is_layout: bool = False
    cut_otherwise: bool = False
    pairs_moved: bool = False
    """Of a rotation: the weights are in the order of other pairs, which are no difference then."""

    @property
    def item(self) -> Item:
        """The item of the second model, of the first where it has none."""
        found = self.second or self.first
        assert found is not None
        return found

    @property
    def key(self) -> str:
        """What differs."""
        return self.item.key

    @property
    def is_stored(self) -> bool:
        """Whether a weight is the same up to the rounding of float32."""
        return self.relation is not None and self.relation.name == STORED

    @property
    def is_fine(self) -> bool:
        """Whether it may have so small an effect that rounding to single precision hides it."""
        if self.relation is not None:
            return self.relation.name in _FINE_RELATIONS
        return self.key in _FINE or self.key.rpartition(": ")[2] in _FINE or self.key.partition(" ")[2] in _FINE

    @property
    def is_structure(self) -> bool:
        """Whether it is about norms and residuals, which a mistake of another name may have in another place."""
        return self.key in _OF_STRUCTURE

    @property
    def may_be_misread(self) -> bool:
        """Whether it says nothing where all values of the part are the same: one of the models was read otherwise."""
        if self.harmless:
            return False
        if self.relation is not None:
            return self.relation.name in ("missing", "additional", "rows from later", "other shape")
        return not self.is_fine
