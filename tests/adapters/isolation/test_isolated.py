"""An implementation in a worker: described, called, interrupted and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from veriformer.adapters.calling import prepare
from veriformer.adapters.errors import LoadError, OperationCrashed, OperationNotTried, OperationTimedOut
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.loading import load_isolated
from veriformer.adapters.loading import load, load_again
from veriformer.adapters.sequences import Step, prepare_sequence

SOURCE = """
import os
import time
import numpy as np

dtypes = ("float64",)
conventions = {"empty_row": "nan"}
limitations = ("value_width",)
calls = []

def softmax(x):
    calls.append(len(calls))
    if x.ravel()[0] == 13:
        time.sleep(100)
    if x.ravel()[0] == 14:
        os._exit(7)
    if x.ravel()[0] == 15:
        child = os.fork()
        if child == 0:
            time.sleep(100)
        return x * 0 + child
    print("called")
    return x + len(calls)

def scaled_dot_product_attention(query, key, value, /, *, mask=None, is_casual=False, **others):
    return query.copy()

def decode_step(tokens, cache, weights, config):
    seen = ([] if cache is None else cache) + [tokens.shape[1]]
    return np.full((*tokens.shape, 3), float(sum(seen))), seen
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(SOURCE)
    return str(tmp_path / "mine.py")


@pytest.fixture
def isolated(path: str) -> Iterator[Implementation]:
    implementation = load_isolated(path, ProcessLimits(seconds=1.0))
    yield implementation
    implementation.close()


def softmax(implementation: Implementation, first: float = 0.0) -> np.ndarray:
    return prepare(implementation, "softmax", {"x": np.full(2, first)}, dtype="float64").run().value


def process(implementation: Implementation) -> int:
    assert implementation.residence is not None
    worker = implementation.residence.supervisor._process
    assert worker is not None
    return worker._process.pid


def test_it_is_described_as_it_is(isolated: Implementation, path: str) -> None:
    here = load(path)
    for name in ("name", "dtypes", "conventions", "limitations", "architectures", "source", "notices", "derived"):
        assert getattr(isolated, name) == getattr(here, name)
    for operation in here.operations:
        assert isolated.features(operation) == here.features(operation)
        assert isolated.misspelt_keywords(operation) == here.misspelt_keywords(operation)
        assert isolated.unaccepted_call(operation) == here.unaccepted_call(operation)
    assert isolated.framework.dtypes == here.framework.dtypes
    assert isolated.framework.missing_dtype("bfloat16") == here.framework.missing_dtype("bfloat16")


def test_its_calls_follow_each_other_in_one_process(isolated: Implementation) -> None:
    assert [softmax(isolated)[0] for _ in range(3)] == [1.0, 2.0, 3.0]


def test_a_copy_has_a_past_of_its_own(isolated: Implementation) -> None:
    softmax(isolated)
    copy = load_again(isolated)
    assert [softmax(copy)[0], softmax(copy)[0], softmax(isolated)[0]] == [1.0, 2.0, 2.0]


def test_a_call_is_made_again_on_the_same_arrays(isolated: Implementation) -> None:
    call = prepare(isolated, "softmax", {"x": np.zeros(2)}, dtype="float64")
    assert call.arguments_now()["x"].tolist() == [0.0, 0.0]
    other = prepare(isolated, "softmax", {"x": np.ones(2)}, dtype="float64")
    first, afterwards, second = call.run_again_on(other)
    assert (first.value.tolist(), afterwards.value.tolist()) == ([1.0, 1.0], [1.0, 1.0])
    assert second.value.tolist() == [3.0, 3.0]
    assert call.arguments_now()["x"].tolist() == [1.0, 1.0]


def test_a_chain_of_calls_keeps_its_cache_where_it_is(isolated: Implementation) -> None:
    steps = [Step(np.zeros((1, 2), int)), Step(np.zeros((1, 3), int), after=0)]
    call = prepare_sequence(isolated, steps, {"weights": {}, "config": {}}, dtype="float64")
    result = call.run()
    assert result.shapes == ((1, 2, 3), (1, 3, 3))
    assert result.value[0, :, 0].tolist() == [2.0, 2.0, 5.0, 5.0, 5.0]


def test_what_prepare_refuses_here_it_refuses_there(isolated: Implementation) -> None:
    with pytest.raises(KeyError):
        prepare(isolated, "gelu", {"x": np.zeros(2)}, dtype="float64")
    with pytest.raises(ValueError, match="softmax needs x"):
        prepare(isolated, "softmax", {}, dtype="float64")


def test_after_a_hang_there_is_another_process(isolated: Implementation) -> None:
    before = process(isolated)
    with pytest.raises(OperationTimedOut, match="softmax did not return within 1 s") as caught:
        softmax(isolated, 13)
    assert "line 14 in softmax" in caught.value.elsewhere
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)
    assert softmax(isolated)[0] == 1.0


def test_patience_ends_and_can_be_had_again(isolated: Implementation) -> None:
    for _ in range(5):
        with pytest.raises(OperationCrashed, match="softmax ended its process with status 7"):
            softmax(isolated, 14)
    with pytest.raises(OperationNotTried, match="softmax was not tried, since 5 calls ended their process"):
        softmax(isolated)
    isolated.forgive("softmax")
    assert softmax(isolated)[0] == 1.0


def test_a_call_survives_its_process(isolated: Implementation) -> None:
    call = prepare(isolated, "softmax", {"x": np.zeros(2)}, dtype="float64")
    call.run()
    os.kill(process(isolated), signal.SIGKILL)
    assert call.run().value[0] == 1.0
    told = isolated.not_survived("softmax")
    assert told.startswith(
        "softmax ended its process by SIGKILL, perhaps for want of memory after 1 call in one process"
    )


def test_what_is_printed_is_heard_once(isolated: Implementation) -> None:
    softmax(isolated)
    assert isolated.printed() == "called\n"
    assert isolated.printed() == ""


def test_what_is_printed_while_it_is_loaded_is_not_printed_by_a_call(tmp_path: Path) -> None:
    path = tmp_path / "talkative.py"
    path.write_text("import os\nos.write(2, b'loading')\nprint('loading')\ndef softmax(x):\n    return x\n")
    implementation = load_isolated(str(path))
    try:
        prepare(implementation, "softmax", {"x": np.ones((1, 2))}, dtype="float32").run()
        assert implementation.printed() == ""
        implementation.residence.supervisor.close()
        prepare(implementation, "softmax", {"x": np.ones((1, 2))}, dtype="float32").run()
        assert implementation.printed() == ""
    finally:
        implementation.close()


def test_a_large_argument_fits_through_the_pipe(isolated: Implementation) -> None:
    value = np.arange(1_000_000.0)
    result = prepare(isolated, "softmax", {"x": value}, dtype="float64").run().value
    assert np.array_equal(result, value + 1)


def test_an_interrupt_leaves_no_answer_behind(isolated: Implementation) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            softmax(isolated, 13)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert softmax(isolated)[0] == 1.0


def test_closing_ends_the_process(isolated: Implementation) -> None:
    softmax(isolated)
    worker = process(isolated)
    isolated.close()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


@pytest.mark.skipif(not Path("/proc").exists(), reason="the system does not show its processes")
def test_closing_ends_what_the_implementation_started(isolated: Implementation) -> None:
    child = Path(f"/proc/{softmax(isolated, 15)[0]:.0f}/stat")
    assert child.read_text().split()[2] in "RS"
    isolated.close()
    time.sleep(0.1)
    # Who should have waited for the child has ended too, so it may be left as a mere entry.
    assert not child.exists() or child.read_text().split()[2] in "ZX"


def test_nothing_outlives_the_interpreter(path: str) -> None:
    script = (
        "from veriformer.adapters.isolation.loading import load_isolated\n"
        f"i = load_isolated({path!r})\n"
        "print(i.residence.supervisor._process._process.pid)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    time.sleep(0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.stdout), 0)


@pytest.mark.parametrize(
    ("source", "sentence"),
    (
        ("import nothing_of_that_name\ndef softmax(x): return x", "nothing_of_that_name"),
        ("def softmax(x): return x\ndtypes = 'float32'", "dtypes is 'float32'"),
        ("1 +", "SyntaxError"),
        ("raise SystemExit(3)", "put that under `if __name__"),
    ),
)
def test_what_cannot_be_loaded_has_the_same_sentence(tmp_path: Path, source: str, sentence: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(source)
    with pytest.raises(LoadError) as there:
        load_isolated(str(path))
    with pytest.raises(LoadError) as here:
        load(str(path))
    assert str(there.value) == str(here.value)
    assert sentence in str(there.value)


def test_what_is_here_cannot_be_isolated() -> None:
    with pytest.raises(LoadError, match="name its file or its import path"):
        load_isolated(object())


def test_a_built_in_stays_here() -> None:
    assert load_isolated("numpy").residence is None
