"""The internal names of modules loaded from files, which no message should show."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

_PRIVATE = re.compile(r"_veriformer_(\w+?)_[0-9a-f]{12}\b")
# The address of an object differs from run to run.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")


def module_name(path: Path) -> str:
    """Return a unique name for the module in a file."""
    return f"_veriformer_{path.stem}_{sha256(str(path).encode()).hexdigest()[:12]}"


def with_own_names(text: str) -> str:
    """Return a text with file names for the modules loaded from files, and without addresses of objects."""
    return _ADDRESS.sub("", _PRIVATE.sub(r"\1", text))
