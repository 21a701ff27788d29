"""The weights that an attention returns beside its output: an operation of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import (
    Arguments,
    Around,
    AsItIs,
    Changed,
    Inner,
    Layout,
    OfLengths,
    OfOneWidth,
    first_answer,
    levels,
)
from veriformer.adapters.matching.padding_beside import PaddingBeside
from veriformer.adapters.matching.picks import Pick, picks
from veriformer.adapters.matching.probes import EQUAL_LENGTHS, Probe, probe_of
from veriformer.adapters.matching.returned import returned_names
from veriformer.adapters.matching.trying import Trials

ATTENTION, WEIGHTS = "scaled_dot_product_attention", "attention_weights"
_NAMES = re.compile(
    r"^(p_?|self_)?(attn|attention|attend|att|softmax)?_?(weights?|wts|probs?|probabilities|alphas?|a|w|p)$|^(p_)?attn$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class BesideTheOutput(Around):
    """The layout of an attention whose weights are as they are returned: samples, heads, queries and keys."""

    @property
    def words(self) -> str:
        """What is said of it: the same as of the output, which is said there."""
        return ""

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the weights; the keys stand for the values, which have no part in them."""
        with_values = {**arguments, "value": arguments["key"]}
        return first_answer(lambda answer: self.layout.call(answer, with_values), inner)


def form_of_weights(function: Callable[..., Any], form: Form, arrays: ArrayFramework) -> tuple[Form | None, bool]:
    """Return the form in which another result of an attention is its weights, and whether it is them.

    What is only called so, and has their axes, is returned as wrong ones. None where there is no such result.
    """
    if form.operation != ATTENTION or form.pick.kind not in ("member", "attribute") or not _is_one_call(form.layout):
        return None, False
    trials = Trials(function, arrays)
    probe, named = _probe_of(form), returned_names(function)
    called: Form | None = None
    for pick, _ in picks(trials.returned(form, _with_values(probe)), arrays.is_array):
        if pick.at == form.pick.at:
            continue
        tried = _of_weights(form, pick)
        result = trials.result(tried, probe)
        if result is None or result.shape != probe.expected.shape:
            continue
        if probe.is_answered_by(result):
            return tried, True
        if _NAMES.search(named.get(pick.at, str(pick.at))) and not _are_logits(result, probe):
            called = tried
    return called, False


def _is_one_call(layout: Layout) -> bool:
    """Return whether a call of the interface is one of the function, with the same samples, heads and queries."""
    return all(isinstance(one, AsItIs | Changed | OfLengths | OfOneWidth | PaddingBeside) for one in levels(layout))


def _are_logits(result: np.ndarray, probe: Probe) -> bool:
    """Return whether the weights are the softmax of a result, which is called attention by some."""
    powers = np.exp(result - result.max(axis=-1, keepdims=True))
    return probe.is_answered_by(powers / powers.sum(axis=-1, keepdims=True))


def _of_weights(form: Form, pick: Pick) -> Form:
    def renamed(key: str) -> str:
        return key.replace(f"{ATTENTION}.", f"{WEIGHTS}.")

    return replace(
        form,
        operation=WEIGHTS,
        layout=BesideTheOutput(form.layout),
        pick=pick,
        after=lambda result, _: result,
        limitations=tuple(renamed(one) for one in form.limitations if not one.endswith(".value_width")),
        fixed_values={renamed(key): value for key, value in form.fixed_values.items()},
        words=(),
        left_out=(),
    )


def _probe_of(form: Form) -> Probe:
    """Return a call of the weights of lengths that the attention takes."""
    equal = any(one.endswith("unequal_lengths") for one in form.limitations)
    fixed = {key.partition(".")[2]: value for key, value in form.fixed_values.items()}
    return probe_of(WEIGHTS, EQUAL_LENGTHS if equal else {}, **fixed)


def _with_values(probe: Probe) -> Probe:
    return Probe(ATTENTION, {**probe.arguments, "value": probe.arguments["key"]}, probe.expected)
