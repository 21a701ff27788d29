"""The parts of whole Transformers and their decisions: positions, stacks, logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.layers.variants.placement import (
    Sublayer,
    Transformation,
    through_sublayers,
)
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import NotDefined, Point

Between = Callable[[Array, Array, Array], tuple[Array, Array, Array, Array | None]]


@dataclass(frozen=True)
class ModelAt:
    """The parts of a whole Transformer with a configuration, at a point."""

    config: Any
    point: Point

    def embed(
        self,
        tokens: Array,
        table: Array,
        positions: Array | None,
        norm: Any,
        *,
        start: int = 0,
        places: Array | None = None,
    ) -> Array:
        """Return the vectors of tokens at the positions start, start + 1, …, or at places, normed where it is done."""
        scaled = self.config.scale_embedding
        x = self.point.part("embedding").result({"tokens": tokens, "table": table, "scale_by_sqrt_d_model": scaled})
        rows = self.position_rows(positions, start + tokens.shape[1])
        if rows is None:
            return self.normalise(x, self._embedding_norm(norm))
        if places is not None:
            return self.normalise(self._at_places(x, rows, places), self._embedding_norm(norm))
        first = self.point["position_start"](start)
        if first + tokens.shape[1] > len(rows):
            raise NotDefined("the table has no row for the last position")
        x = self.point["positions_added"](x, rows, first)
        return self.normalise(x, self._embedding_norm(norm))

    def _at_places(self, x: Array, rows: Array, places: Array) -> Array:
        """Return vectors with the rows of their places added, as if a table had them in this order."""
        if places.max(initial=-1) >= len(rows):
            raise NotDefined("the table has no row for the last position")
        added = self.point["positions_added"]
        if places.ndim == 1:
            return np.asarray(added(x, rows[places], 0))
        each = [added(x[at : at + 1], rows[own], 0) for at, own in enumerate(places)]
        return np.concatenate(each, axis=0)

    def _embedding_norm(self, norm: Any) -> Any:
        return self.point["embedding_norm"](norm) if self.config.embedding_norm else norm

    def position_rows(self, positions: Array | None, end: int) -> Array | None:
        """Return the vectors of the positions, at least `end`; None where rotary ones need none."""
        if self.config.positions == "sinusoidal":
            # As many more as a wrong start may ask for.
            length = max(self.config.max_length, end)
            return self.point.part("sinusoids").result({"length": length, "d_model": self.config.d_model})
        return np.asarray(positions) if self.config.positions == "learned" else None

    def normalise(self, x: Array, norm: Any) -> Array:
        """Return the architecture's norm of x, or x if it has none in this place."""
        if norm is None:
            return x
        arguments = {"x": x, "gamma": norm.gamma, "eps": self.config.eps}
        if self.config.norm == "rms_norm":
            return self.point.part("rms_norm").result(arguments)
        return self.point.part("norms").result({**arguments, "beta": norm.beta})

    def attend(
        self, x: Array, context: Array, weights: Any, mask: Array | None = None, between: Between | None = None
    ) -> Array:
        """Return the result of attention on x; `between` may change the heads and the mask before they meet."""
        arguments = {"x": x, "context": context, "weights": weights, "mask": mask, "between": between}
        counts = {"num_heads": self.config.num_heads, "num_kv_heads": self.config.num_kv_heads}
        return self.point.part("attention").result({**arguments, **counts})

    def transform(self, x: Array, weights: Any) -> Array:
        """Return the network's result for each position."""
        role = "gated_feed_forward" if self.config.gated else "feed_forward"
        return self.point.part(role).result({"x": x, "weights": weights, "activation": self.config.activation})

    def layer(self, x: Array, norms: Sequence[Any], functions: Sequence[tuple[str, Transformation]]) -> Array:
        """Return the stream after a layer with these norms and sublayers."""
        sublayers = [
            Sublayer(name, self._norm(norm), function)
            for (name, function), norm in zip(functions, self.point["norm_weights"](list(norms)), strict=True)
        ]
        return through_sublayers(x, sublayers, self.config.norm_first, self.point)

    def _norm(self, norm: Any) -> Transformation:
        return lambda y: self.normalise(y, norm)

    def unembed(self, x: Array, table: Array, unembedding: Array | None) -> Array:
        """Return the logits of vectors."""
        matrix = self.point["unembedding"](table, unembedding, self.config.tied_embedding)
        return np.asarray(x @ matrix)


def _last_row(x: Array, rows: Array, start: int) -> Array:
    return np.asarray(x + rows[start + x.shape[1] - 1])


def _row_behind(x: Array, rows: Array, start: int) -> Array:
    end = start + x.shape[1]
    if end >= len(rows):
        raise NotDefined("the table has no row behind the last position")
    return np.asarray(x + rows[end])


def _rows(x: Array, rows: Array, start: int) -> Array:
    return rows[start : start + x.shape[1]]


def _by_batch(x: Array, rows: Array, start: int) -> Array:
    if len(x) > len(rows):
        raise NotDefined("the table has fewer rows than the batch samples")
    return np.asarray(x + rows[: len(x), None])


POSITIONS_ADDED = Decision(
    "positions_added",
    "What is added to the vectors of the tokens?",
    (
        standard("row_of_each_position", lambda x, rows, start: x + _rows(x, rows, start)),
        mistake("pe_indexed_by_batch", _by_batch),
        mistake("pe_input_added_twice", lambda x, rows, start: x + (x + _rows(x, rows, start))),
        mistake("pe_single_row_not_slice", _last_row),
        mistake("pe_single_row_not_slice", _row_behind, name="row_behind_the_last_position"),
        mistake(
            "",
            lambda x, rows, start: x,
            name="positions_missing",
            meaning="nothing is added to the vectors of the tokens",
        ),
        mistake(
            "",
            lambda x, rows, start: x + 2 * _rows(x, rows, start),
            name="positions_added_twice",
            meaning="the vectors of the positions are added twice",
        ),
        mistake(
            "",
            lambda x, rows, start: np.broadcast_to(_rows(x, rows, start), x.shape),
            name="positions_replace_tokens",
            meaning="the vectors of the positions stand in the place of those of the tokens",
        ),
    ),
)
POSITION_START = Decision(
    "position_start",
    "Which row of the table does the first token of a call get?",
    (
        standard("as_many_as_went_before", lambda start: start),
        mistake("learned_position_offset_wrong", lambda start: start + 1, name="positions_from_one"),
        mistake("learned_position_offset_wrong", lambda start: start + 2, name="positions_from_two"),
    ),
)
POSITION_START_IN_CHAIN = Decision(
    "position_start",
    POSITION_START.question,
    (
        *POSITION_START.options,
        mistake("learned_position_offset_wrong", lambda start: 0),
        mistake("learned_position_offset_wrong", lambda start: max(start - 1, 0), name="positions_one_behind"),
    ),
)
EMBEDDING_NORM = Decision(
    "embedding_norm",
    "Is the sum of tokens and positions normed where the architecture does so?",
    (
        standard("yes", lambda norm: norm),
        mistake(
            "",
            lambda norm: None,
            name="embedding_norm_missing",
            meaning="the sum of tokens and positions is not normed, although the architecture does so",
        ),
    ),
)
FINAL_NORM = Decision(
    "final_norm",
    "Is what the last layer returns normed?",
    (
        standard("where_asked", lambda norm: norm),
        mistake("missing_final_norm_prenorm", lambda norm: None),
    ),
)
LAYERS = Decision(
    "layers",
    "Which layers does the stack have?",
    (
        standard("each_its_own", lambda layers: layers),
        mistake("layers_share_parameters", lambda layers: [layers[0]] * len(layers)),
        mistake("layer_closure_late_binding", lambda layers: [layers[-1]] * len(layers)),
        mistake(
            "", lambda layers: layers[::-1], name="layers_reversed", meaning="the layers run from the last to the first"
        ),
        mistake("", lambda layers: layers[:-1], name="last_layer_missing", meaning="the last layer does not run"),
    ),
)
POSITIONS_IN_BLOCKS = Decision(
    "positions_in_blocks",
    "Are positions added before the first layer only?",
    (
        standard("yes", lambda number: False),
        mistake("pe_added_every_block", lambda number: True),
        mistake("pe_added_every_block", lambda number: number > 0, name="positions_before_later_blocks"),
    ),
)


def _logits_matrix(table: Array, unembedding: Array | None, tied: bool) -> Array:
    matrix = table.T if tied else unembedding
    assert matrix is not None
    return matrix


UNEMBEDDING = Decision(
    "unembedding",
    "What are the logits the products with?",
    (
        standard("own_matrix_or_tied_table", _logits_matrix),
        mistake("lm_head_tying_wrong", lambda table, unembedding, tied: table.T),
    ),
)
SCALED_TIED_LOGITS = Decision(
    "unembedding",
    UNEMBEDDING.question,
    (
        standard("own_matrix_or_tied_table", _logits_matrix),
        mistake(
            "",
            lambda table, unembedding, tied: _logits_matrix(table, unembedding, tied) * np.sqrt(table.shape[1]),
            name="logits_scaled",
            meaning="the logits are multiplied by √d_model, as the embedding is",
        ),
        mistake(
            "",
            lambda table, unembedding, tied: _logits_matrix(table, unembedding, tied) / np.sqrt(table.shape[1]),
            name="logits_divided",
            meaning="the logits are divided by √d_model",
        ),
    ),
)
