"""Questions that make a learner find a mistake: one for each mistake, written by hand, which never names the remedy.

The files are TOML tables from the slug of a mistake to its question; `by_law.toml` has questions by patterns over the
keys of laws, for answers that no known mistake explains.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from types import MappingProxyType

_BY_LAW = "by_law.toml"


@cache
def questions() -> Mapping[str, str]:
    """Return the question of each mistake by its slug; ValueError where a slug has two."""
    found: dict[str, str] = {}
    for name in sorted(file.name for file in resources.files(__package__).iterdir()):
        if not name.endswith(".toml") or name == _BY_LAW:
            continue
        table = _table(name)
        if twice := found.keys() & table.keys():
            raise ValueError(f"{', '.join(sorted(twice))} has two questions; delete one")
        found |= table
    return MappingProxyType(found)


def question_about(mistakes: tuple[str, ...], law_key: str) -> str:
    """Return the question about the first mistake that has one, else that about the law."""
    known = [questions()[slug] for slug in mistakes if slug in questions()]
    return known[0] if known else question_by_law(law_key)


@cache
def question_by_law(key: str) -> str:
    """Return the question about a law by its key: that of the first pattern that fits."""
    return next(question for pattern, question in _table(_BY_LAW).items() if fnmatchcase(key, pattern))


def _table(name: str) -> dict[str, str]:
    return tomllib.loads(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
