"""How a model cuts images into patches, read off its values: their sizes, and the order of the numbers in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.agreement import agree
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap, canonical_factors, factors
from veriformer.conformance_tests.recognition.networks import matrix_of

AXES = ("channels", "rows", "columns")
"""The axes of a patch, in the order in which its numbers are compared."""
_IMAGE_AXES = 4


@dataclass(frozen=True, eq=False)
class Patches:
    """Patches that do not overlap, each multiplied by one matrix.

    `size` is (rows, columns) of pixels. `matrix` is (channels, rows, columns, D), whatever order the model has;
    `stored` is (K, D) in the model's own order. `vectors` are the products (B, N, D), row by row over the image, and
    `grid` says how many rows and columns of patches there are.
    """

    size: tuple[int, int]
    grid: tuple[int, int]
    matrix: Array
    stored: Array
    vectors: Array


def patches_of(flow: Flow, one: LinearMap) -> Patches | None:
    """Return how the input of a map was cut out of an image; None where it was not, or patches overlap."""
    matrix = matrix_of(flow, one)
    return _of_convolution(flow, one) if matrix is None else _of_product(flow, one, matrix)


def _of_product(flow: Flow, one: LinearMap, matrix: Array) -> Patches | None:
    """Return the patches of a product with a matrix (K, D)."""
    step = flow.steps[one.step]
    sides = canonical_factors(flow, step)
    given = flow.array(one.input) if sides is None else sides[factors(step).index(one.input)]
    for image in _images(flow, one):
        batch = len(image)
        if given.size != image.size or given.size % (batch * len(matrix)):
            continue
        rows = given.reshape(batch, -1, len(matrix))
        for pixels in _with_channels_first(image):
            for size in _sizes(pixels.shape, len(matrix)):
                axes = _order_inside(pixels, size, rows)
                if axes is not None:
                    return _in_order(pixels, size, matrix, axes)
    return None


def _images(flow: Flow, one: LinearMap) -> Iterator[Array]:
    """Yield what may be the image that a map reads, the one that was given first.

    No weight has had a part in pixels: what was computed with some may have four axes as the heads of an attention.
    """
    near = sorted(flow.ancestors(one.input).items(), key=lambda item: -item[1])
    for value, _ in near:
        array = flow.array(value)
        is_given = flow.depends_on_input(value) and not flow.depends_on_parameters(value)
        if array.ndim == _IMAGE_AXES and array.dtype.kind == "f" and is_given:
            yield array


def _with_channels_first(image: Array) -> Iterator[Array]:
    """Yield an image as (B, channels, rows, columns); the shorter axis is taken for the channels first."""
    ways = [image, image.transpose(0, 3, 1, 2)]
    yield from sorted(ways, key=lambda way: way.shape[1])


def _sizes(shape: tuple[int, ...], count: int) -> Iterator[tuple[int, int]]:
    """Yield the sizes of patches with so many numbers that fill an image, square ones first."""
    _, channels, height, width = shape
    found = [
        (rows, columns)
        for rows in range(1, height + 1)
        for columns in range(1, width + 1)
        if height % rows == 0 and width % columns == 0 and channels * rows * columns == count
    ]
    yield from sorted(found, key=lambda size: (size[0] != size[1], size))


def _order_inside(pixels: Array, size: tuple[int, int], rows: Array) -> tuple[int, ...] | None:
    """Return the order of the axes inside of patches that gives `rows`, whether these go over the image or down."""
    cut = _cut(pixels, size)
    for turned in (cut, cut.swapaxes(1, 2)):
        flat = turned.reshape(len(cut), -1, *cut.shape[3:])
        for axes in permutations(range(len(AXES))):
            if np.array_equal(flat.transpose(0, 1, *(2 + axis for axis in axes)).reshape(rows.shape), rows):
                return axes
    return None


def _cut(pixels: Array, size: tuple[int, int]) -> Array:
    """Return an image (B, C, H, W) as patches (B, rows of patches, columns of patches, C, rows, columns)."""
    batch, channels, height, width = pixels.shape
    rows, columns = size
    cut = pixels.reshape(batch, channels, height // rows, rows, width // columns, columns)
    return cut.transpose(0, 2, 4, 1, 3, 5)


def _in_order(pixels: Array, size: tuple[int, int], stored: Array, axes: tuple[int, ...]) -> Patches:
    sides = (pixels.shape[1], *size)
    matrix = stored.reshape(*(sides[axis] for axis in axes), -1).transpose(*np.argsort(axes), len(AXES))
    cut = _cut(pixels, size)
    return Patches(size, (cut.shape[1], cut.shape[2]), matrix, stored, _vectors(cut, matrix))


def _vectors(cut: Array, matrix: Array) -> Array:
    return np.asarray(cut.reshape(len(cut), cut.shape[1] * cut.shape[2], -1) @ matrix.reshape(-1, matrix.shape[-1]))


def _of_convolution(flow: Flow, one: LinearMap) -> Patches | None:
    """Return the patches of a convolution whose steps are as long as its kernel, found by computing it."""
    image, kernel, made = (flow.array(value) for value in (one.input, one.weight, one.product))
    if any(array.ndim != _IMAGE_AXES for array in (image, kernel, made)):
        return None
    # A fused bias is a part of the product.
    bias = 0.0 if one.bias is None or one.product != one.output else flow.array(one.bias).ravel()
    for pixels in _with_channels_first(image):
        # (D, C, rows, columns) in torch, (rows, columns, C, D) in XLA.
        for matrix in (kernel.transpose(1, 2, 3, 0), kernel.transpose(2, 0, 1, 3)):
            channels, rows, columns, width = matrix.shape
            if channels != pixels.shape[1] or pixels.shape[2] % rows or pixels.shape[3] % columns:
                continue
            vectors = _vectors(_cut(pixels, (rows, columns)), matrix)
            grid = (len(pixels), pixels.shape[2] // rows, pixels.shape[3] // columns, width)
            if any(
                _is_grid(made, vectors.reshape(grid) + bias, flow.unit(one.product), last) for last in (True, False)
            ):
                return Patches((rows, columns), grid[1:3], matrix, matrix.reshape(-1, width), vectors)
    return None


def _is_grid(made: Array, expected: Array, unit: float, channels_last: bool) -> bool:
    turned = expected if channels_last else expected.transpose(0, 3, 1, 2)
    return made.shape == turned.shape and agree(made, turned, unit)
