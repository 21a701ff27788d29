"""What sort of operation an equation of JAX is, and what else a reader needs of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import jax.numpy as jnp
from veriformer.adapters.capture.recorder import NOTHING
from veriformer.adapters.capture.trace import Kind

# Their results are their operands: they concern differentiation, placement and compilation only.
IDENTITIES = frozenset(
    {"stop_gradient", "name", "optimization_barrier", "sharding_constraint", "pvary", "pcast", "device_put"}
)
# They run a function on their own, whose inside is no part of the program that JAX shows.
OPAQUE = frozenset(
    {"pallas_call", "shard_map", "ffi_call", "pure_callback", "io_callback", "custom_partitioning", "xla_pmap"}
)

_CONTRACTIONS = frozenset({"dot_general", "conv_general_dilated", "ragged_dot", "ragged_dot_general"})
_ADDITIONS = frozenset({"add", "add_any"})
_REARRANGEMENTS = frozenset(
    {
        *("reshape", "transpose", "broadcast_in_dim", "squeeze", "expand_dims", "slice", "dynamic_slice", "split"),
        *("concatenate", "copy", "copy_p", "rev", "pad", "tile", "dynamic_update_slice", "scatter", "real", "imag"),
        *("complex",),
    }
)
_SAME_KIND = (jnp.floating, jnp.integer, jnp.complexfloating)


def kind_of(equation: Any) -> Kind:
    """Return the kind of an equation, by its primitive and the way it is applied."""
    name = equation.primitive.name
    if name in _CONTRACTIONS:
        return Kind.CONTRACTION
    if name in _ADDITIONS:
        return Kind.ADDITION
    if name == "gather":
        return Kind.LOOKUP if _takes_rows(equation) else Kind.REARRANGEMENT
    if name == "convert_element_type":
        return Kind.REARRANGEMENT if _keeps_kind(equation) else Kind.OTHER
    return Kind.REARRANGEMENT if name in _REARRANGEMENTS else Kind.OTHER


def computes(equation: Any) -> bool:
    """Return whether an equation rounds: it does more than move or choose values."""
    return equation.primitive.name != "select_n" and kind_of(equation) in (Kind.CONTRACTION, Kind.ADDITION, Kind.OTHER)


def attributes_of(equation: Any) -> Mapping[str, Any]:
    """Return the axes of a product as `trace.Step` describes them; nothing of another equation."""
    if equation.primitive.name != "dot_general":
        return NOTHING
    contracted, parallel = equation.params["dimension_numbers"]
    return MappingProxyType(
        {
            "factors": (0, 1),
            "contracted": tuple(tuple(int(axis) for axis in axes) for axes in contracted),
            "parallel": tuple(tuple(int(axis) for axis in axes) for axes in parallel),
        }
    )


def _takes_rows(equation: Any) -> bool:
    """Return whether a gather takes whole rows of a table, one for each entry of an array of indices.

    Under `vmap`, an index has a place for each axis of the table, and only the first of them is not zero.
    """
    table, indices = (variable.aval for variable in equation.invars[:2])
    axes, sizes = equation.params["dimension_numbers"], tuple(equation.params["slice_sizes"])
    return bool(
        len(table.shape) >= 2
        and len(indices.shape) >= 2
        and 0 in axes.start_index_map
        and not axes.operand_batching_dims
        and sizes == (1, *table.shape[1:])
    )


def _keeps_kind(equation: Any) -> bool:
    old, new = equation.invars[0].aval.dtype, equation.params["new_dtype"]
    return any(jnp.issubdtype(old, kind) and jnp.issubdtype(new, kind) for kind in _SAME_KIND)
