"""The masks that an attention takes: of which kind and shape, and what a boolean one does, and rows that see no key."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from veriformer.adapters.matching import by_length, by_query, padding_beside, special, windows
from veriformer.adapters.matching.encodings import ADDED, KINDS, Encoding, by_name, encodings
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.layouts import ATTENTION, AsItIs, Changed, OneByOne, of_heads
from veriformer.adapters.matching.namespaces import shape_of, transposed
from veriformer.adapters.matching.probes import SIZES, Probe, is_near, probe_of, probe_with
from veriformer.adapters.matching.sources import Taken
from veriformer.adapters.matching.texts import asks_for_booleans, says_hidden, says_numbers_added
from veriformer.adapters.matching.trying import Trials

# PyTorch's own attention is called so, and takes a boolean mask as well as one that is added.
_TORCH_NAMES = frozenset({"attn_mask", "is_causal"})
_SEED = 7
_ADDED = "a boolean one is added as 0 and 1, so that it hides nothing"
_FINITE = "a row that sees no key has no result of its own, since a finite number is added"
# Arrays with samples and heads: (B, H, L, D) and (B, L, H, D).
_LAYOUTS_WITH_SMALL_MASKS = 2
# Logits so far apart stay different when −1e9 is added, in float32 too.
_APART = 1000.0


def with_whole_masks(form: Form, found: Taken) -> Iterator[Form]:
    """Yield the forms in which a mask that must be given hides nothing where the interface has none."""
    masking = [name for name, role in found.roles.items() if role == "mask" and name in found.needed]
    for name in masking if form.operation in ATTENTION else ():
        for encoding in KINDS:
            yield replace(form, sources={**form.sources, name: partial(_all_visible, encoding)})
        for encoding in KINDS if form.operation in by_query.TAKING else ():
            yield from _needing_smaller_masks(form, name, encoding)


def _needing_smaller_masks(form: Form, parameter: str, encoding: Encoding) -> Iterator[Form]:
    """Yield the forms in which a mask that must be given has fewer axes than the logits."""
    for shape, axes in by_query.MASKS.items():
        one = encoded(form, parameter, encoding.of, f"{shape}, {encoding.words}")
        for layout in of_heads(ATTENTION[form.operation])[:_LAYOUTS_WITH_SMALL_MASKS]:
            yield replace(one, layout=by_query.ByQuery(layout, axes, needs=True))


def _all_visible(encoding: Encoding, arguments: Any) -> Any:
    query, key = arguments["query"], arguments["key"]
    logits = query @ transposed(key, (*range(len(shape_of(key)) - 2), len(shape_of(key)) - 1, len(shape_of(key)) - 2))
    # True wherever there is a number, or none.
    return encoding.of((logits == logits) | True, arguments)


def with_visibility(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form of an attention with its window and its mask."""
    if isinstance(form.layout, by_query.ByQuery):
        return _described(trials, form, form, masked_probe(probe))
    form = _with_window(trials, form, found, probe)
    masked = _with_any_mask(trials, form, found, probe)
    if "mask" in masked.features:
        beside = padding_beside.with_padding(trials, masked, found, masked_probe(probe))
        if beside is not masked or not padding_beside.takes_padding(masked, found):
            return beside
    if "mask" not in found.roles.values():
        return masked
    equal = of_equal_lengths(form, probe)
    of_equal = masked if "mask" in masked.features else _with_any_mask(trials, form, found, equal)
    if "mask" not in of_equal.features:
        return form
    beside = padding_beside.with_padding(trials, of_equal, found, masked_probe(equal))
    return masked if beside is masked else limited_to_equal_lengths(beside)


def _with_window(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form with a window, read with as many queries as keys where other lengths fit none.

    Where the queries are the last of the keys, the window ends at other keys than those of the first positions.
    """
    windowed = windows.with_window(trials, form, found, probe)
    if "window" in windowed.features or "window" not in found.roles.values():
        return windowed
    of_equal = windows.with_window(trials, form, found, of_equal_lengths(form, probe))
    return of_equal if "window" in of_equal.features else windowed


def _with_any_mask(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    masking = [name for name, role in found.roles.items() if role == "mask"]
    form = _with_mask(trials, form, masking[0], probe) if masking else form
    form = form if "mask" in form.features else _with_smaller_mask(trials, form, found, probe)
    if "mask" in form.features or not masking or says_hidden(trials.function, masking[0]) is None:
        return form
    # A mask that is read the other way round is as unlike as can be, and documentation says how it is meant.
    return _with_mask(trials, form, masking[0], probe, least=-1.0)


def of_equal_lengths(form: Form, probe: Probe) -> Probe:
    """Return a probe of an attention with as many queries as keys."""
    lengths = lengths_of(probe)
    always = form.fixed_values.get(f"{form.operation}.is_causal")
    return probe_of(form.operation, {**lengths, "L": lengths["S"]}, **({"is_causal": True} if always else {}))


def limited_to_equal_lengths(form: Form) -> Form:
    """Return the form of an attention that is called with as many queries as keys alone."""
    limitation = f"{form.operation}.unequal_lengths"
    return form if limitation in form.limitations else replace(form, limitations=(*form.limitations, limitation))


def with_numbers(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form whose mask is given numbers too, where documentation or source says that they are added.

    Whether they are added to the right logits is then the laws' matter.
    """
    masking = [name for name, role in found.roles.items() if role == "mask"]
    is_read = "mask" in form.features and not isinstance(form.layout, by_query.ByQuery | padding_beside.PaddingBeside)
    if not masking or not is_read or "bias" in form.features or not says_numbers_added(trials.function, masking[0]):
        return form
    of_mask = form.sources[masking[0]]

    def source(arguments: Any) -> Any:
        bias, mask = arguments.get("bias"), arguments.get("mask")
        if bias is None:
            return of_mask(arguments)
        if mask is not None:
            raise ValueError("a mask and a bias are one argument of it")
        return bias

    one = form.with_source(masking[0], source, "bias", "numbers in it are added")
    query, key = (np.shape(probe.arguments[name]) for name in ("query", "key"))
    numbers = np.random.default_rng(_SEED).standard_normal((*query[:-1], key[-2]))
    return form if trials.result(one, probe.with_argument("bias", numbers)) is None else one


def not_given(form: Form, found: Taken) -> list[str]:
    """Return the parameters for masks that no call gives a mask, since it answers to none of the known forms."""
    masking = [name for name, role in found.roles.items() if role == "mask" and name not in found.needed]
    return [name for name in masking if form.sources.get(name) is found.sources[name]]


def masked_probe(probe: Probe) -> Probe:
    """Return a probe of an attention with a mask."""
    return probe.with_argument("mask", special.drawn_mask({**SIZES, **lengths_of(probe)}))


def lengths_of(probe: Probe) -> dict[str, int]:
    """Return the lengths of a probe's axes, by their letters."""
    query, key = probe.arguments["query"].shape, probe.arguments["key"].shape
    value = probe.arguments.get("value", probe.arguments["key"]).shape
    return {"B": query[0], "H": query[1], "G": key[1], "L": query[2], "S": key[2], "D": query[3], "Dv": value[3]}


def _with_mask(trials: Trials, form: Form, parameter: str, probe: Probe, least: float = 0.0) -> Form:
    """Return the form with a mask that has the axes of the logits; the form itself where none is understood.

    The likeness of one that is not right is above the `least`.
    """
    masked = masked_probe(probe)
    best, likest = form, least
    asks = asks_for_booleans(trials.function, parameter)
    for encoding in encodings(says_hidden(trials.function, parameter), boolean=asks):
        one = encoded(form, parameter, encoding.of, encoding.words)
        result = trials.result(one, masked)
        if result is None or result.shape != masked.expected.shape:
            continue
        if is_near(result, masked.expected):
            if encoding.words == ADDED and not _adds_any_number(trials, form, parameter, probe):
                continue
            if trials.result(one, probe.with_argument("mask", masked.arguments["mask"][0, 0])) is not None:
                as_it_is = encoded(form, parameter, KINDS[0].of, KINDS[0].words)
                return _described(trials, one, as_it_is, masked)
            # A mask of two axes has to be made whole for such a function.
            continue
        likeness = trials.likeness(one, masked, result)
        if likeness > likest + 1e-9:
            best, likest = one, likeness
    return best


def _with_smaller_mask(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form with a mask of fewer axes than the logits, or with lengths; the form itself where it has none."""
    if form.operation not in by_query.TAKING or not isinstance(form.layout, AsItIs | Changed | OneByOne):
        return form
    always_causal = bool(form.fixed_values.get(f"{form.operation}.is_causal"))
    sizes = lengths_of(probe)
    # What takes as many keys as queries has no single one.
    whole = always_causal or sizes["L"] == sizes["S"]
    lengths = () if always_causal else by_length.forms_of(form, found, trials.framework, all_queries=whole)
    masked = masked_probe(probe)
    best, is_exact = trials.fitting((*_smaller_masks(trials, form, found, by_position=whole), *lengths), masked)
    if best is None:
        return form
    return _described(trials, best, best, masked) if is_exact else best


def _smaller_masks(trials: Trials, form: Form, found: Taken, *, by_position: bool) -> Iterator[Form]:
    for parameter in [name for name, role in found.roles.items() if role == "mask"][:1]:
        asks = asks_for_booleans(trials.function, parameter)
        for shape, axes in by_query.MASKS.items():
            for encoding in by_name(parameter, says_hidden(trials.function, parameter), boolean=asks):
                one = encoded(form, parameter, encoding.of, f"{shape}, {encoding.words}")
                yield replace(one, layout=by_query.ByQuery(form.layout, axes, by_position=by_position))


def encoded(form: Form, parameter: str, of: Callable[[Any, Any], Any], words: str) -> Form:
    """Return the form in which a parameter is given what an encoding makes of the interface's mask."""
    plain = form.sources[parameter]

    def source(arguments: Any) -> Any:
        return of(arguments["mask"], arguments) if arguments.get("mask") is not None else plain(arguments)

    return form.with_source(parameter, source, "mask", f"`{parameter}`: {words}")


def _described(trials: Trials, form: Form, as_it_is: Form, masked: Probe) -> Form:
    """Return a form whose mask is understood, with what is said of it.

    `as_it_is` is the form that gets the interface's own mask.
    """
    words = (_ADDED,) if _speaks_of_booleans(trials, form) and _is_added(trials, as_it_is, masked) else ()
    if _has_rows_of_their_own(trials, form, masked):
        return replace(form, words=(*form.words, *words))
    limitations = (*form.limitations, f"{form.operation}.empty_rows")
    return replace(form, words=(*form.words, *words, _FINITE), limitations=limitations)


def _adds_any_number(trials: Trials, form: Form, parameter: str, probe: Probe) -> bool:
    """Return whether a parameter is added to the logits as it is, rather than made something else of first."""
    query, key = (np.shape(probe.arguments[name]) for name in ("query", "key"))
    numbers = np.random.default_rng(_SEED).standard_normal((*query[:-1], key[-2]))
    given = form.with_source(parameter, lambda arguments: arguments["bias"], "bias")
    added = probe.with_argument("bias", numbers)
    result = trials.result(given, added)
    return result is None or is_near(result, added.expected)


def _speaks_of_booleans(trials: Trials, form: Form) -> bool:
    return "bool" in (inspect.getdoc(trials.function) or "") or set(form.sources) >= _TORCH_NAMES


def _is_added(trials: Trials, form: Form, masked: Probe) -> bool:
    """Return whether a boolean mask has the effect of a bias of 0 and 1."""
    unmasked = {name: value for name, value in masked.arguments.items() if name != "mask"}
    added = probe_with(masked.operation, {**unmasked, "bias": masked.arguments["mask"].astype(float)})
    result = trials.result(form, masked)
    return result is not None and is_near(result, added.expected)


def _has_rows_of_their_own(trials: Trials, form: Form, masked: Probe) -> bool:
    """Return whether rows without a visible key give zero, NaN or one mean, whatever their logits are.

    Where a finite number is added to all logits of a row, what is left of them depends on how it is rounded.
    """
    hidden = np.zeros_like(masked.arguments["mask"])
    far = {**masked.arguments, "query": masked.arguments["query"] * _APART, "mask": hidden}
    result = trials.result(form, Probe(masked.operation, far, masked.expected))
    if result is None or not np.isfinite(result).all():
        return True
    # Every query of a head has the same result then, for they have the same values.
    return is_near(result, np.broadcast_to(result[..., :1, :], result.shape))
