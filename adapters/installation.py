"""Where this installation comes from, and the command that adds an extra to it: one that works before a release."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


@dataclass(frozen=True)
class Installation:
    """How Veriformer was installed: from a clone, from an address (of a repository or a file), or from an index."""

    python: str
    clone: Path | None = None
    editable: bool = False
    address: str = ""
    with_pip: bool = True

    def install(self, extra: str = "") -> str:
        """Return the command that installs Veriformer again from where it came, with an extra."""
        wanted = f"[{extra}]" if extra else ""
        if self.clone is None:
            origin = f" @ {self.address}" if self.address else ""
            return self._command(f"veriformer{wanted}{origin}")
        editable = ("--editable",) if self.editable else ()
        strict = ("--config-settings", "editable_mode=strict") if self.editable else ()
        constraints = ("--constraint", str(self.clone / "constraints.txt"))
        return self._command(*constraints, *editable, f"{self.clone}{wanted}", *strict)

    def _command(self, *arguments: str) -> str:
        if self.with_pip:
            return command_line(self.python, "-m", "pip", "install", *arguments)
        # A tool of uv has no pip of its own.
        return command_line("uv", "pip", "install", "--python", self.python, *arguments)


@cache
def installation() -> Installation:
    """Return how the running Veriformer was installed."""
    try:
        record = distribution("veriformer").read_text("direct_url.json")
    except PackageNotFoundError:
        record = None
    return installed_from(record, python=sys.executable, with_pip=find_spec("pip") is not None)


def installed_from(record: str | None, *, python: str, with_pip: bool = True) -> Installation:
    """Return the installation that the `direct_url.json` of a distribution records (PEP 610).

    An installation from an index has no such record, and one from a clone names a folder that may be gone since.
    """
    origin: dict[str, Any] = json.loads(record) if record else {}
    address = str(origin.get("url", ""))
    if "dir_info" in origin:
        clone = Path(url2pathname(urlsplit(address).path))
        if (clone / "pyproject.toml").is_file():
            return Installation(python, clone, bool(origin["dir_info"].get("editable")), with_pip=with_pip)
        return Installation(python, with_pip=with_pip)
    if version_control := origin.get("vcs_info"):
        address = f"{version_control['vcs']}+{address}@{version_control['commit_id']}"
    return Installation(python, address=address, with_pip=with_pip)


def command_line(*words: str) -> str:
    """Return a command as its shell wants it."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
