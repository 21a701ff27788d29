"""The shared parts of the rarities of several topics: laws, kinds of values, shapes and widths of vectors."""

from __future__ import annotations

from veriformer.conformance_tests.drawing.rarity import Rarity, of_sizes, of_values

VALUE = ("value",)
RANKS = "rank_1 rank_2 rank_4 rank_5"
SMALL_VALUES = "minus_zero subnormal zero negative positive small constant"
ANY_VALUES = f"{SMALL_VALUES} large"
BIASES = "some_negative negative zero some_zero fraction half whole positive hundred"
OF_VECTORS = f"{SMALL_VALUES} whole fraction"


def shapes(laws: tuple[str, ...], *paths: str) -> tuple[Rarity, ...]:
    """Return vectors in arrays of each rank, the same for all paths, and many rows or samples."""
    ranks = RANKS.split()
    return (
        *(Rarity(laws, {"batch": 2, "rows": 3, "width": 5}, tuple((path, rank) for path in paths)) for rank in ranks),
        *of_sizes(laws, "rows", (1030,), batch=1, width=3),
        *of_sizes(laws, "batch", (17, 130), rows=1, width=3),
    )


SHAPES = shapes(VALUE, "x")


def widths(*, most: int, laws: tuple[str, ...] = VALUE) -> tuple[Rarity, ...]:
    """Return vectors of the widths that real models have, and one of the largest."""
    common = (32, 40, 80, 96, 128, 129, 256, 513, 768, 1025)
    wide = of_sizes(laws, "width", common, batch=1, rows=2)
    # The bound of a layer norm takes a tenth of a second there.
    return (*wide, *of_sizes(laws, "width", (most,), reach=0 if most > 5000 else 1, batch=1, rows=1))


def gradients_of_vectors(laws: tuple[str, ...], x: str, *, most: int) -> tuple[Rarity, ...]:
    """Return the rarities of a backward pass through vectors `x`: kinds of values of both arguments, and shapes."""
    return (
        *of_values(laws, "x", x, batch=3, rows=2, width=5),
        *of_values(laws, "grad_output", f"{ANY_VALUES} whole", batch=3, rows=2, width=5),
        *widths(most=most, laws=laws),
        *shapes(laws, "x", "grad_output"),
    )
