"""The record of a backward pass, made from that of the operation that it goes back through."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from veriformer.spec.operations.operation import Operation, Parameter


def backward_of(
    forward: Operation,
    differentiated: tuple[str, ...],
    *,
    summary: str,
    formula: str,
    source: str,
    name: str = "",
    prefix: str = "",
    features: Sequence[str] | None = None,
    conventions: tuple[str, ...] | None = None,
) -> Operation:
    """Return the backward pass of an operation: its gradients by the parameters named, given that of its result.

    It takes what the forward pass takes, with the gradient of its result, `grad_output`, behind the last positional
    argument, or with those of its results, by their names: `grad_output, grad_lse`. It returns an array, or a tuple, of
    the shapes of `differentiated`; the gradients of weights are a record of their names. An optional keyword of the
    forward pass whose gradient it returns is a required one. `features` are the optional keywords that it has, if not
    all, and `conventions` those that bear on it, if not all.
    """
    cotangents = _cotangents(forward)
    required = [_required(one) for one in forward.parameters if one.name in differentiated or one.is_required]
    optional = [one for one in (forward.features if features is None else features) if one not in differentiated]
    result = ", ".join(_shape(forward.parameter(name)) for name in differentiated)
    gradients = tuple(f"grad_{name}" for name in differentiated)
    records = tuple((f"grad_{name}", name) for name in differentiated if forward.parameter(name).kind == "weights")
    return Operation(
        name=name or f"{forward.name}_backward",
        prefix=prefix or f"{forward.prefix}_backward",
        summary=summary,
        parameters=(
            *(parameter for parameter in required if parameter.requirement == "positional"),
            *cotangents,
            *(parameter for parameter in required if parameter.requirement == "keyword"),
            *(forward.parameter(name) for name in optional),
        ),
        result=result,
        formula=formula,
        source=source,
        conventions=forward.conventions if conventions is None else conventions,
        results=gradients if len(gradients) > 1 or records else (),
        keeps_results=False,
        forward=forward.name,
        differentiated=differentiated,
        cotangents=tuple(cotangent.name for cotangent in cotangents),
        records=records,
        random=forward.random,
        place=forward.place,
    )


def _cotangents(forward: Operation) -> tuple[Parameter, ...]:
    """Return the parameters of the loss's gradients by the results of an operation."""
    names = forward.results or ("output",)
    shapes = re.findall(r"\([^()]*\)", forward.result) if forward.results else [forward.result]
    return tuple(
        Parameter(f"grad_{name}", shape, "float", "positional", f"the loss's gradient by the {name}")
        for name, shape in zip(names, shapes, strict=True)
    )


def _required(parameter: Parameter) -> Parameter:
    return parameter if parameter.is_required else replace(parameter, requirement="keyword")


def _shape(parameter: Parameter) -> str:
    return f"a record of the gradients of its {parameter.name}" if parameter.kind == "weights" else parameter.shape
