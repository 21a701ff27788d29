"""Cases of training steps and where they are drawn from."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Literal

from veriformer.conformance_tests.drawing import choices
from veriformer.conformance_tests.drawing.space import How
from veriformer.conformance_tests.operations.models.cases import ModelCase, ModelSpace, model_cases

if TYPE_CHECKING:
    from veriformer.conformance_tests.drawing.limits import Limits

# One step; steps whose rate is 0, with a last one that is not; steps that all move the weights; no rate above 0.
Rates = Literal["one", "last", "all", "zero"]
_RATES = (0.5, 0.125, 0.01)
_BETAS = ((0.9, 0.99), (0.5, 0.75), (0.8, 0.95))
_EPS = (1e-1, 1e-2)
_DECAYS = (0.1, 0.5, 0.0)
# In half precision the error of a gradient is not small compared with a smaller eps.
_LEAST_EPS = {"float16": 1e-1, "bfloat16": 1e-1}


@dataclass(frozen=True)
class TrainingCase(ModelCase):
    """One call of `training_steps`, with a learning rate for each step.

    Token 0 is no target if `ignoring`; a batch is processed one sample at a time if `in_parts`.
    """

    learning_rates: tuple[float, ...] = (0.5,)
    beta1: float = 0.9
    beta2: float = 0.99
    adam_eps: float = 0.1
    weight_decay: float = 0.1
    ignoring: bool = False
    in_parts: bool = False

    def describe(self) -> str:
        rates = ", ".join(f"{rate:g}" for rate in self.learning_rates)
        settings = [f"learning rates {rates}", f"betas {self.beta1:g} and {self.beta2:g}", f"eps {self.adam_eps:g}"]
        settings += [f"weight decay {self.weight_decay:g}"]
        settings += ["token 0 ignored"] if self.ignoring else []
        settings += ["one sample at a time"] if self.in_parts else []
        return ", ".join([super().describe(), *settings])


@dataclass(frozen=True)
class TrainingSpace(ModelSpace):
    """Cases of `training_steps`; the first two tokens of a row are never ignored, and one of three is."""

    least_length: int = 3
    least_vocabulary: int = 3
    rates: tuple[Rates, ...] = ("one", "last", "all")
    ignore_index: How = "sometimes"
    micro_batches: How = "sometimes"


def training_cases(space: TrainingSpace, limits: Limits) -> choices.Choice[TrainingCase]:
    """Return cases of `training_steps`: a model's, with the settings of the steps."""
    small = limits.small or limits.compiles_per_shape
    in_parts = _allowed(space.micro_batches, "micro_batches" in limits.features)
    ignoring = _allowed(space.ignore_index, "ignore_index" in limits.features)
    # Parts have unequal numbers of targets only where some are ignored.
    ignoring = ignoring[-1:] if in_parts == (True,) else ignoring
    return choices.builds(
        _training_case,
        model_cases(space, limits),
        choices.sampled_from(tuple(product(space.rates, _RATES, (2,) if small else (2, 3)))),
        choices.sampled_from(_BETAS),
        choices.sampled_from(tuple(product(_EPS, _DECAYS))),
        choices.sampled_from(tuple(product(ignoring, in_parts))),
    )


def _allowed(how: How, declared: bool) -> tuple[bool, ...]:
    if how == "never" or not declared:
        return (False,)
    return (True,) if how == "always" else (False, True)


def _training_case(
    model: ModelCase,
    rates: tuple[Rates, float, int],
    betas: tuple[float, float],
    numbers: tuple[float, float],
    chosen: tuple[bool, bool],
) -> TrainingCase:
    return TrainingCase(
        **{field.name: getattr(model, field.name) for field in fields(ModelCase)},
        learning_rates=_learning_rates(*rates),
        beta1=betas[0],
        beta2=betas[1],
        adam_eps=max(numbers[0], _LEAST_EPS.get(model.dtype, 0.0)),
        weight_decay=numbers[1],
        ignoring=chosen[0],
        in_parts=chosen[1],
    )


def _learning_rates(kind: Rates, rate: float, steps: int) -> tuple[float, ...]:
    """Return the rates of some steps; those that all move the weights differ."""
    if kind == "one":
        return (rate,)
    if kind == "zero":
        return (0.0,) * steps
    if kind == "last":
        return (*((0.0,) * (steps - 1)), rate)
    return tuple(rate / 2.0**step for step in range(steps))


def suited(case: TrainingCase, _: str, limits: Limits) -> TrainingCase:
    """Return a case of the first architecture that the implementation has."""
    name = case.architecture or limits.architectures[0]
    return replace(case, architecture=name, kv_heads=case.kv_heads if name == "llama" else case.heads)
