"""The family of training steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.adamw.variants import ADAMW
from veriformer.conformance_tests.operations.models.trees import arrays_by_path, with_arrays_at
from veriformer.conformance_tests.operations.next_token.variants import NEXT_TOKEN_LOSS
from veriformer.conformance_tests.operations.next_token_backward.variants import NEXT_TOKEN_LOSS_BACKWARD
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point
from veriformer.spec.conventions import CONVENTIONS

# The arrays of a tree by their paths.
Arrays = dict[str, Array]
# The two moments of a weight, and the number of the step that is to come.
State = tuple[Array, Array, int]


def _of_model(name: str) -> Decision:
    """Return the decision that a convention of the model is."""
    first, *others = CONVENTIONS[name].value_names
    return Decision(
        name,
        f"Which value of {name} does the model follow?",
        (standard(first, lambda: first), *(convention(other, lambda other=other: other) for other in others)),
        convention=name,
    )


_CONVENTIONS = ("gelu_form", "rotary_pairing", "layer_norm_eps", "rms_norm_gain")

GRADIENTS = Decision(
    "gradients",
    "What becomes of the gradients of the steps before?",
    (
        standard("forgotten", lambda own, before: own),
        mistake("gradients_not_zeroed", lambda own, before: own if before is None else own + before),
    ),
)

# Of a weight's moments and the number of the step that is to come.
STATE = Decision(
    "state",
    "What becomes of the optimizer's state after a step?",
    (
        standard("kept", lambda first, second, number: (first, second, number)),
        mistake("optimizer_made_anew", lambda first, second, number: (0.0 * first, 0.0 * second, 1)),
        mistake("optimizer_made_anew", lambda first, second, number: (0.0 * first, 0.0 * second, number), "lost"),
        mistake("adam_step_counted_twice", lambda first, second, number: (first, second, number + 1)),
        neighbour(
            "first_anew", lambda first, second, number: (0.0 * first, second, number), "the first moment starts anew"
        ),
        neighbour(
            "second_anew", lambda first, second, number: (first, 0.0 * second, number), "the second moment starts anew"
        ),
        neighbour("never_counted", lambda first, second, number: (first, second, 1), "every step has the number 1"),
    ),
)

# Of the rates, and the place of the step.
LEARNING_RATE = Decision(
    "learning_rate",
    "Which learning rate has a step?",
    (
        standard("own", lambda rates, place: rates[place]),
        mistake("schedule_stepped_early", lambda rates, place: rates[min(place + 1, len(rates) - 1)]),
        neighbour(
            "of_step_before", lambda rates, place: rates[max(place - 1, 0)], "a step has the rate of the one before"
        ),
        mistake("learning_rate_never_updated", lambda rates, place: rates[0]),
        neighbour("last", lambda rates, place: rates[-1], "every step has the last rate"),
    ),
)

BATCH = Decision(
    "batch",
    "Which batch does a step see?",
    (
        standard("own", lambda batches, place: batches[place]),
        mistake("same_batch_every_step", lambda batches, place: batches[0]),
        neighbour("next", lambda batches, place: batches[(place + 1) % len(batches)], "a step sees the next batch"),
    ),
)

REPORTED = Decision(
    "reported",
    "Of which weights is the loss that is reported?",
    (
        standard("before_the_step", lambda before, after: before),
        mistake("loss_after_update", lambda before, after: after),
    ),
)

# Of the numbers of targets of the parts.
PARTS = Decision(
    "parts",
    "By what are the means of a batch's parts weighed?",
    (
        standard("targets", lambda counts: counts / max(counts.sum(), 1)),
        mistake("mean_of_means_over_microbatches", lambda counts: np.full(counts.shape, 1.0 / len(counts))),
        mistake("microbatch_gradients_not_divided", lambda counts: np.ones(counts.shape)),
        mistake("gradients_zeroed_in_every_part", lambda counts: _only(counts, -1), "last_part_alone"),
        neighbour("first_part_alone", lambda counts: _only(counts, 0), "only the first part counts"),
        mistake(
            "gradients_zeroed_in_every_part",
            lambda counts: _only(counts, -1) * counts / max(counts.sum(), 1),
            "last_part_by_its_share",
        ),
    ),
)
LOSS_OF_PARTS = Decision("loss_of_parts", "By what are the losses of a batch's parts weighed?", PARTS.options)


def _only(counts: Array, place: int) -> Array:
    chosen = np.zeros(counts.shape)
    chosen[place] = 1.0
    return chosen


# Of the gradient of the table, and of that without the logits' use.
TABLE = Decision(
    "table",
    "Which gradients has the table that is tied to the logits?",
    (
        standard("of_both_uses", lambda both, embedding: both),
        mistake("tied_table_without_gradient_of_logits", lambda both, embedding: embedding),
        neighbour("of_logits", lambda both, embedding: both - embedding, "only that of the logits"),
    ),
)


def _is_vector(name: str) -> bool:
    """Return whether an array of this name is a gain, a shift or a bias."""
    return name in ("gamma", "beta") or name.startswith("b_")


def _is_table(name: str) -> bool:
    return name in ("embedding", "positions")


# Of a weight's name in its record.
DECAYED = Decision(
    "decayed",
    "Which weights decay?",
    (
        standard("all", lambda name: True),
        convention("matrices", lambda name: not _is_vector(name)),
        convention("matrices_without_embeddings", lambda name: not _is_vector(name) and not _is_table(name)),
        convention("all_without_embeddings", lambda name: not _is_table(name)),
        mistake("norms_decay_with_biases_spared", lambda name: not name.startswith("b_")),
        mistake("norms_decay_with_biases_spared", lambda name: name != "beta" and not name.startswith("b_"), "gains"),
        mistake("decay_groups_swapped", _is_vector),
        mistake("decay_groups_swapped", lambda name: _is_vector(name) or _is_table(name), "with_tables"),
        mistake("decay_groups_swapped", _is_table, "tables_alone"),
        neighbour("no_norms", lambda name: name not in ("gamma", "beta"), "norms alone are spared the decay"),
        neighbour("no_positions", lambda name: name != "positions", "the table of positions alone is spared the decay"),
        neighbour("no_tokens", lambda name: name != "embedding", "the table of tokens alone is spared the decay"),
    ),
    convention="decayed_weights",
)

TRAINED = Decision(
    "trained",
    "Which weights are trained?",
    (
        standard("all", lambda path: True),
        mistake("embedding_not_trained", lambda path: path != "embedding"),
        neighbour("no_positions", lambda path: path != "positions", "the table of positions stays as it was"),
        neighbour("no_norms", lambda path: "norm" not in path, "the norms stay as they were"),
        neighbour(
            "no_biases", lambda path: not path.rpartition(".")[2].startswith("b_"), "the biases stay as they were"
        ),
        neighbour("no_unembedding", lambda path: path != "unembedding", "the unembedding stays as it was"),
        neighbour("last_layer_only", lambda path: "layers.0" not in path, "the first layer stays as it was"),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return losses and trained weights, one after the other, at a point of the family."""
    weights, batches, rates = arguments["weights"], arguments["tokens"], arguments["learning_rates"]
    now = arrays_by_path(weights)
    state: dict[str, State] = {path: (np.zeros(array.shape), np.zeros(array.shape), 1) for path, array in now.items()}
    losses: list[float] = []
    gradients: Arrays = {}
    for place in range(len(batches)):
        batch = np.split(point["batch"](batches, place), arguments.get("micro_batches") or 1)
        before = with_arrays_at(weights, now)
        own = _gradients(arguments, point, batch, before)
        gradients = {path: point["gradients"](array, gradients.get(path)) for path, array in own.items()}
        rate = point["learning_rate"](rates, place)
        moved = {path: _moved(arguments, point, path, now[path], gradients[path], state[path], rate) for path in now}
        now = {path: weight if point["trained"](path) else now[path] for path, (weight, _, _) in moved.items()}
        state = {path: point["state"](*moments, state[path][2] + 1) for path, (_, *moments) in moved.items()}
        losses.append(_loss(arguments, point, batch, point["reported"](before, with_arrays_at(weights, now))))
    return np.concatenate([np.array(losses), *(array.ravel() for array in now.values())])


def _logits(arguments: Arguments, point: Point, tokens: Array, weights: Any) -> Array:
    return reference.language_model(tokens, weights, arguments["config"], conventions=_conventions(point))


def _conventions(point: Point) -> reference.ModelConventions:
    return reference.ModelConventions(**{name: point[name]() for name in _CONVENTIONS})


def _given(arguments: Arguments, **others: Array) -> dict[str, Any]:
    found = {**others, "dtype": arguments.get("dtype", "float64")}
    ignored = arguments.get("ignore_index")
    return found if ignored is None else {**found, "ignore_index": ignored}


def _counts(arguments: Arguments, parts: list[Array]) -> Array:
    ignored = arguments.get("ignore_index")
    return np.array([np.sum(part[:, 1:] != ignored) if ignored is not None else part[:, 1:].size for part in parts])


def _weighed(arguments: Arguments, decision: Callable[[Array], Array], parts: list[Array]) -> Array:
    return np.asarray(decision(_counts(arguments, parts)), dtype=np.float64)


def _loss(arguments: Arguments, point: Point, parts: list[Array], weights: Any) -> float:
    found = 0.0
    for part, share in zip(parts, _weighed(arguments, point["loss_of_parts"], parts), strict=True):
        if share:
            logits = _logits(arguments, point, part, weights)
            found += share * float(point.part("loss").result(_given(arguments, logits=logits, tokens=part)))
    return found


def _gradients(arguments: Arguments, point: Point, parts: list[Array], weights: Any) -> Arrays:
    total: Arrays = {}
    for part, share in zip(parts, _weighed(arguments, point["parts"], parts), strict=True):
        if not share:
            continue
        logits = _logits(arguments, point, part, weights)
        given = _given(arguments, logits=logits, tokens=part, grad_output=np.asarray(share))
        found = _back(arguments, point, part, weights, point.part("slope").result(given))
        total = {path: total[path] + array for path, array in found.items()} if total else found
    return total


def _back(arguments: Arguments, point: Point, part: Array, weights: Any, slope: Array) -> Arrays:
    config, conventions = arguments["config"], _conventions(point)
    found = arrays_by_path(reference.language_model_backward(part, weights, config, slope, conventions=conventions))
    if not config.tied_embedding or point.option("table").status == "standard":
        return found
    # The same model with an unembedding of its own has the gradient of the table's other use apart.
    untied = reference.language_model_backward(
        part,
        replace(weights, unembedding=weights.embedding.T),
        replace(config, tied_embedding=False),
        slope,
        conventions=conventions,
    )
    return {**found, "embedding": point["table"](found["embedding"], untied.embedding)}


def _moved(
    arguments: Arguments, point: Point, path: str, array: Array, gradient: Array, state: State, rate: float
) -> list[Array]:
    """Return a weight and its moments after a step."""
    first, second, number = state
    joined = point.part("adamw").result(
        {
            "parameter": array,
            "gradient": gradient,
            "first_moment": first,
            "second_moment": second,
            "step": number,
            "learning_rate": rate,
            **{name: arguments[name] for name in ("beta1", "beta2", "eps")},
            "weight_decay": arguments["weight_decay"] if point["decayed"](path.rpartition(".")[2]) else 0.0,
        }
    )
    return [part.reshape(array.shape) for part in np.split(joined, 3)]


TRAINING_STEPS = Family(
    "training_steps",
    (
        *map(_of_model, _CONVENTIONS),
        GRADIENTS,
        STATE,
        LEARNING_RATE,
        BATCH,
        REPORTED,
        PARTS,
        LOSS_OF_PARTS,
        TABLE,
        DECAYED,
        TRAINED,
    ),
    compute,
    parts={
        # The moments are seen through the steps after them only, of which a call may have none.
        "adamw": ADAMW.without("returned"),
        "loss": NEXT_TOKEN_LOSS,
        "slope": NEXT_TOKEN_LOSS_BACKWARD.without("own_gradient", "written"),
    },
    needs_dtype=True,
)
