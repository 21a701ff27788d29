"""Which weights of a model hide mistakes: all of their numbers are the same, as those of biases before training."""

from __future__ import annotations

from veriformer.adapters.capture.trace import Trace
from veriformer.conformance_tests.core.text import counted

_MOST_NAMED = 3


def hidden_weights(trace: Trace) -> tuple[str, ...]:
    """Return a sentence that says which vectors of a model are constant, none where there are none."""
    found: dict[float, list[str]] = {}
    for value in trace.values:
        array = value.array
        if value.origin == "parameter" and array.ndim == 1 and array.size > 1 and (array == array[0]).all():
            found.setdefault(float(array[0]), []).append(value.name)
    if not found:
        return ()
    kinds = [f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {number:g}" for number, names in found.items()]
    sentence = (
        f"{' and '.join(kinds)} in every entry, so that mistakes with them may not be seen: a trained model, or one "
        "whose weights are drawn, shows more"
    )
    return (sentence,)


def _listed(names: list[str]) -> str:
    if len(names) <= _MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: _MOST_NAMED - 1])} and {counted(len(names) - _MOST_NAMED + 1, 'other')}"
