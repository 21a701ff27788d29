"""The cases as Hypothesis strategies, for laws of your own: `@given(attention_inputs())`.

A strategy draws the description of a call (sizes, settings, the kind of values, a seed) and shrinks that, so that a
counterexample is small; what it yields are the arrays that follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hypothesis import strategies as st
from veriformer.adapters.arrays import framework as framework_called
from veriformer.adapters.calling import handed_over
from veriformer.adapters.model_declarations import ARCHITECTURES
from veriformer.adapters.spelling import listing
from veriformer.conformance_tests.core.expected import Expected
from veriformer.conformance_tests.core.inputs import Inputs
from veriformer.conformance_tests.core.selection import UnknownName, unknown
from veriformer.conformance_tests.core.subject import standard_conventions
from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import How, Space
from veriformer.conformance_tests.operations.attention.case import MASK_KINDS, AttentionSpace
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.inputs import draw_inputs
from veriformer.spec.conventions import CONVENTIONS
from veriformer.spec.operations import OPERATIONS

__all__ = ["Arguments", "attention_inputs", "inputs"]

_ATTENTION = ("scaled_dot_product_attention", "grouped_query_attention", "attention_weights")


class Arguments(dict[str, Any]):
    """The arguments of one call by the interface's names, to be passed as `f(**arguments)`.

    An optional argument that is not given is not there. `description` has the sizes and settings in one line.
    """

    def __init__(self, arguments: Mapping[str, Any], inputs: Inputs, description: str) -> None:
        super().__init__(arguments)
        self.description = description
        self._inputs = inputs

    def expected(self, **conventions: str) -> Expected:
        """Return the exact result (`value`), the error that rounding explains (`allowed`), and what is `judged`.

        Each is an array of the result's shape; of several results, and of the arrays of a record, one after the other
        in one axis. Of dropout it is the result with the reference's own mask. Conventions that are not given have
        their standard values. UnknownName for a convention that does not exist, ValueError for a value that it does not
        have.
        """
        for name, value in conventions.items():
            if name not in CONVENTIONS:
                raise UnknownName(unknown("convention", name, CONVENTIONS, "veriformer list conventions"))
            if value not in (values := CONVENTIONS[name].value_names):
                raise ValueError(f"the convention {name} has no value {value!r}; its values are {listing(values)}")
        return self._inputs.expected({**standard_conventions(), **conventions})

    def __repr__(self) -> str:
        return f"<{self.description}> {super().__repr__()}"


def inputs(
    operation: str,
    *,
    dtypes: Sequence[str] = ("float32",),
    features: Sequence[str] | None = None,
    space: Space | None = None,
    framework: str = "numpy",
) -> st.SearchStrategy[Arguments]:
    """Return the strategy that draws arguments of an operation, of the shapes in its record.

    `features` are the optional keywords that may be drawn, by default all; `space` is that of the cases, by default the
    operation's ordinary ones. Floats are of one of the `dtypes`, and arrays of the `framework`.
    UnknownName for an operation that does not exist; ValueError for an operation that cannot be called by its arguments
    alone (`decode_step`, `model`), and for a feature or a dtype that does not exist.
    """
    if operation not in OPERATIONS:
        raise UnknownName(unknown("operation", operation, OPERATIONS, "veriformer list operations"))
    record, arrays = OPERATIONS[operation], framework_called(framework)
    if record.is_black_box or any(parameter.kind == "cache" for parameter in record.parameters):
        raise ValueError(f"{operation} has no arguments of its own: they depend on a model, or on the call before")
    offered = record.features if features is None else tuple(features)
    if missing := [name for name in offered if name not in record.features]:
        raise ValueError(f"{operation} has no feature {missing[0]!r}; it has {', '.join(record.features) or 'none'}")
    if lacking := [dtype for dtype in dtypes if dtype not in arrays.dtypes]:
        raise ValueError(arrays.missing_dtype(lacking[0]))

    def drawn(case: Case) -> Arguments:
        found = draw_inputs(operation, case)
        convert = partial(arrays.from_numpy, dtype=case.dtype)
        made = {name: handed_over(record, name, value, convert) for name, value in found.arguments().items()}
        return Arguments(made, found, f"{operation}: {case.describe()}")

    chosen, architectures = space or own_space(operation), ARCHITECTURES.get(operation, ())
    # Hypothesis shrinks towards the first: the cases that a report shows.
    limits = (
        Limits(operation, tuple(dtypes), frozenset(offered), architectures, small=small) for small in (True, False)
    )
    return st.one_of(*(cases(chosen, one).strategy for one in limits)).map(drawn)


def attention_inputs(
    operation: str = "scaled_dot_product_attention",
    *,
    mask: How = "sometimes",
    is_causal: How = "sometimes",
    bias: How = "never",
    scale: How = "never",
    window: How = "never",
    softcap: How = "never",
    sinks: How = "never",
    empty_rows: bool = False,
    dtypes: Sequence[str] = ("float32",),
    framework: str = "numpy",
) -> st.SearchStrategy[Arguments]:
    """Return the strategy that draws arguments of attention.

    query (B, H, L, D), key (B, H, S, D), value (B, H, S, Dv), with G heads of keys and values for
    `grouped_query_attention` and no value for `attention_weights`; mask (L, S) or rank 4, True = may attend; bias
    (B, H, L, S); sinks (H,). Each optional argument is drawn "never", "sometimes" or "always". A mask leaves every
    query a key, unless there are `empty_rows`; together with the causal flag it may hide all keys of a query.
    ValueError for an operation that is not one of these.
    """
    if operation not in _ATTENTION:
        raise ValueError(f"{operation!r} is not one of {', '.join(_ATTENTION)}; use inputs({operation!r})")
    chosen = AttentionSpace(
        mask=mask,
        mask_kinds=(*MASK_KINDS, "empty_rows") if empty_rows else MASK_KINDS,
        causal=is_causal,
        bias=bias,
        scale=scale,
        window=window,
        softcap=softcap,
        sinks=sinks,
    )
    return inputs(operation, dtypes=dtypes, space=chosen, framework=framework)
