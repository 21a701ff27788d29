"""The mistakes of an attention that its weights show by themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected

_CLOSE = 1e-6
# The axes of (B, H, L, S) over which weights may have been normalised instead of the last.
_OTHER_AXES: tuple[tuple[tuple[int, ...], str], ...] = (
    ((2,), "the queries"),
    ((1,), "the heads"),
    ((0,), "the samples"),
    ((0, 1), "samples and heads"),
)


def weights_mistakes(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield that weights are normalised over another axis than the keys, or multiply the values of other keys."""
    site, weights = reading.sublayer.sites[0], reading.weights
    made = None if site.weights_value is None else flow.maker(site.weights_value)
    place = site.behind_first_product if made is None else made
    if site.shifted:
        sentence = "the weights of some keys are cut off, and the values are multiplied by those of other keys"
        yield Suspicion("weights", place, sentence, ())
        return
    if weights is None or not np.isfinite(weights).all() or (weights < 0).any() or _sums_to_one(weights, (3,)):
        return
    for axes, words in _OTHER_AXES:
        if not _sums_to_one(weights, axes):
            continue
        step: StepName = "heads_output" if axes == (2,) and _is_transposed(weights) else "weights"
        sentence = f"the weights are normalised over {words}, and not over the keys"
        if step == "heads_output":
            sentence = "the weights are used transposed: each query sums the values with its weights as a key"
            yield Suspicion(
                step, site.steps[-1], sentence, (suspected("output=weights_transposed", sentence=sentence),)
            )
        else:
            yield Suspicion(step, place, sentence, (suspected("softmax_wrong_axis"),))
        return


def _sums_to_one(weights: Array, axes: tuple[int, ...]) -> bool:
    """Return whether the sums over some axes are 1, or 0 where nothing is visible, and are sums of several numbers."""
    sums = weights.sum(axis=axes)
    several = (weights > 0).sum(axis=axes).max() > 1
    return bool(several and (np.abs(sums - 1.0) <= _CLOSE)[sums != 0.0].all() and sums.any())


def _is_transposed(weights: Array) -> bool:
    """Return whether no query sees a key before its own, and some see later ones: causality, used transposed."""
    length, keys = weights.shape[-2:]
    before = np.tri(length, keys, -1, dtype=bool)
    later = np.tri(length, keys, dtype=bool)
    return not weights[..., before].any() and bool(weights[..., ~later].any())
