"""The sections of the seed documents, and the topics they are about."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """The project's material on one subject: operations, derivations, functions of the reference, globs over laws.
    Every operation has a function of its own name, except for `black_boxes`, which only an implementation can provide;
    `functions` are further ones. Without globs of its own, a topic has all laws of its operations.
    """

    name: str
    title: str
    operations: tuple[str, ...] = ()
    black_boxes: tuple[str, ...] = ()
    derivations: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One section: it begins with `heading` on `line` and is about `topics`, or `reason` says why about none."""

    document: str
    line: int
    heading: str
    topics: tuple[Topic, ...] = ()
    reason: str = ""
