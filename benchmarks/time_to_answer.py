"""How much processor time `veriformer check` takes until it answers for a wrong function as people have it.

    python benchmarks/time_to_answer.py --runs 3

Prints a Markdown table: the user and system time of the whole check, the function's process included, and the same as a
multiple of the time of importing its framework, which varies less between machines. Processor time, because other work
on the machine makes an answer late without making it dearer. JAX compiles everything, as in the first run on a machine.
Exit status 1 when a median exceeds its limit or a wrong function passes.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

HEADER = ("wrong function", "runs", "processor time", "least", "limit", "imports of its framework")
_FOLDER = Path(__file__).resolve().parent / "users" / "wrong"
# The exit status of a check that finds a violation.
_VIOLATED = 1


@dataclass
class Wrong:
    """A file with a wrong function, its framework, and the processor seconds that an answer may take."""

    file: str
    framework: str
    limit: float | None
    seconds: list[float] = field(default_factory=list)
    importing: list[float] = field(default_factory=list)

    def measure(self) -> None:
        """Check once, and import the framework once; ValueError where the check does not find the mistake."""
        command = (sys.executable, "-m", "veriformer.cli", "check", str(_FOLDER / self.file))
        status, seconds = processor_time(command)
        if status != _VIOLATED:
            raise ValueError(f"the check of {self.file} ended with {status}; {_VIOLATED} says that a law is violated")
        self.seconds.append(seconds)
        self.importing.append(processor_time((sys.executable, "-c", f"import {self.framework}"))[1])

    def row(self) -> tuple[str, ...]:
        """Return this function's line of the table."""
        median, imports = statistics.median(self.seconds), statistics.median(self.importing)
        limit = "" if self.limit is None else f"{self.limit:g} s"
        figures = (f"{median:.1f} s", f"{min(self.seconds):.1f} s", limit, f"{median / imports:.1f}")
        return (f"`{self.file}`", str(len(self.seconds)), *figures)

    @property
    def is_within_limit(self) -> bool:
        """Whether the median does not exceed the limit."""
        return self.limit is None or statistics.median(self.seconds) <= self.limit


def wrong_functions() -> tuple[Wrong, ...]:
    """Return what is measured. Eager JAX has no limit yet: each operation is compiled for each shape."""
    return (
        Wrong("attention_torch.py", "torch", 10.0),
        Wrong("rms_norm_torch.py", "torch", 10.0),
        Wrong("rotary_jax.py", "jax", None),
    )


def processor_time(command: Sequence[str]) -> tuple[int, float]:
    """Run a command with an empty cache; return its exit status, and the processor seconds of all its processes."""
    before = _of_children()
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        status = subprocess.run(command, check=False, capture_output=True, env=environment).returncode
    return status, _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def markdown(measured: Sequence[Wrong]) -> str:
    """Return the table."""
    lines = [HEADER, tuple("---" for _ in HEADER), *(one.row() for one in measured)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> int:
    """Print the table; 1 when a limit is exceeded or a wrong function passes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured (default 3)")
    parser.add_argument("--only", nargs="*", default=None, metavar="WORD", help="files whose name has one of these")
    asked = parser.parse_args()
    measured = [one for one in wrong_functions() if asked.only is None or any(word in one.file for word in asked.only)]
    try:
        for _ in range(max(asked.runs, 1)):
            for one in measured:
                one.measure()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(markdown(measured))
    return 0 if all(one.is_within_limit for one in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
