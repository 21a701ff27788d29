"""Backward passes as people write them: of the gradient of the output and of a cache, or of what it would hold.

The forward function of the same module is run with the arguments of the law, and what it kept is handed on. Which of
the gradients is which is told by their values.
"""

from __future__ import annotations

import functools
import inspect
import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, cast

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.errors import describe
from veriformer.adapters.matching import saved
from veriformer.adapters.matching.backward_classes import (
    classes_with_both,
    forward_of,
    gradient_beside,
    gradients_of,
    is_static,
)
from veriformer.adapters.matching.forms import LEFT_OUT, Form, Source
from veriformer.adapters.matching.gradients import Laid, layouts_of
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import NEUTRAL, Taking, folded, is_called, parameters_of, suggested, words_of
from veriformer.adapters.matching.probes import EQUAL_LENGTHS, EQUAL_WIDTHS, SIZES, drawn_argument
from veriformer.adapters.matching.search import Found, needs
from veriformer.adapters.matching.search import form_of as form_of_forward
from veriformer.adapters.matching.sources import taken
from veriformer.adapters.matching.special import drawn_mask
from veriformer.adapters.matching.wired import Wired
from veriformer.spec.operations import OPERATIONS

_ATTENTION = "scaled_dot_product_attention"
_FORWARD = ("softmax", _ATTENTION, "layer_norm", "rms_norm", "gelu", "silu", "cross_entropy")
_WITHOUT_UPSTREAM = ("gelu", "silu", "cross_entropy")
# Words of a name that say that it is a backward pass, and those that say that it is the forward one.
_BACKWARD = ("backward", "bwd", "backwards", "grad", "gradient", "vjp", "derivative", "prime", "back", "d", "backprop")
_FORWARD_WORDS = ("forward", "fwd")
_OUTPUTS = (
    "out output outputs y o z a p s probs prob loss l weights attn attention context h result softmax logits yhat act"
)
_GRADIENT_OF = ("d", "grad", "dld", "dl", "g")
_OTHER_UPSTREAM = (
    "grad grads gradient upstream delta gradoutputs gy doutput doutputs dldout dldy upstreamgrad gradin dupstream "
    "gradout outputgrad outgrad outputgradient upstreamgradient grady dvalues"
)
_UPSTREAM = frozenset(
    [*(f"{prefix}{one}" for prefix in _GRADIENT_OF for one in _OUTPUTS.split()), *_OTHER_UPSTREAM.split()]
)
_OPTIONS = "param params config cfg options opts hparams lnparam normparam"
_CONVENTIONS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    _ATTENTION: ({"causal_alignment": "bottom_right"},),
    "rms_norm": ({"gain": "one_plus_gamma"},),
    "gelu": ({"form": "tanh"}, {"form": "sigmoid"}),
}
_NEAR = 2e-3
_EPS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3, 1e-1)
_NO_TARGET = -100
# For an x this small eps matters under the root.
_SMALL = 2.0**-8
# A gradient that points elsewhere than the reference's is of something else.
_LEAST_LIKENESS = 0.3
_NO_PAIR = "it is called like a backward pass, and takes a cache that no forward function of this file returns"


@dataclass(frozen=True)
class Pair:
    """A backward pass and the forward function that it belongs to; None where it needs none.

    `operation` is that of the forward pass.
    """

    operation: str
    backward: Callable[..., Any]
    forward: Callable[..., Any] | None


@dataclass
class _Call:
    """How a backward pass is called: what each parameter is given, of the arguments and of the forward's results."""

    sources: dict[str, Callable[[Arguments, Any], Any]] = field(default_factory=dict)
    by_position: list[str] = field(default_factory=list)
    features: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    needs_forward: bool = False
    is_guessed: bool = False
    has_upstream: bool = False

    def of(self, function: Callable[..., Any], arguments: Arguments, returned: Any) -> Any:
        values = {name: source(arguments, returned) for name, source in self.sources.items()}
        given = {name: value for name, value in values.items() if value is not LEFT_OUT}
        positional = [given.pop(name) for name in self.by_position]
        return function(*positional, **given)


def pair_of(function: Any, name: str) -> Pair | None:
    """Return the backward pass that a function is by its name, with its forward function; None where it is none."""
    if isinstance(function, type) or not callable(function):
        return None
    words = words_of(name)
    stem = _stem(words)
    if len(stem) == len(words):
        return None
    forward = getattr(function, "forward_of_pair", None) or _forward_of(
        getattr(inspect.unwrap(function), "__globals__", {}), function, stem
    )
    operation = _operation_of(stem) or (_operation_of(words_of(forward.__name__)) if forward is not None else None)
    return None if operation is None else Pair(operation, function, forward)


def _stem(words: Sequence[str]) -> list[str]:
    return [one for one in words if one not in _BACKWARD]


def _operation_of(stem: Sequence[str]) -> str | None:
    found = [one for one in suggested("_".join(stem)) if one in _FORWARD] if stem else []
    if "softmax" in found and {"loss", "cross"}.intersection(stem):
        return "cross_entropy"
    return found[0] if found else None


def _forward_of(names: Mapping[str, Any], function: Any, stem: Sequence[str]) -> Callable[..., Any] | None:
    """Return the function whose name is that of a backward pass but for the words that say so, else the one alike."""
    own = {
        name: one
        for name, one in names.items()
        if inspect.isfunction(one) and one is not function and one.__module__ == function.__module__
    }
    own = {name: one for name, one in own.items() if len(_stem(words_of(name))) == len(words_of(name))}

    def bare(name: str) -> list[str]:
        return [one for one in words_of(name) if one not in _FORWARD_WORDS]

    alike = [one for name, one in own.items() if bare(name) == list(stem)]
    alike.sort(key=lambda one: not set(_FORWARD_WORDS).intersection(words_of(one.__name__)))
    if not alike and stem:
        operation = _operation_of(stem)
        alike = [one for name, one in own.items() if operation and _operation_of(bare(name)) == operation]
        alike = alike if len(alike) == 1 else []
    return alike[0] if alike else None


def classes_of(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the passes of the classes of a module that have both, by names such as "LayerNorm.backward"."""
    found: dict[str, Callable[..., Any]] = {}
    for name, kind in classes_with_both(module):
        operation, passes = _operation_of(words_of(name)), cast("Any", kind)
        if operation is None:
            continue
        if is_static(kind):
            found[f"{name}.forward"] = _renamed(passes.forward, f"{name}.forward")
            found[f"{name}.backward"] = _renamed(passes.backward, f"{name}.backward", forward=passes.forward)
        elif (gradients := gradients_of(kind, operation)) is not None:
            found[f"{name}.backward"] = gradients
            if operation == _ATTENTION:
                found[f"{name}.forward"] = forward_of(kind, operation)
    return found


def _renamed(function: Callable[..., Any], name: str, **attributes: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def renamed(*positional: Any, **named: Any) -> Any:
        return function(*positional, **named)

    renamed.__name__ = name
    vars(renamed).update({f"{key}_of_pair": value for key, value in attributes.items()})
    return renamed


def loss_and_gradient(function: Callable[..., Any], arrays: ArrayFramework, name: str) -> Found | None:
    """Return the form in which the second result of a loss is its gradient; None where it is another thing."""
    gradient, is_named = gradient_beside(function)
    if gradient is None:
        return None
    found, _ = form_of(Pair("cross_entropy", gradient, None), arrays, name)
    return found if found is not None and (found.exact or is_named) else None


def _names_of(function: Callable[..., Any]) -> list[str]:
    return [one.name for one in parameters_of(function) or ()]


def is_of_another_form(name: str, function: Any) -> bool:
    """Return whether a function of a backward operation's name is called otherwise than by the interface.

    Its parameters have to say so: the gradient of the output comes first, or there is a cache or what is kept.
    """
    operation = name.removesuffix("_backward")
    if operation not in _FORWARD or not callable(function) or isinstance(function, type):
        return False
    names = _names_of(function)
    if "grad_output" in names and not saved.CACHES.intersection(map(folded, names)):
        return names[: len(OPERATIONS[name].positional)] != list(OPERATIONS[name].positional) and (
            names[0] == "grad_output"
        )
    upstream_first = bool(names) and _is_upstream(names[0], operation)
    keeps = any(folded(one) in saved.CACHES for one in names)
    return upstream_first or keeps or any(saved.kept_called(operation, one) for one in names[:1])


def _is_upstream(name: str, operation: str) -> bool:
    called = [one for one in OPERATIONS[operation].parameters if is_called(name, one)]
    return folded(name) in _UPSTREAM or (folded(name) == "g" and not called)


def form_of(pair: Pair, arrays: ArrayFramework, name: str) -> tuple[Found | None, str]:
    """Return the form in which a pair is the backward pass of its operation; None with the reason where it is none."""
    arrays.use_one_thread()
    forward, reason = _forward_form(pair, arrays)
    call = _call_of(pair, forward, arrays, flat=False)
    if call is None or call.unknown:
        return None, "its signature cannot be read" if call is None else needs(name, call.unknown)
    if call.needs_forward and forward is None:
        return None, reason or _NO_PAIR
    if call.needs_forward and forward is not None and not forward.exact:
        its = getattr(pair.forward, "__name__", "its forward function")
        return None, f"what {its} keeps for it is not right yet, so that it is judged once {its} is"
    if not call.has_upstream and pair.operation not in _WITHOUT_UPSTREAM:
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


def _call_of(pair: Pair, forward: Found | None, arrays: ArrayFramework, *, flat: bool) -> _Call | None:
    takings = parameters_of(pair.backward)
    if takings is None:
        return None
    call, operation = _Call(), pair.operation
    places = saved.places_of_results(pair.forward) if forward is not None and pair.forward is not None else {}
    inputs = [one for one in takings if not _is_upstream(one.name, operation)]
    keeps = any(folded(one.name) in saved.CACHES or saved.kept_called(operation, one.name) for one in inputs)
    of_inputs = taken(operation, inputs, by_order=not keeps)
    for one in takings:
        if one.by_position:
            call.by_position.append(one.name)
        call.sources[one.name] = _source_of(one, call, pair, forward, places, of_inputs, arrays, flat)
    call.features += [role for role in of_inputs.features if role in OPERATIONS[operation].features]
    return call


def _source_of(
    one: Taking,
    call: _Call,
    pair: Pair,
    forward: Found | None,
    places: Mapping[str, tuple[int, ...]],
    of_inputs: Any,
    arrays: ArrayFramework,
    flat: bool,
) -> Callable[[Arguments, Any], Any]:
    name, operation = one.name, pair.operation
    kind = saved.kept_called(operation, name)
    if not call.has_upstream and _is_upstream(name, operation):
        call.has_upstream = True
        return lambda arguments, _: arguments["grad_output"]
    if folded(name) in saved.CACHES and not one.has_default:
        call.needs_forward = True
        return lambda _, returned: saved.cache_in(returned, name, places)
    is_output = operation == "softmax" and kind is not None and not saved.is_uncertain(name, pair.backward)
    if name in of_inputs.roles and not is_output:
        source: Source = of_inputs.sources[name]
        of_forward = forward.form.sources.get(name) if forward is not None else None
        if of_inputs.roles[name] == "mask" and of_forward is not None:
            source = of_forward
        return lambda arguments, _: source(arguments)
    if name in places and len(places[name]) >= 1 and not one.has_default:
        call.needs_forward = True
        return lambda _, returned: saved.at(returned, places[name])
    if kind is not None and not one.has_default:
        call.is_guessed = call.is_guessed or saved.is_uncertain(name, pair.backward)
        return lambda arguments, _: saved.kept(kind, arguments, arrays, flat=flat)
    if folded(name) in _OPTIONS.split() and not one.has_default:
        return lambda arguments, _: {"eps": arguments["eps"]} if "eps" in arguments else {}
    source = of_inputs.sources.get(name, lambda _: LEFT_OUT)
    if not one.has_default and name in of_inputs.unknown and folded(name) not in NEUTRAL:
        call.unknown.append(name)
    return lambda arguments, _: source(arguments)


def _best_of(pair: Pair, forward: Found | None, arrays: ArrayFramework, call: _Call) -> tuple[Found | None, str]:
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
        return None, f"as {pair.operation}_backward, {failure or 'it returns no gradients'}"
    right, likeness, form = best
    total = len(_wanted(pair.operation))
    if right >= 2 or (not call.is_guessed and (right or likeness >= _LEAST_LIKENESS)):
        return Found(_with_features(pair, form, forward, its_probe, arrays), False, likeness), ""
    return None, (
        f"as {pair.operation}_backward, {right} of its {total} gradients are right: too few to say what it is handed"
    )


def _thinks_of_rows(pair: Pair) -> bool:
    """Return whether a backward pass names an axis: what is right for one vector only has a wrong one then."""
    try:
        text = inspect.getsource(inspect.unwrap(pair.backward))
    except (OSError, TypeError):
        return False
    return any(word in text for word in ("axis", "keepdims", "dim=", "keepdim"))


def _wanted(operation: str) -> list[str]:
    """Return the arguments by which there are gradients, in the interface's order."""
    record = OPERATIONS[f"{operation}_backward"]
    return [one.removeprefix("grad_") for one in record.results] or [record.positional[0]]


def _forms(
    pair: Pair, forward: Found | None, arrays: ArrayFramework, call: _Call
) -> Iterator[tuple[Wired, dict[str, Any]]]:
    """Yield the forms to try, each with the arguments of its probe; those of the forward's layout first."""
    operation, wanted = pair.operation, _wanted(pair.operation)
    layouts = layouts_of(operation)
    if forward is not None:
        layouts.sort(key=lambda one: one.words != forward.form.layout.words)
    calls = [call]
    if any(saved.kept_called(operation, one) for one in call.sources):
        calls.append(_call_of(pair, forward, arrays, flat=True) or call)
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
    pair: Pair, forward: Found | None, arrays: ArrayFramework, layout: Laid, call: _Call, probe: Mapping[str, Any]
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


def _returned(pair: Pair, forward: Found | None, call: _Call, arguments: Arguments) -> Any:
    kept = forward.form.returned(pair.forward, arguments) if call.needs_forward and forward and pair.forward else None
    return call.of(pair.backward, arguments, kept)


def _wired(
    pair: Pair, forward: Found | None, layout: Laid, call: _Call, order: tuple[Any, ...], limited: tuple[str, ...]
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


def _takes_eps(pair: Pair, call: _Call) -> bool:
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
        for conventions in ({}, *_CONVENTIONS.get(operation, ())):
            result = getattr(reference, name)(*positional, **named, **conventions)
            found.append([np.asarray(one) for one in (result if isinstance(result, tuple) else (result,))])
    return found


def _agreement(operation: str, probe: Mapping[str, Any], got: Sequence[np.ndarray]) -> tuple[int, float]:
    """Return how many gradients are right, and the least likeness of the others; −1 where the shapes are others."""
    best = (-1, 0.0)
    for expected in _expected(operation, probe):
        if [one.shape for one in expected] != [one.shape for one in got]:
            continue
        right = [_is_near(*both) for both in zip(got, expected, strict=True)]
        others = [
            _cosine(*both)
            for both, is_right in zip(zip(got, expected, strict=True), right, strict=True)
            if not is_right
        ]
        best = max(best, (sum(right), min(others, default=1.0)))
    return best


def _is_near(got: np.ndarray, expected: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        scale = max(float(np.abs(expected).max(initial=0.0)), 1e-12)
        return bool(np.all(np.abs(got - expected) <= _NEAR * scale))


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
    conventions = ({}, *_CONVENTIONS.get(pair.operation, ()))
    return any(_is_near(got, np.asarray(function(*positional, **arguments, **one))) for one in conventions)
