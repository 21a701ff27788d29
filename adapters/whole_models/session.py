"""A model that is checked: first its record, then the implementations that it is wrapped as, here or in a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Protocol

from veriformer.adapters.capture.captured import Pass, recorded_pass
from veriformer.adapters.capture.isolated import IsolatedModel
from veriformer.adapters.capture.models import Model, load_model
from veriformer.adapters.capture.trace import Trace
from veriformer.adapters.errors import LoadError
from veriformer.adapters.isolation.description import described_implementation
from veriformer.adapters.isolation.frames import Frame
from veriformer.adapters.isolation.limits import ProcessLimits
from veriformer.adapters.isolation.messages import visible
from veriformer.adapters.whole_models.stage import staged
from veriformer.adapters.whole_models.supervisor import ModelResidence, ModelSupervisor
from veriformer.adapters.whole_models.wrapping import Wrapped, Wrapping, wrapped

_WRAPPING = "calling it again"
_NO_ANSWER = "its process does not answer as it should"


class Session(Protocol):
    """A model, recorded; it can be wrapped once."""

    trace: Trace

    def wrapped(self, wrappings: Sequence[Wrapping]) -> list[Wrapped]:
        """Return what each of the wrappings comes to.

        The implementations can be called until the session ends. LoadError where the model cannot be called again.
        """

    def again(self, seed: int, *, one_sample: bool = False) -> Trace:
        """Return the record of another pass, with weights and guessed inputs drawn from a seed.

        With `one_sample` there is a single one, and the laws of the model keep the inputs of the first pass.
        CaptureError where the model cannot be recorded again. To be asked for before the model is wrapped.
        """

    def printed(self) -> str:
        """Return the beginning of what the model's code printed in its own process since the last time."""


@contextmanager
def opened(
    target: object,
    inputs: Any = None,
    keywords: Mapping[str, Any] | None = None,
    *,
    seed: int,
    limits: ProcessLimits | None = None,
) -> Iterator[Session]:
    """Record a model, and yield the session, at whose end the model is left as it was, or its process is ended.

    With `limits` the model that `target` names is built and run in a process of its own. Raises as `capture_model` and
    `IsolatedModel` do.
    """
    if limits is None:
        found = load_model(target)
        with ExitStack() as stages:

            def record(seed: int, *, one_sample: bool = False) -> Pass:
                return recorded_pass(found, inputs, keywords, seed=seed, one_sample=one_sample)

            yield _Here(found, record, seed, stages)
        return
    model = IsolatedModel(str(target), limits)
    elsewhere = _Elsewhere(str(target), model, limits, seed)
    try:
        model.build()
        elsewhere.trace = model.record(seed)
        yield elsewhere
    finally:
        elsewhere.close()


class _Here:
    """A model in this process."""

    def __init__(self, found: Model, record: Callable[..., Pass], seed: int, stages: ExitStack) -> None:
        recorded = record(seed)
        self.trace = recorded.trace
        self._found, self._record = found, record
        self._arguments = recorded.arguments
        self._seed = seed
        self._stages = stages

    def wrapped(self, wrappings: Sequence[Wrapping]) -> list[Wrapped]:
        stage = self._stages.enter_context(staged(self._found, self._arguments, self._seed))
        return wrapped(wrappings, stage, self._arguments, self._found.name)

    def again(self, seed: int, *, one_sample: bool = False) -> Trace:
        return self._record(seed, one_sample=one_sample).trace

    def printed(self) -> str:
        return ""


class _Elsewhere:
    """A model in a process of its own."""

    trace: Trace

    def __init__(self, target: str, model: IsolatedModel, limits: ProcessLimits, seed: int) -> None:
        self._target = target
        self._model = model
        self._limits = limits
        self._seed = seed
        self._supervisor: ModelSupervisor | None = None

    def wrapped(self, wrappings: Sequence[Wrapping]) -> list[Wrapped]:
        request = {"wrap": {"seed": self._seed, "wrappings": list(wrappings)}}
        frame = self._model.asked(request, _WRAPPING, self._limits.seconds)
        self._supervisor = ModelSupervisor(self._target, self._limits, self._model.process, self._seed, wrappings)
        self._supervisor.compiles = frame.header.get("compiles") is True
        return self._read(frame, wrappings, self._supervisor)

    def _read(self, frame: Frame, wrappings: Sequence[Wrapping], supervisor: ModelSupervisor) -> list[Wrapped]:
        replies = frame.header.get("wrapped")
        if not isinstance(replies, list) or len(replies) != len(wrappings):
            raise LoadError(f"{self._target}: its process does not answer as it should")
        return [
            _read_one(one, wrapping.path, self._target, ModelResidence(supervisor, number))
            for number, (one, wrapping) in enumerate(zip(replies, wrappings, strict=True))
        ]

    def again(self, seed: int, *, one_sample: bool = False) -> Trace:
        return self._model.record(seed, one_sample=one_sample)

    def printed(self) -> str:
        return self._model.printed() if self._supervisor is None else visible(self._supervisor.printed())

    def close(self) -> None:
        """End the process."""
        self._model.close()
        if self._supervisor is not None:
            self._supervisor.close()


def _read_one(reply: Any, path: str, target: str, residence: ModelResidence) -> Wrapped:
    if not isinstance(reply, dict) or "implementation" not in reply:
        reason = reply.get("reason") if isinstance(reply, dict) else None
        raised = reply.get("not_repeated") if isinstance(reply, dict) else None
        return Wrapped(path, None, *(visible(str(one or "")) for one in (reason or _NO_ANSWER, raised)))
    found = described_implementation(reply["implementation"], target)
    return Wrapped(path, replace(found, residence=residence))
