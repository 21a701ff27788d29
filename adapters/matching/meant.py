"""What a function is meant for, as its text and its parameters tell: in which layouts it is not called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from veriformer.adapters.matching.axes import OfFirstAxis
from veriformer.adapters.matching.layouts import ATTENTION, Layout, joins_axes, joins_heads
from veriformer.adapters.matching.named_axes import computes_along_first_axis, says_columns, says_one_vector
from veriformer.adapters.matching.sources import Taken, needs_heads
from veriformer.adapters.matching.sublayers import ACTIVATIONS, sublayer_of
from veriformer.adapters.matching.texts import (
    is_of_more_than_matrices,
    keeps_axes,
    names_an_axis,
    says_causal,
    says_four_axes,
    says_three_axes,
)

NORMS = ("layer_norm", "rms_norm")


@dataclass(frozen=True)
class Meant:
    """What a function is meant for.

    `causal`: it is judged as causal. `least_rank`: the fewest axes of its arrays. `of_whole_arrays`: an attention whose
    text has more axes than those of a matrix. `of_joined_heads`: an attention that needs the number of heads, which
    share an axis with something else. `of_columns`: a softmax that is said to be along the first axis.
    """

    causal: bool
    least_rank: int
    of_whole_arrays: bool
    of_joined_heads: bool
    of_columns: bool

    @classmethod
    def by(cls, function: Callable[..., Any], operation: str, found: Taken) -> Meant:
        """Return what a function is meant for, taken as an operation with parameters as they were `found`."""
        own = sublayer_of(function)
        # A window without the causal mask is another function: what its documentation says decides.
        by_window = "window" in found.features and says_causal(function)
        attends = operation in ATTENTION
        return cls(
            by_window or (own is not None and own.is_causal),
            _least_rank(operation, function),
            attends and is_of_more_than_matrices(function),
            attends and needs_heads(found),
            operation == "softmax" and computes_along_first_axis(function) and says_columns(function),
        )

    def excludes(self, layout: Layout, answered: Layout | None) -> bool:
        """Return whether a layout is not tried, where another one was `answered` with other results or none was."""
        if layout.rank < self.least_rank or (isinstance(layout, OfFirstAxis) and not self.of_columns):
            return True
        if answered is None:
            return False
        if self.of_joined_heads and not joins_axes(layout):
            # Elsewhere it is handed one head only, of which everything may be right.
            return True
        # What answers for more axes at once is not given fewer; heads side by side get an axis of their own inside.
        return layout.rank < answered.rank and self.of_whole_arrays and not joins_heads(layout)


def _least_rank(operation: str, function: Callable[..., Any]) -> int:
    """Return the number of axes that a function of vectors is meant for at least, as far as its text tells.

    What is said to take samples of positions is not right where it is right for rows alone, and a sum along an axis
    that is named or kept is meant for arrays with other axes. So is one along axis 0, unless one vector is spoken of.
    """
    if operation in (*NORMS, *ACTIVATIONS) and says_three_axes(function):
        return 3
    if operation in ATTENTION and says_four_axes(function):
        return 4
    of_axes = keeps_axes(function) or (operation in NORMS and names_an_axis(function))
    of_vectors = operation in (*NORMS, "softmax")
    return 2 if of_vectors and (of_axes or is_along_first_of_several(function)) else 0


def is_along_first_of_several(function: Callable[..., Any]) -> bool:
    """Return whether a function computes along axis 0 by its number, and nothing says that it takes one vector."""
    return computes_along_first_axis(function) and not says_one_vector(function)
