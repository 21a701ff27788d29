"""Files of the user as a reader knows them."""

from __future__ import annotations

import re
from pathlib import Path

# Where Python keeps packages that were installed, on this machine or on the one where a model was recorded.
_INSTALLED = re.compile(r".*[/\\](?:site|dist)-packages[/\\]", re.DOTALL)


def shown_file(file: str) -> str:
    """Return a file as seen from the working directory if it is in it; one of an installed package begins with that."""
    installed = _INSTALLED.match(file)
    if installed:
        return file[installed.end() :]
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (OSError, ValueError):
        return file
