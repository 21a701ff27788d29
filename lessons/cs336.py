"""A student's adapters of the course CS336, graded as answers to our exercises; nothing of the course is here.

Its `tests/adapters.py` has functions `run_…` that take plain tensors and weights. A file is written that calls them
under the names of our interface, and that file is graded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from veriformer.lessons.exercise import Exercise
from veriformer.lessons.exercises import exercises
from veriformer.lessons.reading import NotBegun, Unclear, names_of, read_text
from veriformer.lessons.rubric import Graded, Rubric

# The course's functions, and the exercises that grade them.
FUNCTIONS = {
    "run_softmax": "softmax",
    "run_scaled_dot_product_attention": "scaled_dot_product_attention",
    "run_multihead_self_attention": "multi_head_attention",
    "run_rope": "rotary_embedding",
    "run_rmsnorm": "rms_norm",
    "run_silu": "silu",
    "run_swiglu": "gated_feed_forward",
    "run_embedding": "token_embedding",
    "run_cross_entropy": "cross_entropy",
    "run_transformer_lm": "language_model",
}


class NoAdapters(ValueError):
    """A file has none of the course's functions; the message says what it should have."""


@contextmanager
def bridge(adapters: Path) -> Iterator[tuple[Path, Rubric]]:
    """Yield a file with the operations that adapters have, and a rubric with a point for each; NoAdapters."""
    found = _exercises_of(adapters)
    text = resources.files(__package__).joinpath("bridge_cs336.txt").read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cs336.py"
        path.write_text(text.format(adapters=str(adapters.resolve())), encoding="utf-8")
        yield path, Rubric(tuple(Graded(exercise, 1.0) for exercise in found), time_limit=10.0, memory_limit=4.0)


def _exercises_of(adapters: Path) -> list[Exercise]:
    """Return the exercises of the functions that a file has, without the keywords that the course does not have."""
    try:
        tree = ast.parse(read_text(adapters))
    except (NotBegun, Unclear) as error:
        raise NoAdapters(str(error)) from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NoAdapters(f"{adapters} cannot be read as Python") from error
    names = names_of(tree)
    found = [exercise for function, exercise in FUNCTIONS.items() if function in names]
    if not found:
        raise NoAdapters(f"{adapters} has no run_softmax and none of the others; name the course's tests/adapters.py")
    return [replace(exercises()[name], keywords=()) for name in exercises() if name in found]
