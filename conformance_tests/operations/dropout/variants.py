"""The families of dropout and of its gradient, which differ in what is dropped: entries, or gradients.

The mask is that of the call, read off its result, if chance explains its number of zeros at the point's probability;
else a point has a mask of its own, which is another. So a family decides about values and about how many are dropped;
which ones are dropped is for the laws.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.dropout.chance import likely, resolution
from veriformer.conformance_tests.variants.decision import Decision, Option, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

RATE = Decision(
    "rate",
    "What is the rate?",
    (
        standard("probability_to_drop", lambda rate: rate),
        mistake("dropout_rate_is_share_kept", lambda rate: 1.0 - rate),
    ),
)
TIMES = Decision(
    "times",
    "How often are entries dropped?",
    (standard("once", lambda: 1), mistake("dropout_applied_twice", lambda: 2)),
)
_SHARES = (
    standard("rate", lambda rate: rate),
    mistake("dropout_mask_inverted", lambda rate: 1.0 - rate),
    mistake("dropout_all_dropped", lambda rate: 1.0),
)
SHARE = Decision(
    "share",
    "Which share is dropped?",
    (*_SHARES, neighbour("nothing", lambda rate: 0.0, "nothing is dropped, and everything scaled")),
)
SHARE_BACKWARD = Decision(
    "share", "Which share is dropped?", (*_SHARES, mistake("dropout_backward_mask_missing", lambda rate: 0.0))
)
MASK = Decision(
    "mask",
    "What is compared with the rate?",
    (
        standard("random_numbers", lambda entries, rate, drawn: drawn),
        mistake("dropout_mask_of_values", lambda entries, rate, drawn: entries >= rate),
    ),
)
_FACTORS = (
    standard("reciprocal_of_kept", lambda x, rate: x / (1.0 - rate)),
    mistake("dropout_divided_by_rate", lambda x, rate: x / rate),
    mistake("dropout_not_scaled", lambda x, rate: x),
    mistake("dropout_times_share_kept", lambda x, rate: x * (1.0 - rate)),
    neighbour("one_plus_rate", lambda x, rate: x * (1.0 + rate), "1 + p is multiplied by instead of 1/(1 − p)"),
    neighbour("root", lambda x, rate: x / np.sqrt(1.0 - rate), "√(1 − p) is divided by, which keeps the variance"),
)


def _factor(times_rate: Option) -> Decision:
    return Decision("factor", "By what is that which is kept multiplied?", (*_FACTORS, times_rate))


FACTOR = _factor(neighbour("times_rate", lambda x, rate: x * rate, "p is multiplied by"))
FACTOR_BACKWARD = _factor(mistake("dropout_wrong_rescale", lambda x, rate: x * rate))
REST = Decision(
    "rest",
    "What becomes of the entries that are dropped?",
    (
        standard("zero", lambda kept, mask: np.where(mask, kept, 0.0)),
        mistake("dropout_divides_by_mask", lambda kept, mask: kept / mask),
        neighbour("nan", lambda kept, mask: np.where(mask, kept, np.nan), "what is dropped is not a number"),
    ),
)
EVALUATION = Decision(
    "evaluation",
    "What is returned in evaluation?",
    (
        standard("entries", lambda x, dropped, rate: x),
        mistake("dropout_active_in_eval", lambda x, dropped, rate: dropped),
        mistake("dropout_scaled_in_evaluation", lambda x, dropped, rate: x * (1.0 - rate)),
        neighbour("divided", lambda x, dropped, rate: x / (1.0 - rate), "in evaluation 1 − p is divided by too"),
        neighbour("nothing", lambda x, dropped, rate: 0.0 * x, "in evaluation everything is dropped"),
    ),
)
MODE = Decision(
    "mode",
    "When are entries dropped?",
    (
        standard("in_training", lambda training: training is not False),
        mistake("dropout_off_by_default", bool),
        mistake("dropout_flag_inverted", lambda training: training is False),
        neighbour("never", lambda training: False, "nothing is ever dropped"),
    ),
)


def _of(name: str) -> Callable[[Arguments, Point], Array]:
    """Return the function of a family that drops the entries of an argument."""

    def compute(arguments: Arguments, point: Point) -> Array:
        entries = np.asarray(arguments[name], dtype=np.float64)
        rate, times = point["rate"](arguments["rate"]), point["times"]()
        share = 1.0 - (1.0 - point["share"](rate)) ** times
        mask = point["mask"](entries, rate, _drawn(arguments, entries, rate if share == rate else share))
        kept = entries
        for _ in range(times):
            kept = point["factor"](kept, rate)
        dropped = point["rest"](kept, mask)
        if point["mode"](arguments.get("training")):
            return np.asarray(dropped)
        return np.asarray(point["evaluation"](entries, dropped, rate))

    return compute


def _drawn(arguments: Arguments, entries: Array, share: float) -> Array:
    """Return the mask of the call if it may drop this share, else one that does; zeros do not show what became of them.

    Without a mask of the call it is the reference's.
    """
    mask = arguments.get("drawn")
    # Where nothing is dropped, or everything, there is nothing to draw.
    if mask is not None and 0.0 < share < 1.0:
        shown = entries != 0.0
        number = int(shown.sum())
        least, most = likely(number, share, resolution(arguments.get("dtype", "float64")))
        if least <= int((shown & ~mask).sum()) <= most:
            return np.asarray(mask)
    return np.asarray(np.random.default_rng(arguments["seed"]).random(entries.shape) >= share)


DROPOUT = Family("dropout", (RATE, TIMES, SHARE, MASK, FACTOR, REST, EVALUATION, MODE), _of("x"), needs_dtype=True)
DROPOUT_BACKWARD = Family(
    "dropout_backward",
    (RATE, TIMES, SHARE_BACKWARD, MASK, FACTOR_BACKWARD, REST, EVALUATION, MODE),
    _of("grad_output"),
    needs_dtype=True,
)
