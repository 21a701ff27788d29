"""Which operations, laws, dtypes and how many cases a run has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from fractions import Fraction
from math import ceil
from typing import Literal

from veriformer.spec.laws import LAWS
from veriformer.spec.operations import OPERATIONS

Effort = Literal["quick", "standard", "thorough"]
EXAMPLES: dict[Effort, int] = {"quick": 8, "standard": 20, "thorough": 120}
# A law with costly calls has this many, and each carries as many cases as it can.
BATCHES: dict[Effort, int] = {"quick": 5, "standard": 12, "thorough": 72}
# Compilations for each law, where a framework compiles for each shape.
COMPILATIONS: dict[Effort, int] = {"quick": 2, "standard": 2, "thorough": 6}
# One case of these is a dozen calls of other operations, and as many bounds: of so many cases each law has one.
WHOLE_MODELS = ("encoder", "encoder_decoder", "language_model", "decode_step")
_SHARES = {
    **dict.fromkeys(WHOLE_MODELS, 2),
    **dict.fromkeys((f"{name}_backward" for name in WHOLE_MODELS), 4),
    "training_steps": 4,
    # A case is a whole model's weights.
    "initial_weights": 2,
    **dict.fromkeys(("encoder_layer_backward", "decoder_layer_backward", "multi_head_attention_backward"), 2),
}
# Whether a call depends on earlier ones, or on where its arrays lie, shows in most cases alike.
_OF_ANY_CASE = frozenset(("same_call_same_answer", "history_independence", "memory_layout"))
# What a backward pass or a training loop obeys or breaks whatever the values are is tried on few cases.
_OF_ANY_VALUES = _OF_ANY_CASE | {"shape", "dtype", "grad_output.linear", "grad_output.zero", "samples.additive"}


class UnknownName(ValueError):
    """An unknown name; the message suggests the intended one."""


def several(names: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """Return names as a tuple, one name as a tuple of it, and None as it is."""
    return (names,) if isinstance(names, str) else names if names is None else tuple(names)


@dataclass(frozen=True)
class Selection:
    """The selected laws and operations; None means everything. `cases` limits how many each law is tried on."""

    operations: tuple[str, ...] | None = None
    laws: tuple[str, ...] | None = None
    dtypes: tuple[str, ...] | None = None
    effort: Effort = "standard"
    seed: int = 0
    cases: int | None = None

    def __post_init__(self) -> None:
        for name in self.operations or ():
            if name not in OPERATIONS:
                raise UnknownName(unknown("operation", name, OPERATIONS, "veriformer list operations"))
        for pattern in self.laws or ():
            if not any(fnmatchcase(identifier, pattern) for identifier in LAWS):
                raise UnknownName(unknown("law", pattern, LAWS, "veriformer list laws"))
        if self.effort not in EXAMPLES:
            raise UnknownName(unknown("tier", self.effort, EXAMPLES, "one of quick, standard, thorough"))

    def includes(self, identifier: str) -> bool:
        """Return whether the law called `identifier` is tried."""
        if self.operations is not None and LAWS[identifier].operation.name not in self.operations:
            return False
        return self.laws is None or any(fnmatchcase(identifier, pattern) for pattern in self.laws)

    @property
    def examples(self) -> int:
        """How many cases each law is tried on."""
        return min(EXAMPLES[self.effort], self.cases or EXAMPLES[self.effort])

    @property
    def batches(self) -> int:
        """How many calls each law has where a call is costly and can carry many cases."""
        return min(BATCHES[self.effort], self.cases or BATCHES[self.effort])

    def examples_of(self, operation: str, key: str = "") -> int:
        """Return how many cases the law of a key is tried on, by default a law of values: of a whole model half, or
        fewer, and of what shows in any case half of that. A backward pass has fewer decisions than what it goes back
        through: half at most, and a quarter of its share if values count for little. A quick run, which has
        few cases, keeps all; of what counts for little in a backward pass half.
        """
        share, quick = Fraction(1, share_of(operation)), self.effort == "quick"
        if OPERATIONS[operation].forward or operation == "training_steps":
            of_any, most = (Fraction(1, 2), Fraction(1)) if quick else (Fraction(1, 4), Fraction(1, 2))
            share = share * of_any if key in _OF_ANY_VALUES else min(share, most)
        elif key in _OF_ANY_CASE and not quick:
            share /= 2
        return max(ceil(self.examples * share), 2)

    @property
    def reach(self) -> int:
        """How dear the cases may be that are drawn on purpose."""
        return tuple(EXAMPLES).index(self.effort)

    @property
    def pool(self) -> int:
        """How many combinations of sizes each law is tried on, where every one is compiled."""
        return COMPILATIONS[self.effort]


def share_of(operation: str) -> int:
    """Return how many times fewer cases an operation has than others."""
    return _SHARES.get(operation, 1)


def unknown(kind: str, name: str, known: Iterable[str], where: str) -> str:
    """Return the message about an unknown name, with the intended one and where names are listed."""
    close = get_close_matches(name, list(known), n=3)
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    return f"no {kind} is called {name!r}{meant} (see: {where})"
