"""Half precision: by how much each model is off, compared with itself in float64 or float32."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from veriformer.adapters.errors import LoadError
from veriformer.adapters.whole_models.again import NARROW, Run
from veriformer.conformance_tests.ports.findings import Situation
from veriformer.conformance_tests.ports.situations.both import Both, Outcome, rows_apart
from veriformer.conformance_tests.ports.situations.speaking import Speaking

# The number that tests of fused kernels allow: twice the error of the plain computation.
_USUAL = 2.0
# As for gradients, so that nothing is compiled again.
_BATCH, _LENGTH = 2, 6


def in_half_precision(both: Both) -> Iterator[Outcome]:
    """Yield R = error of B / error of A in half precision; it is stated, and held against neither."""
    run = Run(both.drawn(_BATCH, max(both.shortest, min(_LENGTH, both.longest))))
    name = f"in {NARROW}"
    try:
        first, second = _error(both.first, run), _error(both.second, run)
    except LoadError as error:
        yield Outcome(Situation(name, "unknown", str(error)))
        return
    if not first:
        return
    ratio = second / first
    sentence = (
        f"R = {ratio:.2g}: B is off by {second:.1e} of the largest entry, A by {first:.1e}, each compared with itself "
        "in higher precision"
    )
    if ratio > _USUAL:
        sentence += "; tests of kernels allow R = 2, so B may compute a sum, a softmax or a norm in half precision"
    yield Outcome(Situation(name, "measured", sentence, ratio))


def _error(model: Speaking, run: Run) -> float:
    return rows_apart(model.results(run), model.results(replace(run, narrow=True)))
