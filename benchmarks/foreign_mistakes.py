"""How often the suite names a mistake of the catalogue in programs that are written otherwise than its own sources.

    python benchmarks/foreign_mistakes.py [--program GLOB ...] [--slug GLOB ...]

The programs of `benchmarks/foreign_mistakes/` are correct, which is checked first, and written as users of NumPy,
PyTorch and JAX write them; `variants.toml` has one change to one of them each. Prints each variant that was not named
first, with what was said of it, then a table. A variant counts as named where the first suspect of its operation is its
mistake, as named wrongly where it is another. Exit status 1 below 95 %, or where a correct program is accused.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from veriformer.conformance_tests import check

FOLDER = Path(__file__).parent / "foreign_mistakes"
SHARE = 0.95


@dataclass(frozen=True)
class Variant:
    """One change to a correct program, and the mistake of the catalogue that it is."""

    program: str
    operation: str
    slug: str
    right: str
    wrong: str

    @property
    def text(self) -> str:
        """The changed program; ValueError unless what is replaced occurs in it once."""
        text = (FOLDER / f"{self.program}.py").read_text(encoding="utf-8")
        if text.count(self.right) != 1:
            raise ValueError(f"{self.right!r} occurs {text.count(self.right)} times in {self.program}; it must once")
        return text.replace(self.right, self.wrong)

    def __str__(self) -> str:
        """Return the mistake and where it is made."""
        return f"{self.slug} in {self.program}, {self.operation}: {self.wrong.strip()[:60]!r}"


@dataclass(frozen=True)
class Named:
    """A variant, whether any law was broken, and the mistakes of each suspect, the first first."""

    variant: Variant
    caught: bool
    suspects: tuple[tuple[str, ...], ...]

    @property
    def first(self) -> bool:
        """Whether the first suspect is the mistake."""
        return self.suspects[:1] == ((self.variant.slug,),)

    @property
    def wrongly(self) -> bool:
        """Whether the first suspect is another."""
        return bool(self.suspects) and not self.first


def variants(programs: Sequence[str], slugs: Sequence[str]) -> list[Variant]:
    """Return the variants that the globs choose, all where there are none."""
    entries = tomllib.loads((FOLDER / "variants.toml").read_text(encoding="utf-8"))["variant"]
    every = [Variant(**entry) for entry in entries]
    return [one for one in every if _any(one.program, programs) and _any(one.slug, slugs)]


def _any(name: str, globs: Sequence[str]) -> bool:
    return not globs or any(fnmatchcase(name, glob) for glob in globs)


def named(variant: Variant) -> Named:
    """Check a variant on the operation that counts."""
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        path = Path(folder) / f"{variant.program}.py"
        path.write_text(variant.text, encoding="utf-8")
        report = check(str(path), operations=(variant.operation,), tier="quick", shrink=False)
    own = (found for found in report.diagnoses if found.operation == variant.operation)
    suspects = tuple(suspect.mistakes for found in own for suspect in found.suspects)
    return Named(variant, report.verdict == "violates", suspects)


def accused(program: str) -> list[str]:
    """Return the laws that a program breaks as it stands, which is correct."""
    with np.errstate(all="ignore"):
        report = check(str(FOLDER / f"{program}.py"), tier="quick", shrink=False, diagnosis=False)
    return [result.law.id for result in report.results if result.status in ("failed", "error")]


def main(words: Sequence[str] | None = None) -> int:
    """Print what was not named, and the share that was."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", nargs="*", default=[])
    parser.add_argument("--slug", nargs="*", default=[])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args(words)
    chosen = variants(arguments.program, arguments.slug)
    programs = sorted({one.program for one in chosen})
    with ProcessPoolExecutor(arguments.workers) as pool:
        broken = dict(zip(programs, pool.map(accused, programs), strict=True))
        for program, laws in broken.items():
            if laws:
                print(f"- {program} is correct, and accused of {', '.join(laws)}", flush=True)
        found = []
        for result in pool.map(named, chosen):
            found.append(result)
            if not result.first:
                print(f"- {result.variant}\n    said: {list(result.suspects) or 'nothing'}", flush=True)
    caught, first, wrongly = (sum(getattr(one, name) for one in found) for name in ("caught", "first", "wrongly"))
    print("\n| variants | caught | named first | share | named wrongly |\n|" + " --- |" * 5)
    print(f"| {len(found)} | {caught} | {first} | {first / len(found):.1%} | {wrongly} |")
    return 0 if first >= SHARE * len(found) and not any(broken.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
