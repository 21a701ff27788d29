"""Twelve well-known mistakes, each on arguments that show it: what is right beside what comes out.

Both are computed by the family of the operation, as the diagnosis does, and drawn as the reports draw them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.conformance_tests.operations.suites import family_of
from veriformer.conformance_tests.variants import Family
from veriformer.pictures.from_arrays import compared, masks, weights
from veriformer.pictures.model import Chart, Line, Picture, Row
from veriformer.reference.weights import MultiHeadWeights

Array = np.ndarray[Any, np.dtype[Any]]

_RIGHT, _WRONG = "right", "wrong"
_WIDE = 64
_TOKENS = 6
_POINTS = 81
_ROUNDED = 1e-12


@dataclass(frozen=True)
class Exhibit:
    """A mistake: its heading, the operation, the option of its family that makes it, arguments, and a picture.

    `shown` is what one sees in the picture, as Markdown.
    """

    slug: str
    title: str
    operation: str
    change: tuple[str, str]
    arguments: Callable[[], Mapping[str, Any]]
    draw: Callable[[Exhibit], Picture]
    shown: str

    def results(self, **changed: Any) -> tuple[Array, Array]:
        """Return the right result and the wrong one; `changed` are arguments that differ from the exhibit's."""
        arguments = {**self.arguments(), **changed}
        point = self.family.standard
        with np.errstate(all="ignore"):
            return (
                np.asarray(point.compute(arguments), dtype=float),
                np.asarray(point.changed(self.change).compute(arguments), dtype=float),
            )

    @property
    def family(self) -> Family:
        """The family of its operation; LookupError where it has none."""
        family = family_of(self.operation)
        if family is None:
            raise LookupError(f"{self.operation} has no family of decisions")
        return family


def _shares(one: Exhibit) -> Picture:
    right, wrong = one.results()
    return Row("Weights", (weights(_RIGHT, right), weights(_WRONG, wrong)))


def _sight(one: Exhibit) -> Picture:
    right, wrong = one.results()
    return masks("Which keys each query sees", right[0, 0] > 0, wrong[0, 0] > 0)


def _numbers(title: str, rows: str, columns: str) -> Callable[[Exhibit], Picture]:
    def draw(one: Exhibit) -> Picture:
        right, wrong = (result.reshape(-1, result.shape[-1]) for result in one.results())
        # What processors round in other ways is no difference.
        wrong = np.where(np.isclose(wrong, right, rtol=_ROUNDED, atol=_ROUNDED), right, wrong)
        return compared(title, right, wrong, axes=(rows, columns))

    return draw


def _of_heads(one: Exhibit) -> Picture:
    right, wrong = (result.reshape(1, -1) for result in one.results())
    return compared("The value that each query head returns", right, wrong, axes=("sample", "query head"))


def _error_along_x(one: Exhibit) -> Picture:
    right, wrong = one.results()
    places = np.asarray(one.arguments()["x"]).ravel()
    points = tuple((float(x), float(error)) for x, error in zip(places, (wrong - right).ravel(), strict=True))
    return Chart("The form by tanh less the exact one", (Line("difference", points),), "x", "difference")


def _size_by_scale(one: Exhibit) -> Picture:
    """Return the size of the result against that of the input, whose rows differ in nothing else."""
    x = np.asarray(one.arguments()["x"])
    sizes = np.sqrt(np.mean(x**2, axis=-1)).ravel()
    lines = tuple(
        Line(name, tuple(zip(sizes.tolist(), np.sqrt(np.mean(result**2, axis=-1)).ravel().tolist(), strict=True)))
        for name, result in zip((_RIGHT, _WRONG), one.results(), strict=True)
    )
    return Chart("The size of the result", lines, "root mean square of x", "root mean square of the result", "x")


def _pair(width: int, length: int = 4) -> Mapping[str, Any]:
    generator = np.random.default_rng(0)
    return {name: generator.standard_normal((1, 1, length, width)) for name in ("query", "key")}


def _equal_logits() -> dict[str, Any]:
    return {name: np.zeros((1, 1, _TOKENS, 1)) for name in ("query", "key")}


def _padded() -> Mapping[str, Any]:
    return {**_equal_logits(), "mask": np.broadcast_to(np.arange(_TOKENS) < 4, (1, 1, _TOKENS, _TOKENS))}


def _turned_by_position() -> Mapping[str, Any]:
    x = np.zeros((1, 1, 4, 4))
    x[..., 0] = 1
    return {"x": x, "positions": np.arange(4)}


def _each_its_own_token() -> Mapping[str, Any]:
    """Return a call whose result is its input: each token sees itself alone, and every projection is the identity."""
    length, width = 3, 4
    numbered = np.add.outer(np.arange(length), np.arange(width) / 10)[None] + 1
    weights_of_heads = MultiHeadWeights(*[np.eye(width)] * 4)
    mask = np.eye(length, dtype=bool)[None, None]
    return {"x": numbered, "context": numbered, "weights": weights_of_heads, "num_heads": 2, "mask": mask}


def _key_and_value_of_its_own() -> Mapping[str, Any]:
    generator = np.random.default_rng(0)
    query, key = generator.standard_normal((2, 1, 1, 3, 3)).round(1)
    return {"query": query, "key": key, "value": np.eye(3)[None, None]}


def _large_logits() -> Mapping[str, Any]:
    return {"x": np.array([[0.0, 1.0, 2.0], [700.0, 701.0, 702.0], [1000.0, 1001.0, 1002.0]])[None]}


def _rows_to_normalise() -> Mapping[str, Any]:
    x = np.array([[1.0, 2.0, 3.0, 4.0], [-2.0, 0.0, 0.0, 2.0]])[None]
    return {"x": x, "gamma": np.ones(4), "beta": np.zeros(4), "eps": 1e-5}


def _from_faint_to_loud() -> Mapping[str, Any]:
    scales = np.logspace(-5, 1, _POINTS)[None, :, None]
    return {"x": scales * np.array([1.0, -1.0, 1.0, -1.0]), "gamma": np.ones(4), "beta": np.zeros(4), "eps": 1e-5}


def _four_heads_of_two_groups() -> Mapping[str, Any]:
    value = np.array([0.0, 1.0]).reshape(1, 2, 1, 1)
    return {"query": np.ones((1, 4, 1, 1)), "key": np.ones((1, 2, 1, 1)), "value": value}


EXHIBITS = (
    Exhibit(
        "scale_missing",
        "No division by √d",
        "attention_weights",
        ("scale", "missing"),
        lambda: _pair(_WIDE),
        _shares,
        f"Queries and keys of width {_WIDE} whose entries are standard normal. Undivided, their products are so "
        "far apart that one key takes nearly everything, and the gradient of the others vanishes.",
    ),
    Exhibit(
        "softmax_wrong_axis",
        "Softmax over the wrong axis",
        "attention_weights",
        ("softmax", "over_queries"),
        lambda: _pair(4),
        _shares,
        "Each row should sum to 1: how a query shares its attention out. Here each column does, so that a query "
        "may get more than a whole, or next to nothing.",
    ),
    Exhibit(
        "causal_diagonal_off_by_one",
        "A causal mask that is off by one",
        "attention_weights",
        ("causal_diagonal", "causal_diagonal_off_by_one"),
        lambda: {**_equal_logits(), "is_causal": True},
        _sight,
        "Every query sees one key too many: the next token, which it is to predict. The loss of training falls as "
        "never before, and what is generated is noise.",
    ),
    Exhibit(
        "mask_polarity_inverted",
        "A mask read the other way round",
        "attention_weights",
        ("mask_use", "mask_polarity_inverted"),
        _padded,
        _sight,
        "The last two tokens are padding. The queries see these, and nothing else.",
    ),
    Exhibit(
        "rope_interleaved_vs_half",
        "Rotary pairs: neighbours or halves",
        "rotary_embedding",
        ("rotary_pairing", "half"),
        _turned_by_position,
        _numbers("The vector (1, 0, 0, 0), turned at four positions", "position", "component"),
        "The first component is turned together with the second, or with the one half a width further. Both are "
        "in use; weights that were trained with the one are useless with the other.",
    ),
    Exhibit(
        "heads_merge_without_transpose",
        "Heads merged without a transpose",
        "multi_head_attention",
        ("merge", "heads_merge_without_transpose"),
        _each_its_own_token,
        _numbers("Tokens that see themselves alone, all projections the identity", "token", "component"),
        "The result should be the input, whose numbers are token.component. The shape is right, yet the tokens "
        "are mixed: the first row holds the first head of two tokens.",
    ),
    Exhibit(
        "keys_and_values_swapped",
        "Keys and values exchanged",
        "scaled_dot_product_attention",
        ("operands", "keys_and_values_swapped"),
        _key_and_value_of_its_own,
        _numbers("The output, where the values are the unit vectors", "query", "component"),
        "With unit vectors for values the output should be the weights: none below 0, and 1 in sum. Keys are "
        "averaged instead.",
    ),
    Exhibit(
        "softmax_no_max_subtraction",
        "Softmax without subtracting the maximum",
        "softmax",
        ("numbers", "not_shifted"),
        _large_logits,
        _numbers("The weights of three logits that differ by 1, in float64", "row", "key"),
        "The rows differ by a constant, which changes no weight. Without the shift the exponential of 1,000 is "
        "infinite, and infinity over infinity is no number. In float32 this begins at 88, in float16 at 11.",
    ),
    Exhibit(
        "unbiased_variance",
        "A variance divided by n − 1",
        "layer_norm",
        ("variance", "unbiased_variance"),
        _rows_to_normalise,
        _numbers("Two rows of four, normalised", "row", "component"),
        "`torch.var` and `numpy.var(ddof=1)` divide by n − 1. All is too small by the factor √((n − 1)/n): 13 % "
        "at width 4, and 0.07 % at width 768, where no glance at a loss finds it.",
    ),
    Exhibit(
        "gelu_tanh_vs_erf",
        "GELU by tanh where the exact form is meant",
        "gelu",
        ("form", "tanh"),
        lambda: {"x": np.linspace(-5, 5, _POINTS)[None]},
        _error_along_x,
        "The two are never further apart than 0.0005: a test with a tolerance of 0.001 passes, and a port drifts "
        "layer by layer.",
    ),
    Exhibit(
        "layernorm_eps_outside_sqrt",
        "ε outside of the root",
        "layer_norm",
        ("eps_placement", "outside_root"),
        _from_faint_to_loud,
        _size_by_scale,
        "Inside the root, ε = 0.00001 damps inputs that are smaller than √ε = 0.003. Outside it damps only those "
        "below 0.00001, so that faint rows come out a hundred times as large.",
    ),
    Exhibit(
        "gqa_head_index_wrong",
        "Key heads tiled instead of repeated",
        "grouped_query_attention",
        ("grouping", "tile"),
        _four_heads_of_two_groups,
        _of_heads,
        "Four query heads, two key/value heads with the values 0 and 1. Heads 0 and 1 should read the first, "
        "heads 2 and 3 the second; tiled, they take turns.",
    ),
)
