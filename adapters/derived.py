"""Operations derived from others: the backward pass of each operation that can be differentiated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.implementation import Callables
from veriformer.adapters.signatures import keyword_names
from veriformer.adapters.weights import arrays_in, converted
from veriformer.spec.operations import OPERATIONS, Operation

_DERIVED = object()


@dataclass(frozen=True)
class _NamedLast:
    """A forward pass whose last positional arguments are some of its keywords; else it is what it was."""

    forward: Callable[..., Any]
    names: tuple[str, ...]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        count = len(arguments) - len(self.names)
        named = dict(zip(self.names, arguments[count:], strict=True))
        return self.forward(*arguments[:count], **named, **keywords)

    def __getattr__(self, name: str) -> Any:
        # What is compiled has attributes that tell; those of Python's own are this object's.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.forward, name)


class DerivedBackward:
    """A backward pass by automatic differentiation of a forward pass; its features are the forward pass's.

    It is called with the forward pass's positional arguments, then the gradient of each result, then keywords, of which
    some may be differentiated.
    """

    def __init__(self, operation: str, forward: Callable[..., Any], framework: ArrayFramework) -> None:
        specification = OPERATIONS[operation]
        self._named = named_gradients(specification)
        self._forward = _NamedLast(forward, self._named) if self._named else forward
        self._framework = framework
        self._cotangents = len(specification.cotangents)
        self._returns_several = specification.returns_several_arrays
        self._has_records = bool(specification.records)
        inputs = (name for name in specification.positional if name not in specification.cotangents)
        places = {name: place for place, name in enumerate((*inputs, *self._named))}
        self._differentiated = tuple(places[name] for name in specification.differentiated)
        self.__signature__ = _signature(
            specification, keyword_names(forward) - getattr(forward, "without_gradients", frozenset())
        )

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Return the gradients of ⟨last arguments, forward(*other arguments)⟩ by the differentiated arguments."""
        inputs, cotangents = arguments[: -self._cotangents], arguments[-self._cotangents :]
        inputs += tuple(keywords.pop(name) for name in self._named)
        forward = partial(self._forward, **keywords)
        if self._has_records:
            found = self._by_records(forward, inputs, cotangents)
            return found if len(found) > 1 else found[0]
        if self._named:
            # What is cut off from a keyword is so from nothing else: by the first argument there is always a way back.
            differentiated = (0, *self._differentiated)
            gradients = self._framework.vector_jacobian_product(forward, inputs, cotangents, differentiated)[1:]
        else:
            gradients = self._framework.vector_jacobian_product(forward, inputs, cotangents, self._differentiated)
        return gradients if self._returns_several else gradients[0]

    def _by_records(
        self, forward: Callable[..., Any], inputs: tuple[Any, ...], cotangents: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Return the gradients where some arguments are records of arrays: each gradient is then a record too."""
        is_array = self._framework.is_array
        leaves = [array for place in self._differentiated for _, array in arrays_in("", inputs[place], is_array)]

        def filled(arrays: tuple[Any, ...]) -> dict[int, Any]:
            others = iter(arrays)
            return {place: converted(inputs[place], is_array, lambda _: next(others)) for place in self._differentiated}

        def of_leaves(*arrays: Any) -> Any:
            of_place = filled(arrays)
            return forward(*(of_place.get(place, argument) for place, argument in enumerate(inputs)))

        gradients = self._framework.vector_jacobian_product(
            of_leaves, tuple(leaves), cotangents, tuple(range(len(leaves)))
        )
        return tuple(filled(gradients).values())


def named_gradients(operation: Operation) -> tuple[str, ...]:
    """Return the keywords whose gradients a backward pass returns."""
    return tuple(name for name in operation.differentiated if name not in operation.positional)


def _signature(operation: Operation, keywords: Container[str]) -> inspect.Signature:
    """Return the signature of a backward pass: that of its record, with the keywords that the forward pass has."""
    required, optional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
    needed = (one.name for one in operation.parameters if one.requirement == "keyword")
    return inspect.Signature(
        [
            *(inspect.Parameter(name, required) for name in operation.positional),
            *(inspect.Parameter(name, optional) for name in needed if name in keywords),
            *(inspect.Parameter(name, optional, default=None) for name in operation.features if name in keywords),
        ]
    )


def with_derived(operations: Callables, found: object, framework: ArrayFramework) -> Callables:
    """Return the operations with those derived from them by differentiation, in the catalogue's order.

    Nothing is derived if the framework does not differentiate, or if `found` has the operation itself, under whatever
    name, unless the framework calls that to differentiate: what it is handed is judged then too. An attribute that is
    None prevents the derivation. The backward pass of an operation stands for the gradients of its keywords too: where
    it is None, nothing differentiates that operation.
    """
    derived: dict[str, Callable[..., Any]] = {
        backward.name: DerivedBackward(backward.name, operations[backward.forward], framework)
        for backward in OPERATIONS.values()
        if framework.differentiates
        and backward.forward in operations
        and (
            backward.name not in operations
            or _differentiates_by(operations[backward.forward], operations[backward.name])
        )
        and not hasattr(found, backward.name)
        and set(named_gradients(backward)) <= keyword_names(operations[backward.forward])
        and getattr(found, f"{backward.forward}_backward", _DERIVED) is not None
        and getattr(operations[backward.forward], "has_all_gradients", True)
    }
    together = {**operations, **derived}
    return MappingProxyType({name: together[name] for name in OPERATIONS if name in together})


def _differentiates_by(forward: Callable[..., Any], backward: Callable[..., Any]) -> bool:
    """Return whether a framework calls a backward pass in order to differentiate a function.

    That is what `custom_vjp` of JAX was given, or what the autograd.Function calls that the function applies.
    """
    inner, its = _unwrapped(forward), _unwrapped(backward)
    if hasattr(inner, "bwd"):
        return inner.bwd is its
    names = getattr(getattr(inner, "__code__", None), "co_names", ())
    kinds = [inner.__globals__.get(name) for name in names] if "apply" in names else []
    codes = [getattr(getattr(one, "backward", None), "__code__", None) for one in kinds]
    return any(its.__name__ in code.co_names for code in codes if code is not None)


def _unwrapped(function: Callable[..., Any]) -> Any:
    inner = getattr(function, "function", function)
    while hasattr(inner, "__wrapped__") and not hasattr(inner, "bwd"):
        inner = inner.__wrapped__
    return inner


def derived_from(operations: Callables) -> Mapping[str, str]:
    """Return the operations that were derived, and which operation each was derived from."""
    derived = (name for name, function in operations.items() if isinstance(function, DerivedBackward))
    return MappingProxyType({name: OPERATIONS[name].forward for name in derived})
