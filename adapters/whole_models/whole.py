"""A whole model as an implementation of the operation `model`: any model of sequences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import Parameter, Signature
from typing import Any

from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.inputs import vocabulary
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.model_declarations import BlackBox
from veriformer.adapters.whole_models.lengths import longest_that_runs
from veriformer.adapters.whole_models.sequence import Sequences, sequences_of
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
        model = ModelOperation(sequences, {})
        causal = self.causal and not sequences.pooled
        return Implementation(
            name=name,
            framework=stage.framework,
            operations={"model": model},
            dtypes=(stage.dtype,),
            black_box=BlackBox(**_inputs(sequences), properties=("causal",) if causal else ()),
        )


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

    def __init__(self, sequences: Sequences, features: Mapping[str, Any]) -> None:
        self._sequences = sequences
        self._features = features
        self.__signature__ = Signature(
            [
                Parameter("inputs", Parameter.POSITIONAL_ONLY),
                *(Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in features),
            ]
        )

    def __call__(self, inputs: Any) -> Any:
        """Return the result, (B, L, ·)."""
        return self._sequences.outputs(inputs)
