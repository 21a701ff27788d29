"""The shapes of images that a model may take, by the shapes of its arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

Shape = tuple[int, ...]

# Image sides to try where the parameters do not say which.
_SIDES = (32, 28, 224)
# Rows of a table of positions that are for no patch: one for a class, none, another for distillation, registers.
_EXTRA_TOKENS = (1, 0, 2, 5)
# A table with more rows is rather a vocabulary.
_MOST_PATCHES = 1300


def image_shapes(batch: int, shapes: Sequence[Shape]) -> Iterator[Shape]:
    """Yield the shapes of images that a model may take, the most likely first."""
    for channels, patch, channels_last in _patches(shapes):
        usual = [(side, side) for side in _SIDES if side % patch == 0]
        for high, wide in dict.fromkeys([*_sides(shapes, patch), *usual]):
            yield (batch, high, wide, channels) if channels_last else (batch, channels, high, wide)


def _patches(shapes: Sequence[Shape]) -> Iterator[tuple[int, int, bool]]:
    """Yield the channels of an image, the side of a patch, and whether channels come last."""
    kernel = next((shape for shape in shapes if len(shape) == 4 and min(shape[2:]) == max(shape[2:])), None)
    if kernel is not None:
        yield kernel[1], kernel[2], False
    kernel = next((shape for shape in shapes if len(shape) == 4 and shape[0] == shape[1]), None)
    if kernel is not None:
        yield kernel[2], kernel[0], True
    # A projection of flattened patches has channels · side² inputs.
    for size in dict.fromkeys(size for shape in shapes if len(shape) == 2 for size in reversed(shape)):
        for channels in (3, 1, 4):
            side = math.isqrt(size // channels)
            if side > 1 and channels * side**2 == size:
                yield channels, side, False
                yield channels, side, True


def _sides(shapes: Sequence[Shape], patch: int) -> list[tuple[int, int]]:
    """Return heights and widths that have as many patches as a table of positions has rows, or one for a class less."""
    tables = [shape for shape in shapes if len(shape) == 2 or (len(shape) == 3 and shape[0] == 1)]
    # One that has an axis for samples is rather of positions than any other matrix.
    of_positions = {shape[-2] for shape in tables if len(shape) == 3}
    counts = [shape[-2] - extra for shape in tables for extra in _EXTRA_TOKENS]
    counts = [count for count in counts if count <= _MOST_PATCHES]
    pairs = {(high, count // high) for count in counts for high in range(2, count) if count % high == 0}
    # Most images are square, or nearly.
    likely = sorted(
        pairs, key=lambda pair: (math.prod(pair) not in of_positions, abs(math.log(pair[0] / pair[1])), pair)
    )
    return [(patch * high, patch * wide) for high, wide in likely if max(high, wide) <= 2 * min(high, wide)]


def begins_with_convolution(shapes: Mapping[str, Shape]) -> bool:
    """Return whether the first parameter with several rows is that of a convolution over images."""
    first = next((shape for shape in shapes.values() if len(shape) >= 2 and shape[0] > 1), ())
    return len(first) == 4
