"""What configurations state of rotary embedding: its base, and how many components of a head are turned."""

from __future__ import annotations

from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.stated_windows import is_near, window_of

# A pair that is turned by less at each position stays where it is.
_TURNED = 1e-9


def bases(one: Layered) -> list[float | str]:
    """Return the base with which a sublayer turns; nothing where it is not known."""
    rotation = one.attention.query.rotation if one.attention is not None else None
    return [] if rotation is None or rotation.base is None else [rotation.base]


def bases_of_windows(one: Layered) -> list[float | str]:
    """Return the base with which a sublayer with a window turns."""
    return bases(one) if window_of(one)[0] is not None else []


def turned_shares(one: Layered) -> list[float | str]:
    """Return how many components of a head are turned; pairs that stay where they are may be counted, or not."""
    rotation = one.attention.query.rotation if one.attention is not None else None
    if rotation is None or one.attention is None or one.attention.setting is None:
        return []
    width = one.attention.heads.query.shape[-1]
    turned = 2 * int((rotation.frequencies > _TURNED).sum())
    return list(dict.fromkeys(f"{count} of {width}" for count in (rotation.width, turned)))


def is_share(stated: object, found: float | str) -> bool:
    """Return whether a stated share of a head is the one that is turned, perhaps cut down to whole pairs."""
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not isinstance(found, str):
        return False
    turned, width = map(int, found.split(" of "))
    return is_near(stated, turned / width) or 2 * int(stated * width / 2) == turned


def turned_widths(one: Layered) -> list[float | str]:
    """Return how many components of a head are turned, "all 16" where all are."""
    shares = [str(share).split(" of ") for share in turned_shares(one)]
    return [f"all {whole}" if turned == whole else turned for turned, whole in shares]


def is_turned_width(stated: object, found: float | str) -> bool:
    """Return whether a stated number is that of the components that are turned; no more are turned than a head has."""
    if isinstance(stated, bool) or not isinstance(stated, int) or not isinstance(found, str):
        return False
    whole = int(found.removeprefix("all "))
    return stated == whole or (found.startswith("all ") and stated > whole)
