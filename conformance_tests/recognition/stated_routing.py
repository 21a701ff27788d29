"""How a model routes tokens to experts, held against what its configuration says."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from veriformer.adapters.capture.trace import Step
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.elementwise import factor_of
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.mixtures import Mixture
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.witness import stated_under

_OF_SUM_ONE = re.compile(r"^(norm_topk_prob|normalize_topk_prob|norm_topk|normalize_topk|renormalize)$")
_CHOSEN = re.compile(
    r"^(num_experts_per_tok|num_experts_per_token|n_?activated_experts|experts_per_tok(en)?|num_selected_experts|"
    r"moe_top_?k|router_top_?k|top_?k|num_active_experts)$"
)
_FACTOR = re.compile(r"^(routed_scaling_factor|route_scale|routing_scale|router_scale)$")
_NEAR = 1e-3


def departures_of_shares(model: ModelReading) -> Iterator[Departure]:
    """Yield mixtures whose chosen experts have shares of the sum one, or not, and a configuration says the other."""
    stated = stated_under(model, _OF_SUM_ONE)
    for mixture in model.mixtures if stated else ():
        is_one = "over the chosen" in mixture.scheme or "of sum one" in mixture.scheme
        by_all = "softmax over all" in mixture.scheme and mixture.chosen < mixture.count
        is_other = by_all or ("sigmoid" in mixture.scheme and not is_one and mixture.chosen > 1)
        if mixture.mistake is None and is_one != is_other and all(value is is_other for value in stated.values()):
            of_all = "are those of all experts" if by_all else "are the sigmoids of their scores"
            done = "have the sum one" if is_one else f"{of_all}, and do not have the sum one"
            name, value = next(iter(stated.items()))
            sentence = f"the configuration says that {name} is {value}, and the shares of the chosen experts {done}"
            yield _departure(model, mixture, sentence)


def departures_of_routing(model: ModelReading) -> Iterator[Departure]:
    """Yield mixtures that choose another number of experts, or scale their shares otherwise, than is stated."""
    for mixture in model.mixtures:
        if not mixture.scheme or mixture.mistake is not None:
            continue
        for name, value in _numbers_under(model, _CHOSEN):
            # A top k of more than all experts is one of tokens, of which a sampler chooses.
            if value != mixture.chosen and value <= mixture.count:
                said = f"the configuration says that {name} is {value:g}, and each token goes to {mixture.chosen}"
                yield _departure(model, mixture, f"{said} of {mixture.count} experts")
        for name, value in _numbers_under(model, _FACTOR):
            if abs(mixture.factor - 1.0) <= _NEAR < abs(value - 1.0) and not _is_used(model, value):
                said = f"the configuration says that {name} is {value:g}"
                yield _departure(model, mixture, f"{said}, and the experts' shares are not multiplied by it")


def _numbers_under(model: ModelReading, names: re.Pattern[str]) -> list[tuple[str, float]]:
    """Return the one number that is stated under such names, with its name; none where there are others."""
    stated = stated_under(model, names).items()
    found = [(name, float(value)) for name, value in stated if isinstance(value, int | float) and value is not True]
    return found[:1] if len({value for _, value in found}) == 1 else []


def _is_used(model: ModelReading, number: float) -> bool:
    """Return whether a step of the pass multiplies by a number: the sum of the experts may be multiplied by it."""
    flow = model.flow
    return any(
        flow.array(one).size == flow.array(step.results[0]).size > 1 and _is_multiple(flow, step, one, number)
        for step in flow.steps
        for one in (step.operands if step.results else ())
    )


def _is_multiple(flow: Flow, step: Step, operand: int, number: float) -> bool:
    before, after = flow.array(operand), flow.array(step.results[0])
    is_float = before.dtype.kind == after.dtype.kind == "f"
    factor = factor_of(before, after, flow.unit(operand)) if is_float else None
    return factor is not None and bool(np.isclose(factor, number, _NEAR))


def _departure(model: ModelReading, mixture: Mixture, sentence: str) -> Departure:
    item = Suspicion("feed_forward", mixture.place, sentence, ())
    return departure(model, mixture.path, mixture.layer, "mixture_of_experts", item)
