"""A model of a source and a target as one of its source alone: which positions are padding, and what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from veriformer.adapters.capture.handed_over import Arguments, is_array
from veriformer.adapters.implementation import Implementation
from veriformer.adapters.model_declarations import BlackBox
from veriformer.adapters.whole_models.arguments import (
    Place,
    by_place,
    is_of_flags,
    is_sequence,
    name_at,
    place_of_sequence,
)
from veriformer.adapters.whole_models.operation import Features, ModelOperation
from veriformer.adapters.whole_models.padding import padding_of
from veriformer.adapters.whole_models.sequence import Sequences, judged_by_result
from veriformer.adapters.whole_models.stage import Stage
from veriformer.adapters.whole_models.whole import drawing, inputs_of, limitations_of
from veriformer.adapters.whole_models.wrapping import NotWrapped


@dataclass(frozen=True)
class OfSource:
    """The model as the operation `model` of its source: its results have the positions of another sequence."""

    path: str = field(default="", init=False)

    def implementation(self, stage: Stage, arguments: Arguments, name: str) -> Implementation:
        """Return the model as one of its source, whose padding an argument states; see `Wrapping`."""
        given, returned = by_place(arguments), stage.call(*arguments)
        place = _place_of_source(stage, given, place_of_sequence(stage, given, returned))
        sequences = judged_by_result(Sequences(stage, place, given, (0, 1)), returned)
        if not sequences.pooled:
            raise NotWrapped("its results have the positions of its source")
        box = BlackBox(**inputs_of(sequences))
        padding = padding_of(sequences, drawing(sequences, box), box.max_length or 1)
        if padding is None:
            raise NotWrapped("no argument says which positions of its source are padding")
        called = name_at(stage, place)
        told = f"Padding is judged of {called}, whose positions are not those of the results, by {padding.name}"
        return Implementation(
            name=name,
            framework=stage.framework,
            operations={"model": ModelOperation(sequences, Features(padding))},
            dtypes=(stage.dtype,),
            black_box=box,
            limitations=limitations_of(padding),
            notices=(told, *((padding.notice,) if padding.notice else ())),
        )


def _place_of_source(stage: Stage, given: Mapping[Place, Any], target: Place) -> Place:
    """Return the place of the only other sequence, of another length than the target; NotWrapped if there is none."""
    length = int(given[target].shape[1]) if len(given[target].shape) > 1 else 0
    found = [
        place
        for place, array in given.items()
        if place != target
        and is_array(array)
        and is_sequence(stage, array)
        and len(array.shape) > 1
        and not is_of_flags(stage.framework.to_numpy(array))
    ]
    if len(found) != 1 or not length or int(given[found[0]].shape[1]) == length:
        raise NotWrapped("it has no source of another length than its target")
    return found[0]
