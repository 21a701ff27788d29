"""Windows and soft caps that cases are drawn with: few, since every pair with every other flag is a case."""

from __future__ import annotations

from dataclasses import dataclass

from veriformer.conformance_tests.operations.attention.case import Window

# No window to the left is narrower than one key, which both ways of counting have.
WINDOWS: tuple[Window, ...] = ((1, 0), (2, 1), (None, 1), (1, None))
SOFTCAPS = (2.0, 0.5, 5.0)


@dataclass(frozen=True)
class LogitSettings:
    """The values of the optional inputs that have some; each counts only where its input is on."""

    scale: float
    window: Window = WINDOWS[1]
    softcap: float = SOFTCAPS[0]
