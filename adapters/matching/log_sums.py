"""What an attention returns besides its output: the logarithm of the sum of exponentials, by which parts are merged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.picks import picks
from veriformer.adapters.matching.probes import Probe, is_near
from veriformer.adapters.matching.texts import source_of
from veriformer.adapters.matching.trying import Trials

_NAMES = ("lse", "logsumexp", "log_sum_exp")
_PLACES = {0: "first", 1: "second", 2: "third"}


def words(trials: Trials, form: Form, probe: Probe) -> tuple[str, ...]:
    """Return what is said of another result of an attention that is called a log-sum-exp, and is it or is it not."""
    if form.operation != "scaled_dot_product_attention" or form.pick.kind != "member" or not _speaks_of_it(trials):
        return ()
    returned = trials.returned(form, probe)
    expected = list(_log_sums(probe))
    for pick, array in picks(returned, trials.framework.is_array):
        values = trials.framework.to_numpy(array)
        shaped = [one for one in expected if one.size == values.size and values.ndim >= len(("B", "H", "L"))]
        if pick.at == form.pick.at or not shaped:
            continue
        name = f"its {_PLACES[pick.at]} result" if pick.at in _PLACES else f"its result {pick.at!r}"
        is_it = any(is_near(values.reshape(one.shape), one) for one in shaped)
        return (f"{name} is {'' if is_it else 'not '}the log-sum-exp of its logits",)
    return ()


def _speaks_of_it(trials: Trials) -> bool:
    text = (source_of(trials.function) or "").casefold()
    return any(name in text for name in _NAMES)


def _log_sums(probe: Probe) -> Iterator[np.ndarray]:
    """Yield log-sum-exps of the probe's logits: natural or to the base of 2, of each sample, head and query."""
    query, key = probe.arguments["query"], probe.arguments["key"]
    logits = query @ np.swapaxes(key, -1, -2) * _scale(probe, query)
    for visible in _visible(probe, logits.shape[-2:]):
        sums = np.log(np.sum(np.where(visible, np.exp(logits), 0.0), axis=-1))
        for one in (sums, sums / np.log(2.0)):
            yield from (one, np.swapaxes(one, 1, 2))


def _scale(probe: Probe, query: np.ndarray) -> float:
    return float(probe.arguments.get("scale") or query.shape[-1] ** -0.5)


def _visible(probe: Probe, shape: tuple[Any, ...]) -> list[np.ndarray]:
    if not probe.arguments.get("is_causal"):
        return [np.ones(shape, dtype=bool)]
    rows, columns = shape
    return [np.tri(rows, columns, dtype=bool), np.tri(rows, columns, columns - rows, dtype=bool)]
