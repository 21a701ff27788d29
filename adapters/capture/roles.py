"""Which arguments of a model are the queries, keys and values of an attention, by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence

ROLES = ("query", "key", "value")
_WORDS = {
    role: re.compile(rf"^(x|in|inputs?)?_?({words})_?(in|inputs?|states?|seq|x)?$", re.IGNORECASE)
    for role, words in {"query": "q|query|queries", "key": "k|key|keys", "value": "v|value|values"}.items()
}


def role_of(name: str) -> str | None:
    """Return the role that an argument's name says; None for any other name."""
    return next((role for role, words in _WORDS.items() if words.match(name)), None)


def have_roles(names: Sequence[str]) -> bool:
    """Return whether queries, keys and values are each one of the arguments with these names."""
    found = [role for name in names if (role := role_of(name)) is not None]
    return sorted(found) == sorted(ROLES)
