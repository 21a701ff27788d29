"""Names that modules loaded from files have inside Python, which no user wrote and no message should show."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

_PRIVATE = re.compile(r"_veriformer_(\w+?)_[0-9a-f]{12}\b")
# Where an object lies in memory differs from run to run and says nothing.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+(?=>)")


def module_name(path: Path) -> str:
    """Return a name for the module in a file that no other module has."""
    return f"_veriformer_{path.stem}_{sha256(str(path).encode()).hexdigest()[:12]}"


def with_own_names(text: str) -> str:
    """Return a text in which modules loaded from files have the names of their files, and objects no address."""
    return _ADDRESS.sub("", _PRIVATE.sub(r"\1", text))
