"""Questions to whole Transformers that tell the values of a convention apart.

Those asked first have weights under which hardly anything else has an effect, so that a mistake elsewhere hides
nothing. What compares answers with each other, not with a formula, tells even where the numbers are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.conventions.asking import Answer, Ask, Asking, Shown
from veriformer.conformance_tests.conventions.questions.networks import (
    SILENT_ATTENTION,
    SILENT_NETWORK,
    Change,
    telling_gelu,
    with_arrays,
)
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.conformance_tests.operations.models.cases import ModelCase
from veriformer.conformance_tests.operations.suites import suite_of
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS

# The architectures that depend on a convention. Llama depends on two: a single token stands at position 0, where no
# rotation turns it, so that the gain is found whatever the pairing.
_ARCHITECTURES = {
    "gelu_form": ("bert", "bart", "gpt"),
    "layer_norm_eps": ("bert", "vaswani", "bart", "gpt"),
    "sinusoidal_layout": ("vaswani",),
    "rms_norm_gain": ("llama",),
    "rotary_pairing": ("llama",),
}
_LENGTHS = {"rms_norm_gain": 1}
# Large enough for rounding not to hide where it is added.
_EPS = {"layer_norm_eps": 0.5}
# Results that differ by this part of the largest entry are not equal up to rounding.
_CHANGED = 0.02
_NEARLY_NOTHING = 1e-6
# Products of such heads are large: where keys differ by no more than their size, weights of attention differ as well.
_HEAD = 1.0


def of_models(asking: Asking) -> Answer:
    """Ask a model of the first of its architectures that depends on the convention."""
    architectures = asking.subject.implementation.architectures.get(asking.operation, ())
    asked = next((name for name in architectures if name in _ARCHITECTURES.get(asking.convention, ())), None)
    if asked is None:
        return Answer(None, reason="none of its architectures depends on it")
    source = 4 if asking.operation.startswith("encoder_decoder") else 0
    # Heads of four components have two pairs, and no two pairings agree on them.
    length, eps = _LENGTHS.get(asking.convention, 5), _EPS.get(asking.convention, 1e-3)
    settings: dict[str, Any] = {"eps": eps, "dtype": asking.widest, "palette": "normal", "seed": 7}
    suite: Any = suite_of(asking.operation)
    length = max(length, suite.space("never").least_length)
    sizes = ModelCase(asked, 2, length, 8, 2, 2, 7, 1, 9, source, **settings)
    # Which weights decay is asked later.
    decay = {"weight_decay": 0.0} if hasattr(suite.ordinary, "weight_decay") else {}
    inputs = draw_inputs(asking.operation, replace(suite.ordinary, **vars(sizes), **decay))
    if asking.operation.endswith("_backward"):
        # Weights that silence a part silence its gradients too.
        return asking.until_told([inputs])
    telling = _TELLING.get(asking.convention)
    # What is shown, is shown by logits, and not by weights.
    shown = None if OPERATIONS[asking.operation].records else _SHOWN.get(asking.convention)
    return asking.until_told([telling(inputs), inputs] if telling else [inputs], shown)


def _with_telling_gelu(inputs: Any) -> Any:
    return replace(inputs, weights=telling_gelu(inputs.weights, inputs.dtype))


def _without_layers(inputs: Any) -> Any:
    return replace(inputs, weights=with_arrays(inputs.weights, {**SILENT_ATTENTION, **SILENT_NETWORK}))


_TELLING: Mapping[str, Callable[[Any], Any]] = {
    "gelu_form": _with_telling_gelu,
    "sinusoidal_layout": _without_layers,
}


def pairing_shown(inputs: Any, ask: Ask) -> tuple[tuple[str, ...], str] | None:
    """Return the pairings under which components that meet in a logit are of one pair, and this in words.

    A query has one component and all keys another. Their product is zero at every distance, and attention the mean,
    unless rotation mixes the two; by which angle, in which direction and what else is computed changes nothing here.
    None without an answer.
    """
    mean = ask(_with_components(inputs, 0, 1, 0.0))
    if mean is None:
        return None
    width = inputs.config.d_model // inputs.config.num_heads
    fits = []
    pairings: tuple[Any, ...] = CONVENTIONS["rotary_pairing"].value_names
    for value in pairings:
        first, second = (int(np.arange(width)[place][0]) for place in reference.pair_places(width, value))
        turned = ask(_with_components(inputs, first, second, _HEAD))
        if turned is None:
            return None
        if _differs(mean, turned):
            fits.append(value)
    words = " and ".join(fits) if fits else "no known one"
    return tuple(fits), f"queries of one component meet keys of another where the two are a pair of {words}"


def _with_components(inputs: Any, of_query: int, of_key: int, size: float) -> Any:
    """Return inputs in which every query has one component and every key another, and layers have no network."""
    width = inputs.config.d_model // inputs.config.num_heads

    def only(component: int, size: float) -> Change:
        return lambda array: np.zeros_like(array) + size * (np.arange(array.shape[1]) % width == component)

    changes: dict[str, Change] = {
        **SILENT_NETWORK,
        "w_q": only(of_query, size),
        "w_k": only(of_key, _HEAD),
        "embedding": np.abs,
    }
    return replace(inputs, weights=with_arrays(inputs.weights, changes))


def gain_shown(inputs: Any, ask: Ask) -> tuple[tuple[str, ...], str] | None:
    """Return the gains under which the last norm returns nothing, and this in words: 0 if stored as gamma, else −1."""
    plain = ask(inputs)
    if plain is None:
        return None
    fits = []
    for value, gain in (("gamma", 0.0), ("one_plus_gamma", -1.0)):
        last = inputs.weights.final_norm
        norm = with_arrays(last, {"gamma": partial(np.full_like, fill_value=gain)})
        answer = ask(inputs.with_weights(final_norm=norm))
        if answer is None:
            return None
        if np.abs(answer).max(initial=0.0) <= _NEARLY_NOTHING * np.abs(plain).max(initial=0.0):
            fits.append(value)
    words = {"gamma": "a last gain of 0", "one_plus_gamma": "a last gain of −1"}
    shown = " and ".join(words[value] for value in fits) or "neither a last gain of 0 nor one of −1"
    return tuple(fits), f"{shown} makes every logit zero"


def _differs(first: Array, second: Array) -> bool:
    with np.errstate(invalid="ignore"):
        difference = np.abs(first - second)
    return bool((difference > _CHANGED * np.abs(first).max(initial=0.0)).any())


_SHOWN: Mapping[str, Shown] = {
    "rotary_pairing": pairing_shown,
    "rms_norm_gain": gain_shown,
}
