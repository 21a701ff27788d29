"""What one forward pass of a model did: its arrays and the steps that made them, in order, without the framework."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

Origin = Literal["parameter", "buffer", "input", "constant", "step"]


class Kind(StrEnum):
    """What sort of operation a step is, as far as one needs to know in order to read the trace.

    Only what the operation is in the framework decides its kind, never the values that it happened to compute.
    """

    CONTRACTION = "contraction"
    """Sums of products over a shared axis: matmul, linear, addmm, einsum, dot_general, Gemm, a convolution."""
    LOOKUP = "lookup"
    """Rows of a table, by integer index: embedding, take, gather along the first axis."""
    ATTENTION = "attention"
    """Softmax attention in one operation; the first three operands are query, key and value."""
    ADDITION = "addition"
    """Elementwise a + b, with or without broadcasting."""
    REARRANGEMENT = "rearrangement"
    """Values are moved, none is computed: reshape, transpose, slice, concatenate, copy, cast, repeat."""
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class Value:
    """An array that the model used or made.

    `array` is float64 for floating-point values, whatever precision the model computed in, else int64 or bool. `name`
    is the path of a parameter or buffer in the model, or the name of an input; empty for what a step made.
    `aliases` are the further paths of a parameter that the model shares.
    """

    array: np.ndarray[Any, np.dtype[Any]]
    origin: Origin
    name: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """One operation of the framework: what went in and what came out, as indices into the trace's values.

    `module` is the path of the innermost module that was running ("" outside of all, or where the framework has no
    modules). `file` and `line` are the user's code, not the framework's; "" and 0 where the framework does not tell.
    `attributes` holds what a reader needs of the operation's other arguments: `is_causal` and `scale` of a fused
    attention; `padding_row` of a lookup, the row that is declared to stand for padding; of a contraction of two
    operands `factors`, their places among the operands, `contracted`, the axes of each that are summed over, and
    `parallel`, the axes of each that go through the operation side by side. Its result has the parallel axes first,
    then those of the first factor, then those of the second, as XLA's dot_general.
    """

    operation: str
    kind: Kind
    operands: tuple[int, ...]
    results: tuple[int, ...]
    module: str = ""
    file: str = ""
    line: int = 0
    attributes: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Trace:
    """A forward pass: values, steps in the order of execution, and which values the model took and returned.

    `dtype` is the precision that the model computed in. `modules` gives the class of each module by its path. `opaque`
    lists the paths of modules whose inside could not be seen (compiled or scripted), each with the reason. `notes` are
    sentences that the user should know: what was taken in place of what was handed over, which inputs were guessed.
    `left_out` names the arguments that nobody handed over, and for which None was taken. `configuration` is what the
    model says of itself, such as "config.rope_theta".
    """

    framework: str
    dtype: str
    values: tuple[Value, ...]
    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    modules: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    opaque: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    configuration: Mapping[str, bool | int | float | str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def parameters(self) -> Mapping[str, int]:
        """The index of each parameter's value, by its path."""
        return {value.name: index for index, value in enumerate(self.values) if value.origin == "parameter"}
