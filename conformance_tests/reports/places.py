"""Files of the user as a reader knows them."""

from __future__ import annotations

from pathlib import Path


def shown_file(file: str) -> str:
    """Return a file as seen from the working directory, if it is in it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (OSError, ValueError):
        return file
