"""Why the weights of two attentions differ, whose queries and keys are the same: a mask, a scale, or a bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.ports.findings import Cause
from veriformer.conformance_tests.ports.items import Choice, Cut, PortPart
from veriformer.conformance_tests.recognition.attention_aspects import mask_mistake, same_for_all_queries
from veriformer.conformance_tests.recognition.elementwise import ACTIVATIONS, Function
from veriformer.conformance_tests.recognition.findings import StepName

# A few steps of a model in float64 may be in float32, and logarithms of small weights are blurred.
_CLOSE = 1e-4
_LEAST = 1e-9


@dataclass(frozen=True)
class WeightsCause:
    """Why weights differ, and at which step."""

    step: StepName
    cause: Cause


def cause_of_weights(first: PortPart, second: PortPart) -> WeightsCause | None:
    """Return why the weights of two attentions differ; None where it is none of these, or where it cannot be known."""
    own, others = _arrays(first), _arrays(second)
    if own is None or others is None or own[2].shape != others[2].shape:
        return None
    (query, key, one), other = own, others[2]
    where = second.path or "the model"
    if ((one > 0.0) != (other > 0.0)).any():
        return _of_mask(one > 0.0, other > 0.0, where)
    # The logarithms of the smallest weights are blurred.
    clear = (one > _LEAST) & (other > _LEAST)
    left = _centred(np.log(np.where(clear, other, 1.0) / np.where(clear, one, 1.0)), clear)
    groups = query.shape[1] // key.shape[1]
    plain = query @ np.repeat(key, groups, axis=1).swapaxes(-1, -2)
    products = _centred(plain, clear)
    size = float((products * products).sum())
    factor = float((left * products).sum()) / size if size else 0.0
    largest = float(np.abs(left).max())
    if factor and float(np.abs(left - factor * products).max()) <= _CLOSE * largest:
        more = "more" if factor > 0 else "less"
        sentence = f"B multiplies the products of queries and keys by {abs(factor):.6g} {more} than A"
        cause = Cause("factor", "scale", sentence, 1.0, f"{where}: scale the logits as A does")
        return WeightsCause("logits", cause)
    told = _of_changed_logits(first, plain, one, other, clear, where) or _of_bias(first, left, clear, where)
    if told is not None:
        return told
    if _same_for_all_samples(np.log(np.where(clear, other, 1.0) / np.where(clear, one, 1.0)), clear, largest):
        sentence = "what B adds to the logits is not what A adds, by an amount that depends on head and positions only"
        cause = Cause("mistake", "bias", sentence, 0.8, f"{where}: add to the logits what A adds")
        return WeightsCause("logits", cause)
    return None


def _of_changed_logits(
    first: PortPart, products: Array, one: Array, other: Array, clear: Array, where: str
) -> WeightsCause | None:
    """Return that the second model applies a function to the logits that the first one has."""
    scale, width = first.by_key("scale"), products.shape
    query = first.by_key("query heads")
    if not isinstance(scale, Choice) or not isinstance(scale.value, float) or not isinstance(query, Cut):
        return None
    bias = first.by_key("bias values")
    logits = products * scale.value / np.sqrt(query.array.shape[-1])
    logits = logits + (bias.array if isinstance(bias, Cut) and bias.array.shape == width else 0.0)
    wanted = _centred(np.log(np.where(clear, other, 1.0)), clear)
    own = _centred(np.log(np.where(clear, one, 1.0)), clear)
    largest = float(np.abs(wanted).max())
    if float(np.abs(_centred(logits, clear) - own).max()) > _CLOSE * largest:
        # Something else is done to the logits of the first model already.
        return None
    functions: dict[str, Function] = {"abs": np.abs, "square": np.square, **ACTIVATIONS}
    for name, function in functions.items():
        with np.errstate(all="ignore"):
            made = np.asarray(function(logits))
        if np.isfinite(made).all() and float(np.abs(_centred(made, clear) - wanted).max()) <= _CLOSE * largest:
            sentence = f"B applies {name} to the logits, and A does not"
            cause = Cause("mistake", f"{name} of the logits", sentence, 1.0, f"{where}: leave the logits as they are")
            return WeightsCause("logits", cause)
    return None


def _of_bias(first: PortPart, left: Array, clear: Array, where: str) -> WeightsCause | None:
    """Return what the second model does with the bias of the first: another factor, other heads, transposed."""
    item = first.by_key("bias values")
    if not isinstance(item, Cut) or item.array.shape != left.shape:
        return None
    bias = _centred(item.array, clear)
    total = left + bias
    largest, size = float(np.abs(bias).max()), float((bias * bias).sum())
    factor = float((total * bias).sum()) / size if size else 0.0
    ways = {f"times {factor:.6g}": factor * bias}
    if left.shape[2] == left.shape[3]:
        ways["with queries and keys exchanged"] = _centred(item.array.swapaxes(-1, -2), clear)
    order = _order_of_heads(item.array, total, clear)
    if order is not None:
        ways[f"with its heads in the order {order}"] = _centred(item.array[:, order], clear)
    for words, way in ways.items():
        if largest and float(np.abs(way - total).max()) <= _CLOSE * largest:
            sentence = f"B adds to the logits what A adds, {words}"
            name = "heads permuted" if "heads" in words else "transposed" if "exchanged" in words else "scaled"
            cause = Cause("mistake", f"bias {name}", sentence, 1.0, f"{where}: add to the logits what A adds")
            return WeightsCause("logits", cause)
    return None


def _order_of_heads(bias: Array, total: Array, clear: Array) -> list[int] | None:
    """Return which head of a bias each head has, each once; None where the nearest ones are not that."""
    found = []
    for head in range(bias.shape[1]):
        seen = clear[:, head : head + 1]
        own = np.concatenate([_centred(bias[:, one : one + 1], seen) for one in range(bias.shape[1])], axis=1)
        found.append(int(np.abs(own - total[:, head : head + 1]).max(axis=(0, 2, 3)).argmin()))
    return found if len(set(found)) == len(found) and found != sorted(found) else None


def _arrays(part: PortPart) -> tuple[Array, Array, Array] | None:
    found = [part.by_key(key) for key in ("query heads", "key heads", "weights")]
    arrays = [item.array for item in found if isinstance(item, Cut)]
    if len(arrays) < len(found) or any(array.ndim != len("BHLD") or not np.isfinite(array).all() for array in arrays):
        return None
    query, key, weights = arrays
    fits = query.shape[1] == weights.shape[1] and query.shape[1] % key.shape[1] == 0
    return (query, key, weights) if fits and key.shape[2] == weights.shape[3] else None


def _centred(array: Array, visible: Array) -> Array:
    """Return logits without the mean of the visible keys of each query, which softmax does not see."""
    count = np.maximum(visible.sum(axis=-1, keepdims=True), 1)
    mean = np.where(visible, array, 0.0).sum(axis=-1, keepdims=True) / count
    return np.asarray(np.where(visible, array - mean, 0.0))


def _same_for_all_samples(left: Array, clear: Array, largest: float) -> bool:
    """Return whether logits differ by what does not depend on the sample, where weights of two samples show it."""
    both = clear[:1] & clear[1:]
    if not both.any():
        return False
    apart = _centred(left[1:] - left[:1], both)
    return float(np.abs(apart).max()) <= _CLOSE * largest


def _of_mask(first: Array, second: Array, where: str) -> WeightsCause:
    slug = mask_mistake(second)
    if not slug and second.all():
        slug = "padding_mask_ignored" if same_for_all_queries(first) else "decoder_not_causal"
    counts = [int(array.sum()) for array in (first, second)]
    sentence = f"in A {counts[0]} pairs of a query and a key are seen, in B {counts[1]}, of {first.size}"
    cause = Cause("mistake", slug or "mask", sentence, 1.0 if slug else 0.8, f"{where}: hide the keys that A hides")
    return WeightsCause("mask", cause)
