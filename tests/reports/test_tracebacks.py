"""Of a traceback the user's own frames are shown, and none of an exception that the suite itself raised."""

from __future__ import annotations

import pytest
from veriformer.conformance_tests.reports.tracebacks import traceback_lines

_HEAD = "Traceback (most recent call last):\n"
_SUITE = '  File "/somewhere/veriformer/adapters/results.py", line 70, in read_results\n    return read_result()\n'
_CALLING = '  File "/somewhere/veriformer/adapters/calling.py", line 9, in call\n    return function(*arguments)\n'
_USER = '  File "/home/me/my_softmax.py", line 3, in softmax\n    return x.nothing\n'
_LIBRARY = '  File "/venv/lib/python3.11/site-packages/torch/functional.py", line 5, in norm\n    raise error\n'


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("raising", ["results", "arrays_taken"])
def test_an_exception_of_the_suite_has_no_frames(whole, raising):
    frames = f"{_CALLING}{_SUITE.replace('results', raising)}"
    assert traceback_lines(f"{_HEAD}{frames}UnjudgeableResult: softmax returned None", whole=whole) == []


def test_frames_of_the_user_remain():
    shown = "\n".join(traceback_lines(f"{_HEAD}{_CALLING}{_USER}{_LIBRARY}AttributeError: nothing", whole=False))
    assert "my_softmax.py" in shown
    assert "calling.py" not in shown
    assert "torch" not in shown


def test_the_whole_traceback_has_those_of_packages_too():
    shown = "\n".join(traceback_lines(f"{_HEAD}{_CALLING}{_USER}{_LIBRARY}AttributeError: nothing", whole=True))
    assert "my_softmax.py" in shown
    assert "torch/functional.py" in shown
    assert "calling.py" not in shown


@pytest.mark.parametrize("whole", [False, True])
def test_nothing_is_left_of_the_last_frame_where_the_text_ends_with_it(whole):
    ending = _SUITE if whole else _LIBRARY
    shown = traceback_lines(f"{_HEAD}{_USER}{ending}    ^^^^^^^^^^^", whole=whole)
    assert shown[-1].strip() == "return x.nothing"
