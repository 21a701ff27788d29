"""A whole model as an implementation of the operation `model`: any model of sequences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.inputs import vocabulary
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.model_declarations import BlackBox
from veriformer.adapters.whole_models.caching import Caching, caching_of
from veriformer.adapters.whole_models.lengths import longest_that_runs
from veriformer.adapters.whole_models.padding import Padding, padding_of
from veriformer.adapters.whole_models.sequence import Array, Sequences, sequences_of
from veriformer.adapters.whole_models.stage import Stage

# The first tokens are often special: padding, beginning, end, unknown, mask.
_SPECIAL = 5


@dataclass(frozen=True)
class WholeModel:
    """The model itself. It is causal if every self-attention of its stream was recognised to be."""

    causal: bool = False
    path: str = field(default="", init=False)

    def implementation(self, stage: Stage, arguments: Arguments, name: str) -> Implementation:
        """Return the model as an implementation of `model`; see `Wrapping`."""
        sequences = sequences_of(stage, arguments)
        properties = ("causal",) if self.causal and not sequences.pooled else ()
        box = BlackBox(**_inputs(sequences), properties=properties)
        draw, longest = drawing(sequences, box), box.max_length or 1
        model = ModelOperation(sequences, padding_of(sequences, draw, longest), caching_of(sequences, draw, longest))
        return Implementation(
            name=name,
            framework=stage.framework,
            operations={"model": model},
            dtypes=(stage.dtype,),
            black_box=box,
        )


def drawing(sequences: Sequences, box: BlackBox) -> Callable[[int, int], Array]:
    """Return what draws a number of sequences of a length, of such tokens or vectors as the model takes."""
    generator = np.random.default_rng(0)

    def draw(batch: int, length: int) -> Array:
        if box.vocabulary_size is not None:
            return generator.integers(box.lowest_token, box.vocabulary_size, (batch, length))
        return generator.normal(size=(batch, length, sequences.width))

    return draw


def _inputs(sequences: Sequences) -> dict[str, Any]:
    stage = sequences.stage
    common = {"products_per_token": stage.size, "max_length": longest_that_runs(sequences)}
    recorded = sequences.as_numpy(sequences.recorded)
    if recorded.dtype.kind == "f":
        return {**common, "d_model": sequences.width}
    rows = max(vocabulary(stage.shapes), int(recorded.max()) + 1)
    return {**common, "vocabulary_size": rows, "lowest_token": _SPECIAL if rows > 4 * _SPECIAL else 0}


class ModelOperation:
    """The operation `model`, with those of its optional keywords that the model has."""

    def __init__(self, sequences: Sequences, padding: Padding | None, caching: Caching | None) -> None:
        self._sequences = sequences
        self._padding = padding
        self._caching = caching
        has = {"padding_mask": padding, "parts": caching}
        features = [name for name, way in has.items() if way is not None]
        self.__signature__ = Signature(
            [
                Parameter("inputs", Parameter.POSITIONAL_ONLY),
                *(Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in features),
            ]
        )

    def __call__(self, inputs: Any, *, padding_mask: Any = None, parts: tuple[int, ...] | None = None) -> Any:
        """Return the result, (B, L, ·)."""
        extra = self._extra(inputs, padding_mask)
        if parts is not None and self._caching is not None:
            return self._caching.outputs(self._sequences, inputs, parts, extra)
        return self._sequences.outputs(inputs, extra)

    def _extra(self, inputs: Any, padding_mask: Any) -> dict[str, Any]:
        """Return the argument for padding; without a mask only if the model was recorded with one, or needs one."""
        padding, sequences = self._padding, self._sequences
        if padding is None:
            return {}
        if padding_mask is None and sequences.place_of(padding.name) not in sequences.given:
            return {}
        real = (
            np.ones(tuple(inputs.shape[:2]), dtype=bool) if padding_mask is None else sequences.as_numpy(padding_mask)
        )
        return {padding.name: padding.argument(sequences, real)}
