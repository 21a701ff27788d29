"""How long `veriformer check` takes as a user meets it: a whole process, from the shell's prompt to the next.

    python benchmarks/check_time.py --runs 5

Prints a Markdown table of medians beside the limits that the project sets itself. JAX takes what it compiled in the
run before, except where a row says that it is the first time, with an empty cache. Runs of different commands take
turns, so that a machine that is busy for a while is busy for all of them; files are read once before. Exit status 1
when a median exceeds its limit or a command does not end as it should.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

HEADER = ("command", "runs", "median", "fastest", "slowest", "limit")


@dataclass
class Command:
    """A command line of veriformer, its limit in seconds, and the times that it took."""

    arguments: tuple[str, ...]
    limit: float | None
    # Whether JAX compiles everything, as in the first run on a machine, instead of taking what it kept.
    compiles: bool = False
    seconds: list[float] = field(default_factory=list)

    @property
    def shown(self) -> str:
        """The command as one types it."""
        what = f"`veriformer {' '.join(self.arguments)}`"
        if "--operation" in self.arguments:
            what = f"`veriformer check {self.arguments[-1]}`, attention, masks and heads only"
        return f"{what}, the first time" if self.compiles else what

    @property
    def is_within_limit(self) -> bool:
        """Whether the median does not exceed the limit."""
        return self.limit is None or statistics.median(self.seconds) <= self.limit

    def run(self) -> float:
        """Run once in a process of its own and return the seconds it took; CalledProcessError when it fails."""
        with TemporaryDirectory() as folder:
            # What JAX kept is found in the user's cache folder; the first time that is empty.
            environment = {**os.environ, "XDG_CACHE_HOME": folder} if self.compiles else None
            started = time.perf_counter()
            subprocess.run(
                (sys.executable, "-m", "veriformer.cli", *self.arguments),
                check=True,
                capture_output=True,
                text=True,
                cwd=Path(__file__).resolve().parents[1],
                env=environment,
            )
            return time.perf_counter() - started

    def row(self) -> tuple[str, ...]:
        """Return this command's line of the table."""
        figures = (statistics.median(self.seconds), min(self.seconds), max(self.seconds))
        limit = "" if self.limit is None else f"{self.limit:g} s"
        return (self.shown, str(len(self.seconds)), *(f"{seconds:.2f} s" for seconds in figures), limit)


# Attention, masks and heads: what the limits of a framework's run are for. Everything may take three times as long.
_ATTENTION = (
    "softmax",
    "scaled_dot_product_attention",
    "grouped_query_attention",
    "attention_weights",
    "multi_head_attention",
    "causal_mask",
    "padding_mask",
)


# A file of attention alone, which runs in a process of its own.
_FILE = "docs/examples/correct/numpy_online_7.py"
# Attention with every keyword in JAX, as users write it.
_USERS = ("benchmarks/users/attention_jitted.py", "benchmarks/users/attention_eager.py")


def commands() -> tuple[Command, ...]:
    """Return what is measured."""
    only = tuple(word for name in _ATTENTION for word in ("--operation", name))
    return (
        Command(("--help",), 0.5),
        Command(("check", "numpy"), None),
        Command(("check", _FILE), 5.0),
        Command(("check", "--tier", "quick", _FILE), 2.0),
        Command(("check", *only, "torch"), 8.0),
        Command(("check", *only, "jax"), 15.0),
        Command(("check", *only, "jax"), None, compiles=True),
        *(
            Command(("check", file, "--workers", "2"), 30.0 if first else 15.0, compiles=first)
            for file in _USERS
            for first in (True, False)
        ),
        Command(("check", "torch"), 24.0),
        Command(("check", "jax"), 45.0),
    )


def measure(measured: tuple[Command, ...], runs: int) -> None:
    """Run all commands in turn, `runs` times after one that only warms the file cache."""
    for turn in range(runs + 1):
        for command in measured:
            seconds = command.run()
            print(f"{command.shown}: {seconds:.2f} s", file=sys.stderr, flush=True)
            if turn:
                command.seconds.append(seconds)


def markdown(measured: tuple[Command, ...]) -> str:
    """Return the table, and below it the times as multiples of the first check's."""
    lines = [HEADER, tuple("---" for _ in HEADER), *(command.row() for command in measured)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def ratios(measured: tuple[Command, ...]) -> str:
    """Return every command's median as a multiple of that of `check numpy`: they vary less between machines."""
    base = next(command for command in measured if command.arguments == ("check", "numpy"))
    by = statistics.median(base.seconds)
    parts = (f"{command.shown} {statistics.median(command.seconds) / by:.2f}" for command in measured)
    return f"As multiples of {base.shown} in the same run: {', '.join(parts)}."


def machine() -> str:
    """Return where this was measured."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    python = platform.python_version()
    return f"{platform.system()}, {os.cpu_count()} cores, Python {python}, load {load:.1f} at the end."


def main() -> int:
    """Print the table; 1 when a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="how often each command is timed (default 5)")
    parser.add_argument("--only", nargs="*", default=None, metavar="WORD", help="commands that end in one of these")
    asked = parser.parse_args()
    measured = tuple(c for c in commands() if asked.only is None or c.arguments[-1] in (*asked.only, "numpy"))
    try:
        measure(measured, max(asked.runs, 1))
    except subprocess.CalledProcessError as failed:
        print(
            f"{' '.join(failed.cmd)} ended with {failed.returncode}:\n{failed.stdout}{failed.stderr}",
            file=sys.stderr,
        )
        return 1
    print(markdown(measured), ratios(measured), machine(), sep="\n\n")
    return 0 if all(command.is_within_limit for command in measured) else 1


if __name__ == "__main__":
    sys.exit(main())
