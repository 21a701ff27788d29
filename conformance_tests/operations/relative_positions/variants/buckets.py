"""The family of T5's buckets of relative positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.variants.decision import Decision, mistake, standard
from veriformer.conformance_tests.variants.family import Arguments, Family, Point

BUCKETS_OF_T5 = 32
DISTANCE_OF_T5 = 128


def _from_first_entry(relative: Array) -> Array:
    """Return a table with the same first entry, whose entry moves by one with each key and each query."""
    columns = relative.shape[-1]
    rows = np.arange(relative.size // columns)[:, None]
    return np.asarray((relative.flat[0] + np.arange(columns) - rows).reshape(relative.shape))


_REBUILT = "table_rebuilt_from_first_entry"
ENTRIES = Decision(
    "entries",
    "Which relative positions have their buckets returned?",
    (
        standard("as_given", lambda relative: relative),
        mistake(_REBUILT, _from_first_entry),
        mistake(_REBUILT, lambda relative: relative[..., :1] + np.arange(relative.shape[-1]), "rows_from_first_entry"),
    ),
)


def _opposite_where(both: bool) -> Any:
    """Return the sign of relative positions turned for one of the two settings only."""
    return lambda relative, bidirectional: -relative if bidirectional is both else relative


SIGN = Decision(
    "sign",
    "Is a relative position that of the key as seen from the query, or the converse?",
    (
        standard("key_minus_query", lambda relative, bidirectional: relative),
        mistake("relative_index_transposed", lambda relative, bidirectional: -relative),
        mistake("relative_index_transposed", _opposite_where(True), "transposed_between_sides"),
        mistake("relative_index_transposed", _opposite_where(False), "transposed_in_one_direction"),
    ),
)

DIRECTIONS = Decision(
    "directions",
    "Do later keys have buckets of their own?",
    (
        standard("as_asked", lambda bidirectional: bidirectional),
        mistake(
            "", lambda bidirectional: True, name="always_bidirectional", meaning="`bidirectional` False is ignored"
        ),
        mistake("", lambda bidirectional: False, name="never_bidirectional", meaning="`bidirectional` True is ignored"),
    ),
)

COUNT = Decision(
    "count",
    "How many buckets are there?",
    (
        standard("as_asked", lambda buckets: buckets),
        mistake(
            "",
            lambda buckets: BUCKETS_OF_T5,
            name="bucket_count_ignored",
            meaning="there are 32 buckets, whatever is given",
        ),
    ),
)

# Of the number of all buckets: those of one direction, and where those of later keys begin.
HALVES = Decision(
    "halves",
    "How are the buckets shared out between both directions?",
    (
        standard("equally", lambda buckets: (buckets // 2, buckets // 2)),
        mistake("t5_bucket_wrong", lambda buckets: (buckets, buckets // 2), "not_halved"),
        mistake("t5_bucket_wrong", lambda buckets: (buckets, buckets), "doubled"),
        mistake("t5_bucket_wrong", lambda buckets: (buckets // 2, 0), "one_half_for_both"),
        mistake("t5_bucket_wrong", lambda buckets: (buckets // 2, buckets // 2 + 1), "second_half_one_late"),
        mistake("t5_bucket_wrong", lambda buckets: (buckets // 2, buckets // 2 - 1), "second_half_one_early"),
    ),
)

LATER = Decision(
    "later",
    "Which keys get the second half?",
    (
        standard("those_behind", lambda relative: relative > 0),
        mistake("t5_bucket_wrong", lambda relative: relative >= 0, "own_position_is_later"),
    ),
)

EXACT = Decision(
    "exact",
    "How many distances of one direction have a bucket each?",
    (
        standard("half", lambda buckets: buckets // 2),
        mistake("t5_exact_buckets_wrong", lambda buckets: max(buckets // 4, 1), "a_quarter"),
        mistake("t5_exact_buckets_wrong", lambda buckets: buckets // 4 + 1, "a_quarter_and_one"),
        mistake("t5_exact_buckets_wrong", lambda buckets: max(buckets // 2 - 1, 1), "half_less_one"),
        mistake("t5_exact_buckets_wrong", lambda buckets: buckets // 2 + 1, "half_and_one"),
        mistake("t5_exact_buckets_wrong", lambda buckets: max(buckets // 3, 1), "a_third"),
        mistake("t5_exact_buckets_wrong", lambda buckets: max(3 * buckets // 4, 1), "three_quarters"),
    ),
)

FURTHEST = Decision(
    "furthest",
    "At which distance does the last bucket begin to take all?",
    (
        standard("as_asked", lambda distance: distance),
        mistake("t5_max_distance_ignored", lambda distance: DISTANCE_OF_T5),
    ),
)

# Of the distance n, the exact buckets e and the furthest distance m: ln(n / e) / ln(m / e).
LOGARITHM = Decision(
    "logarithm",
    "How do buckets widen?",
    (
        standard("natural_over_natural", lambda n, exact, far: np.log(n / exact) / np.log(far / exact)),
        mistake("t5_logarithm_base_two", lambda n, exact, far: np.log2(n / exact) / np.log(far / exact)),
        mistake(
            "",
            lambda n, exact, far: np.log(n) / np.log(far / exact),
            name="logarithm_of_distance",
            meaning="the logarithm is of the distance itself, not of its ratio to the last exact one",
        ),
        mistake(
            "",
            lambda n, exact, far: np.log(n / exact) / math.log(far),
            name="logarithm_of_furthest",
            meaning="the divisor is the logarithm of the furthest distance itself, not of its ratio to the exact ones",
        ),
        mistake(
            "",
            lambda n, exact, far: np.log(n / exact) / np.log(far / (2 * exact)),
            name="logarithm_to_all_buckets",
            meaning="the divisor is the logarithm of the furthest distance over all buckets of one direction, not over "
            "the exact ones",
        ),
        mistake(
            "",
            lambda n, exact, far: (n - exact) / (far - exact),
            name="linear_far_buckets",
            meaning="far buckets are all equally wide",
        ),
    ),
)

ROUNDING = Decision(
    "rounding",
    "To which bucket does a fraction belong?",
    (
        standard("the_lower", np.floor),
        mistake(
            "", np.round, name="bucket_rounded", meaning="far distances go to the nearest bucket, not to the lower"
        ),
        mistake(
            "", np.ceil, name="bucket_rounded_up", meaning="far distances go to the upper bucket, not to the lower"
        ),
    ),
)

# Of a bucket and the number of buckets of one direction.
LAST = Decision(
    "last",
    "Which bucket takes all that is further?",
    (
        standard("the_last", lambda bucket, buckets: np.minimum(bucket, buckets - 1)),
        mistake("t5_bucket_wrong", lambda bucket, buckets: bucket, "not_clamped"),
        mistake("t5_bucket_wrong", np.minimum, "clamped_one_late"),
        mistake("t5_bucket_wrong", lambda bucket, buckets: np.minimum(bucket, buckets - 2), "clamped_one_early"),
    ),
)


def _compute(arguments: Arguments, point: Point) -> Array:
    both = point["directions"](arguments.get("bidirectional", True))
    relative = point["sign"](point["entries"](np.asarray(arguments["relative_position"])), both)
    count = point["count"](arguments.get("num_buckets", BUCKETS_OF_T5))
    buckets, start = point["halves"](count) if both else (count, 0)
    later = np.where(point["later"](relative), start, 0) if both else 0
    distance = np.abs(relative) if both else np.maximum(-relative, 0)
    return np.asarray(
        later + _within_direction(distance, buckets, arguments.get("max_distance", DISTANCE_OF_T5), point)
    )


def _within_direction(distance: Array, buckets: int, furthest: int, point: Point) -> Array:
    """Return the buckets of distances, of those of one direction."""
    exact = max(point["exact"](buckets), 1)
    ratio = point["logarithm"](np.maximum(distance, exact), exact, point["furthest"](furthest))
    far = exact + point["rounding"](ratio * (buckets - exact))
    return np.asarray(np.where(distance < exact, distance, point["last"](far, buckets)))


BUCKETS = Family(
    "buckets",
    (ENTRIES, SIGN, DIRECTIONS, COUNT, HALVES, LATER, EXACT, FURTHEST, LOGARITHM, ROUNDING, LAST),
    _compute,
)
