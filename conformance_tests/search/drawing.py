"""Finding a case with Hypothesis, the same one wherever a seed is used."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar
from unittest.mock import patch

from hypothesis import Phase, Verbosity, find, settings
from hypothesis import strategies as st

try:
    from hypothesis.internal.conjecture.providers import HypothesisProvider
except ImportError:  # older releases draw without constants
    HypothesisProvider = None  # type: ignore[assignment,misc]

Drawn = TypeVar("Drawn")


def find_case(strategy: st.SearchStrategy[Drawn], wanted: Callable[[Drawn], bool], seed: int, examples: int) -> Drawn:
    """Return the smallest wanted case that Hypothesis finds among `examples` drawn ones.

    Raises NoSuchExample when none is wanted, and Flaky when a case is wanted at one time and not at another.
    """
    with _no_constants_of_other_modules():
        return find(strategy, wanted, settings=_settings(examples), random=random.Random(seed))


def _settings(examples: int) -> settings:
    return settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        verbosity=Verbosity.quiet,
    )


def _no_constants_of_other_modules() -> AbstractContextManager[object]:
    """Keep Hypothesis from drawing integers that it reads in the source of imported modules.

    Which modules it reads depends on where packages are installed: a seed would stand for other cases on another
    machine. Hypothesis has no setting for it.
    """
    name = "_maybe_draw_constant"
    if HypothesisProvider is None or not hasattr(HypothesisProvider, name):
        return nullcontext()
    return patch.object(HypothesisProvider, name, lambda *_, **__: None)
