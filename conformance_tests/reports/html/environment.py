"""With what a run was made: the versions of Python and of the packages, found without importing any."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from veriformer.adapters.arrays import version_of

# What a framework is called where it is installed, if not by its own name.
_DISTRIBUTIONS = {"keras-torch": "keras", "keras-tensorflow": "keras", "onnx": "onnxruntime"}


def versions(frameworks: Iterable[str]) -> str:
    """Return the versions in words: "veriformer 0.1.0, Python 3.12.3, numpy 2.2.0, torch 2.9.0"."""
    names = dict.fromkeys(("veriformer", "numpy", *(_DISTRIBUTIONS.get(name, name) for name in frameworks)))
    known = {name: found for name in names if name and (found := version_of(name))}
    ours = [f"veriformer {known.pop('veriformer')}"] if "veriformer" in known else ["veriformer"]
    return ", ".join(
        [*ours, f"Python {platform.python_version()}", *(f"{name} {found}" for name, found in known.items())]
    )
