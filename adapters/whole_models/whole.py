"""A whole model as an implementation of the operation `model`: any model of sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.vocabulary import vocabulary_beyond
from veriformer.adapters.errors import LoadError, describe
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.model_declarations import BlackBox
from veriformer.adapters.outputs import named_arrays
from veriformer.adapters.whole_models.arguments import parameters_of
from veriformer.adapters.whole_models.caching import caching_of
from veriformer.adapters.whole_models.gradients import Gradients, gradients_of
from veriformer.adapters.whole_models.idle_parameters import idle_parameters
from veriformer.adapters.whole_models.lengths import longest_that_runs, most_samples
from veriformer.adapters.whole_models.losses import Loss, loss_of
from veriformer.adapters.whole_models.operation import Features, ModelOperation
from veriformer.adapters.whole_models.padding import LENGTHS, Padding, PaddingToken, padding_of
from veriformer.adapters.whole_models.segments import segments_without_effect
from veriformer.adapters.whole_models.sequence import Array, Sequences, sequences_of
from veriformer.adapters.whole_models.stage import Stage
from veriformer.adapters.whole_models.wrapping import NotRepeatable

# So many parameters are named, the others are not.
_FEW_NAMES = 4

# The first tokens are often special: padding, beginning, end, unknown, mask.
_SPECIAL = 5
_SHORT = 3
# No law is put to more samples in a call.
_MOST_SAMPLES = 5


@dataclass(frozen=True)
class WholeModel:
    """The model itself. It is causal if every self-attention of its stream was recognised to be.

    `padding_token` is the one that its attentions were recognised to hide, `known_idle` are the parameters of which
    it is known why they change nothing.
    """

    causal: bool = False
    padding_token: int | None = None
    known_idle: tuple[str, ...] = ()
    path: str = field(default="", init=False)

    def implementation(self, stage: Stage, arguments: Arguments, name: str) -> Implementation:
        """Return the model as an implementation of `model`; see `Wrapping`."""
        alike = _is_answered_alike(stage, arguments)
        try:
            return self._implementation(stage, arguments, name)
        except LoadError:
            raise
        except Exception as error:
            if alike:
                raise
            raise NotRepeatable(f"other numbers, and then {describe(error)}") from error

    def _implementation(self, stage: Stage, arguments: Arguments, name: str) -> Implementation:
        sequences = sequences_of(stage, arguments)
        if not self.causal:
            # What is one for each sample comes from all positions, as that of a causal model does from the last ones.
            sequences = sequences.with_vectors_beside()
        box = BlackBox(**inputs_of(sequences))
        draw, longest = drawing(sequences, box), box.max_length or 1
        features = Features(
            None if sequences.is_fixed else self._padding(sequences, box, draw),
            # What looks ahead cannot be continued: its earlier results would change.
            caching_of(sequences, draw, longest) if self.causal and not sequences.is_fixed else None,
            gradients_of(sequences, draw),
            loss_of(sequences, draw, longest),
            sequences.has_arguments_of_samples,
        )
        promised = {
            "causal": self.causal and not sequences.pooled,
            "ignored_labels": features.loss is not None and features.loss.ignored is not None,
        }
        names = features.gradients.names if features.gradients is not None else ()
        properties = tuple(name for name, holds in promised.items() if holds)
        return Implementation(
            name=name,
            framework=stage.framework,
            operations={"model": ModelOperation(sequences, features)},
            dtypes=(stage.dtype,),
            black_box=replace(box, properties=properties, parameters=names),
            limitations=limitations_of(features.padding),
            notices=(
                *sequences.notices,
                *sequences.stage.said,
                *_of_frozen(features.gradients),
                *_of_padding(features.padding),
                *self._of_loss(sequences, box, features.loss),
                *_idle(segments_without_effect(sequences, draw, longest)),
                *_of_idle_parameters(idle_parameters(sequences, draw, self.known_idle)),
            ),
        )

    def _of_loss(self, sequences: Sequences, box: BlackBox, loss: Loss | None) -> tuple[str, ...]:
        """Return which labels a loss is of; a decoder that reads an encoder has tokens of its own.

        Labels of other classes than the tokens, such as parts of speech, are those of their own tokens.
        """
        if loss is None:
            return ()
        has_a_decoder = any(one.name.startswith("decoder") for one in parameters_of(sequences.stage))
        alone = self.causal and not has_a_decoder and loss.classes == box.vocabulary_size
        notice = loss.notice(of_one_sequence=alone)
        return (notice,) if notice else ()

    def _padding(
        self, sequences: Sequences, box: BlackBox, draw: Callable[[int, int], Array]
    ) -> Padding | PaddingToken | None:
        """Return the argument that says which tokens are padding, else the token that is."""
        if sequences.pooled and _grows_with_length(sequences, draw):
            # What it returns has positions of its own, such as every second one: which are padding is not known.
            return None
        found = padding_of(sequences, draw, box.max_length or 1)
        rows = box.vocabulary_size
        if found is not None or self.padding_token is None or rows is None or rows < 2:
            return found
        return PaddingToken(self.padding_token, (self.padding_token + 1) % rows)


def _of_frozen(gradients: Gradients | None) -> tuple[str, ...]:
    if gradients is None or not gradients.frozen:
        return ()
    names = ", ".join(gradients.frozen[:_FEW_NAMES]) + (" …" if len(gradients.frozen) > _FEW_NAMES else "")
    return (f"No gradient reaches {names}: the code says that weights are frozen",)


def _idle(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"`{name}` has no effect: the results are the same whatever segments it tells" for name in names)


def _of_idle_parameters(names: Sequence[str]) -> tuple[str, ...]:
    if not names:
        return ()
    more = f" and {len(names) - _FEW_NAMES} more" if len(names) > _FEW_NAMES else ""
    are = "is read and changes" if len(names) == 1 else "are read and change"
    they = "it is" if len(names) == 1 else "they are"
    return (f"{', '.join(names[:_FEW_NAMES])}{more} {are} nothing: the results are the same, whatever {they}",)


def _is_answered_alike(stage: Stage, arguments: Arguments) -> bool:
    """Return whether a second call gives the numbers of the first; NotRepeatable where it raises."""
    first = _numbers(stage, stage.call(*arguments))
    try:
        second = _numbers(stage, stage.call(*arguments))
    except Exception as error:
        raise NotRepeatable(describe(error)) from error
    return len(first) == len(second) and all(
        np.array_equal(one, other, equal_nan=one.dtype.kind == "f") for one, other in zip(first, second, strict=True)
    )


def _numbers(stage: Stage, returned: Any) -> list[Array]:
    return [stage.framework.to_numpy(one) for _, one in named_arrays(returned, stage.framework.is_array)]


def _grows_with_length(sequences: Sequences, draw: Callable[[int, int], Array]) -> bool:
    """Return whether a model returns more numbers for each sample of a longer sequence."""
    if sequences.axes[1] is None:
        return False
    widths = [
        sequences.as_numpy(sequences.outputs(sequences.as_framework(draw(1, length)))).shape[-1]
        for length in (_SHORT, 2 * _SHORT)
    ]
    return bool(widths[0] != widths[1])


def _of_padding(padding: Padding | PaddingToken | None) -> tuple[str, ...]:
    return (padding.notice,) if isinstance(padding, Padding) and padding.notice else ()


def limitations_of(padding: Padding | PaddingToken | None) -> tuple[str, ...]:
    """Return what cannot be asked of a model that is told lengths: they say nothing of padding in front."""
    return ("left_padding",) if isinstance(padding, Padding) and padding.kind == LENGTHS else ()


def drawing(sequences: Sequences, box: BlackBox) -> Callable[[int, int], Array]:
    """Return what draws a number of sequences of a length, of such tokens or vectors as the model takes.

    They are as long as they must be at least.
    """
    generator = np.random.default_rng(0)

    def draw(batch: int, length: int) -> Array:
        length = max(length, box.min_length)
        if box.vocabulary_size is not None:
            return generator.integers(box.lowest_token, box.vocabulary_size, (batch, length))
        return generator.normal(size=(batch, length, sequences.width))

    return draw


def inputs_of(sequences: Sequences) -> dict[str, Any]:
    """Return what a `BlackBox` says of the inputs of a model that is called on sequences."""
    stage = sequences.stage
    longest = longest_that_runs(sequences)
    common = {
        "products_per_token": stage.size,
        "max_length": longest,
        "max_batch": most_samples(sequences, _MOST_SAMPLES),
    }
    if sequences.is_fixed:
        common["min_length"] = longest
    recorded = sequences.as_numpy(sequences.recorded)
    if recorded.dtype.kind == "f":
        return {**common, "d_model": sequences.width}
    rows = vocabulary_beyond(stage.shapes, int(recorded.max()))
    return {**common, "vocabulary_size": rows, "lowest_token": _SPECIAL if rows > 4 * _SPECIAL else 0}
