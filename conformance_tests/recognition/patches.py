"""How an image is cut into the vectors that a model begins with: the shape of the patches, and their order."""

from __future__ import annotations

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.tracking import places

_IMAGE_AXES = 4
# An image has no more channels than this, and more rows and columns.
_MOST_CHANNELS = 4
OTHERWISE_INSIDE = ", the numbers of each "
"""What comes before the order of the numbers in a patch, where that is not row by row."""
NO_PATCHES = "pieces of the image that are no patches"


def patch_words(flow: Flow, one: LinearMap) -> str:
    """Return the patches that a map reads in words; "" where it reads none, or they are no rectangles of one image."""
    cells = _cells(flow, one)
    if cells is None:
        return _of_convolution(flow, one)
    rows, columns = cells
    heights, widths = np.ptp(rows, axis=-1) + 1, np.ptp(columns, axis=-1) + 1
    if len(np.unique(heights)) > 1 or len(np.unique(widths)) > 1:
        return NO_PATCHES
    return f"patches of {heights[0]} × {widths[0]}, {_order(rows.min(axis=-1), columns.min(axis=-1))}"


def image_words(flow: Flow, one: LinearMap, image: int) -> str:
    """Return how a map's vectors are laid out as the patches of an image; "" where that is none, or has other numbers.

    `image` is what the model returns, (B, C, H, W) or (B, H, W, C).
    """
    array, vectors = flow.array(image), flow.array(one.output)
    if array.ndim != _IMAGE_AXES or vectors.ndim < len("LE") or array.size != vectors.size or not array.size:
        return ""
    if array.size % (len(array) * vectors.shape[-1]):
        return ""
    vectors = vectors.reshape(len(array), -1, vectors.shape[-1])
    found = places(vectors, array)
    if found is None or (found[0] >= vectors[0].size).any():
        return ""
    order = np.argsort(found[0].ravel(), kind="stable").reshape(vectors.shape[1], -1)
    # (C, H, W) in PyTorch, (H, W, C) in JAX and Keras.
    laid_out = (_laid_out(order, array.shape[1:], channels) for channels in (0, 2))
    return next(filter(None, laid_out), NO_PATCHES)


def _laid_out(order: Array, shape: tuple[int, ...], channels: int) -> str:
    """Return how vectors are laid out as patches of an image whose channels are an axis; "" where they are none.

    `order` has the places (tokens, numbers) of each vector's numbers in the image.
    """
    axes = [axis for number, axis in enumerate(np.unravel_index(order, shape)) if number != channels]
    heights, widths = (np.ptp(axis, axis=-1) + 1 for axis in axes)
    if (heights * widths * shape[channels] != order.shape[-1]).any() or len(np.unique(heights)) > 1:
        return ""
    words = f"laid out as patches of {heights[0]} × {widths[0]}, {_order(*(axis.min(axis=-1) for axis in axes))}"
    channel = np.unravel_index(order[0], shape)[channels]
    inside = _order(*(axis[0][channel == channel[0]] for axis in axes))
    return words if inside == "row by row" else words + OTHERWISE_INSIDE + inside


def _order(rows: Array, columns: Array) -> str:
    """Return in which order patches come that begin at these rows and columns."""
    starts = list(zip(rows.tolist(), columns.tolist(), strict=True))
    by_row = starts == sorted(starts)
    by_column = starts == sorted(starts, key=lambda start: start[::-1])
    return "row by row" if by_row else "column by column" if by_column else "in an order of their own"


def _of_convolution(flow: Flow, one: LinearMap) -> str:
    """Return the patches that a convolution reads, and in which order its positions become vectors."""
    output = flow.array(one.output)
    if output.ndim != _IMAGE_AXES or flow.array(one.input).ndim != _IMAGE_AXES:
        return ""
    for is_first in (True, False):
        # (B, C, H, W) in PyTorch, (B, H, W, C) in JAX and Keras.
        sizes = output.shape[2:] if is_first else output.shape[1:3]
        width = output.shape[1 if is_first else 3]
        image = flow.shape(one.input)[2:] if is_first else flow.shape(one.input)[1:3]
        if any(size % count for size, count in zip(image, sizes, strict=True)):
            continue
        for value in flow.descendants(one.output):
            array = flow.array(value)
            if array.shape != (len(output), int(np.prod(sizes)), width) or (found := places(output, array)) is None:
                continue
            axes = np.unravel_index(found[0, :, 0], output.shape)
            rows, columns = axes[2:] if is_first else axes[1:3]
            patch = " × ".join(str(size // count) for size, count in zip(image, sizes, strict=True))
            return f"patches of {patch}, {_order(rows, columns)}"
    return ""


def _cells(flow: Flow, one: LinearMap) -> tuple[Array, Array] | None:
    """Return the row and the column of each pixel that each vector (tokens, numbers) of the first image holds."""
    for value in flow.trace.inputs:
        image = flow.array(value)
        if image.ndim != _IMAGE_AXES or image.dtype.kind != "f":
            continue
        for patches in _cut_out(flow, one, image):
            found = places(image, patches)
            if found is None or found.size % (len(image)):
                continue
            first = found.reshape(len(image), -1)[0].reshape(-1, patches.shape[-1])
            axes = np.unravel_index(first, image.shape)
            if (axes[0] != 0).any() or len(first) < 2:
                continue
            is_first = image.shape[1] <= _MOST_CHANNELS < image.shape[-1]
            return (axes[2], axes[3]) if is_first else (axes[1], axes[2])
    return None


def _cut_out(flow: Flow, one: LinearMap, image: Array) -> list[Array]:
    """Return what a map reads, one vector for each token, if it has so many numbers as the image."""
    array = flow.array(one.input)
    if flow.array(one.output).ndim == _IMAGE_AXES:
        # A convolution reads the image itself, perhaps with its channels moved.
        return []
    return [array] if array.ndim > 1 and array.size == image.size and array.shape != image.shape else []
