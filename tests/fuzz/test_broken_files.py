"""Whatever stands in a file that is named on the command line, one sentence says what is wrong with it."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from veriformer.cli import main
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.run.expected_failures import ExpectedFailures, UnreadableList
from veriformer.conformance_tests.run.resuming.record import RecordFile, UnusableRecord

LITTLE = ("--operation", "softmax", "--tier", "quick")
SOFTMAX = "def softmax(x):\n    return x\n"
BROKEN = {
    "empty": b"",
    "nothing but spaces": b"   \n\t\n",
    "no python": b"this is not python\n",
    "cut off": b"def softmax(x:\n",
    "binary": bytes(range(256)) * 16,
    "null bytes": b"x = 1\x00\n",
    "not utf-8": "größe = 1\n".encode("latin-1"),
    "utf-16": "softmax = 1\n".encode("utf-16"),
    "a coding that does not exist": b"# coding: no-such-coding\n",
    "raises": b"raise ValueError('\\x1b]0;title\\x07')\n",
    "raises what cannot be shown": b"class E(Exception):\n    def __str__(self): raise OSError\nraise E\n",
    "exits": b"import sys\nsys.exit(0)\n",
    "raises a bare BaseException": b"raise BaseException\n",
    "imports itself": b"import importlib, sys\nfrom nothing_here import softmax\n",
    "recurses": b"def f(): f()\nf()\n",
    "deeply nested": b"x = " + b"(" * 500 + b")" * 500 + b"\n",
    "a long line": b"x = '" + b"a" * 1_000_000 + b"'\n",
    "an operation that is a number": b"softmax = 3\n",
    "an operation that is a class": b"class softmax: pass\n",
    "a signature that cannot be read": b"softmax = type('S', (), {'__call__': print, '__signature__': 5})()\n",
    "a framework that does not exist": f"framework = 'no'\n{SOFTMAX}".encode(),
    "a framework that is a number": f"framework = 3\n{SOFTMAX}".encode(),
    "dtypes that are a number": f"dtypes = 3\n{SOFTMAX}".encode(),
    "dtypes that raise": f"class D:\n    def __iter__(self): raise OSError\ndtypes = D()\n{SOFTMAX}".encode(),
    "conventions that are a list": f"conventions = [1]\n{SOFTMAX}".encode(),
    "conventions with a strange key": f"conventions = {{3: 'x'}}\n{SOFTMAX}".encode(),
    "conventions with a strange value": f"conventions = {{'gelu_form': []}}\n{SOFTMAX}".encode(),
    "limitations that do not exist": f"limitations = ('no',)\n{SOFTMAX}".encode(),
    "attributes that raise": b"def __getattr__(name): raise OSError(name)\n",
    "returns nothing": b"def softmax(x): pass\n",
    "returns itself": b"def softmax(x): return softmax\n",
    "returns strings": b"import numpy as np\ndef softmax(x): return np.array(['a'])\n",
    "returns objects": b"import numpy as np\ndef softmax(x): return np.array([None])\n",
    "returns terabytes": b"import numpy as np\ndef softmax(x): return np.broadcast_to(0.0, (10**6, 10**6))\n",
    "takes nothing": b"def softmax(): return 1\n",
    "prints escapes": b"def softmax(x):\n    print('\\x1b]0;title\\x07')\n    return x\n",
}
LISTS = {
    "binary": bytes(range(256)),
    "not utf-8": b"softmax.shape # gr\xf6\xdfe\n",
    "no reason": b"softmax.shape\n",
    "an empty reason": b"softmax.shape #\n",
    "two laws": b"softmax.shape softmax.value # why\n",
    "escapes": b"\x1b]0;title\x07 # why\n",
    "a law that does not exist": b"softmax.nothing # why\n",
}


def ended(*arguments: str) -> tuple[int, str]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), pytest.raises(SystemExit) as end:
        main(arguments)
    return int(end.value.code or 0), printed.getvalue()


def assert_told(status: int, printed: str) -> None:
    assert status in (1, 2), printed
    assert printed.strip()
    assert "Internal error" not in printed
    assert "Traceback (most recent call last)" not in printed
    assert not {"\x1b", "\x07", "\x00"} & set(printed)


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("command", [("check",), ("identify",), ("compare", "numpy")])
def test_a_broken_implementation(kind: str, command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_bytes(BROKEN[kind])
    little = LITTLE[:2] if command[0] == "identify" else LITTLE
    status, printed = ended(*command, str(path), *little)
    if status == 0:
        # To identify conventions no law has to hold.
        assert command[0] == "identify"
        status = 1
    assert_told(status, printed)


@pytest.mark.parametrize("kind", LISTS)
def test_a_broken_list_of_expected_failures(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(LISTS[kind])
    assert_told(*ended("check", "numpy", *LITTLE, "--law", "softmax.shape", "--expected-failures", str(path)))


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
@example(b"\xff")
def test_any_bytes_as_a_list_of_expected_failures(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(content)
    with contextlib.suppress(UnreadableList):
        for entry in ExpectedFailures.read(path).entries:
            assert entry.law
            assert entry.reason


HEADING = b'{"veriformer_record": 1, "implementations": ["numpy"], "laws": null}\n'


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), st.binary(max_size=200).map(lambda rest: HEADING + rest)))
@example(b"[" * 20_000)
@example(b'{"veriformer_record": NaN}\n')
@example(b"\n")
def test_any_bytes_as_the_record_of_a_run(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "record"
    path.write_bytes(content)
    with contextlib.suppress(UnusableRecord):
        RecordFile(path, Selection(), ("numpy",))
    if content and path.read_bytes() != content:
        # Nothing but the last line, which a run that was killed did not finish, is ever taken away.
        assert content.startswith(path.read_bytes())


def test_the_report_cannot_be_written_over_the_record(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    status, printed = ended("check", "numpy", *LITTLE, "--json", path, "--resume", path)
    assert_told(status, printed)
    assert not Path(path).exists()
