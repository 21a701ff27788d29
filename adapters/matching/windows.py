"""Attention with a window that is one number of keys, which must be given or has a default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.probes import Probe, is_near
from veriformer.adapters.matching.sources import Taken, wide_window
from veriformer.adapters.matching.texts import says_window_counts_own, says_window_ends_at_own
from veriformer.adapters.matching.trying import Trials

OWN_KEY_COUNTED = "the keys to the left and the own one, as documented"
"""What is said of a window that documentation says the query's own key is one of."""
# Two keys to the left, without the own one or with it.
_WINDOWS = ((2, 1), (1, 1))


def without_pairs(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form without a window of two sides where the function's window is one number.

    It fails on two sides and answers for a number once the causal flag is given; without the flag it may read no window
    at all, and answer for anything.
    """
    name = next((name for name, role in found.roles.items() if role == "window"), "")
    if not name or not {"window", "is_causal"} <= {*form.features} or found.defaults.get(name) is not None:
        return form
    causal = probe.with_argument("is_causal", True)
    windowed = causal.with_argument("window", (_WINDOWS[0][0], 0))
    of_number = replace(form, sources={**form.sources, name: _left(form.sources[name])})
    if trials.result(form, windowed) is not None or trials.result(of_number, windowed) is None:
        return form
    return replace(form, features=tuple(one for one in form.features if one != "window"))


def with_window(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form with a window of one number, where the function is always causal and takes one.

    What such a window hides to the right cannot be said by one number: without the causal mask it is not given.
    """
    name = next((name for name, role in found.roles.items() if role == "window"), "")
    if not name or "window" in form.features:
        return form
    flag = next((one for one, role in found.roles.items() if role == "is_causal"), "")
    is_fixed = bool(form.fixed_values.get(f"{form.operation}.is_causal"))
    if flag and not is_fixed and (found.defaults.get(flag) is True or name in found.needed):
        # Windows of other kinds, to both sides, have other widths: the causal ones are judged.
        always = _always_causal(form, flag)
        windowed = with_window(trials, always, found, probe.with_argument("is_causal", True))
        return windowed if "window" in windowed.features else _not_given(form, name, probe)
    if not is_fixed and not flag and says_window_ends_at_own(trials.function):
        key = f"{form.operation}.is_causal"
        causal = replace(form, fixed_values={**form.fixed_values, key: True}, words=(*form.words, "always causal"))
        return with_window(trials, causal, found, probe)
    if not is_fixed:
        return _not_given(form, name, probe)
    if says_window_counts_own(trials.function):
        # What it is called with is then known, and no convention.
        words = f"`{name}`: {OWN_KEY_COUNTED}"
        return form.with_source(name, _left(form.sources[name], own=1), "window", words)
    one = form.with_source(name, _left(form.sources[name]), "window", f"`{name}`: the keys to the left")
    result = trials.result(one, probe.with_argument("window", _WINDOWS[0]))
    # Whether the own key is one of them is a convention. Other windows, such as blocks, are none of the interface's.
    probes = [probe.with_argument("window", window) for window in _WINDOWS]
    if result is not None and any(each.is_answered_by(result) for each in probes):
        return one
    whole = trials.result(form, probe)
    if result is not None and whole is not None and not is_near(whole, probe.expected):
        # A function that is wrong without a window has one all the same: the queries that it changes tell.
        changed = _changed(result, whole)
        if any(np.array_equal(changed, _changed(each.expected, probe.expected)) for each in probes):
            return one
    if result is not None and is_near(result, probe.expected):
        # It is called a window, and hides nothing however narrow it is.
        return one
    return replace(form, words=(*form.words, f"`{name}` so wide that it hides nothing: it fits no known window"))


def _changed(result: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return which queries have another result, (L,)."""
    return np.asarray(~np.isclose(result, other, rtol=1e-4, atol=1e-6).all(axis=(0, 1, 3)))


def _not_given(form: Form, name: str, probe: Probe) -> Form:
    words = (f"`{name}` so wide that it hides nothing",) if _is_given(form, name, probe) else ()
    return replace(form, words=(*form.words, *words))


def _always_causal(form: Form, flag: str) -> Form:
    """Return the form that is called with its causal flag alone."""
    key = f"{form.operation}.is_causal"
    return replace(
        form,
        sources={**form.sources, flag: lambda _: True},
        fixed_values={**form.fixed_values, key: True},
        words=(*form.words, f"always called with {flag}=True"),
    )


def _is_given(form: Form, name: str, probe: Probe) -> bool:
    return bool(form.sources[name](probe.arguments) == wide_window(probe.arguments))


def _left(plain: Callable[[Arguments], Any], *, own: int = 0) -> Callable[[Arguments], Any]:
    """Return the source of a window of which only the left side is passed; `own` is 1 where the own key is counted."""

    def source(arguments: Arguments) -> Any:
        window = arguments.get("window")
        if window is None:
            return plain(arguments)
        return wide_window(arguments) if window[0] in (None, -1) else window[0] + own

    return source
