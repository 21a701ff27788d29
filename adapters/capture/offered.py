"""The inputs of one model, handed to another one: by position, as far as the other's signature allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from veriformer.adapters.capture.inputs import Candidate, Filled, Sizes, arguments_of
from veriformer.adapters.capture.weights import Array


def offered_candidates(
    arrays: Sequence[Array], called: Callable[..., Any] | None = None, first_input: int = 0
) -> Iterator[Candidate]:
    """Yield the ways to hand arrays to a model, the likeliest first.

    They come in their order, first to the arguments that must be given, then to all. Where they are one sample, its
    axis may be missing, and one that is missing may be added; the numbers stay what they are.
    """
    yield from _as_they_are("the other model's inputs", arrays, called, first_input)
    if arrays and all(array.ndim > 1 and array.shape[0] == 1 for array in arrays):
        yield from _as_they_are("the other model's sample", [array[0] for array in arrays], called, first_input)
    added = [array[None] for array in arrays]
    yield from _as_they_are("the other model's inputs as one sample", added, called, first_input)


def _as_they_are(
    description: str, arrays: Sequence[Array], called: Callable[..., Any] | None, first_input: int
) -> Iterator[Candidate]:
    first = arrays[0]
    sizes = Sizes(first.shape[0] if first.ndim > 1 else 1, first.shape[1] if first.ndim > 1 else first.shape[0])
    filled = Filled(arguments_of(called)[first_input:], np.random.default_rng(0), sizes)
    words = f"{description} {', '.join(str(array.shape) for array in arrays)}"
    for masks in (False, True):
        candidate = filled.with_arrays(words, *arrays, masks=masks)
        if candidate is not None:
            yield candidate
    yield Candidate(f"{words} by position", tuple(arrays))
