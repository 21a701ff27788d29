"""The program of the process in which a user's model is built and run: it writes the record of the pass to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veriformer.adapters.capture.captured import capture_model
from veriformer.adapters.capture.models import Model, load_model
from veriformer.adapters.capture.storage import write_trace
from veriformer.adapters.isolation import messages
from veriformer.adapters.isolation.frames import Frame
from veriformer.adapters.isolation.memory import is_short, limit_data
from veriformer.adapters.isolation.worker import serve


class ModelServer:
    """Builds a model and records passes of it, as requested."""

    def __init__(self) -> None:
        self._memory = 0
        self._model: Model | None = None

    def answer(self, request: dict[str, Any]) -> Frame:
        """Return the reply to a request; whatever goes wrong is a reply too."""
        try:
            if "load" in request:
                self._load(**request["load"])
            else:
                self._record(**request["record"])
        except BaseException as error:
            original = error.__cause__ or error
            return messages.of_shortage(error) if is_short(original, self._memory) else messages.of_error(error)
        else:
            return Frame({})

    def _load(self, source: str, memory: int) -> None:
        self._memory = memory
        limit_data(memory)
        self._model = load_model(source)

    def _record(self, path: str, seed: int | None) -> None:
        write_trace(capture_model(self._model, seed=seed), Path(path))


def main(requests: int, replies: int, parent: int | None) -> None:
    """Answer requests to build a model and to record it."""
    serve(requests, replies, parent, ModelServer().answer)
