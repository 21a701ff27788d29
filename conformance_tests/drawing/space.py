"""Where the cases of a law are drawn from: what it fixes, what it forbids, and what is left free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from veriformer.conformance_tests.drawing.case import Palette

How = Literal["never", "sometimes", "always"]
EVERY_PALETTE: tuple[Palette, ...] = ("bits", "integers", "normal", "offset", "repeated")
EXACT_PALETTES: tuple[Palette, ...] = ("bits", "integers")


class Space:
    """The cases of a kind that a law is tried on; a subclass of each kind of case says what it leaves free."""


@dataclass(frozen=True)
class OwnSpace(Space):
    """Cases of whatever kind the operation has, for laws that hold of every operation alike."""

    extras: bool = True


@dataclass(frozen=True)
class NoSpace(Space):
    """No cases at all: a law about the signature or about fixed examples is tried once."""
