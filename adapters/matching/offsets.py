"""The position of the first query, which a causal attention with a cache takes: as many keys come before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veriformer.adapters.matching.forms import KEY_LENGTH, QUERY_LENGTH, Form
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded
from veriformer.adapters.matching.probes import Probe
from veriformer.adapters.matching.sources import Taken
from veriformer.adapters.matching.trying import Trials

_NAMES = frozenset(
    """
    startpos startposition start offset queryoffset qoffset querystart qstart pastlen pastlength pastkvlen pastkvlength
    pastkeyvalueslength past seqoffset seqlenoffset cachelen cachelength cachedlen positionoffset posoffset
    startindex cacheposition
    """.split()  # noqa: SIM905
)


def offset_in(found: Taken) -> str | None:
    """Return the parameter that is a first position by its name, and 0 or None by default or needed."""
    free = [name for name in found.sources if name not in found.roles and folded(name) in _NAMES]
    return next((one for one in free if one in found.needed or found.defaults.get(one) in (0, None)), None)


def with_offset(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form of a causal attention that is given the position of its first query, where it takes that.

    Without it, keys and queries begin at the same position, and a function that leaves out the mask for a single query
    would be right for the last one alone.
    """
    name = offset_in(found)
    if name is None or "is_causal" not in form.features:
        return form
    limitation = f"{form.operation}.more_queries_than_keys"
    placed = replace(
        form,
        sources={**form.sources, name: _keys_before},
        words=(*form.words, f"`{name}`: the number of keys before the first query"),
        limitations=tuple(dict.fromkeys((*form.limitations, limitation))),
    )
    causal = probe.with_argument("is_causal", True)
    return form if trials.result(placed, causal) is None else placed


def _keys_before(arguments: Arguments) -> Any:
    return arguments[KEY_LENGTH] - arguments[QUERY_LENGTH]
