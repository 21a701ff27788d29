"""The program of the process in which a user's model is built, recorded, and called as an implementation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from veriformer.adapters.capture.captured import recorded_pass
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.input_files import read_inputs
from veriformer.adapters.capture.models import Model, load_model
from veriformer.adapters.capture.storage import write_trace
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.isolation.description import described
from veriformer.adapters.isolation.frames import Frame
from veriformer.adapters.isolation.memory import limit_data
from veriformer.adapters.isolation.messages import of_arrays
from veriformer.adapters.isolation.worker import Server, serve
from veriformer.adapters.processes import interruptible
from veriformer.adapters.whole_models.again import Again, Offers, running_again
from veriformer.adapters.whole_models.stage import staged
from veriformer.adapters.whole_models.wrapping import Wrapping, wrapped


class ModelServer(Server):
    """Builds a model, records a pass of it, and makes calls of what it was wrapped as."""

    def __init__(self) -> None:
        super().__init__()
        self._model: Model | None = None
        self._arguments: Arguments | None = None
        # The model stays on its stage as long as the process lasts.
        self._stages = ExitStack()
        self._wrapped: list[Implementation | None] = []
        self._running: Again | None = None

    def _done(self, request: dict[str, Any]) -> Frame:
        if "load" in request:
            return self._load(**request["load"])
        if "record" in request:
            return self._record(**request["record"])
        if "wrap" in request:
            return self._wrap(**request["wrap"])
        if "again" in request:
            return self._again(**request["again"])
        return super()._done(request)

    def _load(self, source: str, memory: int, again: dict[str, Any] | None = None) -> Frame:
        """Build a model; in a process that replaces another one, wrap it `again`."""
        self._target, self._memory = source, memory
        limit_data(memory)
        with interruptible():
            self._model = load_model(source)
        return Frame({}) if again is None else self._wrap(**again)

    def _record(
        self,
        path: str,
        seed: int | None,
        inputs: str | None = None,
        offered: str | None = None,
        *,
        one_sample: bool = False,
    ) -> Frame:
        """Record a pass into a file; the files of arrays are what it is run on, or what another model was run on."""
        positional, keywords = ((), {}) if inputs is None else read_inputs(Path(inputs))
        recorded = recorded_pass(
            self._found,
            positional or None,
            keywords or None,
            seed=seed,
            offered=None if offered is None else read_inputs(Path(offered))[0],
            one_sample=one_sample,
        )
        if not one_sample:
            self._arguments = recorded.arguments
        write_trace(recorded.trace, Path(path))
        return Frame({})

    def _wrap(self, seed: int, wrappings: Sequence[Wrapping]) -> Frame:
        arguments = self._arguments or recorded_pass(self._found, seed=seed).arguments
        stage = self._stages.enter_context(staged(self._found, arguments, seed))
        made = wrapped(wrappings, stage, arguments, self._target)
        self._wrapped = [None if one.implementation is None else self._watched(one.implementation) for one in made]
        replies = [
            {"reason": one.reason, "not_repeated": one.not_repeated}
            if one.implementation is None
            else {"implementation": described(one.implementation)}
            for one in made
        ]
        return Frame({"wrapped": replies, "compiles": stage.framework.compiles_per_shape})

    def _again(self, asked: str, given: Sequence[Any], path: str = "", *, causal: bool = False) -> Frame:
        """Run the model again; `asked` is the method of `Again`, and `path` the file for a record."""
        if self._running is None:
            arguments = self._arguments or recorded_pass(self._found, seed=None).arguments
            self._running = self._stages.enter_context(running_again(self._found, arguments, causal=causal))
        answer = getattr(self._running, asked)(*given)
        if isinstance(answer, Offers):
            return Frame({"offers": asdict(answer)})
        if isinstance(answer, Trace):
            write_trace(answer, Path(path))
            return Frame({})
        return of_arrays({"answer": answer})

    @property
    def _found(self) -> Model:
        if self._model is None:
            raise TypeError("no model was loaded")
        return self._model

    def _copy(self, number: int) -> Implementation:
        made = self._wrapped[number]
        if made is None:
            raise TypeError(f"nothing was made of number {number}")
        return made


def main(requests: int, replies: int, notes: int, parent: int | None) -> None:
    """Answer requests to build a model, to record it, to wrap it, and to call it."""
    serve(requests, replies, notes, parent, ModelServer().answer)
