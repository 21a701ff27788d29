"""Finding the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(received: str, known: Iterable[str], *, cutoff: float = 0.7) -> str | None:
    """Return the known name closest to `received`, or None when none is close (difflib's ratio below `cutoff`)."""
    by_folded_name = {name.casefold(): name for name in known}
    matches = get_close_matches(received.casefold(), by_folded_name, n=1, cutoff=cutoff)
    return by_folded_name[matches[0]] if matches else None


def suggestion(received: str, known: Iterable[str], *, cutoff: float = 0.7) -> str:
    """Return "; did you mean 'name'?" for the closest known name, or an empty string."""
    match = closest(received, known, cutoff=cutoff)
    return f"; did you mean {match!r}?" if match else ""


def listing(names: Iterable[str]) -> str:
    """Return the names separated by commas."""
    return ", ".join(names)
