"""What is shown when questions are answered: the number behind the words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from veriformer.lessons.asked import sheet
from veriformer.lessons.drawing import matrix_grid
from veriformer.lessons.exercise import Exercise
from veriformer.pictures.model import Picture, Row

_LENGTH = 4


def picture_of(exercise: Exercise) -> Picture | None:
    """Return the picture that belongs to the questions of an exercise, None where there is none."""
    name = sheet(exercise.id).picture
    return _PICTURES[name]() if name else None


def causal_training() -> Row:
    """Return the weights of equal logits as they are trained, without the mask, and as they are used, with it.

    In training row i learns to rely on what stands at i + 1 and later, its own target among it; in use that share is
    gone, and the rest is scaled up.
    """
    from veriformer.reference import attention_weights

    equal = np.zeros((1, 1, _LENGTH, 1))
    trained = attention_weights(equal, equal)[0, 0]
    used = attention_weights(equal, equal, is_causal=True)[0, 0]
    return Row(
        "What a query relies on",
        (
            matrix_grid("weights in training, without the mask", trained, "query", "key"),
            matrix_grid("weights in use, with the mask", used, "query", "key"),
            matrix_grid("lost from later keys", np.triu(trained, 1), "query", "key"),
        ),
    )


_PICTURES: dict[str, Callable[[], Picture]] = {"causal_training": causal_training}
