"""Frequencies of a rotation that are scaled for long inputs, held against the numbers of a configuration.

Llama 3.1 keeps the frequencies whose wave is short beside the length of training, divides those whose wave is long by a
factor, and goes from one to the other in between (transformers, modeling_rope_utils, `_compute_llama3_parameters`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.turning import Turned
from veriformer.conformance_tests.recognition.witness import stated_under

_NAMES = {
    "base": re.compile(r"^(rope_?theta|rope_base|rotary_base|rope_freq_base|theta|base)$", re.I),
    "factor": re.compile(r"^(rope_)?(scaling_|scale_)?factor$", re.I),
    "low": re.compile(r"^(rope_)?low_?freq(uency)?_?factor$", re.I),
    "high": re.compile(r"^(rope_)?high_?freq(uency)?_?factor$", re.I),
    "trained": re.compile(
        r"^(original_max_position(_embeddings|s)?|old_context_len(gth)?|original_(max_)?(seq|context)_?len(gth)?)$",
        re.I,
    ),
}
# Tables of cosines have float32 at best.
_NEAR = 2e-3


@dataclass(frozen=True)
class _Scaling:
    base: float
    factor: float
    low: float
    high: float
    trained: float

    def frequencies(self, width: int) -> Array:
        """Return the frequencies of pairs, (width / 2,)."""
        plain = self.base ** (-2.0 * np.arange(width // 2) / width)
        turns = self.trained * plain / (2.0 * np.pi)
        kept = np.clip((turns - self.low) / (self.high - self.low), 0.0, 1.0)
        return np.asarray(kept * plain + (1.0 - kept) * plain / self.factor)


def departures_of_frequencies(model: ModelReading) -> Iterator[Departure]:
    """Yield attentions that turn otherwise than the scaling that a configuration states."""
    scaling = _stated(model)
    for one in model.readings if scaling is not None else ():
        rotation = one.attention.query.rotation if one.attention is not None else None
        if scaling is None or rotation is None or not one.is_judged:
            continue
        expected = scaling.frequencies(rotation.width)
        if _same(rotation, expected):
            continue
        wrong = np.abs(rotation.frequencies / expected - 1.0)
        pair = int(np.argmax(wrong > _NEAR))
        found, wanted = rotation.frequencies[pair], expected[pair]
        sentence = (
            f"the configuration states Llama 3's scaling of frequencies by {scaling.factor:g}, and pair {pair} is "
            f"turned by {found:.3g} at each position, not by {wanted:.3g}"
        )
        item = Suspicion("rotary", one.attention.sublayer.first_step if one.attention else one.first_step, sentence, ())
        yield departure(model, one.path, one.layer, one.kind, item)


def agreements_of_frequencies(model: ModelReading) -> Iterator[str]:
    """Yield that all attentions turn with the scaling that a configuration states."""
    scaling = _stated(model)
    turned = [one.attention.query.rotation for one in model.readings if one.attention is not None]
    known = [one for one in turned if one is not None]
    if scaling is not None and known and all(_same(one, scaling.frequencies(one.width)) for one in known):
        yield f"frequencies scaled by {scaling.factor:g} as Llama 3 does"


def _same(rotation: Turned, expected: Array) -> bool:
    return bool(np.allclose(rotation.frequencies, expected, rtol=_NEAR, atol=1e-7))


def _stated(model: ModelReading) -> _Scaling | None:
    found = {}
    for role, names in _NAMES.items():
        numbers = {float(one) for one in stated_under(model, names).values() if isinstance(one, int | float)}
        if len(numbers) != 1:
            return None
        found[role] = numbers.pop()
    scaling = _Scaling(**found)
    return scaling if scaling.high > scaling.low and scaling.factor > 0 and scaling.base > 1 else None
