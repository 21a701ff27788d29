"""Windows of an image: which keys of a window that was rolled are hidden, and which row each displacement gets."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.biases import visible_with
from veriformer.conformance_tests.recognition.buckets import buckets_of
from veriformer.conformance_tests.recognition.core import Setting
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.positions_kept import stream_positions
from veriformer.conformance_tests.recognition.streams import Place
from veriformer.conformance_tests.recognition.suspicion import Suspicion

# A bias below this hides a key: Swin adds −100.
_HIDDEN = -30.0
_LEAST_SIDE = 2


def window_mistakes(flow: Flow, place: Place, reading: AttentionReading, batch: int) -> Iterator[Suspicion]:
    """Yield the mistakes in the mask and in the relative positions of attention in windows of an image."""
    setting = reading.setting
    if setting is None or len(reading.heads.query) <= batch:
        return
    step = reading.sublayer.sites[0].first_step
    apart, hidden = _apart(flow, place, reading, batch), _hidden(reading, setting)
    if apart is not None and apart.any() and hidden.any() and np.array_equal(hidden, ~apart):
        sentence = "the mask hides the keys of a query's own part of the image, and shows those that were rolled in"
        yield Suspicion("mask", step, sentence, ())
    if _shares_rows(flow, setting, hidden):
        sentence = "different displacements in the window share a row of the table of relative positions"
        yield Suspicion("logits", step, sentence, ())


def region_words(flow: Flow, place: Place, reading: AttentionReading, batch: int) -> str:
    """Return what the mask of rolled windows does, in words; "" where no window holds parts that are apart."""
    setting = reading.setting
    if setting is None or len(reading.heads.query) <= batch:
        return ""
    apart, hidden = _apart(flow, place, reading, batch), _hidden(reading, setting)
    if apart is None or not apart.any():
        return ""
    if np.array_equal(hidden, apart):
        return "keys hidden that were rolled in from elsewhere"
    return "keys seen that were rolled in from elsewhere" if not hidden.any() else ""


def _hidden(reading: AttentionReading, setting: Setting) -> Array:
    """Return which keys of each window are hidden from each query, (windows, N, N), in the first head."""
    heads = reading.heads
    shape = (len(heads.query), heads.query.shape[1], heads.query.shape[2], heads.key.shape[2])
    visible = np.broadcast_to(visible_with(setting, shape), shape)[:, 0]
    if setting.bias is None:
        return ~visible
    return ~visible | (np.broadcast_to(setting.bias, shape)[:, 0] < _HIDDEN)


def _apart(flow: Flow, place: Place, reading: AttentionReading, batch: int) -> Array | None:
    """Return which pairs of a window are no neighbours in the image as they are in the window, (windows, N, N)."""
    windows, length = len(reading.heads.query), reading.heads.query.shape[2]
    inner, outer = math.isqrt(length), math.isqrt(windows * length // batch)
    if inner**2 != length or outer**2 * batch != windows * length or inner < _LEAST_SIDE:
        return None
    rows = stream_positions(flow, place)
    if rows is None or rows.size != windows * length:
        return None
    image = np.stack(np.divmod(rows.reshape(windows, length) % outer**2, outer), axis=-1)
    own = np.stack(np.divmod(np.arange(length), inner), axis=-1)
    between = image[:, :, None] - image[:, None]
    return np.asarray((between != own[:, None] - own).any(axis=-1))


def _shares_rows(flow: Flow, setting: Setting, hidden: Array) -> bool:
    """Return whether a table with a row for each displacement in a square window gives several displacements one."""
    if setting.bias is None:
        return False
    length = setting.bias.shape[-1]
    side = math.isqrt(length)
    shown = np.asarray(~hidden[:1].any(axis=0))
    found = buckets_of(flow, setting, shown) if side**2 == length and side >= _LEAST_SIDE else None
    if found is None or len(found.table) != (2 * side - 1) ** 2:
        return False
    own = np.stack(np.divmod(np.arange(length), side), axis=-1)
    between = own[:, None] - own
    number = between[..., 0] * 4 * side + between[..., 1]
    pairs = set(zip(number[shown].tolist(), found.rows[shown].tolist(), strict=True))
    return len({row for _, row in pairs}) < len({displacement for displacement, _ in pairs})
