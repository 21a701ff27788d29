"""What a value of the pass is, said in the parts of a Transformer."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.recognition.maps import LinearMap, Lookup
from veriformer.conformance_tests.recognition.naming import Named
from veriformer.conformance_tests.recognition.sites import Site


@dataclass(frozen=True)
class Expression:
    """A value of the trace and what it is."""

    value: int


@dataclass(frozen=True)
class Condition:
    """What each sample's vectors are multiplied by or moved by, such as what a time step gives; not of the stream."""

    of: Expression


@dataclass(frozen=True)
class Embedded(Expression):
    """Rows of a table of parameters."""

    lookup: Lookup


@dataclass(frozen=True)
class Fixed(Expression):
    """A value that does not depend on the inputs, such as a table of positions."""


@dataclass(frozen=True)
class Output(Expression):
    """What comes out of a linear map."""

    map: LinearMap


@dataclass(frozen=True)
class Sum(Expression):
    """A sum; sums inside sums are one."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True)
class Norm(Expression):
    """A vector divided by its size: layer norm or RMS norm.

    `gain` and `shift` are values, None where there are none; `one_plus` says that the gain is one more than its
    parameter. `eps` is None where rounding hides it. `mistake` is what is wrong with it, where that is known; a `kind`
    of "norm" is a norm that no formula was found for. `given_gain` and `given_shift` are those that each sample has of
    its own, behind the others.
    """

    of: Expression
    kind: str
    eps: float | None
    placement: str
    gain: int | None
    shift: int | None
    one_plus: bool = False
    mistake: Named | None = None
    given_gain: Condition | None = None
    given_shift: Condition | None = None

    @property
    def is_direction(self) -> bool:
        """Whether vectors are divided by their lengths, and nothing else: what has a gain is a norm."""
        bare = self.gain is None and self.shift is None
        return bare and self.mistake is not None and self.mistake.name == "rmsnorm_sum_of_squares"

    @property
    def is_unknown(self) -> bool:
        """Whether no formula, right or wrong, was found for it."""
        return self.kind == "norm" and self.mistake is None


@dataclass(frozen=True)
class Activated(Expression):
    """A function of each number; `name` is "relu", "gelu", "gelu_tanh" and so on."""

    of: Expression
    name: str


@dataclass(frozen=True)
class Product(Expression):
    """A product, entry by entry."""

    first: Expression
    second: Expression


@dataclass(frozen=True)
class Scaled(Expression):
    """A value times a number."""

    of: Expression
    factor: float


@dataclass(frozen=True)
class Gated(Expression):
    """A value of which each sample's vectors are multiplied by a vector that something else gives."""

    of: Expression
    by: Condition


@dataclass(frozen=True)
class Waves(Expression):
    """Sines and cosines of a number that each sample has, such as a time step, times `times`.

    `layout` says which stands first, and whether they stand in halves or in turns. The frequencies fall from 1 by
    `base`; `is_last_exact` says that the last one is 1 / base.
    """

    layout: str
    base: float
    is_last_exact: bool
    times: float


@dataclass(frozen=True)
class Shifted(Expression):
    """A value plus a number."""

    of: Expression
    amount: float


@dataclass(frozen=True)
class Limited(Expression):
    """A value whose numbers are not less than `low` and not more than `high`; None where no number shows a limit."""

    of: Expression
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Taken(Expression):
    """Some of the rows of a value, or several values joined."""

    of: tuple[Expression, ...]


@dataclass(frozen=True)
class Attended(Expression):
    """The heads' outputs of an attention, side by side."""

    sites: tuple[Site, ...]


@dataclass(frozen=True)
class Unknown(Expression):
    """Something else, made of these."""

    of: tuple[Expression, ...]
