"""Two parts of an attention that are merged: lengths before heads, as fused kernels return them; parts without keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import Arguments, AsItIs, Inner, Layout
from veriformer.adapters.matching.namespaces import transposed
from veriformer.adapters.matching.probes import Probe
from veriformer.adapters.matching.trying import Trials

OPERATION = "merge_attention"

_OF_OUTPUTS, _OF_SUMS = (0, 2, 1, 3), (0, 2, 1)


@dataclass(frozen=True)
class LengthsFirst:
    """Outputs (B, L, H, D), with the log-sum-exps (B, H, L) or, if `sums_too`, (B, L, H)."""

    sums_too: bool
    rank: int = 4

    @property
    def words(self) -> str:
        """What is said of it."""
        return f"(B, L, H, D) and {'(B, L, H)' if self.sums_too else '(B, H, L)'}"

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return the output and the log-sum-exps with heads before lengths."""
        turned = {name: transposed(arguments[name], _OF_OUTPUTS) for name in ("output_a", "output_b")}
        if self.sums_too:
            turned |= {name: transposed(arguments[name], _OF_SUMS) for name in ("lse_a", "lse_b")}
        returned = inner({**arguments, **turned})
        if not isinstance(returned, tuple | list) or len(returned) != len(("output", "lse")):
            raise TypeError("a merged attention is an output and its log-sum-exps")
        output, sums = returned
        sums = transposed(sums, _OF_SUMS) if self.sums_too else sums
        return transposed(output, _OF_OUTPUTS), sums


def layouts() -> Sequence[Layout]:
    """Return the layouts to try, that of the interface first."""
    return AsItIs(), LengthsFirst(sums_too=False), LengthsFirst(sums_too=True)


def without_empty_parts(trials: Trials, form: Form, probe: Probe) -> Form:
    """Return the form of a merge that says what two parts without keys give, where that is NaN.

    That is 0/0, and what an attention may give for a query that sees no key.
    """
    if form.operation != OPERATION:
        return form
    empty = {name: np.full_like(probe.arguments[name], -np.inf) for name in ("lse_a", "lse_b")}
    zeros = {name: np.zeros_like(probe.arguments[name]) for name in ("output_a", "output_b")}
    result = trials.result(form, probe.with_arguments({**empty, **zeros}))
    if result is None or not np.isnan(result).all():
        return form
    limitations = (*form.limitations, f"{OPERATION}.empty_rows")
    return replace(form, limitations=limitations, words=(*form.words, "two parts without keys give NaN"))
