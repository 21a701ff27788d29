"""Parts with a known mistake in them, found by computing what each mistake would give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.recognition.naming import Call, Named, named

_USUAL_EPS = (1e-5, 1e-6, 1e-12, 1e-8)


@dataclass(frozen=True)
class MistakenNorm:
    """A norm with one mistake."""

    kind: str
    eps: float
    named: Named


def mistaken_norm(
    x: Array, y: Array, vectors: Sequence[Array], unit: float, eps_seen: Sequence[float]
) -> MistakenNorm | None:
    """Return the norm with one known mistake that gives `y` from `x`; None where none does.

    `x` and `y` are (..., E), `vectors` the gain and the shift in either order, or fewer; `eps_seen` is what other norms
    of the model have.
    """
    for eps in dict.fromkeys((*eps_seen, *_USUAL_EPS)):
        for kind, arguments in _arguments(x, vectors):
            for placement in ("inside_root", "outside_root") if kind == "layer_norm" else ("inside_root",):
                found = named([Call(kind, {**arguments, "eps": eps}, y, unit, {"layer_norm_eps": placement})])
                if found:
                    return MistakenNorm(kind, eps, found[0])
    return None


def _arguments(x: Array, vectors: Sequence[Array]) -> Iterator[tuple[str, dict[str, Array]]]:
    ones, zeros = np.ones(x.shape[-1]), np.zeros(x.shape[-1])
    if len(vectors) == 2:
        for gamma, beta in (vectors, vectors[::-1]):
            yield "layer_norm", {"x": x, "gamma": gamma, "beta": beta}
        return
    if len(vectors) == 1:
        yield "rms_norm", {"x": x, "gamma": vectors[0]}
        yield "layer_norm", {"x": x, "gamma": vectors[0], "beta": zeros}
        yield "layer_norm", {"x": x, "gamma": ones, "beta": vectors[0]}
        return
    yield "rms_norm", {"x": x, "gamma": ones}
    yield "layer_norm", {"x": x, "gamma": ones, "beta": zeros}
