"""What stands out in the feed-forward networks of a model and may be meant."""

from __future__ import annotations

from collections.abc import Iterator

from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.networks import NetworkReading
from veriformer.conformance_tests.recognition.stacked_experts import NOTHING_ADDED

# Other networks with this gate may add nothing by design.
_AS_GPT_OSS = "nothing is added to the linear branch beside x σ(1.702 x); gpt-oss, which is built so, adds 1 to it"


def remarks_on_networks(model: ModelReading) -> Iterator[str]:
    """Yield that no network with the gate of gpt-oss adds to its linear branch what gpt-oss adds."""
    networks = [one.network for one in model.readings if one.network is not None and one.is_judged]
    added = [one.up.shift for one in networks if one.up is not None and _has_the_gate(one)]
    stacked = [NOTHING_ADDED in one.network for one in model.mixtures if one.network]
    if any(stacked) or (added and not any(added)):
        yield _AS_GPT_OSS


def _has_the_gate(network: NetworkReading) -> bool:
    return network.gated and network.activation == "gelu_sigmoid"
