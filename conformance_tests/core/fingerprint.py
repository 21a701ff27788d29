"""Whether two processes, or two runs, have the same implementation."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from veriformer.adapters.implementation import Implementation


def fingerprint(implementation: Implementation) -> str:
    """Return a name for the present contents of the implementation's files and for the versions that they run with. The
    files are its own and the modules of its folder that it imported while it was loaded.
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
