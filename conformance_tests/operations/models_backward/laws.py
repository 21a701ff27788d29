"""Laws of the gradients of whole Transformers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.gradients import added_up, equal, linear, without_grad_output
from veriformer.conformance_tests.operations.models.cases import ModelSpace
from veriformer.conformance_tests.operations.models_backward.inputs import (
    TokenBackwardInputs,
    TranslationBackwardInputs,
)
from veriformer.conformance_tests.operations.parts import agrees

# Of one stack of layers, or of two.
EitherInputs = TokenBackwardInputs | TranslationBackwardInputs

_ENCODER = ("encoder_backward",)
_LANGUAGE = ("language_model_backward",)
_ONE_STACK = (*_ENCODER, *_LANGUAGE)
_ALL = (*_ONE_STACK, "encoder_decoder_backward")
_ANY = ModelSpace(padding="sometimes", source_padding="sometimes")
_SEVERAL = replace(_ANY, least_batch=2)
_TABLES = ("grad_embedding", "grad_positions", "grad_encoder_positions", "grad_decoder_positions")


def _is_of_layer(name: str) -> bool:
    return "layers." in name


def _is_table(name: str) -> bool:
    return name in _TABLES


def _is_at_an_end(name: str) -> bool:
    return not _is_of_layer(name) and not _is_table(name)


def _agrees_where(wanted: Callable[[str], bool]) -> Callable[[Trial[EitherInputs]], Verdict]:
    """Return the check that the gradients of the weights whose names are wanted are the formula's."""

    def check(trial: Trial[EitherInputs]) -> Verdict:
        names = [name for name in trial.inputs.parts if wanted(name)]
        # An architecture without such weights has no such gradients.
        return agrees(trial, trial.inputs, *names or [next(iter(trial.inputs.parts))])

    check.__doc__ = "The gradients of these weights are the formula's."
    return check


judges("grad_layers", space=_ANY, operations=_ALL)(_agrees_where(_is_of_layer))
judges("grad_tables", space=_ANY, operations=_ALL)(_agrees_where(_is_table))
judges("grad_ends", space=_ANY, operations=_ALL)(_agrees_where(_is_at_an_end))
judges("grad_output.zero", space=_ANY, operations=_ALL)(without_grad_output)


@judges("grad_output.linear", space=_ANY, operations=_ALL)
def linear_in_grad_output(trial: Trial[EitherInputs]) -> Verdict:
    """Twice one gradient of the result plus another gives twice the gradients plus the others."""
    # Whole numbers, so that combinations are exact.
    whole = trial.inputs.with_cotangents(grad_output=np.rint(2.0 * trial.inputs.grad_output))
    return linear(replace(trial, inputs=whole))


@judges("samples.additive", space=_SEVERAL, operations=_ALL)
def additive(trial: Trial[EitherInputs]) -> Verdict:
    """The gradients over the first sample and over the others add up to those over all."""
    inputs = trial.inputs
    shares = inputs.take_samples(np.arange(1)), inputs.take_samples(np.arange(1, inputs.batch))
    return added_up(trial, shares, list(inputs.parts))


@judges("tokens.absent", space=ModelSpace(architectures=("bert", "llama"), least_vocabulary=3), operations=_ONE_STACK)
def absent(trial: Trial[TokenBackwardInputs]) -> Verdict:
    """The last token of the vocabulary does not occur: its vector has no gradient."""
    inputs = trial.inputs.with_spare_token()
    row = inputs.part("grad_embedding")(trial.output(inputs))[-1]
    return compare(np.zeros(row.shape), row, np.zeros(row.shape), None, "grad_embedding")


@judges("padding.no_gradient", space=ModelSpace(padding="always", least_length=2), operations=_ONE_STACK)
def padding(trial: Trial[TokenBackwardInputs]) -> Verdict:
    """Other tokens in the padding do not change the gradients."""
    inputs = trial.inputs
    moved = np.where(np.asarray(inputs.padding_mask), inputs.tokens, (inputs.tokens + 1) % inputs.vocabulary)
    return equal(trial, inputs, inputs.with_tokens(moved))


@judges(
    "causal.no_future_gradient",
    space=ModelSpace(architectures=("gpt",), padding="sometimes", least_length=2),
    operations=_LANGUAGE,
)
def no_future_gradient(trial: Trial[TokenBackwardInputs]) -> Verdict:
    """A loss on the first half of the logits gives no gradient to the positions of the second half."""
    inputs = trial.inputs
    first = (inputs.length + 1) // 2
    later = np.arange(inputs.length) >= first
    prefix = inputs.with_cotangents(grad_output=np.where(later[:, None], 0.0, inputs.grad_output))
    rows = inputs.part("grad_positions")(trial.output(prefix))[first:]
    return compare(np.zeros(rows.shape), rows, _slack(trial, prefix)[first:], None, "grad_positions")


def _slack(trial: Trial[TokenBackwardInputs], inputs: TokenBackwardInputs) -> Array:
    return inputs.part("grad_positions")(trial.expected(inputs).allowed)
