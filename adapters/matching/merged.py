"""Layouts of two parts of an attention that are merged: lengths before heads, as fused kernels return them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.matching.layouts import Arguments, AsItIs, Inner, Layout
from veriformer.adapters.matching.namespaces import transposed

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
