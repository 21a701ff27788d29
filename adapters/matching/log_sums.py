"""What an attention returns besides its output: the logarithm of the sum of exponentials, by which parts are merged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import is_for_each_sample
from veriformer.adapters.matching.picks import Pick, picks
from veriformer.adapters.matching.probes import Probe, is_near
from veriformer.adapters.matching.returned import returned_names
from veriformer.adapters.matching.texts import source_of
from veriformer.adapters.matching.trying import Trials

_OPERATIONS = ("scaled_dot_product_attention", "grouped_query_attention")
_NAMES = ("lse", "logsumexp", "log_sum_exp")
# Of one letter, or of the sum that the logarithm is of: m and l are the maximum and the sum.
_ALSO = ("L", "logz", "log_z", "log_normalizer", "log_norm")
_PLACES = {0: "first", 1: "second", 2: "third", 3: "fourth"}
_IT = "the log-sum-exp of its logits"
_BASE_2 = f"{_IT} to the base of 2, as FlashInfer returns it: parts are merged with powers of 2"
_NOT = f"not {_IT}"
_TO_BASE_2 = 1.0 / np.log(2.0)
# Factors of queries with which the logits exceed the largest exponent of float32.
_LARGE = 400.0


def words(trials: Trials, form: Form, probe: Probe) -> tuple[str, ...]:
    """Return what is said of another result of an attention that is a log-sum-exp, or is called so and is not."""
    if form.operation not in _OPERATIONS or form.pick.kind not in ("member", "attribute"):
        return ()
    found = [*_told(trials, form, probe)]
    # Beside the log-sum-exp, the maximum and the sum may be returned as well.
    found.sort(key=lambda one: one[1].startswith(_NOT))
    return tuple(f"{name} is {said}" for name, said in found[:1])


def _told(trials: Trials, form: Form, probe: Probe) -> Iterator[tuple[str, str]]:
    """Yield the other results that are a log-sum-exp, or are called so, each with what is said of it."""
    named = returned_names(trials.function)
    for pick, values in _others(trials, form, probe):
        said = _what_it_is(values, probe, for_each_sample=is_for_each_sample(form.layout))
        if said is not None and not said.startswith(_NOT):
            said = _elsewhere(trials, form, probe, pick.at) or said
        called = named.get(pick.at, "" if isinstance(pick.at, int) else str(pick.at))
        # What nobody calls so need not be one.
        if said is not None and (not said.startswith(_NOT) or _is_called(trials, called)):
            yield f"its {_PLACES[pick.at]} result" if pick.at in _PLACES else f"its result {pick.at!r}", said


def _others(trials: Trials, form: Form, probe: Probe) -> Iterator[tuple[Pick, np.ndarray]]:
    """Yield what an attention returns besides its output, as NumPy arrays."""
    for pick, array in picks(trials.returned(form, probe), trials.framework.is_array):
        if pick.at != form.pick.at:
            yield pick, trials.framework.to_numpy(array)


def _is_called(trials: Trials, name: str) -> bool:
    """Return whether a result is called a log-sum-exp: by its name, or where it has none, somewhere in the source."""
    text = (name or source_of(trials.function) or "").casefold()
    return name in _ALSO or any(one in text for one in _NAMES)


def _what_it_is(values: np.ndarray, probe: Probe, *, for_each_sample: bool) -> str | None:
    """Return what an array is of the logits; None where it has another shape than a number for each query and head."""
    has_shape = False
    for said, one in _known(probe):
        for shaped in _shaped(one, for_each_sample=for_each_sample):
            if shaped.size == values.size and values.ndim >= min(shaped.ndim, 2):
                has_shape = True
                if is_near(values.reshape(shaped.shape), shaped):
                    return said
    return _NOT if has_shape else None


def _shaped(array: np.ndarray, *, for_each_sample: bool) -> Iterator[np.ndarray]:
    """Yield an array (B, H, L) as it may be returned: also with lengths before heads, of one sample or of one head."""
    yield from (array, np.swapaxes(array, 1, 2))
    if for_each_sample:
        yield from (array[0], array[0].T, array[0, 0])


def _known(probe: Probe) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what may be returned as the log-sum-exp of the probe's logits, (B, H, L), each with what is said of it."""
    scaled = _logits(probe, _scale(probe))
    for visible in _visible(probe, scaled.shape[-2:]):
        yield from _of_visible(scaled, visible).items()
        for base, factor in (("", 1.0), (" to the base of 2", _TO_BASE_2)):
            yield (
                f"{_NOT}: it is that of logits without the scale{base}",
                _sums(_logits(probe, 1.0), visible) * factor,
            )
    if probe.arguments.get("is_causal"):
        everything = np.ones(scaled.shape[-2:], dtype=bool)
        yield f"{_NOT}: it counts the keys that are hidden", _sums(scaled, everything)


def _of_visible(logits: np.ndarray, visible: np.ndarray) -> Mapping[str, np.ndarray]:
    sums, most = _sums(logits, visible), np.max(np.where(visible, logits, -np.inf), axis=-1)
    return {
        _IT: sums,
        _BASE_2: sums * _TO_BASE_2,
        f"{_NOT}: it lacks the maximum that was subtracted": sums - most,
        f"{_NOT}: it lacks the maximum that was subtracted, and is to the base of 2": (sums - most) * _TO_BASE_2,
        f"{_NOT}: it adds a maximum to the base of 2 to a natural logarithm": sums - most + most * _TO_BASE_2,
        f"{_NOT}: it adds a natural maximum to a logarithm to the base of 2": (sums - most) * _TO_BASE_2 + most,
        f"{_NOT}: it adds the maximum to the sum, without a logarithm": np.exp(sums - most) + most,
        f"{_NOT}: it subtracts the maximum": sums - 2 * most,
        f"{_NOT}: it is the sum of the exponentials": np.exp(sums),
        f"{_NOT}: it is the sum of the exponentials less their maximum": np.exp(sums - most),
        f"{_NOT}: it is the largest logit": most,
    }


def _elsewhere(trials: Trials, form: Form, probe: Probe, at: Any) -> str | None:
    """Return what a log-sum-exp is with the causal mask, or with large logits, where it is another one there."""
    large = probe.with_argument("query", probe.arguments["query"] * _LARGE)
    for place, values in _others(trials, form, large):
        if place.at == at and not np.isfinite(values).all():
            return f"{_NOT} where these are large: it overflows, since no maximum is subtracted"
    if "is_causal" not in form.features or probe.arguments.get("is_causal"):
        return None
    causal = probe.with_argument("is_causal", True)
    for place, values in _others(trials, form, causal):
        said = _what_it_is(values, causal, for_each_sample=is_for_each_sample(form.layout))
        if place.at == at and said is not None and said.startswith(_NOT):
            return f"{said} (with the causal mask)"
    return None


def _sums(logits: np.ndarray, visible: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(np.sum(np.where(visible, np.exp(logits), 0.0), axis=-1)))


def _logits(probe: Probe, scale: float) -> np.ndarray:
    query, key = probe.arguments["query"], probe.arguments["key"]
    key = np.repeat(key, query.shape[1] // key.shape[1], axis=1)
    return np.asarray(query @ np.swapaxes(key, -1, -2) * scale)


def _scale(probe: Probe) -> float:
    return float(probe.arguments.get("scale") or probe.arguments["query"].shape[-1] ** -0.5)


def _visible(probe: Probe, shape: tuple[Any, ...]) -> list[np.ndarray]:
    if not probe.arguments.get("is_causal"):
        return [np.ones(shape, dtype=bool)]
    rows, columns = shape
    return [np.tri(rows, columns, dtype=bool), np.tri(rows, columns, columns - rows, dtype=bool)]
