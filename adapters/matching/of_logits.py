"""A softmax that takes a mask, as the attention weights that it makes of scaled logits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from veriformer.adapters.matching.names import NEUTRAL, Taking, folded, is_called
from veriformer.adapters.matching.namespaces import shape_of, transposed
from veriformer.spec.operations import OPERATIONS

OPERATION = "attention_weights"
_MASK = OPERATIONS[OPERATION].parameter("mask")
_SCALE = OPERATIONS[OPERATION].parameter("scale")
_ALSO_MASKS = ("valid", "keep", "allowed", "visible", "validmask", "keepmask")
_INPUTS = ("query", "key")


class OfLogits:
    """A softmax of logits and a mask, as a function of queries, keys and the mask."""

    def __init__(self, function: Callable[..., Any], logits: str, mask: str, takings: Sequence[Taking]) -> None:
        self._function, self._logits, self._mask = function, logits, mask
        self.__name__ = str(getattr(function, "__name__", "softmax"))
        self.__doc__ = inspect.getdoc(function)
        kinds = inspect.Parameter
        others = [
            kinds(
                "mask" if one.name == mask else one.name,
                kinds.KEYWORD_ONLY,
                default=one.default if one.has_default else kinds.empty,
            )
            for one in takings
            if one.name != logits
        ]
        self.__signature__ = inspect.Signature([*(kinds(one, kinds.POSITIONAL_OR_KEYWORD) for one in _INPUTS), *others])

    def __call__(self, query: Any, key: Any, **others: Any) -> Any:
        """Return what the function returns for the logits of queries and keys.

        They are over the root of the width of a head, if the function is given no scale of its own.
        """
        axes = range(len(shape_of(key)))
        turned = transposed(key, (*axes[:-2], axes[-1], axes[-2]))
        given = {self._mask if name == "mask" else name: value for name, value in others.items()}
        is_scaled = any(is_called(name, _SCALE) for name in given)
        scale = 1.0 if is_scaled else shape_of(query)[-1] ** -0.5
        return self._function(**{self._logits: query @ turned * scale}, **given)


def of_logits(function: Callable[..., Any], name: str, takings: Sequence[Taking]) -> OfLogits | None:
    """Return a function of queries and keys where this is a softmax of logits and a mask; None for another one."""
    names = [one.name for one in takings]
    masks = [one for one in names[1:] if is_called(one, _MASK) or folded(one) in _ALSO_MASKS]
    known = {*masks, *names[:1]}
    others_have_values = all(one.has_default or folded(one.name) in NEUTRAL for one in takings if one.name not in known)
    is_softmax = folded(name).endswith("softmax") and "log" not in folded(name)
    if not is_softmax or len(masks) != 1 or not others_have_values or any(one.by_position for one in takings):
        return None
    return OfLogits(function, names[0], masks[0], takings)
