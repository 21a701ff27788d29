"""The inputs of decoding: chains of calls, each with the tokens of a step and its other arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from veriformer import reference
from veriformer.adapters.sequences import Step
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.models.bounds import ModelEstimates, language_model_estimate
from veriformer.conformance_tests.operations.models.cases import ModelCase
from veriformer.conformance_tests.operations.models.drawing import (
    below,
    drawn_configuration,
    drawn_padding,
    drawn_weights,
)
from veriformer.conformance_tests.operations.models.inputs import ModelInputs
from veriformer.conformance_tests.rounding.estimates import Estimate


@dataclass(frozen=True, eq=False)
class DecodingInputs(ModelInputs):
    """A chain of calls: the tokens of each step, and the step whose cache it continues."""

    weights: reference.TransformerWeights
    steps: tuple[Step, ...] = field(kw_only=True)

    @classmethod
    def draw(cls, operation: str, case: ModelCase) -> DecodingInputs:
        generator = np.random.default_rng(case.seed)
        config = drawn_configuration(case)
        weights = drawn_weights(reference.TransformerWeights, config, case, generator)
        tokens = generator.integers(0, case.vocabulary, (case.batch, case.length))
        plain = cls(operation, case.dtype, weights, config, steps=())
        return plain.decoding(tokens, case.cuts, **_drawn_keywords(case, config.max_length, tokens, generator))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of every call of the chain; tokens and cache are those of each step."""
        return {"weights": self.weights, "config": self.config}

    def decoding(
        self,
        tokens: Array,
        cuts: tuple[int, ...] = (),
        *,
        positions: Array | None = None,
        padding_mask: Array | None = None,
    ) -> DecodingInputs:
        """Return inputs that decode tokens (B, L), interrupted before each of the places `cuts`.

        Each step is given its own part of the positions (L,) or (B, L), and the padding mask (B, L) up to its end.
        """
        ends = (*cuts, tokens.shape[1])
        steps = []
        for number, (start, end) in enumerate(zip((0, *cuts), ends, strict=True)):
            keywords = {} if positions is None else {"positions": positions[..., start:end]}
            keywords |= {} if padding_mask is None else {"padding_mask": padding_mask[:, :end]}
            steps.append(Step(tokens[:, start:end], number - 1 if number else None, keywords))
        return replace(self, steps=tuple(steps))

    @property
    def padding_mask(self) -> Array | None:
        """Which tokens of a chain without branches are real, (B, L); None without a padding mask."""
        return self.steps[-1].keywords.get("padding_mask")

    def followed(self, *steps: Step) -> DecodingInputs:
        """Return inputs with more steps at the end."""
        return replace(self, steps=(*self.steps, *steps))

    @property
    def tokens(self) -> Array:
        """The tokens of all steps, (B, L)."""
        return np.concatenate([step.tokens for step in self.steps], axis=1)

    @property
    def cuts(self) -> tuple[int, ...]:
        """The places where a chain without branches is interrupted."""
        return tuple(np.cumsum([step.tokens.shape[1] for step in self.steps])[:-1].tolist())

    @property
    def batch(self) -> int:
        """B."""
        return int(self.steps[0].tokens.shape[0])

    @property
    def result_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape that each call of a correct chain returns."""
        return tuple((*step.tokens.shape, self.config.vocabulary_size) for step in self.steps)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of all logits, one call after the other in the axis of the tokens."""
        return (*self.tokens.shape, self.config.vocabulary_size)

    def take_samples(self, index: Array) -> Self:
        """Return the inputs of the given samples, in every step."""
        return replace(self, steps=tuple(_taken(step, index) for step in self.steps))

    def with_tokens(self, tokens: Array) -> DecodingInputs:
        """Return the inputs with other tokens, (B, L); the other arguments of a step, such as padding, stay."""
        chunks = np.split(tokens, self.cuts, axis=1)
        steps = (replace(step, tokens=chunk) for step, chunk in zip(self.steps, chunks, strict=True))
        return replace(self, steps=tuple(steps))

    def with_numbers(self, order: Array) -> DecodingInputs:
        """Return inputs in which the token numbered order[i] is numbered i."""
        numbers = np.argsort(order)
        renamed = self.with_weights(**self.renumbered(order))
        return replace(renamed, steps=tuple(replace(step, tokens=numbers[step.tokens]) for step in self.steps))

    def _sequence(self, number: int) -> Array:
        """Return the tokens that the step of this number has seen, its own included."""
        return np.concatenate([self.steps[earlier].tokens for earlier in self._path(number)], axis=1)

    def _estimate(self, model: ModelEstimates, loose: bool) -> Estimate:
        found: dict[int, Estimate] = {}
        for number in reversed(range(len(self.steps))):
            if number in found:
                continue
            tokens = self._sequence(number)
            length = tokens.shape[1]
            visible = np.broadcast_to(below(length, not loose), (self.batch, 1, length, length))
            mask = self.steps[number].keywords.get("padding_mask")
            if mask is not None and not loose:
                visible = visible & mask[:, None, None, :]
            estimate = language_model_estimate(model, tokens, self.weights, visible, self._places(number))
            # No later token has an influence: the longest sequence gives the results of its prefixes.
            for earlier in self._path(number):
                found.setdefault(earlier, estimate)
        rows = [found[number].mapped(self._own_rows(number)) for number in range(len(self.steps))]
        values, errors = (
            np.concatenate(parts, axis=1) for parts in zip(*((r.value, r.error) for r in rows), strict=True)
        )
        return Estimate(values, errors)

    def _places(self, number: int) -> Array | None:
        """Return the positions (B, L) of all tokens that the step of this number has seen; None if not given."""
        given = [self.steps[earlier].keywords.get("positions") for earlier in self._path(number)]
        if all(positions is None for positions in given):
            return None
        found, column = [], 0
        for earlier, positions in zip(self._path(number), given, strict=True):
            shape = self.steps[earlier].tokens.shape
            counted = np.arange(column, column + shape[1]) if positions is None else positions
            found.append(np.broadcast_to(counted, shape))
            column += shape[1]
        return np.concatenate(found, axis=1)

    def _path(self, number: int) -> list[int]:
        """Return the steps that make up the sequence up to this one, the first first."""
        after = self.steps[number].after
        return [number] if after is None else [*self._path(after), number]

    def _own_rows(self, number: int) -> Callable[[Array], Array]:
        end = self._sequence(number).shape[1]
        start = end - self.steps[number].tokens.shape[1]
        return lambda logits: logits[:, start:end]

    def _judged(self) -> Array:
        return np.concatenate([_real(step) for step in self.steps], axis=1)


def _real(step: Step) -> Array:
    """Return which of a step's tokens are real."""
    mask = step.keywords.get("padding_mask")
    return np.ones(step.tokens.shape, dtype=bool) if mask is None else mask[:, mask.shape[1] - step.tokens.shape[1] :]


def _taken(step: Step, index: Array) -> Step:
    """Return the samples of a step at `index`; positions of all samples stay."""
    keywords = {name: array[index] if array.ndim == 2 else array for name, array in step.keywords.items()}
    return replace(step, tokens=step.tokens[index], keywords=keywords)


def _drawn_keywords(
    case: ModelCase, max_length: int, tokens: Array, generator: np.random.Generator
) -> dict[str, Array | None]:
    """Return positions in any order, and padding in front, or behind the first step's tokens: in between."""
    shape = tokens.shape if case.positions == "each" else tokens.shape[1:]
    positions = generator.integers(0, max_length, shape) if case.positions != "none" else None
    prompt = case.cuts[0] if case.cuts and case.padding == "right" else case.length
    mask = drawn_padding(case.padding, tokens[:, :prompt], generator)
    if mask is not None:
        mask = np.pad(mask, ((0, 0), (0, case.length - prompt)), constant_values=True)
    return {"positions": positions, "padding_mask": mask}
