"""What was found of a model: its parts, and where it departs from the Transformer that it otherwise is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from veriformer.adapters.whole_models.bound_part import BoundPart

Status = Literal["holds", "departs", "unrecognised"]
StepName = Literal[
    "embedding",
    "positions",
    "norm",
    "query",
    "key",
    "value",
    "rotary",
    "logits",
    "mask",
    "weights",
    "heads_output",
    "attention_output",
    "residual",
    "hidden",
    "activation",
    "feed_forward",
    "final_norm",
    "unembedding",
    "cross_attention",
    "cache",
    "other",
]


# Parts that models of any kind have.
_ANYWHERE = ("embedding", "token_embedding", "input_projection", "unembedding")


@dataclass(frozen=True)
class Suspected:
    """A mistake that would explain a departure: a slug of the catalogue, or words of its own in `name`.

    `confidence` lies in [0, 1], as in a diagnosis of an operation.
    """

    name: str
    sentence: str
    confidence: float
    citations: tuple[str, ...] = ()


@dataclass(frozen=True)
class Departure:
    """One place where the model does not do what the rest of it, or the specification, does there.

    `path` is the module or the common path of the parameters; `layer` counts from 0, None outside of layers.
    `sentence` says what was expected and what the model does. `suspects` are the mistakes that give what it computed,
    the likeliest first; none where no known mistake does.
    """

    path: str
    layer: int | None
    step: StepName
    operation: str
    file: str
    line: int
    sentence: str
    suspects: tuple[Suspected, ...]
    place: int
    """The step of the trace, which orders departures by execution."""


@dataclass(frozen=True)
class Difference:
    """One thing that a layer does otherwise than others of its stack: no known mistake, or one that may be meant.

    `as_departure` is what it is where all layers are meant to be alike. `others` are the paths and layers that do as
    most do; `own` and `usual` are the two ways in words.
    """

    as_departure: Departure
    others: tuple[tuple[str, int | None], ...]
    own: str
    usual: str


@dataclass(frozen=True)
class Part:
    """One part of the model: what it is (`role`, an operation's name where there is one), and how it was found.

    `summary` is for readers: "rms_norm, eps 1e-05". `explained` of `steps` intermediates of the specification that
    this part has in the trace were found.
    """

    path: str
    role: str
    layer: int | None
    summary: str
    conventions: Mapping[str, str | float | int | bool]
    status: Status
    explained: int
    steps: int
    place: int


@dataclass(frozen=True)
class Recognition:
    """A model, recognised: its parts and departures in the order of execution.

    `captured` counts the steps of the pass that compute something, `understood` those that belong to a part.
    `unused` are the parameters and arguments that no output depends on, `without_effect` the same in fewer words: a
    module of which no parameter has an effect stands for all of them. It is `causal` if every self-attention of the
    stream that the results come from is. `bound` are the modules that are one operation each, by what the pass shows.
    `differences` are what layers do otherwise than others, which may be meant. `unread` counts, by module, the steps
    that were captured and not understood. `agreed` is what the model's configuration states and the pass shows.
    `padding_token` is the token that its attentions hide. `remarks` are sentences about what stands out and may be
    meant. `biases_of_keys` are parameters that add the same to all logits of a query, which softmax does not see.
    `gives_nan` says that its results hold NaN, which comes of a departure.
    """

    parts: tuple[Part, ...]
    departures: tuple[Departure, ...]
    captured: int
    understood: int
    unused: tuple[str, ...] = ()
    framework: str = ""
    dtype: str = ""
    opaque: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    causal: bool = False
    bound: tuple[BoundPart, ...] = ()
    differences: tuple[Difference, ...] = ()
    unread: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    agreed: tuple[str, ...] = ()
    padding_token: int | None = None
    remarks: tuple[str, ...] = ()
    without_effect: tuple[str, ...] = ()
    biases_of_keys: tuple[str, ...] = ()
    gives_nan: bool = False

    @property
    def unused_in_words(self) -> tuple[str, ...]:
        """What no output depends on, a whole module in place of its parameters where that is known."""
        return self.without_effect or self.unused

    @property
    def has_transformer_part(self) -> bool:
        """Whether an attention, a feed-forward network or a norm was found, or what looks like one."""
        return any(part.role not in _ANYWHERE for part in self.parts)

    @property
    def share_found(self) -> float:
        """The share of the specification's intermediates that were found, of those that the trace can hold."""
        steps = sum(part.steps for part in self.parts)
        return sum(part.explained for part in self.parts) / steps if steps else 0.0

    @property
    def share_understood(self) -> float:
        """The share of the captured steps that belong to a part that was understood."""
        return self.understood / self.captured if self.captured else 0.0

    @property
    def holds(self) -> bool:
        """Whether nothing departs."""
        return not self.departures
