"""The font of formulas: without one made for mathematics a browser draws small sums, and brackets that do not grow.

It is a part of STIX Two Math, which the licence beside it lets anybody bundle: 33 kB, the characters that the formulas
of the project need. A page carries it in its style, so that it neither loads anything nor depends on what is installed.
"""

from __future__ import annotations

import base64
from functools import cache
from importlib import resources

FAMILY = "Veriformer Mathematics"


@cache
def mathematics_style() -> str:
    """Return the style of the formulas of a page, with their font."""
    font = resources.files(__package__).joinpath("fonts", "mathematics.woff2").read_bytes()
    address = f"data:font/woff2;base64,{base64.b64encode(font).decode('ascii')}"
    return (
        f'@font-face {{ font-family: "{FAMILY}"; src: url("{address}") format("woff2"); }}\n'
        f'math {{ font-family: "{FAMILY}", math; font-size: 1.08em; }}\n'
    )
