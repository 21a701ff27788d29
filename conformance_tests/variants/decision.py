"""Decisions of an implementer, each with its options: the standard one, conventions, mistakes, and harmless ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

Status = Literal["standard", "convention", "mistake", "harmless"]


@dataclass(frozen=True)
class Option:
    """One way to decide. The family calls `apply` in that place of its formula. `slug` names the mistake in the
    catalogue, which has its sentence and its sources; `meaning` describes in a sentence an option without a named
    mistake.
    """

    name: str
    status: Status
    apply: Callable[..., Any]
    slug: str = ""
    meaning: str = ""


@dataclass(frozen=True)
class Decision:
    """One decision of implementers in a formula; the standard option comes first.

    `convention` names the convention that settles it, whose values are then the names of the options.
    """

    name: str
    question: str
    options: tuple[Option, ...]
    convention: str = ""

    def __post_init__(self) -> None:
        if [option.status for option in self.options].count("standard") != 1 or self.standard.status != "standard":
            raise ValueError(f"decision {self.name!r} must have one standard option, the first; got {self.options}")
        if len(self._by_name) != len(self.options):
            raise ValueError(f"decision {self.name!r} has two options of one name; rename one")

    @property
    def standard(self) -> Option:
        """The option of the reference."""
        return self.options[0]

    def option(self, name: str) -> Option:
        """Return an option by its name; KeyError if there is none."""
        return self._by_name[name]

    def without(self, option: str) -> Decision:
        """Return the decision without an option, or with the standard one alone where none is named."""
        removed = set(self._by_name) - {self.standard.name} if not option else {self.option(option).name}
        return replace(self, options=tuple(kept for kept in self.options if kept.name not in removed))

    @cached_property
    def _by_name(self) -> dict[str, Option]:
        return {option.name: option for option in self.options}


def standard(name: str, apply: Callable[..., Any], slug: str = "") -> Option:
    """Return the option of the reference; `slug` names the mistake that it is if another convention is declared."""
    return Option(name, "standard", apply, slug)


def convention(name: str, apply: Callable[..., Any], slug: str = "") -> Option:
    """Return an option that correct libraries take too: a value of the decision's convention. `slug` names the mistake
    that it is if another value is declared.
    """
    return Option(name, "convention", apply, slug)


def mistake(slug: str, apply: Callable[..., Any], name: str = "", meaning: str = "") -> Option:
    """Return an option that is a mistake; `name` distinguishes several ways to make it. A mistake outside the catalogue
    has no slug, but a name and a `meaning`.
    """
    return Option(name or slug, "mistake", apply, slug, meaning)


def harmless(name: str, apply: Callable[..., Any], meaning: str) -> Option:
    """Return an option that breaks no law by itself and shows beside a mistake only; `meaning` describes it."""
    return Option(name, "harmless", apply, meaning=meaning)


def neighbour(name: str, apply: Callable[..., Any], meaning: str) -> Option:
    """Return an option that is as wrong as a recorded mistake but not recorded; `meaning` describes it."""
    return mistake("", apply, name, meaning)
