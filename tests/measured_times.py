"""Writes `long_tests.txt`: the tests that take so long that `pytest` leaves them to `pytest -m long`.

    pytest -n 2 -m "" --junitxml=times.xml && python tests/measured_times.py times.xml

Several files are put together; a test that none of them has keeps what was said of it. Times are of two cores.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

LIST = Path(__file__).with_name("long_tests.txt")
# Of one test on average, over its parameters, and of all of these together.
_SECONDS, _TOGETHER = 0.25, 6.0
_COMMENT = f"# By tests/measured_times.py: more than {_SECONDS} s a test, or {_TOGETHER} s for all its parameters.\n"


def listed() -> frozenset[str]:
    """Return the functions of tests that are listed, as `tests/folder/test_file.py::test_name`."""
    lines = LIST.read_text(encoding="utf-8").splitlines() if LIST.is_file() else []
    return frozenset(line for line in lines if line and not line.startswith("#"))


def function_of(test: str) -> str:
    """Return the function that a test is of, without its parameters."""
    return test.partition("[")[0]


def _measured(file: str) -> Iterator[tuple[str, float]]:
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        module = case.get("classname", "").replace(".", "/")
        yield f"{module}.py::{function_of(case.get('name', ''))}", float(case.get("time", 0))


def main(files: list[str]) -> None:
    """Write the list of the tests that these files measure."""
    times: dict[str, list[float]] = {}
    for name, seconds in (one for file in files for one in _measured(file)):
        times.setdefault(name, []).append(seconds)
    kept = {name for name in listed() if name not in times}
    slow = {name for name, each in times.items() if sum(each) > min(_SECONDS * len(each), _TOGETHER)}
    LIST.write_text(_COMMENT + "".join(f"{name}\n" for name in sorted(kept | slow)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
