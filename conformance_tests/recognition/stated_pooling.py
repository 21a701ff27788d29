"""Which positions a model's end reads, held against the pooling that its configuration states."""

from __future__ import annotations

import re
from collections.abc import Iterator

from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.findings import Departure
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.pooling import pooled_of
from veriformer.conformance_tests.recognition.suspicion import Suspicion
from veriformer.conformance_tests.recognition.witness import module_of, stated_under

_POOLING = re.compile(
    r"^(pool|pooling|pool_type|pooling_type|pooling_mode|global_pool|pooler_type|classifier_pooling)$"
)
# The words that configurations use, and those in which a reading begins.
_MEANT = {
    **dict.fromkeys(("cls", "token", "first", "cls_token"), "position 0"),
    **dict.fromkeys(("mean", "avg", "average", "gap"), "the mean"),
    **dict.fromkeys(("max", "maximum"), "the largest"),
    **dict.fromkeys(("last", "last_token", "eos"), "the last position"),
}
# A mean may leave out the tokens before the patches, and positions that are padding.
_KNOWN = tuple(dict.fromkeys(_MEANT.values()))


def departures_of_pooling(model: ModelReading) -> Iterator[Departure]:
    """Yield maps at the end that read other positions than the configuration states."""
    stated = {name: value for name, value in stated_under(model, _POOLING).items() if str(value).casefold() in _MEANT}
    meant = {_MEANT[str(value).casefold()] for value in stated.values()}
    for one in model.ends if len(meant) == 1 else ():
        pooled = pooled_of(model, one.input)
        words = pooled.words.removeprefix("of ") if pooled is not None else ""
        if not words.startswith(_KNOWN) or words.startswith(tuple(meant)):
            continue
        name, value = next(iter(stated.items()))
        sentence = f"the configuration says that {name} is {value}, and what is read is {words}"
        item = Suspicion("unembedding", one.step, sentence, (), module_of(one))
        yield departure(model, "", None, "unembedding", item)
