"""The process of a whole model, which is replaced when it is lost, and the calls of what the model is wrapped as."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Never

from veriformer.adapters.capture.isolated import PROGRAM
from veriformer.adapters.errors import LoadError
from veriformer.adapters.isolation.calls import Residence
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.process import WorkerProcess
from veriformer.adapters.isolation.supervisor import Supervisor
from veriformer.adapters.whole_models.wrapping import Wrapping


class ModelSupervisor(Supervisor):
    """Keeps the process of a model; a new one builds the model and wraps it as the first did."""

    def __init__(
        self, target: str, limits: ProcessLimits, process: WorkerProcess, seed: int, wrappings: Sequence[Wrapping]
    ) -> None:
        super().__init__(target, limits, process)
        self._seed = seed
        self._wrappings = list(wrappings)

    def _new_process(self) -> WorkerProcess:
        return WorkerProcess(PROGRAM)

    def _what_to_load(self) -> dict[str, Any]:
        again = {"seed": self._seed, "wrappings": self._wrappings}
        return {"source": self.target, "memory": self.limits.memory, "again": again}


@dataclass(frozen=True)
class ModelResidence(Residence):
    """Where an implementation that was made of a model runs: `copy` is its number among those of the model."""

    def another(self) -> Never:
        """Raise LoadError: there is one model."""
        raise LoadError(f"{self.supervisor.target} is a model, of which there is one copy")
