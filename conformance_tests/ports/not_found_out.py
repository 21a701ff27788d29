"""What could not be read off the two models, and so is not compared."""

from __future__ import annotations

from collections.abc import Sequence

from veriformer.conformance_tests.core.text import first_few
from veriformer.conformance_tests.ports.alignment import Pair
from veriformer.conformance_tests.ports.items import PortPart

_MOST_NAMED = 2


def norms_without_eps(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Return a sentence that says in which norms eps is not compared, none where it is compared in all."""
    places: dict[str, list[str]] = {}
    for first, second in pairs:
        if first is None or second is None:
            continue
        for norm in _norms(first) & _norms(second):
            sides = [side for side, part in zip("AB", (first, second), strict=True) if not part.by_key(f"{norm}: eps")]
            if sides:
                places.setdefault(" and ".join(sides), []).append(_path(second, norm))
    return tuple(
        f"the eps of norms was not found out in {sides}, and so not compared ({first_few(names, _MOST_NAMED)}): beside "
        "inputs so large it has no effect in this precision"
        for sides, names in ((sides, list(dict.fromkeys(names))) for sides, names in places.items())
    )


def _norms(part: PortPart) -> set[str]:
    return {item.key.removesuffix(": gain") for item in part.items if item.key.endswith(": gain")}


def _path(part: PortPart, norm: str) -> str:
    item = part.by_key(f"{norm}: gain")
    return (item.path if item is not None else "") or part.path or norm
