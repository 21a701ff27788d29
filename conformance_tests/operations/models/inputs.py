"""The inputs of whole Transformers: tokens, masks, a tree of weights and a configuration."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.expected import Conventions, Expected
from veriformer.conformance_tests.core.inputs import Inputs, SampledInputs
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.operations.models.bounds import (
    ModelEstimates,
    encoder_decoder_estimate,
    encoder_estimate,
    language_model_estimate,
    of_models,
)
from veriformer.conformance_tests.operations.models.cases import ModelCase
from veriformer.conformance_tests.operations.models.drawing import (
    below,
    drawn_configuration,
    drawn_padding,
    drawn_weights,
)
from veriformer.conformance_tests.rounding.estimates import Estimate
from veriformer.conformance_tests.rounding.precision import Precision


@dataclass(frozen=True, eq=False)
class ModelInputs(Inputs):
    """The common parts of all of them: weights and a configuration. The expected result is computed once and kept."""

    operation: str
    dtype: str
    weights: reference.TransformerWeights | reference.EncoderDecoderWeights
    config: reference.TransformerConfiguration
    _remembered: dict[tuple[reference.ModelConventions, bool], Expected] = field(
        default_factory=dict, init=False, repr=False
    )

    @property
    def vocabulary(self) -> int:
        """N."""
        return self.config.vocabulary_size

    @property
    def tied(self) -> bool:
        """Whether logits come from the table of the embedding."""
        return self.config.tied_embedding

    def with_weights(self, **arrays: Any) -> Self:
        """Return inputs with some arrays of the tree's first level replaced."""
        return replace(self, weights=replace(self.weights, **arrays))

    def with_unembedding_of(self, token: int, change: Callable[[Array], Array]) -> Self:
        """Return inputs in which the vector that makes a token's logit is changed."""
        name, axis = ("embedding", 0) if self.tied else ("unembedding", 1)
        matrix = getattr(self.weights, name).copy()
        np.moveaxis(matrix, axis, 0)[token] = change(np.moveaxis(matrix, axis, 0)[token])
        return self.with_weights(**{name: matrix})

    def renumbered(self, order: Array) -> dict[str, Array]:
        """Return the arrays in which row and column i are those that were numbered order[i]."""
        moved = {"embedding": self.weights.embedding[order]}
        if self.weights.unembedding is not None:
            moved["unembedding"] = self.weights.unembedding[:, order]
        return moved

    def expected(self, conventions: Conventions) -> Expected:
        """Return the exact result and its error bound; rows at padded tokens are not judged."""
        return self._expected(conventions, loose=False)

    def loosest_error(self, conventions: Conventions) -> Array:
        """Return the error bound of an implementation that sees every token: see `Trial.equal`."""
        return self._expected(conventions, loose=True).allowed

    def _expected(self, conventions: Conventions, *, loose: bool) -> Expected:
        chosen = of_models(conventions)
        if (chosen, loose) not in self._remembered:
            precision = Precision.of(self.dtype)
            estimate = self._estimate(ModelEstimates(self.config, chosen, precision), loose)
            judged = np.broadcast_to(self._judged()[..., None], estimate.value.shape)
            found = Expected(estimate.value, estimate.error * precision.with_reference, judged)
            self._remembered[chosen, loose] = found
        return self._remembered[chosen, loose]

    @abstractmethod
    def _estimate(self, model: ModelEstimates, loose: bool) -> Estimate:
        """Return the result and its error bound, of an implementation that sees every token if `loose`."""

    @abstractmethod
    def _judged(self) -> Array:
        """Return which tokens are real."""


@dataclass(frozen=True, eq=False)
class AnyTokenInputs(ModelInputs):
    """Tokens (B, L) of an encoder or a language model, and which of them are real."""

    weights: reference.TransformerWeights
    tokens: Array = field(kw_only=True)
    padding_mask: Array | None = field(default=None, kw_only=True)

    @classmethod
    def draw(cls, operation: str, case: ModelCase) -> Self:
        generator = np.random.default_rng(case.seed)
        config = drawn_configuration(case)
        weights = drawn_weights(
            reference.TransformerWeights,
            config,
            case,
            generator,
            encoder_only=operation in ("encoder", "encoder_backward"),
        )
        tokens = generator.integers(0, case.vocabulary, (case.batch, case.length))
        mask = drawn_padding(case.padding, tokens, generator)
        return cls(operation, case.dtype, weights, config, tokens=tokens, padding_mask=mask)

    def arguments(self) -> dict[str, Any]:
        arguments = {"tokens": self.tokens, "weights": self.weights, "config": self.config}
        return arguments if self.padding_mask is None else {**arguments, "padding_mask": self.padding_mask}

    @property
    def _is_encoder(self) -> bool:
        return self.operation in ("encoder", "encoder_backward")

    @property
    def batch(self) -> int:
        """B."""
        return int(self.tokens.shape[0])

    @property
    def length(self) -> int:
        """L."""
        return int(self.tokens.shape[1])

    @property
    def result_shape(self) -> tuple[int, ...]:
        width = self.config.d_model if self._is_encoder else self.config.vocabulary_size
        return (*self.tokens.shape, width)

    def with_tokens(self, tokens: Array) -> Self:
        """Return inputs with other tokens, which are as many."""
        return replace(self, tokens=tokens)

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`."""
        mask = None if self.padding_mask is None else self.padding_mask[index]
        return replace(self, tokens=self.tokens[index], padding_mask=mask)

    def take_tokens(self, index: Array) -> Self:
        """Return the tokens at `index`."""
        mask = None if self.padding_mask is None else self.padding_mask[:, index]
        return replace(self, tokens=self.tokens[:, index], padding_mask=mask)

    def with_equal_positions(self) -> Self:
        """Return inputs in which every position has the vector of the first."""
        table = present(self.weights.positions)
        return replace(self, weights=replace(self.weights, positions=np.repeat(table[:1], len(table), axis=0)))

    def with_numbers(self, order: Array) -> Self:
        """Return inputs in which the token numbered order[i] is numbered i."""
        renamed = self.with_weights(**self.renumbered(order))
        return renamed.with_tokens(np.argsort(order)[self.tokens])

    def with_spare_token(self) -> Self:
        """Return inputs in which the last token of the vocabulary does not occur."""
        return self.with_tokens(self.tokens % (self.vocabulary - 1))

    def _visible(self, loose: bool) -> Array:
        real = np.ones(self.tokens.shape, dtype=bool) if self.padding_mask is None or loose else self.padding_mask
        causal = not self._is_encoder and not loose
        visible: Array = real[:, None, None, :] & below(self.length, causal)
        return visible

    def _estimate(self, model: ModelEstimates, loose: bool) -> Estimate:
        compute = encoder_estimate if self._is_encoder else language_model_estimate
        return compute(model, self.tokens, self.weights, self._visible(loose))

    def _judged(self) -> Array:
        return np.ones(self.tokens.shape, dtype=bool) if self.padding_mask is None else self.padding_mask


@dataclass(frozen=True, eq=False)
class TokenInputs(AnyTokenInputs, SampledInputs):
    """Inputs of an encoder or a language model."""


@dataclass(frozen=True, eq=False)
class AnyTranslationInputs(ModelInputs):
    """Source (B, S) and target (B, L) of an encoder-decoder, and which of their tokens are real."""

    weights: reference.EncoderDecoderWeights
    source: Array = field(kw_only=True)
    target: Array = field(kw_only=True)
    source_padding_mask: Array | None = field(default=None, kw_only=True)
    target_padding_mask: Array | None = field(default=None, kw_only=True)

    @classmethod
    def draw(cls, operation: str, case: ModelCase) -> Self:
        generator = np.random.default_rng(case.seed)
        config = drawn_configuration(case)
        weights = drawn_weights(reference.EncoderDecoderWeights, config, case, generator)
        lengths = (case.source_length, case.length)
        source, target = (generator.integers(0, case.vocabulary, (case.batch, length)) for length in lengths)
        return cls(
            operation,
            case.dtype,
            weights,
            config,
            source=source,
            target=target,
            source_padding_mask=drawn_padding(case.source_padding, source, generator),
            target_padding_mask=drawn_padding(case.padding, target, generator),
        )

    def arguments(self) -> dict[str, Any]:
        arguments = {"source": self.source, "target": self.target, "weights": self.weights, "config": self.config}
        arguments["source_padding_mask"] = self.source_padding_mask
        arguments["target_padding_mask"] = self.target_padding_mask
        return {name: value for name, value in arguments.items() if value is not None}

    @property
    def batch(self) -> int:
        """B."""
        return int(self.target.shape[0])

    @property
    def length(self) -> int:
        """L."""
        return int(self.target.shape[1])

    @property
    def result_shape(self) -> tuple[int, ...]:
        return (*self.target.shape, self.config.vocabulary_size)

    def take_samples(self, index: Array) -> Self:
        """Return the samples at `index`."""
        masks = (self.source_padding_mask, self.target_padding_mask)
        source_mask, target_mask = (None if mask is None else mask[index] for mask in masks)
        return replace(
            self,
            source=self.source[index],
            target=self.target[index],
            source_padding_mask=source_mask,
            target_padding_mask=target_mask,
        )

    def take_tokens(self, index: Array) -> Self:
        """Return the target's tokens at `index`."""
        mask = None if self.target_padding_mask is None else self.target_padding_mask[:, index]
        return replace(self, target=self.target[:, index], target_padding_mask=mask)

    def take_source(self, index: Array) -> Self:
        """Return the source's tokens at `index`."""
        mask = None if self.source_padding_mask is None else self.source_padding_mask[:, index]
        return replace(self, source=self.source[:, index], source_padding_mask=mask)

    def with_equal_source_positions(self) -> Self:
        """Return inputs in which every position of the source has the vector of the first."""
        table = present(self.weights.encoder_positions)
        return self.with_weights(encoder_positions=np.repeat(table[:1], len(table), axis=0))

    def with_numbers(self, order: Array) -> Self:
        """Return inputs in which the token numbered order[i] is numbered i."""
        numbers = np.argsort(order)
        renamed = self.with_weights(**self.renumbered(order))
        return replace(renamed, source=numbers[self.source], target=numbers[self.target])

    def with_spare_token(self) -> Self:
        """Return inputs in which the last token of the vocabulary does not occur."""
        last = self.vocabulary - 1
        return replace(self, source=self.source % last, target=self.target % last)

    def _estimate(self, model: ModelEstimates, loose: bool) -> Estimate:
        real, source_real = (
            np.ones(tokens.shape, dtype=bool) if mask is None or loose else mask
            for tokens, mask in ((self.target, self.target_padding_mask), (self.source, self.source_padding_mask))
        )
        visible = real[:, None, None, :] & below(self.length, not loose)
        seen = source_real[:, None, None, :]
        return encoder_decoder_estimate(model, self.source, self.target, self.weights, visible, seen)

    def _judged(self) -> Array:
        mask = self.target_padding_mask
        return np.ones(self.target.shape, dtype=bool) if mask is None else mask


@dataclass(frozen=True, eq=False)
class TranslationInputs(AnyTranslationInputs, SampledInputs):
    """Inputs of an encoder-decoder."""
