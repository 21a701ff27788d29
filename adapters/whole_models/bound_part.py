"""A module of a model as an implementation of the operation that it was recognised as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.fixed_values import FixedValue
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.whole_models.stage import Stage
from veriformer.adapters.whole_models.wrapping import NotWrapped


@dataclass(frozen=True)
class WeightPlace:
    """Where a weight lies among the numbers of some parameters, which are counted one parameter after the other.

    Entry (i, j) of a matrix of so many `rows` is number `step` · i + `columns`[j]. A vector is a matrix of one row.
    """

    parameters: tuple[str, ...]
    rows: int
    step: int
    columns: tuple[int, ...]


@dataclass(frozen=True)
class BoundPart:
    """A module that is one operation: where its weights lie, what is fixed in it, and how it is called.

    `weights` are named as in the interface; biases that the operation has no argument for are `zeroed`. Weights of the
    last step that the module lacks (`beta`, `b_o`, `b_2`) are added to its result. `form` counts the ways to call a
    module by its signature: with x alone, with x in place of further arguments, with None.
    `shape` is that of the input in the recorded pass: samples and positions. `kind` is the module's class.
    """

    path: str
    operation: str
    weights: Mapping[str, WeightPlace]
    fixed_values: Mapping[str, FixedValue]
    shape: tuple[int, int]
    conventions: Mapping[str, str] = field(default_factory=dict)
    limitations: tuple[str, ...] = ()
    zeroed: tuple[WeightPlace, ...] = ()
    form: int = 0
    kind: str = ""

    @property
    def size(self) -> int:
        """How many numbers its weights have."""
        return sum(place.rows * len(place.columns) for place in self.weights.values())

    def implementation(self, stage: Stage, arguments: Arguments, name: str) -> Implementation:
        """Return the module as an implementation of its operation; NotWrapped where it cannot be called so."""
        if stage.framework.name != "torch":
            raise NotWrapped(f"modules of {stage.framework.name} are not called one by one")
        from veriformer.adapters.whole_models.torch_module import TorchModule

        module = TorchModule(stage.model, self, stage.dtype)
        operations: dict[str, Any] = {self.operation: module.operation()}
        return Implementation(
            name=f"{name}, {self.path}",
            framework=stage.framework,
            operations=operations,
            dtypes=(module.dtype_name,),
            conventions=self.conventions,
            limitations=self.limitations,
            fixed_values=self.fixed_values,
        )
