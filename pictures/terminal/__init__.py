"""Pictures as lines of a terminal.

lines(picture, width)   the rows of text, none wider than `width` where the picture can be made so narrow
"""

from __future__ import annotations

from veriformer.pictures.terminal.drawing import lines

__all__ = ["lines"]
