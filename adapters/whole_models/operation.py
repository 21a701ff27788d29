"""The operation `model` of a whole model, with those of its optional keywords that the model has."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

import numpy as np
from veriformer.adapters.whole_models.caching import Caching
from veriformer.adapters.whole_models.gradients import Gradients
from veriformer.adapters.whole_models.losses import Loss
from veriformer.adapters.whole_models.padding import Padding, PaddingToken
from veriformer.adapters.whole_models.sequence import Sequences


@dataclass(frozen=True)
class Features:
    """What a model takes and does beyond returning results for sequences; None where it does not, or is not known."""

    padding: Padding | PaddingToken | None = None
    caching: Caching | None = None
    gradients: Gradients | None = None
    loss: Loss | None = None
    takes_samples: bool = False

    @property
    def keywords(self) -> tuple[str, ...]:
        """The optional keywords of the operation."""
        has = {
            "padding_mask": self.padding,
            "parts": self.caching,
            "cotangent": self.gradients,
            "labels": self.loss,
            "samples": self.takes_samples or None,
        }
        return tuple(name for name, feature in has.items() if feature is not None)


class ModelOperation:
    """The operation `model`."""

    def __init__(self, sequences: Sequences, features: Features) -> None:
        self._sequences = sequences
        self._features = features
        keywords = (Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in features.keywords)
        self.__signature__ = Signature([Parameter("inputs", Parameter.POSITIONAL_ONLY), *keywords])

    def __call__(
        self,
        inputs: Any,
        *,
        padding_mask: Any = None,
        parts: tuple[int, ...] | None = None,
        cotangent: Any = None,
        labels: Any = None,
        samples: Any = None,
    ) -> Any:
        """Return the result, (B, L, ·), or what the keywords ask for in its place."""
        features = self._features
        if samples is not None:
            return self._sequences.of_samples(self._sequences.as_numpy(samples)).outputs(inputs)
        inputs, extra = self._padded(inputs, padding_mask)
        if parts is not None and features.caching is not None:
            return features.caching.outputs(self._sequences, inputs, parts, extra)
        if cotangent is not None and features.gradients is not None:
            return features.gradients.derivatives(self._sequences, inputs, cotangent, extra)
        if labels is not None and features.loss is not None:
            return features.loss.of(self._sequences, inputs, self._sequences.as_numpy(labels))
        return self._sequences.outputs(inputs, extra)

    def _padded(self, inputs: Any, padding_mask: Any) -> tuple[Any, dict[str, Any]]:
        """Return the sequence and the argument for padding; without a mask only if the model was recorded with one."""
        padding, sequences = self._features.padding, self._sequences
        real = None if padding_mask is None else sequences.as_numpy(padding_mask)
        if padding is None:
            return inputs, {}
        if isinstance(padding, PaddingToken):
            return padding.sequence(sequences, inputs, real), {}
        if real is None and sequences.place_of(padding.name) not in sequences.given:
            return inputs, {}
        every = np.ones(tuple(inputs.shape[:2]), dtype=bool)
        return inputs, {padding.name: padding.argument(sequences, every if real is None else real)}
