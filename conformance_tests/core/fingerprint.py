"""Whether two processes, or two runs, have the same implementation before them."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from veriformer.adapters.implementation import Implementation


def fingerprint(implementation: Implementation) -> str:
    """Return a name for the implementation's files as they are and for the versions that they run with.

    The files are the implementation's own and, of its folder, those that it imported while it was loaded.
    """
    texts = sha256()
    for path in implementation.files:
        texts.update(sha256(Path(path).read_bytes()).digest())
    packages = dict.fromkeys(("veriformer", "numpy", implementation.framework.name))
    return " ".join([texts.hexdigest()[:16], *(f"{name} {version_of(name)}" for name in packages)])


def version_of(package: str) -> str:
    """Return the version of an installed package, or that it is a checkout."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"
