"""The windows of attention that configurations state: which number of keys is meant, on one side or on both."""

from __future__ import annotations

from veriformer.conformance_tests.recognition.layered import Layered

# Numbers of a pass are read with this error at most.
_NEAR = 0.02


def is_near(stated: object, found: float | str) -> bool:
    """Return whether a stated number is the one that was found, up to how it was rounded."""
    if isinstance(stated, bool) or not isinstance(stated, int | float) or isinstance(found, str):
        return False
    return abs(stated - found) <= _NEAR * abs(found)


def windows(one: Layered) -> list[float | str]:
    """Return how many keys a query sees in a window that ends with its own; nothing elsewhere."""
    left, right = window_of(one)
    return [] if left is None or right else [left + 1]


def bands(one: Layered) -> list[float | str]:
    """Return how many keys before and behind its own a query sees, where it sees some on both sides."""
    left, right = window_of(one)
    return [left + right] if left and right else []


def window_of(one: Layered) -> tuple[int | None, int | None]:
    """Return how many keys a query sees before its own, and how many behind it; None where all, or not known."""
    setting = one.attention.setting if one.attention is not None else None
    return (None, None) if setting is None or setting.window is None else setting.window


def is_band(stated: object, found: float | str) -> bool:
    """Return whether a stated number is that of the keys on both sides, the query's own among them or not."""
    return not isinstance(found, str) and any(is_near(stated, one) for one in (found, found + 1))


def is_band_or_side(stated: object, found: float | str) -> bool:
    """Return whether a stated number is that of the keys on both sides, or on one of them."""
    sides = not isinstance(found, str) and any(is_near(stated, one) for one in (found / 2, found / 2 + 1))
    return sides or is_band(stated, found)


def is_window(stated: object, found: float | str) -> bool:
    """Return whether a stated window is the number of keys that are seen, or of those before the query's own."""
    return is_near(stated, found) or (not isinstance(found, str) and is_near(stated, found - 1))


def sense_of_window(stated: object, found: float | str) -> str:
    """Return whether a stated window counts the query's own key, in words."""
    return " (the query's own key among them)" if is_near(stated, found) else " (besides the query's own key)"
