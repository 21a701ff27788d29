"""What may be drawn for an operation of an implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from veriformer.adapters.model_declarations import BlackBox
from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.fixed import FixedChoices

# Float16 holds logits up to 65504; no kernel can compute with larger amplitudes.
LARGEST_AMPLITUDE = {"float16": 8, "bfloat16": 100, "float32": 100, "float64": 100}
SEEDS = choices.integers(0, 2**16)

SizesT = TypeVar("SizesT")


@dataclass(frozen=True)
class Limits:
    """What may be drawn for an operation of an implementation.

    Sizes are chosen by `seed`. `compiles_per_shape` takes them from `pool` entries of a pool; `small` overrides both
    and draws the smallest sizes only, to find a readable counterexample. `turn` is the law's place among those of its
    operation: laws take turns at the rare entries of a pool, so that every run meets all of them.
    With `equal_lengths` there are as many queries as keys, unless a law is about other numbers of them.
    `causal_excludes_mask` keeps the causal flag away from masks and biases, `bias_excludes_mask` these two apart.
    `reach` limits the cost of cases drawn on purpose: 0 in a quick run, 2 in a thorough one. `architectures` are the
    implementation's for an operation on whole models, `black_box` describes the inputs of its `model`; `fixed` are the
    choices that the operation does not offer; without `left_padding` padding is on the right. Calls carry few samples
    where each is one call `one_by_one`.
    """

    operation: str
    dtypes: tuple[str, ...]
    features: frozenset[str]
    architectures: tuple[str, ...] = ()
    black_box: BlackBox | None = None
    left_padding: bool = True
    equal_widths: bool = False
    equal_lengths: bool = False
    causal_excludes_mask: bool = False
    bias_excludes_mask: bool = False
    compiles_per_shape: bool = False
    pool: int = 2
    small: bool = False
    seed: int = 0
    turn: int | None = None
    fixed: FixedChoices = field(default_factory=FixedChoices)
    reach: int = 0
    one_by_one: bool = False

    @property
    def places(self) -> tuple[int, ...]:
        """The places in a pool, counted round and round, that a law compiles for: by its seed, and last by its turn."""
        drawn = range(self.seed, self.seed + self.pool)
        return tuple(drawn) if self.turn is None else (*drawn[:-1], self.turn)

    @property
    def dtypes_in_turn(self) -> tuple[str, ...]:
        """A dtype for each of these places, so that a law meets as many dtypes as possible."""
        return tuple(self.dtypes[(self.seed + number) % len(self.dtypes)] for number in range(self.pool))

    def sizes_and_dtypes(
        self, pool: Sequence[SizesT], small: Sequence[SizesT], free: Sequence[SizesT]
    ) -> choices.Choice[tuple[SizesT, str]]:
        """Return sizes with a dtype: few of a pool where a framework compiles for each, else small ones, or any."""
        if self.compiles_per_shape and not self.small:
            pairs = zip(self.places, self.dtypes_in_turn, strict=True)
            return choices.sampled_from([(pool[at % len(pool)], dtype) for at, dtype in pairs])
        sizes = choices.sampled_from(small if self.small else free)
        return choices.tuples(sizes, choices.sampled_from(self.dtypes))
