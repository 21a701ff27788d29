"""Operations derived from others: the backward pass of an attention that can be differentiated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.implementation import Callables
from veriformer.adapters.signatures import keyword_names
from veriformer.spec.operations import OPERATIONS

# The derived operations, and the operations that they are derived from.
BACKWARD: Mapping[str, str] = MappingProxyType(
    {"scaled_dot_product_attention_backward": "scaled_dot_product_attention"}
)


class DerivedBackward:
    """A backward pass by automatic differentiation of a forward pass; its features are the forward pass's.

    It is called with the forward pass's positional arguments, then the gradient of the result, then keywords.
    """

    def __init__(self, operation: str, forward: Callable[..., Any], framework: ArrayFramework) -> None:
        self._forward = forward
        self._framework = framework
        specification = OPERATIONS[operation]
        features = [name for name in specification.features if name in keyword_names(forward)]
        required, optional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
        self.__signature__ = inspect.Signature(
            [
                *(inspect.Parameter(name, required) for name in specification.positional),
                *(inspect.Parameter(name, optional, default=None) for name in features),
            ]
        )

    def __call__(self, *arguments: Any, **keywords: Any) -> tuple[Any, ...]:
        """Return the gradients of ⟨last argument, forward(*other arguments)⟩ by the other arguments."""
        *inputs, cotangent = arguments
        forward = partial(self._forward, **keywords)
        return self._framework.vector_jacobian_product(forward, tuple(inputs), cotangent)


def with_derived(operations: Callables, found: object, framework: ArrayFramework) -> Callables:
    """Return the operations with those derived from them by differentiation, in the catalogue's order.

    Nothing is derived if the framework does not differentiate, or if `found` has the operation itself; an attribute
    that is None prevents the derivation.
    """
    derived: dict[str, Callable[..., Any]] = {
        backward: DerivedBackward(backward, operations[forward], framework)
        for backward, forward in BACKWARD.items()
        if framework.differentiates and forward in operations and not hasattr(found, backward)
    }
    together = {**operations, **derived}
    return MappingProxyType({name: together[name] for name in OPERATIONS if name in together})


def derived_from(operations: Callables) -> Mapping[str, str]:
    """Return the operations that were derived, and which operation each was derived from."""
    return MappingProxyType(
        {name: BACKWARD[name] for name, function in operations.items() if isinstance(function, DerivedBackward)}
    )
