"""The spaces of cases of laws: the fixed, forbidden and free choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.conformance_tests.drawing.case import Palette

How = Literal["never", "sometimes", "always"]
EVERY_PALETTE: tuple[Palette, ...] = ("bits", "integers", "normal", "offset", "repeated")
EXACT_PALETTES: tuple[Palette, ...] = ("bits", "integers")


class Space:
    """The cases of a kind that a law is tried on; a subclass for each kind of case names the free choices."""


@dataclass(frozen=True)
class OwnSpace(Space):
    """Cases of the operation's own kind, for laws that hold for every operation."""

    extras: bool = True


@dataclass(frozen=True)
class NoSpace(Space):
    """No cases at all: a law about the signature or about fixed examples is tried once."""
