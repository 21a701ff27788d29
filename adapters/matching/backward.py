"""Backward passes as people write them: of the gradient of the output and of a cache, or of what it would hold.

The forward function of the same module is run with the arguments of the law, and what it kept is handed on. Which of
the gradients is which follows from their values.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.errors import describe
from veriformer.adapters.matching import saved
from veriformer.adapters.matching.axes import OfFirstAxis
from veriformer.adapters.matching.backward_calls import Call, call_of
from veriformer.adapters.matching.backward_classes import gradient_beside
from veriformer.adapters.matching.backward_pairs import WITHOUT_UPSTREAM, Pair
from veriformer.adapters.matching.forms import Form
from veriformer.adapters.matching.gradients import Laid, along_first_axis, layouts_of
from veriformer.adapters.matching.layouts import Arguments, refuse_lengths
from veriformer.adapters.matching.names import folded, is_called, parameters_of
from veriformer.adapters.matching.probes import CONVENTIONS, EQUAL_LENGTHS, EQUAL_WIDTHS, SIZES, drawn_argument, is_near
from veriformer.adapters.matching.search import Found, needs
from veriformer.adapters.matching.search import form_of as form_of_forward
from veriformer.adapters.matching.sources import LAST_AXIS
from veriformer.adapters.matching.special import drawn_mask
from veriformer.adapters.matching.texts import source_of
from veriformer.adapters.matching.wired import Wired
from veriformer.spec.operations import OPERATIONS

_ATTENTION = "scaled_dot_product_attention"
_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3, 1e-1)
_NO_TARGET = -100
# For an x this small eps matters under the root.
_SMALL = 2.0**-8
# A gradient that points elsewhere than the reference's is of something else.
_LEAST_LIKENESS = 0.3
_NO_PAIR = "it is called like a backward pass, and takes a cache that no forward function of this file returns"


def loss_and_gradient(function: Callable[..., Any], arrays: ArrayFramework, name: str) -> Found | None:
    """Return the form in which the second result of a loss is its gradient; None where it is another thing."""
    gradient, is_named = gradient_beside(function)
    if gradient is None:
        return None
    found, _ = form_of(Pair("cross_entropy", gradient, None), arrays, name)
    return found if found is not None and (found.exact or is_named) else None


def form_of(pair: Pair, arrays: ArrayFramework, name: str) -> tuple[Found | None, str]:
    """Return the form in which a pair is the backward pass of its operation; None with the reason where it is none."""
    arrays.use_one_thread()
    forward, reason = _forward_form(pair, arrays)
    call = call_of(pair, forward, arrays, flat=False)
    if call is None or call.unknown:
        return None, "its signature cannot be read" if call is None else needs(name, call.unknown)
    if call.needs_forward and forward is None:
        return None, reason or _NO_PAIR
    if call.needs_forward and forward is not None and not forward.exact:
        its = getattr(pair.forward, "__name__", "its forward function")
        return None, f"what {its} keeps for it is not right yet, so that it is judged once {its} is"
    if not call.has_upstream and pair.operation not in WITHOUT_UPSTREAM:
        return None, "no parameter is the gradient of the output"
    return _best_of(pair, forward, arrays, call)


def _forward_form(pair: Pair, arrays: ArrayFramework) -> tuple[Found | None, str]:
    if pair.forward is None:
        return None, ""
    takings = parameters_of(pair.forward)
    if takings is None:
        return None, "the signature of its forward function cannot be read"
    return form_of_forward(
        pair.forward, pair.operation, takings, arrays, named=True, name=getattr(pair.forward, "__name__", "forward")
    )


def _best_of(pair: Pair, forward: Found | None, arrays: ArrayFramework, call: Call) -> tuple[Found | None, str]:
    """Return the first form whose gradients are all right, else the one with most of them right."""
    best: tuple[int, float, Wired] | None = None
    failure = ""
    for form, probe in _forms(pair, forward, arrays, call):
        try:
            got = _results(form, pair.backward, probe, arrays)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            failure = failure or describe(error)
            continue
        right, likeness = _agreement(pair.operation, probe, got)
        if right == len(got) and best is not None and "one vector" in form.words[0] and _thinks_of_rows(pair):
            break
        if right == len(got):
            return Found(_with_features(pair, form, forward, probe, arrays), True), ""
        if right >= 0 and (best is None or (right, likeness) > best[:2]):
            best, its_probe = (right, likeness, form), probe
        elif right < 0:
            failure = failure or "its gradients have other shapes than the arguments"
    if best is None:
        return None, failure or "it returns no gradients"
    right, likeness, form = best
    total = len(_wanted(pair.operation))
    if right >= 2 or (not call.is_guessed and (right or likeness >= _LEAST_LIKENESS)):
        return Found(_with_features(pair, form, forward, its_probe, arrays), False, likeness), ""
    return None, (f"{right} of its {total} gradients are right: too few to say what it is handed")


def _thinks_of_rows(pair: Pair) -> bool:
    """Return whether a backward pass names an axis: what is right for one vector only has a wrong one then."""
    text = source_of(pair.backward) or ""
    return any(word in text for word in ("axis", "keepdims", "dim=", "keepdim"))


def _wanted(operation: str) -> list[str]:
    """Return the arguments by which there are gradients, in the interface's order."""
    record = OPERATIONS[f"{operation}_backward"]
    return [one.removeprefix("grad_") for one in record.results] or [record.positional[0]]


def _forms(
    pair: Pair, forward: Found | None, arrays: ArrayFramework, call: Call
) -> Iterator[tuple[Wired, dict[str, Any]]]:
    """Yield the forms to try, each with the arguments of its probe; those of the forward's layout first."""
    operation, wanted = pair.operation, _wanted(pair.operation)
    layouts = layouts_of(operation)
    if forward is not None:
        layouts.sort(key=lambda one: one.words != forward.form.layout.words)
        # A backward pass that is not told the axis has its own, whatever its forward function is asked for.
        told_axis = call.needs_forward or any(folded(one) in LAST_AXIS for one in call.sources)
        if isinstance(forward.form.layout, OfFirstAxis) and told_axis:
            layouts = list(map(along_first_axis, layouts))
    calls = [call]
    if any(saved.kept_called(operation, one) for one in call.sources):
        calls.append(call_of(pair, forward, arrays, flat=True) or call)
    for limited, sizes in _sizes(operation):
        probe = _probe(operation, sizes)
        for layout, one in itertools.product(layouts, calls):
            number = _number_of_results(pair, forward, arrays, layout, one, probe)
            for order in _orders(number, len(wanted)):
                yield _wired(pair, forward, layout, one, order, limited), probe


def _orders(keys: Sequence[Any], number: int) -> Iterator[tuple[Any, ...]]:
    if number <= len(keys) <= 5:
        yield from itertools.permutations(keys, number)


def _number_of_results(
    pair: Pair, forward: Found | None, arrays: ArrayFramework, layout: Laid, call: Call, probe: Mapping[str, Any]
) -> list[Any]:
    """Return the places of the gradients in what the function returns; () is the whole; the place 0 where it fails."""
    seen: list[Any] = []

    def inner(arguments: Arguments) -> Any:
        seen.append(_returned(pair, forward, call, arguments))
        raise _Seen

    try:
        with redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            arrays.call(lambda *_: layout.call(inner, _converted(probe, arrays)), (), {})
    except KeyboardInterrupt:
        raise
    except BaseException:
        if not seen:
            return list(range(len(_wanted(pair.operation))))
    if isinstance(seen[0], Mapping):
        return list(seen[0])
    return list(range(len(seen[0]))) if isinstance(seen[0], tuple | list) else [()]


class _Seen(BaseException):
    """The function has returned, and no more has to be known."""


def _returned(pair: Pair, forward: Found | None, call: Call, arguments: Arguments) -> Any:
    kept = forward.form.returned(pair.forward, arguments) if call.needs_forward and forward and pair.forward else None
    return call.of(pair.backward, arguments, kept)


def _wired(
    pair: Pair, forward: Found | None, layout: Laid, call: Call, order: tuple[Any, ...], limited: tuple[str, ...]
) -> Wired:
    name = f"{pair.operation}_backward"
    handed = call.needs_forward and forward is not None
    features = forward.form.features if handed and forward is not None else tuple(call.features)
    limits, fixed = list(limited), {}
    if handed and forward is not None:
        # A backward pass has the fixed values of its operation.
        limits += [one.rpartition(".")[2] for one in forward.form.limitations]
        fixed = dict(forward.form.fixed_values)
    elif pair.operation in ("layer_norm", "rms_norm") and not _takes_eps(pair, call):
        limits.append("eps")

    def inner(arguments: Arguments) -> list[Any]:
        returned = _returned(pair, forward, call, arguments)
        gradients = [returned if place == () else returned[place] for place in order]
        if not call.has_upstream:
            gradients = [one * arguments["grad_output"] for one in gradients]
        return gradients

    def wiring(_: Any, arguments: Arguments) -> Any:
        if "unequal_lengths" in limits:
            # Other lengths need not raise, and are not what such a function is made for.
            refuse_lengths(arguments, equal=True)
        found = layout.call(inner, arguments)
        return tuple(found) if OPERATIONS[name].results else found[0]

    its = getattr(pair.forward, "__name__", "forward") if handed else ""
    called = f"({', '.join(call.sources)})"
    words = (
        layout.words,
        "" if handed else called,
        f"handed what {its} keeps" if handed else "",
        _words_of_order(pair.operation, order),
    )
    return Wired(
        name,
        {},
        features=tuple(one for one in features if one in OPERATIONS[name].features),
        limitations=tuple(f"{name}.{one}" for one in dict.fromkeys(limits)),
        fixed_values=fixed,
        words=tuple(one for one in words if one),
        wiring=wiring,
    )


def _takes_eps(pair: Pair, call: Call) -> bool:
    eps = OPERATIONS[pair.operation].parameter("eps")
    of_eps = ("root", "inverse", "normal")
    return any(is_called(one, eps) or saved.kept_called(pair.operation, one) in of_eps for one in call.sources)


def _words_of_order(operation: str, order: tuple[Any, ...]) -> str:
    wanted = _wanted(operation)
    if (
        order == ((),)
        or any(isinstance(one, str) for one in order)
        or len(wanted) == 1
        or order == tuple(range(len(wanted)))
    ):
        return ""
    by_place = sorted(zip(order, wanted, strict=True), key=lambda both: str(both[0]))
    return f"its gradients are those of {', '.join(one for _, one in by_place)}"


def _sizes(operation: str) -> Iterator[tuple[tuple[str, ...], dict[str, int]]]:
    yield (), {}
    if operation == _ATTENTION:
        yield ("value_width",), dict(EQUAL_WIDTHS)
        yield ("unequal_lengths",), dict(EQUAL_LENGTHS)
        yield ("unequal_lengths", "value_width"), {**EQUAL_LENGTHS, **EQUAL_WIDTHS}


def _probe(operation: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    numbers, lengths = np.random.default_rng(7), {**SIZES, **sizes}
    required = [one for one in OPERATIONS[f"{operation}_backward"].parameters if one.is_required]
    found = {one.name: drawn_argument(one, lengths, numbers) for one in required}
    return {**found, "grad_output": np.asarray(0.7)} if operation == "cross_entropy" else found


def _expected(operation: str, probe: Mapping[str, Any]) -> list[list[np.ndarray]]:
    """Return the gradients of the reference under each convention."""
    from veriformer import reference

    name = f"{operation}_backward"
    positional = [probe[one] for one in OPERATIONS[name].positional]
    named = {one: value for one, value in probe.items() if one not in OPERATIONS[name].positional}
    found = []
    with np.errstate(all="ignore"):
        for conventions in ({}, *CONVENTIONS.get(operation, ())):
            result = getattr(reference, name)(*positional, **named, **conventions)
            found.append([np.asarray(one) for one in (result if isinstance(result, tuple) else (result,))])
    return found


def _agreement(operation: str, probe: Mapping[str, Any], got: Sequence[np.ndarray]) -> tuple[int, float]:
    """Return how many gradients are right, and the least likeness of the others; −1 where the shapes are others."""
    best = (-1, 0.0)
    for expected in _expected(operation, probe):
        if [one.shape for one in expected] != [one.shape for one in got]:
            continue
        right = [is_near(*both) for both in zip(got, expected, strict=True)]
        others = [
            _cosine(*both)
            for both, is_right in zip(zip(got, expected, strict=True), right, strict=True)
            if not is_right
        ]
        best = max(best, (sum(right), min(others, default=1.0)))
    return best


def _cosine(got: np.ndarray, expected: np.ndarray) -> float:
    with np.errstate(all="ignore"):
        norms = float(np.linalg.norm(got) * np.linalg.norm(expected))
        found = abs(float(np.sum(got * expected))) / norms if norms > 0 else 0.0
    return found if np.isfinite(found) else 0.0


def _results(form: Form, function: Any, probe: Mapping[str, Any], arrays: ArrayFramework) -> list[np.ndarray]:
    with redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
        returned = arrays.call(lambda *_: form.called(function, _converted(probe, arrays)), (), {})
    parts = returned if isinstance(returned, tuple | list) else (returned,)
    return [arrays.to_numpy(one) if arrays.is_array(one) else np.asarray(one, dtype=float) for one in parts]


def _converted(probe: Mapping[str, Any], arrays: ArrayFramework) -> dict[str, Any]:
    def array(value: np.ndarray) -> Any:
        return arrays.from_numpy(value, "float32" if value.dtype.kind == "f" else None)

    return {name: array(value) if isinstance(value, np.ndarray) else value for name, value in probe.items()}


def _with_features(
    pair: Pair, form: Wired, forward: Found | None, probe: Mapping[str, Any], arrays: ArrayFramework
) -> Wired:
    """Return the form with the keywords that reach the function, as far as they can be tried.

    One of a call with a forward pass counts where the forward pass is right with it, another where the gradients are.
    """
    name = f"{pair.operation}_backward"
    kept = [one for one in form.features if _counts(pair, form, forward, probe, arrays, one)]
    form = replace(form, features=tuple(kept))
    if pair.operation == _ATTENTION and "mask" not in kept:
        # What is known of a query without a visible key is known by a mask.
        form = replace(form, limitations=(*form.limitations, f"{name}.empty_rows"))
    if f"{name}.eps" in form.limitations and f"{pair.operation}.eps" not in form.fixed_values:
        eps = _own_eps(pair, form, forward, probe, arrays)
        form = replace(form, fixed_values={**form.fixed_values, f"{pair.operation}.eps": eps})
    return form


def _own_eps(pair: Pair, form: Wired, forward: Found | None, probe: Mapping[str, Any], arrays: ArrayFramework) -> float:
    """Return the eps that a norm has of its own: the one with which it is right for vectors as small as its root."""
    for eps in _EPS:
        given = {**probe, "eps": eps, "x": probe["x"] * _SMALL}
        try:
            if forward is not None and pair.forward is not None and _forward_is_right(pair, forward, given, arrays):
                return eps
            right, _ = _agreement(pair.operation, given, _results(form, pair.backward, given, arrays))
        except Exception:
            continue
        if right == len(_wanted(pair.operation)):
            return eps
    return _EPS[0]


def _counts(
    pair: Pair, form: Wired, forward: Found | None, probe: Mapping[str, Any], arrays: ArrayFramework, feature: str
) -> bool:
    if pair.operation == "cross_entropy" and feature == "ignore_index":
        return _answers_outside(pair, form, probe, arrays)
    if pair.operation != _ATTENTION:
        return True
    query, key = probe["query"].shape, probe["key"].shape
    values: dict[str, Any] = {
        "mask": drawn_mask({"B": query[0], "H": query[1], "L": query[2], "S": key[2]}),
        "is_causal": True,
        "scale": 0.3,
    }
    if feature not in values:
        return False
    given = {**probe, feature: values[feature]}
    try:
        right, _ = _agreement(pair.operation, given, _results(form, pair.backward, given, arrays))
    except KeyboardInterrupt:
        raise
    except BaseException:
        return False
    if right == len(_wanted(pair.operation)):
        return True
    return right >= 0 and forward is not None and _forward_is_right(pair, forward, given, arrays)


def _answers_outside(pair: Pair, form: Wired, probe: Mapping[str, Any], arrays: ArrayFramework) -> bool:
    """Return whether a gradient of a loss takes an ignored target that is no class, as the laws have them too."""
    targets = probe["targets"].copy()
    targets[0, 0] = _NO_TARGET
    try:
        _results(form, pair.backward, {**probe, "targets": targets, "ignore_index": _NO_TARGET}, arrays)
    except Exception:
        return False
    return True


def _forward_is_right(pair: Pair, forward: Found, given: Mapping[str, Any], arrays: ArrayFramework) -> bool:
    from veriformer import reference

    arguments = {name: value for name, value in given.items() if name != "grad_output"}
    positional = [arguments.pop(name) for name in OPERATIONS[pair.operation].positional]
    try:
        (got,) = _results(forward.form, pair.forward, {k: v for k, v in given.items() if k != "grad_output"}, arrays)
    except Exception:
        return False
    function: Any = getattr(reference, pair.operation)
    conventions = ({}, *CONVENTIONS.get(pair.operation, ()))
    return any(is_near(got, np.asarray(function(*positional, **arguments, **one))) for one in conventions)
