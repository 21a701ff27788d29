"""Record what a new user types, from a clone to the first named mistake in a file of their own.

python docs/record_first_contact.py        write docs/first_contact.cast (with `pip install "asciinema<3"`)
asciinema play docs/first_contact.cast     look at it

The commands are those of README.md, in a fresh clone of this repository and a fresh virtual environment.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RECORDING = ROOT / "docs" / "first_contact.cast"
OWN_FILE = """\
import math

import torch
import torch.nn.functional as F


def attention(q, k, v, mask=None):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.softmax(scores, dim=-2)
    return weights @ v
"""
COMMANDS = (
    "git clone --quiet {root} veriformer && cd veriformer",
    'python3 -m venv .venv && .venv/bin/pip install --constraint constraints.txt ".[all]"',
    "cat ../attention.py",
    ".venv/bin/veriformer check ../attention.py",
)
_SIZE = ("80", "24")


def main() -> int:
    """Record the session, and return the exit status."""
    recorder = shutil.which("asciinema", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if recorder is None:
        print('asciinema records the session and is not installed: pip install "asciinema<3"', file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "attention.py").write_text(OWN_FILE)
        script = Path(folder, "session.sh")
        script.write_text(_script())
        columns, rows = _SIZE
        options = ("--overwrite", "--quiet", "--cols", columns, "--rows", rows, "--title", "Veriformer, first contact")
        command = (recorder, "rec", *options, "--command", f"bash {shlex.quote(str(script))}", str(RECORDING))
        # Pip says nothing of each package, as with `pip install -qq`.
        quiet = {**os.environ, "PIP_QUIET": "2", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "TERM": "xterm-256color"}
        return subprocess.run(command, cwd=folder, env=quiet, check=False).returncode


def _script() -> str:
    """Return a script that shows each command, then runs it."""
    lines = []
    for one in COMMANDS:
        typed = one.format(root=shlex.quote(str(ROOT)))
        lines += [f"printf '$ %s\\n' {shlex.quote(one.format(root='https://…/veriformer'))}", typed]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
