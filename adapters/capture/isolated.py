"""The record of a model that is built and run in a process of its own, where it cannot harm the suite."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.input_files import write_inputs
from veriformer.adapters.capture.storage import read_trace
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.capture.weights import Array
from veriformer.adapters.errors import CaptureError, LoadError
from veriformer.adapters.isolation import messages
from veriformer.adapters.isolation.frames import Frame, MalformedFrame, request
from veriformer.adapters.isolation.limits import GIBIBYTE, ProcessLimits
from veriformer.adapters.isolation.process import INTERFERED, WorkerLost, WorkerProcess

PROGRAM = "veriformer.adapters.whole_models.worker"
MODEL_LIMITS = ProcessLimits(seconds=120.0, memory=6 * GIBIBYTE, loading=120.0)
"""What a model may use: a language model of 124 million parameters needs half of it."""

_BUILDING, _RUNNING = "importing and building it", "running it"


class IsolatedModel:
    """The process of a model: it builds the model, records a pass of it, and may go on with it.

    `limits.loading` is for importing and building the model, `limits.seconds` for running and recording it, and
    `limits.memory` for the whole process. What goes wrong is one sentence, and `elsewhere` has the traceback.
    """

    def __init__(self, source: str, limits: ProcessLimits) -> None:
        if os.name != "posix":
            raise LoadError("isolation needs a POSIX system; run without it (--no-isolate)")
        self._source = source
        self.limits = limits
        self.process = WorkerProcess(PROGRAM)

    def build(self) -> None:
        """Import and build the model.

        Raises NotAModel and LoadError as `load_model` does, and CaptureError where the model hangs, ends its process,
        or needs too much memory.
        """
        load = {"load": {"source": self._source, "memory": self.limits.memory}}
        self.asked(load, _BUILDING, self.limits.loading)

    def record(
        self,
        seed: int | None,
        inputs: Arguments | None = None,
        offered: Sequence[Array] | None = None,
        *,
        one_sample: bool = False,
    ) -> Trace:
        """Return the record of a pass; CaptureError as in `build`, and where the model cannot be recorded.

        `inputs`, `offered` and `one_sample` are as in `recorded_pass`; without them it is run on its own inputs, or on
        guessed ones.
        """
        with TemporaryDirectory(prefix="veriformer-") as folder:
            path = Path(folder) / "model.trace"
            files: dict[str, Arguments | None] = {
                "inputs": inputs,
                "offered": None if offered is None else (tuple(offered), {}),
            }
            given: dict[str, Any] = {}
            for name, arguments in files.items():
                if arguments is not None:
                    given[name] = str(Path(folder) / f"{name}.npz")
                    write_inputs(Path(given[name]), arguments)
            self.asked(
                {"record": {"path": str(path), "seed": seed, "one_sample": one_sample, **given}},
                _RUNNING,
                self.limits.seconds,
            )
            return read_trace(path)

    def asked(self, message: dict[str, Any], what: str, seconds: float) -> Frame:
        """Return the reply to a request; `what` it is about begins the sentence of an error: "running it"."""
        return _answered(self.process, self._source, message, what, seconds, self.limits.memory)

    def printed(self) -> str:
        """Return the beginning of what was printed since the last time."""
        return messages.visible(self.process.printed())

    def kill(self) -> None:
        """Kill the process, which another thread may be waiting for."""
        self.process.kill()

    def close(self) -> None:
        """End the process."""
        self.process.close()


def _answered(
    process: WorkerProcess, source: str, message: dict[str, Any], what: str, seconds: float, memory: int
) -> Frame:
    """Send a request and return its reply; raise the error in it, or that there was none."""
    process.send(request({**message, "number": 0, "seconds": seconds}))
    try:
        frame = process.receive(seconds)
        error = messages.error_in(frame, source)
    except WorkerLost as lost:
        process.interrupt()
        raise _lost(source, what, seconds, memory, lost) from None
    except MalformedFrame as malformed:
        raise CaptureError(f"{source}: {what} {INTERFERED}; it must leave that alone") from malformed
    if error is None:
        return frame
    if messages.is_of_shortage(frame):
        raise _with_traceback(_shortage(source, what, memory, frame), error.elsewhere)
    raise error if isinstance(error, LoadError) else _with_traceback(_ended_early(source, what, frame), error.elsewhere)


def _lost(source: str, what: str, seconds: float, memory: int, lost: WorkerLost) -> CaptureError:
    if lost.kind == "hang":
        option = "--import-limit" if what == _BUILDING else "--time-limit"
        sentence = (
            f"{source}: {what} did not end within {seconds:g} s; make the model smaller, or allow more time ({option})"
        )
    else:
        # Libraries end the process where memory lacks, in ways of their own.
        sentence = (
            f"{source}: {what} {lost.how}; it must return, or raise an exception; if it needs more than the "
            f"{memory / GIBIBYTE:g} GiB of memory that it may take, allow more (--memory-limit)"
        )
    return _with_traceback(CaptureError(sentence), lost.last_words)


def _shortage(source: str, what: str, memory: int, frame: Frame) -> CaptureError:
    return CaptureError(
        f"{source}: {what} needs more than the {memory / GIBIBYTE:g} GiB of memory that it may take "
        f"(it {messages.raised_words(frame)}); make the model smaller, or allow more (--memory-limit)"
    )


def _ended_early(source: str, what: str, frame: Frame) -> CaptureError:
    return CaptureError(f"{source}: {what} {messages.raised_words(frame)}; correct it, then run again")


def _with_traceback(error: CaptureError, elsewhere: str) -> CaptureError:
    error.elsewhere = elsewhere
    return error
