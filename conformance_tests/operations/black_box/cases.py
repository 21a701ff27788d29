"""Cases of a model of unknown formula, of which only the inputs are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.space import NoSpace, Space

if TYPE_CHECKING:
    from veriformer.adapters.model_declarations import BlackBox
    from veriformer.conformance_tests.drawing.limits import Limits

_SEEDS = choices.integers(0, 2**16)
# A whole model takes a second to compile: its laws share these sizes.
_COMPILED, _SMALL_COMPILED = ((3, 6), (2, 4)), ((1, 3), (2, 4))
_SHORT = (1, 4)
_POOL = ((2, 3), (3, 5), (1, 4), (2, 7), (3, 1), (2, 6))


@dataclass(frozen=True)
class BoxCase(Case):
    """One call of `model`: tokens from `lowest` to below `vocabulary`, or vectors of `width`; the other is 0."""

    batch: int
    length: int
    vocabulary: int
    width: int
    padded: bool = False
    dtype: str = "float32"
    seed: int = 0
    side: Literal["right", "left"] = "right"
    lowest: int = 0

    axes: ClassVar[tuple[str, ...]] = ("batch", "length", "padded")

    def describe(self) -> str:
        kind = f"tokens below {self.vocabulary}" if self.vocabulary else f"E = {self.width}"
        padding = f", padded{' on the left' if self.side == 'left' else ''}" if self.padded else ""
        return f"batch {self.batch}, L = {self.length}, {kind}{padding}, {self.dtype}"


@dataclass(frozen=True)
class BoxSpace(Space):
    """Cases of `model`; `declared` is a property that the law needs, `sides` are the sides of the padding."""

    padding: Literal["never", "sometimes", "always"] = "never"
    sides: tuple[Literal["right", "left"], ...] = ("right",)
    declared: str = ""
    least_batch: int = 1
    least_length: int = 1
    # Whether the law is tried on the longest sequence that there is time for, whatever else is drawn.
    long: bool = False
    # Whether calls are so dear that sequences are short.
    short: bool = False


_LONGEST = 33
_LONGER = (34, 66, 100, 130, 260)
# A law about a model whose calls have a known cost may take so many multiplications: a second, or a few.
_PRODUCTS_OF_A_LAW = 8_000_000_000
# About so many tokens go through the model in one case: two calls of two samples.
_TOKENS_OF_A_CASE = 24
_FEWEST = 2
_LONG_BATCH = 2
_LARGE = 20_000_000
_CHEAP = 100


def affordable(space: Space, box: BlackBox | None, examples: int) -> int:
    """Return how many of the cases of a law there is time for, by the cost of a model's calls."""
    if box is None or not box.products_per_token:
        return examples
    if _is_large(box):
        return 1
    if isinstance(space, BoxSpace) and space.short:
        return _FEWEST
    return max(_FEWEST, min(examples, _PRODUCTS_OF_A_LAW // (_TOKENS_OF_A_CASE * box.products_per_token)))


def _is_large(box: BlackBox) -> bool:
    """Return whether a call of a few tokens takes a tenth of a second or more."""
    return box.products_per_token > _LARGE


def _longer(box: BlackBox) -> tuple[int, ...]:
    """Return lengths of which a model with cheap calls meets some too."""
    if not box.products_per_token or affordable(NoSpace(), box, _CHEAP) < _CHEAP:
        return ()
    return tuple(length for length in _LONGER if length < (box.max_length or 0))


def long_cases(space: BoxSpace, limits: Limits) -> list[BoxCase]:
    """Return the case of the longest sequence that a law about long ones has time for; none without a known cost."""
    box = limits.black_box
    if not space.long or box is None or not box.products_per_token or box.max_length is None:
        return []
    # Two calls of one sample.
    length = max(min(box.max_length, _PRODUCTS_OF_A_LAW // (2 * box.products_per_token)), box.min_length)
    most = min(_LONG_BATCH, _PRODUCTS_OF_A_LAW // (2 * length * box.products_per_token))
    batch = max(space.least_batch, min(most, box.max_batch or most))
    padded = space.padding == "always"
    case = BoxCase(
        batch,
        length,
        box.vocabulary_size or 0,
        box.d_model or 0,
        padded,
        limits.dtypes[0],
        limits.seed % 2**16,
        space.sides[0],
        box.lowest_token,
    )
    return [case] if length >= space.least_length else []


def box_cases(space: BoxSpace, limits: Limits) -> choices.Choice[BoxCase]:
    """Return cases of `model`; ValueError without a declaration of its inputs."""
    box = limits.black_box
    if box is None:
        raise ValueError("a model whose inputs are not declared has no cases")
    longest = box.max_length or 9
    sizes: choices.Choice[tuple[int, int]]
    if space.short:
        sizes = choices.sampled_from((_SHORT,))
    elif limits.compiles_per_shape and box.products_per_token:
        sizes = choices.sampled_from(_SMALL_COMPILED if limits.small else _COMPILED)
    elif _is_large(box):
        sizes = choices.tuples(choices.integers(1, 2), choices.integers(1, 5))
    elif limits.compiles_per_shape and not limits.small:
        sizes = choices.sampled_from([_POOL[at % len(_POOL)] for at in limits.places])
    else:
        few = choices.integers(1, 3)
        # Most are small; the longest that the model takes is among the others, but no call of minutes.
        lengths = choices.sampled_from(
            (*range(1, 10), *range(1, 10), 12, 16, 17, min(longest, _LONGEST), *_longer(box))
        )
        batches = choices.sampled_from((1, 2, 3, 1, 2, 3, 5))
        sizes = choices.tuples(few, few) if limits.small else choices.tuples(batches, lengths)
    paddings = {"never": (False,), "sometimes": (False, True), "always": (True,)}[space.padding]
    padded = choices.sampled_from(paddings if "padding_mask" in limits.features else (False,))
    return choices.builds(
        lambda size, with_padding, dtype, seed: BoxCase(
            max(min(size[0], box.max_batch or size[0]), space.least_batch),
            min(max(size[1], space.least_length, 2 if with_padding else 1, box.min_length), longest),
            box.vocabulary_size or 0,
            box.d_model or 0,
            with_padding,
            dtype,
            seed,
            space.sides[seed % len(space.sides)],
            box.lowest_token,
        ),
        sizes,
        padded,
        choices.sampled_from(limits.dtypes),
        _SEEDS,
    )
