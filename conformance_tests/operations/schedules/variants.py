"""The families of schedules of the learning rate."""

from __future__ import annotations

import math

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, convention, mistake, neighbour, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

LENGTH = Decision(
    "length",
    "At which steps do the warm-up and the cosine end?",
    (
        standard("as_given", lambda warmup, total: (warmup, total)),
        mistake("schedule_warmup_missing", lambda warmup, total: (0, total - warmup)),
        mistake("schedule_warmup_in_other_units", lambda warmup, total: (warmup // 2, total)),
        neighbour("no_warmup", lambda warmup, total: (0, total), "the cosine fills the run, without a warm-up"),
        neighbour("warmup_not_counted", lambda warmup, total: (warmup, total + warmup), "the cosine has T steps"),
        neighbour("twice", lambda warmup, total: (2 * warmup, total), "the warm-up has twice as many steps"),
        neighbour("one_more", lambda warmup, total: (warmup + 1, total), "the warm-up has one step more"),
        neighbour("one_fewer", lambda warmup, total: (max(warmup - 1, 0), total), "the warm-up has one step fewer"),
    ),
)
LEAST = Decision(
    "least",
    "Which least rate is meant?",
    (standard("as_given", lambda least: least), mistake("schedule_least_ignored", lambda least: 0.0)),
)
RISE = Decision(
    "rise",
    "Which share of the peak has a step of the warm-up?",
    (
        standard("zero", lambda step, warmup: (step + 0) / (warmup + 0)),
        convention("first_share", lambda step, warmup: (step + 1) / (warmup + 1)),
        mistake("schedule_warmup_ends_one_step_early", lambda step, warmup: (step + 1) / warmup),
        mistake("schedule_first_step_repeated", lambda step, warmup: max(step, 1) / warmup),
        mistake("schedule_integer_division", lambda step, warmup: step // warmup),
        neighbour("one_step_late", lambda step, warmup: max(step - 1, 0) / warmup, "the warm-up lags by one step"),
        neighbour("to_last_step", lambda step, warmup: step / max(warmup - 1, 1), "the last step is at the peak"),
        neighbour("square", lambda step, warmup: (step / warmup) ** 2, "the share of the warm-up is squared"),
        neighbour("root", lambda step, warmup: (step / warmup) ** 0.5, "the root of the share is taken"),
        neighbour("falling", lambda step, warmup: 1.0 - step / warmup, "the rate falls in the warm-up"),
        neighbour(
            "cosine",
            lambda step, warmup: 0.5 * (1.0 - math.cos(math.pi * step / warmup)),
            "the warm-up is half a cosine",
        ),
    ),
    convention="warmup_start",
)
START = Decision(
    "start",
    "From where does the warm-up rise?",
    (
        standard("from_zero", lambda share, peak, least: peak * share),
        mistake("schedule_warmup_from_least", lambda share, peak, least: least + (peak - least) * share),
        neighbour("to_height", lambda share, peak, least: (peak - least) * share, "the warm-up ends below the peak"),
    ),
)
PROGRESS = Decision(
    "progress",
    "Which share of the cosine is over?",
    (
        standard("after_warmup", lambda step, warmup, total: (step - warmup) / (total - warmup)),
        mistake("schedule_decay_over_all_steps", lambda step, warmup, total: step / total),
        mistake("schedule_decay_of_total_length", lambda step, warmup, total: (step - warmup) / total),
        # The least rate is returned from the last step on, where a right cosine has it anyway.
        mistake(
            "schedule_decay_of_total_length",
            lambda step, warmup, total: (step - warmup) / total if step < total else 1.0,
            "of_total_length_until_the_end",
        ),
        neighbour("of_rest", lambda step, warmup, total: step / (total - warmup), "the warm-up counts as decay"),
        neighbour(
            "one_step_early",
            lambda step, warmup, total: (step + 1 - warmup) / (total - warmup),
            "the cosine is one step ahead",
        ),
        neighbour(
            "to_last_step",
            lambda step, warmup, total: (step - warmup) / max(total - warmup - 1, 1),
            "the cosine ends one step early",
        ),
        neighbour(
            "whole_numbers", lambda step, warmup, total: (step - warmup) // (total - warmup), "the share is floored"
        ),
    ),
)
DECAY = Decision(
    "decay",
    "How does the rate fall?",
    (
        standard("half_a_cosine", lambda share: 0.5 * (1.0 + math.cos(math.pi * share))),
        mistake("schedule_whole_period", lambda share: 0.5 * (1.0 + math.cos(2.0 * math.pi * share))),
        mistake("schedule_linear_decay", lambda share: 1.0 - share),
        mistake("schedule_quarter_of_a_cosine", lambda share: math.cos(0.5 * math.pi * share)),
        mistake("schedule_cosine_not_halved", lambda share: 1.0 + math.cos(math.pi * share)),
        mistake("schedule_angle_in_degrees", lambda share: 0.5 * (1.0 + math.cos(math.radians(math.pi * share)))),
        neighbour(
            "cosine_alone", lambda share: max(math.cos(math.pi * share), 0.0), "the cosine is not raised and halved"
        ),
        neighbour("rising", lambda share: 0.5 * (1.0 - math.cos(math.pi * share)), "the cosine has the other sign"),
        neighbour("constant", lambda share: 1.0, "the rate stays at the peak"),
        neighbour("exponential", lambda share: math.exp(-share), "the rate decays exponentially"),
        neighbour("without_pi", lambda share: 0.5 * (1.0 + math.cos(share)), "π is left out"),
    ),
)
FLOOR = Decision(
    "floor",
    "How does the least rate enter?",
    (
        standard("added_to_the_rest", lambda share, peak, least: least + (peak - least) * share),
        neighbour("only_after", lambda share, peak, least: peak * share, "the least rate holds after the end alone"),
        mistake("schedule_least_clamps", lambda share, peak, least: max(peak * share, least)),
        mistake("schedule_least_added_to_peak", lambda share, peak, least: least + peak * share),
        mistake("schedule_least_not_added", lambda share, peak, least: (peak - least) * share),
        mistake("schedule_rates_exchanged", lambda share, peak, least: peak + (least - peak) * share),
    ),
)
HANDOVER = Decision(
    "handover",
    "What is the share of the peak where the warm-up ends?",
    (
        standard("that_of_the_cosine", lambda share, step, warmup, total: share),
        mistake(
            "schedule_overshoots_peak",
            lambda share, step, warmup, total: (
                2.0 / (1.0 + math.cos(math.pi / (total - warmup)))
                if step == warmup > 0 and total - warmup > 1
                else share
            ),
        ),
        neighbour(
            "last_of_the_rise",
            lambda share, step, warmup, total: (step - 1) / warmup if step == warmup > 0 else share,
            "the last rate of the warm-up is taken once more",
        ),
    ),
)
AFTER = Decision(
    "after",
    "What follows the end?",
    (
        standard("least", lambda rate, least, step, total: float(least) if step > total else rate),
        mistake("schedule_rises_again", lambda rate, least, step, total: rate),
        neighbour(
            "zero", lambda rate, least, step, total: 0.0 if step > total else rate, "the rate is 0 after the end"
        ),
    ),
)


def _cosine(arguments: Arguments, point: Point) -> Array:
    """Return the rate of a schedule with a cosine at a point of the family."""
    step, peak, least = arguments["step"], arguments["peak"], point["least"](arguments["least"])
    warmup, total = point["length"](arguments["warmup_steps"], arguments["total_steps"])
    if step < warmup:
        return np.array(float(point["start"](point["rise"](step, warmup), peak, least)))
    if total <= warmup:
        return np.array(float(least))
    share = point["decay"](point["progress"](step, warmup, total))
    rate = point["floor"](point["handover"](share, step, warmup, total), peak, least)
    return np.array(float(point["after"](rate, least, step, total)))


COSINE = Family(
    "warmup_cosine_learning_rate", (LENGTH, LEAST, RISE, START, PROGRESS, DECAY, HANDOVER, FLOOR, AFTER), _cosine
)

COUNT = Decision(
    "count",
    "From where are steps counted?",
    (
        standard("from_one", lambda step: step),
        mistake("inverse_root_first_steps_alike", lambda step: max(step - 1, 1)),
        neighbour("one_early", lambda step: step + 1, "the schedule is one step ahead"),
    ),
)
WIDTH = Decision(
    "width",
    "What factor does the width give?",
    (
        standard("inverse_root", lambda width, warmup: float(width) ** -0.5),
        mistake("inverse_root_width_forgotten", lambda width, warmup: 1.0),
        mistake("inverse_root_peak_at_one", lambda width, warmup: float(warmup) ** 0.5),
        mistake("inverse_root_width_not_rooted", lambda width, warmup: 1.0 / width),
        mistake("inverse_root_width_multiplies", lambda width, warmup: float(width) ** 0.5),
    ),
)
SLOPE = Decision(
    "slope",
    "How steep is the rise?",
    (
        standard("three_halves", lambda warmup: float(warmup) ** -1.5),
        mistake("inverse_root_warmup_exponent", lambda warmup: float(warmup) ** -0.5, "one_half"),
        mistake("inverse_root_warmup_exponent", lambda warmup: 1.0 / warmup, "one"),
        neighbour("two", lambda warmup: float(warmup) ** -2.0, "the exponent of the warm-up is −2"),
    ),
)
FALL = Decision(
    "fall",
    "How does the rate fall?",
    (
        standard("inverse_root", lambda step: float(step) ** -0.5),
        mistake("inverse_root_decays_as_inverse", lambda step: 1.0 / step),
        mistake("inverse_root_rises_as_root", lambda step: float(step) ** 0.5),
        neighbour("three_halves", lambda step: float(step) ** -1.5, "the exponent of the step is −3/2"),
    ),
)
MEETING = Decision(
    "meeting",
    "Which of the two holds?",
    (
        standard("smaller", min),
        mistake("inverse_root_larger_of_two", max),
        mistake("inverse_root_without_warmup", lambda root, rise: root),
        mistake("inverse_root_without_decay", lambda root, rise: rise),
    ),
)


def _root(arguments: Arguments, point: Point) -> Array:
    """Return the rate of a schedule with an inverse root at a point of the family."""
    step, warmup = point["count"](arguments["step"]), arguments["warmup_steps"]
    rate = point["meeting"](point["fall"](step), step * point["slope"](warmup))
    return np.array(float(point["width"](arguments["d_model"], warmup) * rate))


ROOT = Family("warmup_inverse_root_learning_rate", (COUNT, WIDTH, SLOPE, FALL, MEETING), _root)
