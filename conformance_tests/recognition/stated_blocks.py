"""How a model's blocks are put together, held against its configuration: parallel or not, pre-norm or post-norm."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.witness import stated_under

_PARALLEL = re.compile(r"^(use_)?parallel_(residual|block|attn|blocks)$")
_PRE_NORM = re.compile(r"^(norm_first|pre_?norm|pre_?ln|normalize_before|do_layer_norm_before|is_pre_?norm)$")
_POST_NORM = re.compile(r"^(post_?norm|post_?ln|apply_residual_connection_post_layernorm|use_post_?norm)$")


def departures_of_parallel_blocks(model: ModelReading) -> Iterator[Departure]:
    """Yield networks that read the stream after the attention, or beside it, where a configuration says the other."""
    stated = stated_under(model, _PARALLEL)
    networks = [one for one in model.readings if one.is_judged and one.kind == "feed_forward" and one.layer is not None]
    of_attention = {one.layer for one in model.readings if one.kind == "self_attention"}
    networks = [one for one in networks if one.layer in of_attention]
    parallel = {model.is_beside_attention(one) for one in networks}
    if not stated or len(parallel) != 1:
        return
    (is_parallel,) = parallel
    if all(isinstance(value, bool) and value is not is_parallel for value in stated.values()):
        name, value = next(iter(stated.items()))
        done = "beside the attention" if is_parallel else "after the attention"
        sentence = f"the configuration says that {name} is {value}, and the network reads the stream {done}"
        for one in networks:
            yield departure(model, one.path, one.layer, one.kind, Suspicion("residual", one.first_step, sentence, ()))


def departures_of_norms_places(model: ModelReading) -> Iterator[Departure]:
    """Yield sublayers added to the normalised stream, or to the stream as it is, where a configuration says the other.

    A configuration has words for no other places of norms: with a norm of each output it contradicts nothing.
    """
    stated = {name: value for name, value in stated_under(model, _PRE_NORM).items() if isinstance(value, bool)}
    others = stated_under(model, _POST_NORM)
    stated |= {name: not value for name, value in others.items() if isinstance(value, bool)}
    readings = [one for one in model.readings if one.is_judged and one.place.residual != "none"]
    # The norm after the last one may count as the model's.
    ahead = [one for one in readings if one.place.after is not None or one is not readings[-1]]
    found = {_is_pre_norm(one) for one in (ahead if any(one.place.after for one in ahead) else readings)}
    if not stated or len(found) != 1 or None in found or len(set(stated.values())) != 1:
        return
    (is_pre,) = found
    if is_pre in stated.values():
        return
    name = next(iter(stated))
    done = "the stream as it is" if is_pre else "the stream after its norm"
    sentence = (
        f"the configuration says that {name} is {_value(name, is_pre=not is_pre)}, and the output is added to {done}"
    )
    for one in readings:
        yield departure(model, one.path, one.layer, one.kind, Suspicion("residual", one.first_step, sentence, ()))


def _value(name: str, *, is_pre: bool) -> bool:
    return is_pre if _PRE_NORM.match(name.rpartition(".")[2]) else not is_pre


def _is_pre_norm(one: Layered) -> bool | None:
    """Return whether a sublayer reads a norm of the stream that it is added to; None where its norms are elsewhere."""
    place = one.place
    if place.on_output is not None or (place.before is None) == (place.after is None):
        return None
    return place.before is not None
