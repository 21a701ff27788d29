"""Whether two processes, or two runs, have the same implementation."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from veriformer.adapters.arrays import version_of
from veriformer.adapters.implementation import Implementation

# What a checkout has for a version.
_MISSING = "(not installed)"


def fingerprint(implementation: Implementation) -> str:
    """Return a name for the present contents of the implementation's files and for the versions that they run with. The
    files are its own and the modules of its folder that it imported while it was loaded.
    """
    texts = sha256()
    for path in implementation.files:
        texts.update(sha256(Path(path).read_bytes()).digest())
    packages = dict.fromkeys(("veriformer", "numpy", implementation.framework.name))
    return " ".join([texts.hexdigest()[:16], *(f"{name} {version_of(name) or _MISSING}" for name in packages)])
