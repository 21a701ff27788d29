"""The process of one worker, seen from the suite: its pipes, its output and its end."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from typing import IO, Literal

from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.isolation.frames import Frame, FrameReader, MalformedFrame
from veriformer.adapters.processes import Ending, lasting_parent

LONGEST_OUTPUT = 10_000
INTERFERED = "wrote into the pipe through which its process answers"
_PIECE = 2**16
_WIDE = 2**20
_BETWEEN_LOOKS = 0.05
# Output that arrives after its reply is read, but the suite does not wait for an endless flood.
_MOST_LATE_PIECES = 64
_SECONDS_FOR_LAST_WORDS = 0.3
_SECONDS_TO_CLEAN_UP = 5.0
_START = "import sys; sys.path[:] = {path!r}; from {program} import main; main({arguments})"
_PROGRAM = "veriformer.adapters.isolation.worker"
_WHERE_IT_STANDS = "Stack (most recent call first):"
_WHERE_IT_ENDED = "Fatal Python error"
# TensorFlow would log a line when it is first called, and a page for each call that raises.
_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}
_OUR_FRAMES = re.compile(r"^[^\n]*adapters.isolation.state\.py.*", re.MULTILINE | re.DOTALL)


class WorkerLost(Exception):
    """The worker did not answer.

    `how` completes a sentence about the call; `last_words` are Python's account of where the process ended or hangs."""

    def __init__(self, kind: Literal["hang", "end"], how: str = "", last_words: str = "") -> None:
        super().__init__(how)
        self.kind = kind
        self.how = how
        self.last_words = last_words


class WorkerProcess:
    """A worker that has been started; one request at a time.

    `program` is the module whose `main` answers the requests.
    """

    def __init__(self, program: str = _PROGRAM) -> None:
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        self._output, output = os.pipe()
        # What is found is read when the worker is interrupted, too, and the file ends with both processes.
        self._notes = tempfile.TemporaryFile()  # noqa: SIM115 - it is open as long as the process
        arguments = f"{requests}, {replies}, {self._notes.fileno()}, {lasting_parent()}"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START.format(path=sys.path, program=program, arguments=arguments)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(requests, replies, self._notes.fileno()),
            env={**_QUIET, **os.environ},
            # A session is a process group, which can be killed as a whole, and no terminal sends it signals.
            start_new_session=True,
        )
        for end in (requests, replies, output):
            os.close(end)
        _widen(self._requests)
        os.set_blocking(self._requests, False)
        os.set_blocking(self._output, False)
        self._notes_read = 0
        self._unsent = memoryview(b"")
        self._printed = b""
        self._recent = b""
        self._selector = selectors.DefaultSelector()
        for end in (self._replies, self._output):
            self._selector.register(end, selectors.EVENT_READ)
        ours = (self._requests, self._replies, self._output)
        SO_FAR.listen_to(self)
        # No worker outlives the suite: this also runs when the interpreter ends.
        self.close = weakref.finalize(self, _end, self._process, self._selector, ours, self._notes)

    def printed(self) -> str:
        """Return the beginning of the output on stdout and stderr since the last time this was called."""
        text, self._printed = self._printed, b""
        return text.decode("utf-8", "replace")

    def forget_printed(self) -> None:
        """Forget the output so far."""
        self._read_late_output()
        self._printed = b""

    def kill(self) -> None:
        """Kill the process with its group, so that another thread that waits for its reply does not wait any longer."""
        _kill(self._process)

    def interrupt(self) -> None:
        """Ask the process and those that it has started to end, and wait a little until they have cleaned up."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGTERM)
        deadline = time.monotonic() + _SECONDS_TO_CLEAN_UP
        while time.monotonic() < deadline and self._process.poll() is None:
            if self._replies in {key.fd for key, _ in self._selector.select(_BETWEEN_LOOKS)}:
                return
            # What is printed meanwhile must not fill the pipe.
            self._read_late_output()

    def send(self, request: bytes) -> None:
        """Begin to send a request; what does not fit into the pipe is sent while waiting for the reply."""
        self._unsent, self._recent = memoryview(request), b""
        self._send_some()

    def receive(self, seconds: float) -> Frame:
        """Return the reply to the request; WorkerLost when none comes in time, or something else comes."""
        try:
            return self._received(seconds)
        finally:
            self.read_notes()

    def _received(self, seconds: float) -> Frame:
        deadline, reader = time.monotonic() + seconds, FrameReader()
        if self._unsent:
            self._selector.register(self._requests, selectors.EVENT_WRITE)
        while (left := deadline - time.monotonic()) > 0:
            frame = self._step(reader, min(left, _BETWEEN_LOOKS))
            if frame is not None and self._unsent:
                # A worker cannot answer a request that it has not read to its end.
                raise WorkerLost("end", INTERFERED)
            if frame is not None:
                self._read_late_output()
                return frame
        raise WorkerLost("hang", last_words=self._where_it_hangs())

    def read_notes(self) -> None:
        """Take over what the worker has found since the last time."""
        if self._notes.closed:
            return
        written = os.pread(self._notes.fileno(), _WIDE, self._notes_read)
        self._notes_read += len(written)
        SO_FAR.take_over(written)

    def _step(self, reader: FrameReader, seconds: float) -> Frame | None:
        ready = {key.fd for key, _ in self._selector.select(seconds)}
        if self._output in ready and not self._read_output():
            self._selector.unregister(self._output)
        if self._requests in ready:
            self._send_some()
            if not self._unsent:
                self._selector.unregister(self._requests)
        if self._replies in ready:
            return self._take(reader)
        # Another process may keep the pipe open, so the process itself is checked.
        if self._process.poll() is not None:
            raise self._ended()
        return None

    def _take(self, reader: FrameReader) -> Frame | None:
        piece = os.read(self._replies, _PIECE)
        if not piece:
            raise self._ended()
        try:
            return reader.feed(piece)
        except MalformedFrame as error:
            raise WorkerLost("end", INTERFERED) from error

    def _send_some(self) -> None:
        # A slice of a memoryview copies nothing: requests with the weights of a large model have tens of megabytes.
        try:
            self._unsent = self._unsent[os.write(self._requests, self._unsent) :]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            # The process has ended, or closed its side; waiting for its reply will show which.
            self._unsent = memoryview(b"")

    def _read_output(self) -> bool:
        """Read some of the output, keep its beginning and its end, and return whether more may follow."""
        try:
            piece = os.read(self._output, _PIECE)
        except BlockingIOError:
            return True
        self._printed += piece[: max(0, LONGEST_OUTPUT - len(self._printed))]
        self._recent = (self._recent + piece)[-LONGEST_OUTPUT:]
        return bool(piece)

    def _read_late_output(self) -> None:
        for _ in range(_MOST_LATE_PIECES):
            before = self._recent
            if not self._read_output() or self._recent is before:
                return

    def _ended(self) -> WorkerLost:
        """Return how the process ended, or that it only closed its pipe."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_SECONDS_FOR_LAST_WORDS)
        self._read_late_output()
        status = self._process.returncode
        how = "closed the pipe through which its process answers" if status is None else Ending(status).sentence()
        return WorkerLost("end", how, self._last_words(_WHERE_IT_ENDED))

    def _where_it_hangs(self) -> str:
        """Return Python's account of where the call hangs; empty if the process gives none."""
        if not hasattr(signal, "SIGUSR1"):
            return ""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGUSR1)
        deadline = time.monotonic() + _SECONDS_FOR_LAST_WORDS
        while time.monotonic() < deadline and not self._last_words(_WHERE_IT_STANDS):
            time.sleep(_BETWEEN_LOOKS / 5)
            self._read_late_output()
        time.sleep(_BETWEEN_LOOKS / 5)
        self._read_late_output()
        return self._last_words(_WHERE_IT_STANDS)

    def _last_words(self, beginning: str) -> str:
        """Return what Python wrote at the end, and remove it from the implementation's output."""
        text = self._recent.decode("utf-8", "replace")
        start = text.rfind(beginning)
        if start < 0:
            return ""
        kept = self._printed.rfind(beginning.encode())
        self._printed = self._printed[:kept] if kept >= 0 else self._printed
        return _OUR_FRAMES.sub("", text[start:])


def _kill(process: subprocess.Popen[bytes]) -> None:
    # The group may outlive the worker.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _widen(pipe: int) -> None:
    """Let a pipe hold more where the system can: a request with large arrays then takes fewer turns."""
    with contextlib.suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _WIDE)


def _end(
    process: subprocess.Popen[bytes], selector: selectors.BaseSelector, ends: tuple[int, ...], notes: IO[bytes]
) -> None:
    """Kill a worker with its process group, and close the pipes and the file."""
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_SECONDS_FOR_LAST_WORDS)
    selector.close()
    notes.close()
    for end in ends:
        os.close(end)
