"""The mistake of taking one argument of an attention for another, told by the names of a pass's inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from veriformer.adapters.capture.roles import ROLES, role_of
from veriformer.conformance_tests.recognition.attentions import AttentionReading
from veriformer.conformance_tests.recognition.findings import StepName
from veriformer.conformance_tests.recognition.flow import Flow
from veriformer.conformance_tests.recognition.projection_mistakes import place_of_operand
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected

_STEPS: Mapping[str, StepName] = {"query": "query", "key": "key", "value": "value"}
_FROM_QUERY = "cross_attn_uses_decoder_states"
_EXCHANGED = "keys_and_values_swapped"


def argument_mistakes(flow: Flow, reading: AttentionReading) -> Iterator[Suspicion]:
    """Yield that queries, keys or values are made of an argument that is called so as another of them."""
    named = {index: name for index in flow.trace.inputs if role_of(name := flow.trace.values[index].name)}
    if sorted(str(role_of(name)) for name in named.values()) != sorted(ROLES):
        # The arguments are something else, or one array was handed over for two of them.
        return
    taken = {role: _only(flow, reading, role, named) for role in ROLES}
    wrong = {role: name for role, name in taken.items() if name is not None and role_of(name) != role}
    if not wrong:
        return
    role = next(iter(wrong))
    sentence = _sentence(wrong)
    mistake = _EXCHANGED if {role_of(name) for name in wrong.values()} | set(wrong) == {"key", "value"} else _FROM_QUERY
    if mistake == _EXCHANGED and len(wrong) == 1:
        # One argument serves for both, and the other is never read.
        mistake = f"operands={'values_are_keys' if role == 'value' else 'keys_are_values'}"
    place = place_of_operand(flow, reading, _STEPS[role])
    yield Suspicion(_STEPS[role], place, sentence, (suspected(mistake, sentence=sentence),))


def _only(flow: Flow, reading: AttentionReading, role: str, named: Mapping[int, str]) -> str | None:
    """Return the argument that the heads of a role are made of, None where it is not one alone."""
    behind: set[int] = set()
    for site in reading.sublayer.sites:
        behind.update(flow.ancestors(getattr(site, f"{role}_value")))
    found = [name for index, name in named.items() if index in behind]
    return found[0] if len(found) == 1 else None


def _sentence(wrong: Mapping[str, str]) -> str:
    words = {"query": "queries", "key": "keys", "value": "values"}
    parts = [f"the {words[role]} are made of the argument `{name}`" for role, name in wrong.items()]
    return ", and ".join(parts)
