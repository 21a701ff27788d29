"""Losses that are no mean: one number for each token, a sum, or a sum beside the number of tokens that count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.namespaces import chosen, mean_of, negated, shape_of, size_of
from veriformer.adapters.matching.texts import says_sum

_EACH = "its mean over the tokens that count"
_SUM = "its sum divided by the number of tokens that count"


def forms(form: Form) -> Iterator[Form]:
    """Yield the forms of a loss that is a sum, and of one that is a number for each token."""
    if "reduction" not in form.features:
        yield replace(form, after=_of_sum, words=(*form.words, _SUM))
        yield replace(form, after=_of_each, words=(*form.words, _EACH))


def is_contradicted(form: Form, function: Callable[..., Any]) -> bool:
    """Return whether a form takes a loss for a sum that neither its name nor its documentation calls one."""
    return _SUM in form.words and not says_sum(function)


def _of_each(losses: Any, arguments: Arguments) -> Any:
    if shape_of(losses) != shape_of(arguments["targets"]):
        raise ValueError("the result has no number for each target")
    return mean_of(losses) / _share_kept(losses, arguments)


def _of_sum(loss: Any, arguments: Arguments) -> Any:
    if size_of(shape_of(loss)) != 1:
        raise ValueError("the result is no number")
    return loss / (_share_kept(loss, arguments) * size_of(shape_of(arguments["targets"])))


def _share_kept(like: Any, arguments: Arguments) -> Any:
    """Return the share of targets that count, in the dtype of `like`."""
    return mean_of(chosen(kept(arguments), 1.0, 0.0, like))


def kept(arguments: Arguments) -> Any:
    """Return which targets count."""
    targets, ignored = arguments["targets"], arguments.get("ignore_index")
    return targets == targets if ignored is None else negated(targets == ignored)
