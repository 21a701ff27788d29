"""What a mask does that is understood, besides hiding keys: with a boolean one, and in rows that see no key."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.probes import Probe, is_near, probe_with
from veriformer.adapters.matching.trying import Trials

# PyTorch's own attention is called so, and takes a boolean mask as well as one that is added.
_TORCH_NAMES = frozenset({"attn_mask", "is_causal"})
_SEED = 7
_ADDED = "a boolean one is added as 0 and 1, so that it hides nothing"
_FINITE = "a row that sees no key has no result of its own, since a finite number is added"
# Logits so far apart stay different when −1e9 is added, in float32 too.
_APART = 1000.0


def described(trials: Trials, form: Form, as_it_is: Form, masked: Probe) -> Form:
    """Return a form whose mask is understood, with what is said of it.

    `as_it_is` is the form that gets the interface's own mask.
    """
    words = (_ADDED,) if _speaks_of_booleans(trials, form) and _is_added(trials, as_it_is, masked) else ()
    if _has_rows_of_their_own(trials, form, masked):
        return replace(form, words=(*form.words, *words))
    limitations = (*form.limitations, f"{form.operation}.empty_rows")
    return replace(form, words=(*form.words, *words, _FINITE), limitations=limitations)


def adds_any_number(trials: Trials, form: Form, parameter: str, probe: Probe) -> bool:
    """Return whether a parameter is added to the logits as it is, rather than made something else of first."""
    query, key = (np.shape(probe.arguments[name]) for name in ("query", "key"))
    numbers = np.random.default_rng(_SEED).standard_normal((*query[:-1], key[-2]))
    given = form.with_source(parameter, lambda arguments: arguments["bias"], "bias")
    added = probe.with_argument("bias", numbers)
    result = trials.result(given, added)
    return result is None or is_near(result, added.expected)


def _speaks_of_booleans(trials: Trials, form: Form) -> bool:
    return "bool" in (inspect.getdoc(trials.function) or "") or set(form.sources) >= _TORCH_NAMES


def _is_added(trials: Trials, form: Form, masked: Probe) -> bool:
    """Return whether a boolean mask has the effect of a bias of 0 and 1."""
    unmasked = {name: value for name, value in masked.arguments.items() if name != "mask"}
    added = probe_with(masked.operation, {**unmasked, "bias": masked.arguments["mask"].astype(float)})
    result = trials.result(form, masked)
    return result is not None and is_near(result, added.expected)


def _has_rows_of_their_own(trials: Trials, form: Form, masked: Probe) -> bool:
    """Return whether rows without a visible key give zero, NaN or one mean, whatever their logits are.

    Where a finite number is added to all logits of a row, what is left of them depends on how it is rounded.
    """
    hidden = np.zeros_like(masked.arguments["mask"])
    far = {**masked.arguments, "query": masked.arguments["query"] * _APART, "mask": hidden}
    result = trials.result(form, Probe(masked.operation, far, masked.expected))
    if result is None or not np.isfinite(result).all():
        return True
    # Every query of a head has the same result then, for they have the same values.
    return is_near(result, np.broadcast_to(result[..., :1, :], result.shape))
