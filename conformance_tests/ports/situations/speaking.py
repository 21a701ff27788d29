"""A model that is run again and says which of the two it is when something goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.errors import CaptureError, LoadError
from veriformer.adapters.whole_models.again import Offers, Repeatable, Run
from veriformer.conformance_tests.drawing.arrays import Array

# The sentences of `Repeatable` are predicates; others, such as those about time and memory, name the model themselves.
_PREDICATES = ("raises ", "is ", "does ")


class Speaking:
    """The model A or B; its errors are sentences that begin with that."""

    def __init__(self, name: str, model: Repeatable) -> None:
        self._name, self._model = name, model

    def offers(self) -> Offers:
        """Return what the model can be run on."""
        with self._named():
            return self._model.offers()

    def results(self, run: Run) -> Array:
        """Return the results of a run."""
        with self._named():
            return self._model.results(run)

    def gradients(self, inputs: Array, cotangent: Array) -> Array:
        """Return what no layout changes about the gradients of the parameters."""
        with self._named():
            return self._model.gradients(inputs, cotangent)

    def recorded(self, run: Run) -> Trace:
        """Return the record of a run."""
        with self._named():
            return self._model.recorded(run)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except LoadError as error:
            begin = self._name if str(error).startswith(_PREDICATES) else f"{self._name}:"
            raise CaptureError(f"{begin} {error}") from error
