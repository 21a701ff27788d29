"""Writing a file so that a reader sees the old text or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, in UTF-8; OSError when it cannot be written."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        # Replacing a device such as /dev/null by a file would harm the machine.
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)
        # Only its owner can read a temporary file; the final file gets the usual permissions, or those it had.
        temporary.chmod(path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
