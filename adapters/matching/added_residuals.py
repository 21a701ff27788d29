"""Norms that add the residual stream first (`add_rms_norm(x, residual, weight)`): each has half of the components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from veriformer.adapters.matching import special
from veriformer.adapters.matching.forms import Form, Source
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.namespaces import joined, part_of, shape_of, zeros_like
from veriformer.adapters.matching.sources import Taken

_NORMS = ("layer_norm", "rms_norm")
_NAMES = ("residual", "res", "resid", "skip", "residualin", "xresidual")


def forms(form: Form, found: Taken) -> Iterator[Form]:
    """Yield the form of a norm whose input is the sum of two, so that one that leaves out either gives another result.

    A number plus zero is not rounded, and what is not finite stays as it is.
    """
    free = [name for name in found.needed if name not in found.roles or found.roles[name] not in ("x", "eps")]
    residual = next((name for name in free if folded(name) in _NAMES), None)
    added = next((name for name, role in found.roles.items() if role == "x"), None)
    if form.operation not in _NORMS or residual is None or added is None:
        return
    halves = {added: _half(form.sources[added], first=True), residual: _half(form.sources[added], first=False)}
    one = replace(form, sources={**form.sources, **halves}, words=(f"of `{added}` + `{residual}`",))
    yield special.limited(form.operation, one, found)


def _half(source: Source, *, first: bool) -> Source:
    def of(arguments: Arguments) -> Any:
        whole = source(arguments)
        *outer, width = shape_of(whole)
        middle = (width + 1) // 2
        kept = part_of(whole, (..., slice(0, middle) if first else slice(middle, width)))
        zeros = zeros_like(whole, (*outer, width - middle if first else middle))
        return joined([kept, zeros] if first else [zeros, kept], len(outer))

    return of
