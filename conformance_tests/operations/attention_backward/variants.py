"""The family of attention's backward pass: a forward pass with its own decisions, and the four products after it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.drawing.arrays import Array, present
from veriformer.conformance_tests.operations.attention.variants.logits import SCALE
from veriformer.conformance_tests.operations.attention_backward.recomputed import (
    RECOMPUTED,
    RECOMPUTED_WEIGHTS,
    WRONG,
    Passed,
    recomputed,
)
from veriformer.conformance_tests.variants.decision import Decision, Option, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, NotDefined, Point

# Of queries and keys, and of values if there are any.
Parts = tuple[Array, ...]


def _standard_logits(passed: Passed) -> Array:
    if passed.average is None:
        return reference.gradient_of_logits(passed.weights, passed.visible, passed.grad_weights)
    return np.where(passed.visible, passed.weights * (passed.shown_grad_weights - passed.average), 0.0)


def _row_term(term: Callable[[Array, Array], Array]) -> Callable[[Passed], Array]:
    def grad_logits(passed: Passed) -> Array:
        grad_weights = passed.grad_weights
        return np.asarray(passed.weights * (grad_weights - term(passed.weights, grad_weights)))

    return grad_logits


def _mean_of_shown(passed: Passed) -> Array:
    return np.asarray(passed.weights * (passed.grad_weights - passed.shown_grad_weights.mean(axis=-1, keepdims=True)))


def _without_softmax(passed: Passed) -> Array:
    return passed.shown_grad_weights


def _without_weights(passed: Passed) -> Array:
    grad_weights = passed.shown_grad_weights
    average = (passed.weights * grad_weights).sum(axis=-1, keepdims=True)
    return np.where(passed.visible, grad_weights - average, 0.0)


def _values_laid_out_again(passed: Passed) -> Array:
    return _standard_logits(replace(passed, value=_laid_out_again(present(passed.value))))


def _as_wide_as_keys(passed: Passed) -> Array:
    width = passed.key.shape[-1]
    return _standard_logits(
        replace(passed, value=present(passed.value)[..., :width], grad_output=passed.grad_output[..., :width])
    )


GRADIENT_OF_LOGITS = Decision(
    "gradient_of_logits",
    "How does the gradient pass softmax?",
    (
        standard("jacobian", _standard_logits),
        mistake("softmax_row_term_forgotten", _row_term(lambda weights, grad: np.zeros_like(grad))),
        mistake(
            "softmax_row_term_over_queries",
            _row_term(lambda weights, grad: (weights * grad).sum(axis=-2, keepdims=True)),
        ),
        mistake("softmax_row_term_not_weighted", _row_term(lambda weights, grad: grad.mean(axis=-1, keepdims=True))),
        mistake(
            "softmax_row_term_not_weighted",
            _row_term(lambda weights, grad: grad.sum(axis=-1, keepdims=True)),
            "softmax_row_term_not_weighted_sum",
        ),
        mistake("softmax_row_term_not_weighted", _mean_of_shown, "softmax_row_term_not_weighted_mean_of_shown"),
        neighbour(
            "row_term_a_mean",
            _row_term(lambda weights, grad: (weights * grad).mean(axis=-1, keepdims=True)),
            "the row term of softmax's Jacobian is divided by the number of keys",
        ),
        neighbour(
            "row_term_added",
            _row_term(lambda weights, grad: -(weights * grad).sum(axis=-1, keepdims=True)),
            "the row term of softmax's Jacobian is added instead of subtracted",
        ),
        mistake(
            "softmax_backward_only_diagonal",
            lambda passed: passed.weights * (1.0 - passed.weights) * passed.shown_grad_weights,
        ),
        mistake("softmax_backward_factor_two", lambda passed: 2.0 * _standard_logits(passed)),
        neighbour("softmax_left_out", _without_softmax, "the gradient passes softmax as if it were the identity"),
        neighbour("not_weighted", _without_weights, "dP − rowsum(P ∘ dP) is not multiplied by the weights"),
        mistake("custom_backward_layout", _values_laid_out_again, "values_laid_out_again"),
        mistake("attention_backward_value_width_from_keys", _as_wide_as_keys),
    ),
)


def _laid_out_again(table: Array) -> Array:
    """Return an array whose heads and lengths are read in the other order."""
    return table.swapaxes(1, 2).reshape(table.shape)


def _of_all_samples(table: Array) -> Array:
    return np.asarray(table.mean(axis=0, keepdims=True) + np.zeros_like(table))


def _rolled(table: Array) -> Array:
    return np.roll(table, 1, axis=0)


def _left_out(table: Array) -> Array:
    return np.zeros_like(table)


def _factors(other: str) -> tuple[Option, ...]:
    """Return possible factors of the gradient of queries or of keys in place of the scale."""
    return (
        standard("scale", lambda factor, usual: factor),
        mistake(WRONG, lambda factor, usual: 1.0, "missing"),
        mistake(WRONG, lambda factor, usual: factor * factor, "twice"),
        mistake(WRONG, lambda factor, usual: usual, "given_ignored"),
        mistake(WRONG, lambda factor, usual: 1.0 / factor, "divided"),
        neighbour(
            "root", lambda factor, usual: factor**0.5, f"the gradient of the {other} is scaled by the scale's root"
        ),
        neighbour("opposite", lambda factor, usual: -factor, f"the gradient of the {other} has the opposite sign"),
    )


def _operands(name: str, whose: str) -> tuple[Option, ...]:
    """Return possible factors of the gradient of the logits in place of the keys or queries."""
    return (
        standard("as_given", lambda table: table),
        mistake("custom_backward_layout", _laid_out_again, "laid_out_again"),
        mistake("samples_mixed_in_backward", _of_all_samples, "mean_of_samples"),
        mistake("samples_mixed_in_backward", _rolled, "next_sample"),
        mistake("samples_mixed_in_backward", lambda table: len(table) * _of_all_samples(table), "sum_of_samples"),
    )


FACTOR_OF_QUERIES = Decision("factor_of_queries", "By what is dS K multiplied?", _factors("queries"))
FACTOR_OF_KEYS = Decision("factor_of_keys", "By what is dSᵀ Q multiplied?", _factors("keys"))
KEYS = Decision("keys", "Which keys give the queries' gradient?", _operands("keys", "queries"))
QUERIES = Decision("queries", "Which queries give the keys' gradient?", _operands("queries", "keys"))


def _fully_seen_rows(passed: Passed) -> Array:
    return passed.weights * passed.visible.all(axis=-1, keepdims=True)


def _fully_seen_columns(passed: Passed) -> Array:
    return passed.weights * passed.visible.all(axis=-2, keepdims=True)


VALUE_WEIGHTS = Decision(
    "value_weights",
    "With which weights is the gradient of the values summed?",
    (
        standard("those_of_the_forward_pass", lambda passed: passed.weights),
        mistake("backward_recomputes_other_weights", lambda passed: reference.softmax(passed.logits), "without_mask"),
        mistake("gradient_wrong_compiled", _fully_seen_rows, "queries_that_see_all_keys"),
        mistake("gradient_wrong_compiled", _fully_seen_columns, "keys_that_all_queries_see"),
        mistake(WRONG, lambda passed: passed.weights / passed.query.shape[0], "over_batch"),
        mistake(WRONG, lambda passed: passed.weights / passed.query.shape[2], "over_queries"),
        neighbour("logits", lambda passed: np.where(passed.visible, passed.logits, 0.0), "logits stand for weights"),
    ),
)

PARTS_RETURNED = Decision(
    "parts_returned",
    "Which gradients are returned?",
    (
        standard("all", lambda parts: parts),
        mistake("key_detached", lambda parts: (parts[0], _left_out(parts[1]), *parts[2:])),
        mistake("gradient_cut_off", lambda parts: (_left_out(parts[0]), *parts[1:]), "no_query"),
        mistake("gradient_cut_off", lambda parts: (*parts[:2], _left_out(parts[2])), "no_value"),
        neighbour(
            "query_and_key_exchanged", lambda parts: _exchanged(parts, 0, 1), "queries and keys get each other's"
        ),
        neighbour("key_and_value_exchanged", lambda parts: _exchanged(parts, 1, 2), "keys and values get each other's"),
    ),
)


def _exchanged(parts: Parts, first: int, second: int) -> Parts:
    if parts[first].shape != parts[second].shape:
        raise NotDefined
    order = list(range(len(parts)))
    order[first], order[second] = second, first
    return tuple(parts[index] for index in order)


def _nan(*reached: bool) -> Callable[[Parts, Array], Parts]:
    """Return the corruption of gradients that an empty row reaches: its own query's and the others of its head."""

    def spoiled(parts: Parts, visible: Array) -> Parts:
        empty = np.asarray(~visible.any(axis=-1, keepdims=True))
        heads = np.asarray(empty.any(axis=-2, keepdims=True))
        return tuple(
            np.where(where & spoils, np.nan, part)
            for part, where, spoils in zip(parts, (empty, heads, heads), reached, strict=False)
        )

    return spoiled


EMPTY_ROWS = Decision(
    "empty_rows",
    "What flows back from a query that may see no key?",
    (
        standard("zeros", lambda parts, visible: parts),
        mistake("nan_gradient_fully_masked", _nan(True, True, False), "nan_through_softmax"),
        mistake("nan_gradient_fully_masked", _nan(True, True, True), "nan_everywhere"),
        mistake("nan_gradient_fully_masked", _nan(True, False, False), "nan_to_own_query"),
        mistake("where_nan_gradient", _nan(False, False, True), "nan_through_weights"),
    ),
    convention="empty_row",
)

SOFTCAP_SLOPE = Decision(
    "softcap_slope",
    "By what does the gradient of the logits pass the soft cap?",
    (
        standard("slope", lambda passed, softcap: reference.soft_cap_slope(passed.products, softcap)),
        mistake("softcap_backward_derivative_forgotten", lambda passed, softcap: 1.0),
        mistake(
            "softcap_backward_slope_wrong",
            lambda passed, softcap: reference.soft_cap_slope(reference.soft_cap(passed.products, softcap), softcap),
            "of_capped_logits",
        ),
        mistake(
            "softcap_backward_slope_wrong",
            lambda passed, softcap: 1.0 - np.tanh(passed.products / softcap),
            "without_square",
        ),
        mistake(
            "softcap_backward_slope_wrong",
            lambda passed, softcap: reference.soft_cap_slope(passed.products, 1.0),
            "logits_not_divided",
        ),
        mistake(
            "softcap_backward_slope_wrong",
            lambda passed, softcap: reference.soft_cap_slope(passed.products, softcap) / softcap,
            "divided_by_cap",
        ),
    ),
)


def _back(arguments: Arguments, factor: float, point: Point) -> float:
    """Return the scale as the way back has it: where it is the usual one the reference takes it by another root."""
    usual = arguments.get("scale") is None and point.option("scale") is SCALE.standard
    return arguments["query"].shape[-1] ** -0.5 if usual else factor


def compute(arguments: Arguments, point: Point) -> Array:
    """Return the three gradients, one after the other, at a point of the family."""
    return np.concatenate([part.ravel() for part in gradients(arguments, point)])


def gradients(arguments: Arguments, point: Point) -> Parts:
    """Return the gradients by the queries, keys and values of each head at a point of the family, those it has."""
    arguments = point["causal_beside_mask"](arguments)
    query, key = arguments["query"], arguments["key"]
    factor = point["scale"](arguments.get("scale"), query, key)
    passed = recomputed(arguments, factor, point)
    # What is not a number in a row spoils the whole row of its gradient.
    grad_logits = point["gradient_of_logits"](passed) + 0.0 * passed.weights.sum(axis=-1, keepdims=True)
    backwards = passed.visible.swapaxes(-1, -2)
    if arguments.get("softcap"):
        slope = point["softcap_slope"](passed, arguments["softcap"])
        grad_logits = np.where(passed.visible, slope * grad_logits, 0.0 * grad_logits)
    grad_query = reference.weighted_sum(grad_logits, point["keys"](key), passed.visible)
    grad_key = reference.weighted_sum(grad_logits.swapaxes(-1, -2), point["queries"](query), backwards)
    usual, back = query.shape[-1] ** -0.5, _back(arguments, factor, point)
    of_query = point["factor_of_queries"](back, usual)
    of_key = point["factor_of_keys"](back, usual)
    parts: Parts = (of_query * grad_query, of_key * grad_key)
    if passed.value is not None:
        weights = point["value_weights"](passed)
        parts += (reference.weighted_sum(weights.swapaxes(-1, -2), passed.grad_output, backwards),)
    parts = point["parts_returned"](parts)
    reached: Parts = point["empty_rows"](parts, passed.visible)
    return reached


DECISIONS = (
    *RECOMPUTED,
    RECOMPUTED_WEIGHTS,
    GRADIENT_OF_LOGITS,
    SOFTCAP_SLOPE,
    KEYS,
    QUERIES,
    FACTOR_OF_QUERIES,
    FACTOR_OF_KEYS,
    VALUE_WEIGHTS,
    PARTS_RETURNED,
    EMPTY_ROWS,
)
ATTENTION_BACKWARD = Family("scaled_dot_product_attention_backward", DECISIONS, compute, needs_dtype=True)
