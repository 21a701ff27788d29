"""The program of a worker: it loads an implementation and answers requests to call it."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from veriformer.adapters.asked import NOTHING_ASKED, asked_again
from veriformer.adapters.calling import Call, PreparedCall, prepare
from veriformer.adapters.errors import OperationRaised, StateCorrupted
from veriformer.adapters.found_so_far import SO_FAR
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.isolation import messages
from veriformer.adapters.isolation.description import described
from veriformer.adapters.isolation.frames import Frame, read_request, reply
from veriformer.adapters.isolation.memory import is_short, limit_memory
from veriformer.adapters.isolation.state import Watch, Watched
from veriformer.adapters.loading import load
from veriformer.adapters.matching.looking import looking_for
from veriformer.adapters.processes import end_with, interruptible
from veriformer.adapters.sequences import Step, prepare_sequence
from veriformer.spec.operations import OPERATIONS

_MOST_COPIES = 8
# Libraries that compile code for operations on NumPy's arrays.
_COMPILERS = frozenset({"jax", "torch", "numba", "tensorflow", "openvino", "tinygrad", "triton", "tvm", "onnxruntime"})
# The suite ends a worker that is too slow. If the suite is gone, the worker ends itself, this much later.
_GRACE = 5.0


class Server:
    """Loads an implementation and copies of it, and makes the calls that are requested."""

    def __init__(self) -> None:
        self._target, self._asked = "", NOTHING_ASKED
        self._memory = 0
        self._watch = Watch()
        self._copies: OrderedDict[int, Implementation] = OrderedDict()
        self._prepared: OrderedDict[int, Call] = OrderedDict()

    def answer(self, request: dict[str, Any]) -> Frame:
        """Return the reply to a request; whatever goes wrong is a reply too."""
        try:
            return self._done(request)
        except BaseException as error:
            original = error.original if isinstance(error, OperationRaised) else error.__cause__ or error
            return messages.of_shortage(error) if is_short(original, self._memory) else messages.of_error(error)

    def _done(self, request: dict[str, Any]) -> Frame:
        """Do what is requested and return the reply."""
        if "load" in request:
            return self._loaded(**request["load"])
        frame = self._called(request)
        if self._watch.changed:
            raise StateCorrupted(request["operation"], " and ".join(dict.fromkeys(self._watch.changed)))
        return frame

    def _loaded(self, target: str, memory: int, asked: dict[str, Any], looking: float | None) -> Frame:
        self._target, self._asked = target, asked_again(asked)
        with interruptible(), looking_for(looking):
            found = load(target, self._asked)
        self._copies[0] = self._watched(found)
        # A framework sets itself up with the first array, which does not count as the implementation's memory.
        found.framework.from_numpy(np.zeros(1), found.dtypes[0])
        found.framework.use_one_thread()
        self._memory = memory
        limit_memory(memory)
        compiles = found.framework.name != "numpy" or not _COMPILERS.isdisjoint(sys.modules)
        return Frame({"implementation": described(found), "compiles": compiles})

    def _copy(self, number: int) -> Implementation:
        """Return the implementation, or a copy of it, which is loaded on first use."""
        if number not in self._copies:
            self._copies[number] = self._watched(load(self._target, self._asked))
            for old in list(self._copies)[1:-_MOST_COPIES]:
                del self._copies[old]
        return self._copies[number]

    def _watched(self, found: Implementation) -> Implementation:
        operations = {
            name: Watched(function, self._watch, may_seed=OPERATIONS[name].random)
            for name, function in found.operations.items()
        }
        return replace(found, operations=operations)

    def _called(self, request: dict[str, Any]) -> Frame:
        self._watch.changed.clear()
        for old in request["forget"]:
            self._prepared.pop(old, None)
        prepared, expected = self._call(request["call"]), request["expected"]
        if request["method"] == "arguments_now":
            return messages.of_arrays(prepared.arguments_now())
        if request["method"] == "run":
            return messages.of_results([prepared.run(expected)])
        other = self._call(request["other"])
        if not isinstance(prepared, PreparedCall) or not isinstance(other, PreparedCall):
            raise TypeError("a chain of calls has no arguments to overwrite")
        return messages.of_results(prepared.run_again_on(other, expected))

    def _call(self, call: dict[str, Any]) -> Call:
        number, arguments = call["number"], call["arguments"]
        if arguments is not None:
            self._prepared[number] = _prepared(self._copy(call["copy"]), arguments)
        return self._prepared[number]


def _prepared(implementation: Implementation, arguments: dict[str, Any]) -> Call:
    given = dict(arguments)
    steps = given.pop("steps", None)
    if steps is None:
        return prepare(implementation, **given)
    return prepare_sequence(implementation, [Step(*step) for step in steps], **given)


def main(requests: int, replies: int, notes: int, parent: int | None) -> None:
    """Answer requests to load an implementation and to call it."""
    serve(requests, replies, notes, parent, Server().answer)


def serve(
    requests: int, replies: int, notes: int, parent: int | None, answer: Callable[[dict[str, Any]], Frame]
) -> None:
    """Answer requests until the suite closes its end, and then exit at once.

    What is found meanwhile is written to `notes`.

    On Linux this process also ends when the suite is killed, whatever signals it ignores.
    """
    end_with(parent)
    for end in (requests, replies, notes):
        # Programs that the implementation starts must not inherit them.
        os.set_inheritable(end, False)
    SO_FAR.write_to(notes)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    own = os.getpid()
    with open(requests, "rb", closefd=False) as stream:
        while (request := read_request(stream)) is not None:
            signal.setitimer(signal.ITIMER_REAL, 2 * request["seconds"] + _GRACE)
            frame = answer(request)
            answered = reply(Frame({**frame.header, "number": request["number"]}, frame.payload))
            if os.getpid() != own:
                # The operation has forked, and its child has returned from the call too.
                os._exit(0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            _flush_output()
            _write(replies, answered)
    os._exit(0)


def _flush_output() -> None:
    for stream in (sys.stdout, sys.stderr):
        # The implementation may have closed or replaced them.
        with contextlib.suppress(Exception):
            stream.flush()


def _write(end: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(end, left) :]
