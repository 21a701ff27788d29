"""The parts of whole Transformers backwards and their decisions: tables, logits, the last norm, the stack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.layers_backward.variants import (
    EPS_PLACEMENTS,
    GELU_FORMS,
    Part,
    Place,
    shapes_of,
    split,
    value_of,
)
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Point
from veriformer.reference.blocks import Model
from veriformer.spec.conventions import CONVENTIONS

PAIRINGS = CONVENTIONS["rotary_pairing"].value_names
GAINS = CONVENTIONS["rms_norm_gain"].value_names
LAYOUTS = CONVENTIONS["sinusoidal_layout"].value_names
_FORGOTTEN = "norm_backward_projections_forgotten"


@dataclass(frozen=True)
class ModelBackwardAt:
    """The parts of a whole Transformer with a configuration, forwards and back, at a point.

    Forwards they are the reference's, under the conventions of the point.
    """

    config: Any
    point: Point

    @cached_property
    def model(self) -> Model:
        """The forward pass."""
        point, roles = self.point, self.point.family.parts
        settled: dict[str, Any] = {"layer_norm_eps": value_of(point.part("norms"), "eps_placement", EPS_PLACEMENTS)}
        settled["gelu_form"] = value_of(point.part("feed_forward").part("gelu"), "form", GELU_FORMS)
        if "rotary" in roles:
            settled["rotary_pairing"] = value_of(point.part("rotary"), "rotary_pairing", PAIRINGS)
        if "rms_norm" in roles:
            settled["rms_norm_gain"] = value_of(point.part("rms_norm"), "gain", GAINS)
        if "sinusoidal_layout" in point.family.all_decisions:
            settled["sinusoidal_layout"] = point["sinusoidal_layout"]()
        return Model(self.config, reference.ModelConventions(**settled))

    def norm(self, weights: Any, sublayer: str = "", *, is_last: bool = False) -> Part:
        """Return the architecture's norm, that of a sublayer, or the last one of a stack; the identity for none."""
        if weights is None:
            return Part(lambda y: np.asarray(y, dtype=np.float64), lambda y, gradient: (gradient, []))
        role, forgotten = ("rms_norm", "along_term") if self.config.norm == "rms_norm" else ("norms", "projections")
        of_role, place = self.point.part(role), Place(self.config.norm_first, sublayer)

        def at(point: Point, x: Array, gradient: Array) -> list[Array]:
            given = {"x": x, **vars(weights), "grad_output": gradient, "eps": self.config.eps}
            return split(point.result(given), [x.shape, *shapes_of(weights)])

        def backward(x: Array, gradient: Array) -> tuple[Array, list[Array]]:
            back, *found = at(of_role, x, gradient)
            if is_last:
                unprojected = of_role.changed((forgotten, _FORGOTTEN))
                return self.point["last_norm"](back, gradient, lambda: at(unprojected, x, gradient)[0]), found
            passed = self.point["through_norm"](place, back, gradient, weights.gamma)
            return np.asarray(passed), found

        return Part(lambda x: self.model.normalise(x, weights), backward)

    def network(self, weights: Any) -> Part:
        """Return the architecture's feed-forward network."""
        role = "gated_feed_forward" if self.config.gated else "feed_forward"

        def backward(y: Array, gradient: Array) -> tuple[Array, list[Array]]:
            given = {"x": y, "weights": weights, "grad_output": gradient, "activation": self.config.activation}
            of_x, *found = split(self.point.part(role).result(given), [y.shape, *shapes_of(weights)])
            return of_x, found

        return Part(lambda y: self.model.transform(y, weights), backward)

    def attention(self, weights: Any, mask: Array | None, memory: Array | None = None) -> Part:
        """Return attention of a stream to itself, or to a memory, whose gradient stands before those of the weights."""
        config, point = self.config, self.point

        def backward(y: Array, gradient: Array) -> tuple[Array, list[Array]]:
            context, places = y if memory is None else memory, self._places(y)
            given = {"x": y, "context": context, "weights": weights, "grad_output": gradient, "mask": mask}
            settings = {"num_heads": config.num_heads, "num_kv_heads": config.num_kv_heads}
            turning = None if places is None else (self._turn(places), self._turn_back(places))
            joined = point.part("attention").result({**given, **settings, "turning": turning})
            of_queries, of_context, *found = split(joined, [y.shape, context.shape, *shapes_of(weights)])
            if memory is None:
                return np.asarray(point["paths"](of_queries, of_context)), found
            return of_queries, [point["memory"](of_context), *found]

        def forward(y: Array) -> Array:
            return self.model.attend(y, y if memory is None else memory, weights, mask, places=self._places(y))[0]

        return Part(forward, backward)

    def _places(self, y: Array) -> Array | None:
        return np.arange(y.shape[1]) if self.config.positions == "rotary" else None

    def _turn(self, places: Array) -> Callable[[Array], Array]:
        base, pairing = self.config.rotary_base, self.model.conventions.rotary_pairing
        return lambda heads: reference.rotary_embedding(heads, places, base=base, pairing=pairing)

    def _turn_back(self, places: Array) -> Callable[[Array, Array], Array]:
        given, rotary = {"positions": places, "base": self.config.rotary_base}, self.point.part("rotary")
        return lambda heads, gradient: rotary.result({"x": heads, "grad_output": gradient, **given})

    def embed(self, tokens: Array, table: Array, positions: Array | None, norm: Any) -> Array:
        """Return the vectors that the first layer reads."""
        return self.model.embed(tokens, table, positions, norm)

    def embedded_back(
        self, tokens: Array, table: Array, positions: Array | None, norm: Any, gradient: Array
    ) -> tuple[Array, list[Array], list[Array]]:
        """Return the gradients of a table, of the positions and of the norm after both, as far as there are any."""
        before = self.embed(tokens, table, positions, None)
        gradient, of_norm = self.norm(norm).backward(before, self.point["into_embedding"](gradient))
        scaled = self.config.scale_embedding
        given = {"tokens": tokens, "table": table, "grad_output": gradient, "scale_by_sqrt_d_model": scaled}
        of_table = self.point.part("embedding").result(given)
        if positions is None:
            return of_table, [], of_norm
        rows = self.point["positions"](gradient)
        of_positions = np.zeros(positions.shape)
        of_positions[: len(rows)] = rows
        return of_table, [of_positions], of_norm

    def logits_back(
        self, x: Array, table: Array, unembedding: Array | None, gradient: Array
    ) -> tuple[Array, Array | None, list[Array]]:
        """Return the gradients of what the logits are made of, of a tied table, and of a matrix that is not tied."""
        summed = self.point["sum_of_unembedding"]
        if unembedding is None:
            return np.asarray(gradient @ table), np.asarray(summed(gradient, x)), []
        own = self.point["unembedding"](summed(x, gradient))
        return np.asarray(gradient @ unembedding.T), None, [own]


def of_one_placement(decision: Decision) -> Decision:
    """Return a decision of layers without the options that concern one placement of norms: a model has one."""
    kept = tuple(option for option in decision.options if not option.name.endswith(("_in_pre_norm", "_in_post_norm")))
    return replace(decision, options=kept)


# Of the gradients of the lookups of a table and that of the logits, if it is tied.
TABLE = Decision(
    "table",
    "Which gradients does the table of the tokens get?",
    (
        standard("of_all_uses", lambda lookups, tied: sum(lookups) if tied is None else sum(lookups) + tied),
        mistake("tied_table_without_gradient_of_logits", lambda lookups, tied: sum(lookups)),
        neighbour(
            "of_logits_alone",
            lambda lookups, tied: sum(lookups) if tied is None else tied,
            "a tied table gets the gradient of the logits only, not that of the lookup",
        ),
        neighbour(
            "averaged",
            lambda lookups, tied: sum(lookups) if tied is None else (sum(lookups) + tied) / (len(lookups) + 1),
            "the gradients of the uses of a tied table are averaged",
        ),
    ),
)
TABLE_OF_TWO = replace(
    TABLE,
    options=(
        *TABLE.options,
        neighbour(
            "not_of_source",
            lambda lookups, tied: lookups[1] + (0.0 if tied is None else tied),
            "the shared table gets no gradient of the source's lookup",
        ),
        neighbour(
            "not_of_target",
            lambda lookups, tied: lookups[0] + (0.0 if tied is None else tied),
            "the shared table gets no gradient of the target's lookup",
        ),
    ),
)


def _behind(gradient: Array) -> Array:
    return np.roll(gradient.sum(axis=0), 1, axis=0)


# Of the gradient (B, L, E): the rows of the positions 0, 1, ….
POSITIONS = Decision(
    "positions",
    "Which gradient has a learned position?",
    (
        standard("sum_over_samples", lambda gradient: gradient.sum(axis=0)),
        mistake("positions_without_gradient", lambda gradient: np.zeros(gradient.shape[1:])),
        neighbour(
            "mean_over_samples", lambda gradient: gradient.mean(axis=0), "positions get the mean over the samples"
        ),
        neighbour("of_first_sample", lambda gradient: gradient[0], "positions get the gradient of the first sample"),
        neighbour("of_last_sample", lambda gradient: gradient[-1], "positions get the gradient of the last sample"),
        neighbour("one_behind", _behind, "each position gets the gradient of the one before it"),
        neighbour(
            "of_all_positions",
            lambda gradient: np.broadcast_to(gradient.sum(axis=(0, 1)), gradient.shape[1:]),
            "each position gets the gradients of all positions",
        ),
    ),
)
INTO_EMBEDDING = Decision(
    "into_embedding",
    "Does the gradient reach what the first layer reads?",
    (
        standard("yes", lambda gradient: gradient),
        neighbour("no", np.zeros_like, "the embedding gets no gradient from the layers"),
    ),
)
BETWEEN_LAYERS = Decision(
    "between_layers",
    "Does the gradient pass from a layer to the one below?",
    (
        standard("yes", lambda gradient: gradient),
        mistake("gradient_cut_off", np.zeros_like, "not_between_layers"),
    ),
)


def _reversed(layers: Sequence[Any]) -> list[Any]:
    return list(layers)[::-1]


def _only(place: int) -> Callable[[Sequence[Any]], list[Any]]:
    def chosen(layers: Sequence[Any]) -> list[Any]:
        kept = layers[place]
        return [[one if layer is kept else np.zeros_like(one) for one in layer] for layer in layers]

    return chosen


# Of the gradients of each layer's weights, from the first layer to the last.
LAYERS = Decision(
    "layers",
    "Which layer gets which gradients?",
    (
        standard("each_its_own", lambda layers: layers),
        neighbour("reversed", _reversed, "the layers' gradients are returned in the order of the way back"),
        neighbour("last_layer_alone", _only(-1), "the weights of the last layer alone get gradients"),
        neighbour("first_layer_alone", _only(0), "the weights of the first layer alone get gradients"),
    ),
)
# Of the gradient behind the last norm, that before it, and what makes that without its projections.
LAST_NORM = Decision(
    "last_norm",
    "How does the gradient pass the norm after the last layer?",
    (
        standard("by_its_jacobian", lambda back, gradient, unprojected: back),
        mistake("norm_backward_skipped", lambda back, gradient, unprojected: gradient, "last_norm_skipped"),
        mistake(_FORGOTTEN, lambda back, gradient, unprojected: unprojected(), "projections_of_last_norm_forgotten"),
    ),
)
UNEMBEDDING = Decision(
    "unembedding",
    "Does the matrix of the logits get a gradient?",
    (
        standard("yes", lambda gradient: gradient),
        mistake("network_weights_without_gradient", np.zeros_like, "no_unembedding"),
    ),
)
# Of the gradients of the memory by each layer of the decoder, from the last layer to the first.
MEMORY_SUM = Decision(
    "memory_sum",
    "Which gradients does the memory get from the layers of the decoder?",
    (
        standard("of_all", sum),
        neighbour("of_last_layer", lambda each: each[0], "the memory gets the last layer's gradient alone"),
        neighbour("of_first_layer", lambda each: each[-1], "the memory gets the first layer's gradient alone"),
        neighbour("averaged", lambda each: sum(each) / len(each), "the memory gets the mean of the layers' gradients"),
    ),
)


def _over(count: Callable[[Array], int]) -> Callable[[Array, Array], Array]:
    return lambda gradients, tokens: np.asarray(gradients / count(tokens))


# Of all gradients in one axis, and the tokens (B, L).
RETURNED = Decision(
    "returned",
    "What are all gradients multiplied by?",
    (
        standard("nothing", lambda gradients, tokens: gradients),
        neighbour("mean_over_samples", _over(len), "the gradients are divided by the number of samples"),
        neighbour("mean_over_tokens", _over(lambda tokens: tokens.size), "the gradients are divided by that of tokens"),
        neighbour(
            "twice",
            lambda gradients, tokens: 2.0 * gradients,
            "all gradients are doubled, as by going back twice into the same buffers",
        ),
    ),
)
SINUSOIDAL_LAYOUT = Decision(
    "sinusoidal_layout",
    "Where do the sines and cosines of the positions stand?",
    (
        standard(LAYOUTS[0], lambda: LAYOUTS[0]),
        *(convention(other, lambda other=other: other) for other in LAYOUTS[1:]),
    ),
    convention="sinusoidal_layout",
)
