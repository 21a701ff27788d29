"""A model in a process of its own that is run again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from veriformer.adapters.capture.isolated import IsolatedModel
from veriformer.adapters.capture.storage import read_trace
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.errors import CaptureError
from veriformer.adapters.isolation.frames import Frame, MalformedFrame
from veriformer.adapters.isolation.messages import arrays_in
from veriformer.adapters.model_declarations import INPUTS, BlackBox
from veriformer.adapters.whole_models.again import Offers, Run
from veriformer.adapters.whole_models.sequence import Array

_AGAIN = "running it again"


class AgainElsewhere:
    """The requests to the process of a recorded model to run it again; see `Repeatable`."""

    def __init__(self, model: IsolatedModel, *, causal: bool) -> None:
        self._model = model
        self._causal = causal

    def offers(self) -> Offers:
        """Return what the model can be run on."""
        return _offers_in(self._asked("offers").header)

    def results(self, run: Run) -> Array:
        """Return the results of a run."""
        return _array_in(self._asked("results", run))

    def gradients(self, inputs: Array, cotangent: Array) -> Array:
        """Return what no layout changes about the gradients of the parameters."""
        return _array_in(self._asked("gradients", inputs, cotangent))

    def recorded(self, run: Run) -> Trace:
        """Return the record of a run."""
        with TemporaryDirectory(prefix="veriformer-") as folder:
            path = Path(folder) / "model.trace"
            self._asked("recorded", run, path=str(path))
            return read_trace(path)

    def _asked(self, what: str, *given: Any, path: str = "") -> Frame:
        message = {"asked": what, "given": given, "path": path, "causal": self._causal}
        return self._model.asked({"again": message}, _AGAIN, self._model.limits.seconds)


def _array_in(frame: Frame) -> Array:
    try:
        return arrays_in(frame)["answer"]
    except (MalformedFrame, KeyError) as error:
        raise _distrusted() from error


def _offers_in(header: Mapping[str, Any]) -> Offers:
    """Return the offers in a reply, which comes from a process that runs a user's code."""
    try:
        received = dict(header["offers"])
        sizes = {name: received["inputs"][name] for name in INPUTS}
        counts: dict[str, Any] = {name: None if size is None else int(size) for name, size in sizes.items()}
        return Offers(
            BlackBox(**counts),
            str(received["dtype"]),
            bool(received["padding"]),
            bool(received["caching"]),
            tuple(str(name) for name in received["parameters"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _distrusted() from error


def _distrusted() -> CaptureError:
    return CaptureError("does not answer as it should when it is run again")
