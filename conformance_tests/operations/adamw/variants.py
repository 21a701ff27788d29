"""The family of a step of AdamW."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, Option, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

_COMPLEMENTS = "adam_betas_mean_their_complements"
_UNWEIGHTED = "adam_first_moments_unweighted"


def _moments(whose: str) -> tuple[Option, ...]:
    """Return the ways to average an old moment and what is new, by β and the number of the step."""
    return (
        standard("old_share_beta", lambda old, new, beta, step: beta * old + (1.0 - beta) * new),
        mistake(_COMPLEMENTS, lambda old, new, beta, step: beta * new + (1.0 - beta) * old),
        mistake(
            _UNWEIGHTED,
            lambda old, new, beta, step: new if step == 1 else beta * old + (1.0 - beta) * new,
        ),
        neighbour(
            f"{whose}_not_averaged",
            lambda old, new, beta, step: beta * old + new,
            f"what is new enters the {whose} moment whole, without 1 − β",
        ),
        neighbour(f"{whose}_replaced", lambda old, new, beta, step: new, f"the {whose} moment forgets all before"),
        neighbour(f"{whose}_kept", lambda old, new, beta, step: old, f"the {whose} moment is never updated"),
    )


FIRST_MOMENT = Decision("first_moment", "How is the mean of the gradients updated?", _moments("first"))
SECOND_MOMENT = Decision("second_moment", "How is the mean of their squares updated?", _moments("second"))
SQUARE = Decision(
    "square",
    "What is averaged in the second moment?",
    (
        standard("square", lambda gradient, mean: gradient * gradient),
        mistake("adam_second_moment_of_magnitudes", lambda gradient, mean: np.abs(gradient), "magnitude"),
        neighbour("gradient", lambda gradient, mean: gradient, "the gradient itself is averaged, not its square"),
        neighbour(
            "about_the_mean",
            lambda gradient, mean: np.square(gradient - mean),
            "the square of the gradient's distance from its mean is averaged, as in AdaBelief",
        ),
        mistake(
            "adam_second_moment_shared",
            lambda gradient, mean: np.mean(gradient * gradient) + np.zeros_like(gradient),
            "over_all_entries",
        ),
    ),
)


def _corrections(whose: str) -> tuple[Option, ...]:
    """Return what a moment is divided by, from its β, the number of the step and the other moment's β."""
    return (
        standard("one_minus_power", lambda beta, step, other: 1.0 - beta**step),
        mistake("adam_bias_correction_missing", lambda beta, step, other: 1.0),
        mistake("adam_bias_correction_multiplies", lambda beta, step, other: 1.0 / (1.0 - beta**step)),
        mistake("adam_bias_correction_without_power", lambda beta, step, other: 1.0 - beta),
        mistake("adam_step_counted_from_zero", lambda beta, step, other: np.float64(1.0 - beta ** (step - 1))),
        neighbour(
            f"{whose}_one_step_late",
            lambda beta, step, other: 1.0 - beta ** (step + 1),
            f"the {whose} moment is corrected for one step more than there were",
        ),
        neighbour(
            f"{whose}_by_other_beta",
            lambda beta, step, other: 1.0 - other**step,
            f"the {whose} moment is corrected with the other moment's β",
        ),
    )


FIRST_CORRECTION = Decision("first_correction", "What is the first moment divided by?", _corrections("first"))
SECOND_CORRECTION = Decision("second_correction", "What is the second moment divided by?", _corrections("second"))

EPS = Decision(
    "eps",
    "Where is eps added?",
    (
        standard("after_correction", lambda square, share, eps: np.sqrt(square / share) + eps),
        convention(
            "before_correction",
            lambda square, share, eps: (np.sqrt(square) + eps) / np.sqrt(share),
            "adamw_eps_scaled_by_bias_correction",
        ),
        mistake("adamw_eps_inside_root", lambda square, share, eps: np.sqrt(square / share + eps)),
        neighbour(
            "root_over_correction",
            lambda square, share, eps: np.sqrt(square) / share + eps,
            "the root of the second moment is divided by 1 − β₂ᵗ itself, instead of by its root",
        ),
        neighbour("none", lambda square, share, eps: np.sqrt(square / share), "eps is not added"),
        neighbour(
            "at_least_eps",
            lambda square, share, eps: np.maximum(np.sqrt(square / share), eps),
            "eps bounds the root from below instead of being added",
        ),
        mistake("adam_root_forgotten", lambda square, share, eps: square / share + eps, "no_root"),
    ),
    convention="adamw_eps",
)

# What is added to the gradient, the old parameter's factor, and that of the new one.
Decay = tuple[Array | float, float, float]


def _coupled(parameter: Array, rate: float, decay: float) -> Decay:
    return decay * parameter, 1.0, 1.0


DECAY = Decision(
    "decay",
    "What does the weight decay do?",
    (
        standard("times_learning_rate", lambda parameter, rate, decay: (0.0, 1.0 - rate * decay, 1.0)),
        convention(
            "apart", lambda parameter, rate, decay: (0.0, 1.0 - 1.0 * decay, 1.0), "adamw_decay_without_learning_rate"
        ),
        mistake("adamw_decay_coupled_to_gradient", _coupled),
        mistake("adamw_decay_after_update", lambda parameter, rate, decay: (0.0, 1.0, 1.0 - rate * decay)),
        mistake("adam_weight_decay_ignored", lambda parameter, rate, decay: (0.0, 1.0, 1.0)),
        neighbour("grows", lambda parameter, rate, decay: (0.0, 1.0 + rate * decay, 1.0), "the parameter grows by ηλ"),
        neighbour(
            "rate_squared",
            lambda parameter, rate, decay: (0.0, 1.0 - rate * rate * decay, 1.0),
            "the decay is multiplied by the learning rate twice",
        ),
        neighbour(
            "both",
            lambda parameter, rate, decay: (decay * parameter, 1.0 - rate * decay, 1.0),
            "the parameter decays, and the decay goes through the moments too",
        ),
        neighbour("of_one", lambda parameter, rate, decay: (0.0, decay, 1.0), "λ itself is the share that stays"),
    ),
    convention="adamw_decay",
)

USED = Decision(
    "used",
    "Which first moment moves the parameter?",
    (
        standard("new", lambda new, old, gradient, beta: new),
        mistake("adam_old_moment_used", lambda new, old, gradient, beta: old, "old"),
        neighbour("gradient", lambda new, old, gradient, beta: gradient, "the gradient is used, as in RMSProp"),
        neighbour(
            "nesterov",
            lambda new, old, gradient, beta: beta * new + (1.0 - beta) * gradient,
            "the gradient counts once more, as in NAdam",
        ),
    ),
)

RATE = Decision(
    "rate",
    "By what is the update multiplied?",
    (
        standard("learning_rate", lambda rate, first, second: rate),
        mistake("adam_bias_correction_applied_twice", lambda rate, first, second: rate * np.sqrt(second) / first),
        mistake("adam_update_added", lambda rate, first, second: -rate),
        neighbour("none", lambda rate, first, second: 1.0, "the learning rate is not multiplied by"),
    ),
)

RETURNED = Decision(
    "returned",
    "Which moments are returned?",
    (
        standard("new", lambda mean, square, old, shares: (mean, square)),
        mistake(
            "adam_bias_correction_written_back",
            lambda mean, square, old, shares: (mean / shares[0], square / shares[1]),
        ),
        neighbour("old", lambda mean, square, old, shares: old, "the moments are returned as they came"),
        neighbour("exchanged", lambda mean, square, old, shares: (square, mean), "the two moments are exchanged"),
        neighbour(
            "root", lambda mean, square, old, shares: (mean, np.sqrt(square)), "the second moment's root is returned"
        ),
    ),
)


def compute(arguments: Arguments, point: Point) -> Array:
    """Return parameter and moments, one after the other, of a step at a point of the family."""
    old, given = arguments["parameter"], arguments["gradient"]
    before = arguments["first_moment"], arguments["second_moment"]
    betas, step, rate = (arguments["beta1"], arguments["beta2"]), arguments["step"], arguments["learning_rate"]
    added, kept, last = point["decay"](old, rate, arguments["weight_decay"])
    slope = given + added
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = point["first_moment"](before[0], slope, betas[0], step)
        square = point["second_moment"](before[1], point["square"](slope, mean), betas[1], step)
        shares = _shares(point["first_correction"], point["second_correction"], betas, step)
        size = point["eps"](square, shares[1], arguments["eps"])
        used = point["used"](mean, before[0], slope, betas[0])
        moved = point["rate"](rate, 1.0 - betas[0] ** step, 1.0 - betas[1] ** step) * (used / shares[0] / size)
        moments = point["returned"](mean, square, before, shares)
        return np.concatenate([part.ravel() for part in ((old * kept - moved) * last, *moments)])


def _shares(
    first: Callable[..., float], second: Callable[..., float], betas: tuple[float, float], step: int
) -> tuple[float, float]:
    return first(betas[0], step, betas[1]), second(betas[1], step, betas[0])


ADAMW = Family(
    "adamw_step",
    (
        FIRST_MOMENT,
        SECOND_MOMENT,
        SQUARE,
        FIRST_CORRECTION,
        SECOND_CORRECTION,
        EPS,
        DECAY,
        USED,
        RATE,
        RETURNED,
    ),
    compute,
)
