"""Which operations the name of a function suggests, and which of its parameters is which of an operation's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any

from veriformer.spec.operations import OPERATIONS, Operation, Parameter

# Words that say how something is written, not what it is.
_MANNERS = frozenset(
    """
    my own our custom naive simple manual stable safe fast slow efficient fused np numpy torch pytorch jax jnp tf
    tensorflow mlx tinygrad keras fn func function forward fwd impl implementation ref reference basic vanilla
    plain apply compute calc calculate get make create build generate gen new old v1 v2 v3 op kernel module layer
    block numerically 1 2 3 the from scratch with mask masked and to bias tensor single batched batch torchlike hf
    nano eager standard functional base default exact approx tanh erf cached online einsum tiled interleaved half
    last axis causal cross weights loss logits smoothing smoothed label labels llama mistral mixtral gemma qwen phi
    gpt bert vit deepseek olmo temperature neox gptj j roformer palm falcon whisper clip nanogpt adjacent pairs
    pair split partial chunked chunkwise complex polar
    """.split()  # noqa: SIM905
)
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
Z_LOSSES = ("zloss", "zlossweight", "zlosscoef", "zlosscoeff", "zlossscale", "zlossalpha", "zcoef", "zweight", "zscale")
"""What the share of the squared log-sum-exp in a loss is called."""
LENGTHS = frozenset(
    """
    lengths length lens len validlens validlen validlengths validlength seqlens seqlengths sequencelengths
    sequencelength keylengths keylens kvlens kvlengths numvalid targetlengths memorylengths
    """.split()  # noqa: SIM905
)
"""What the numbers of tokens or keys that count are called, one for each sample."""
REPEATS = frozenset(
    """
    nrep numrep repeats nrepeats groups ngroups numgroups numkeyvaluegroups kvgroups numkvgroups queriesperkv
    numqueriesperkv kvrepeats
    """.split()  # noqa: SIM905
)
"""What the number of query heads that share a head of keys is called."""
# What an operation is called without, so that it computes what it computes in evaluation.
NEUTRAL: Mapping[str, Any] = {
    "dropout": 0.0,
    "dropoutp": 0.0,
    "dropoutrate": 0.0,
    "pdrop": 0.0,
    "dropoutprob": 0.0,
    "attndropout": 0.0,
    "training": False,
    "istraining": False,
    "train": False,
    "deterministic": True,
    **dict.fromkeys(Z_LOSSES, 0.0),
}


def folded(name: str) -> str:
    """Return a name in lower case and without underscores, as the catalogue has names."""
    return name.replace("_", "").casefold()


def words_of(name: str) -> list[str]:
    """Return the words of a name in snake case or camel case, in lower case."""
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", name)
    return [part.casefold() for part in parts]


def suggested(name: str) -> list[str]:
    """Return the operations that a name suggests: those called so, then those called so but for words of manner."""
    wanted, bare = folded(name), "".join(word for word in words_of(name) if word not in _MANNERS)
    some = _without_edges(words_of(name))
    spellings = list(dict.fromkeys((wanted, *some, bare)))
    found: list[str] = []
    for spelling in spellings:
        found += [one.name for one in forward_operations() if spelling in _names_of(one) and one.name not in found]
    return found


def suggested_by_a_word(name: str) -> list[str]:
    """Return the operations of which one word of a name is a name: what else it says may be of another operation."""
    words = set(words_of(name)) - _MANNERS
    return [one.name for one in forward_operations() if words & _names_of(one)]


def _without_edges(words: Sequence[str]) -> list[str]:
    """Return the spellings of a name without words of manner at its beginning and its end, the longest first."""
    found = []
    for first in range(len(words)):
        for last in range(len(words), first, -1):
            left_out = (*words[:first], *words[last:])
            if left_out and all(word in _MANNERS for word in left_out):
                found.append("".join(words[first:last]))
    return sorted(found, key=len, reverse=True)


def forward_operations() -> list[Operation]:
    """Return the operations that functions of strangers are matched to."""
    return [one for one in OPERATIONS.values() if one.also_called]


def _names_of(operation: Operation) -> set[str]:
    return {folded(operation.name), *operation.also_called.split()}


@dataclass(frozen=True)
class Taking:
    """One parameter of a function: its name, how it is passed, and its default value if it has one.

    `record` is the class with fields that it is annotated with, if it is.
    """

    name: str
    by_position: bool
    has_default: bool
    default: Any
    record: type | None = None


def parameters_of(function: Callable[..., Any]) -> list[Taking] | None:
    """Return the parameters of a function without its catch-alls; None where its signature cannot be read."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    return [
        Taking(
            one.name,
            one.kind is one.POSITIONAL_ONLY,
            one.default is not one.empty,
            one.default,
            _record(function, one.annotation),
        )
        for one in signature.parameters.values()
        if one.kind not in _VARIABLE
    ]


def _record(function: Callable[..., Any], annotation: Any) -> type | None:
    """Return a named tuple or a dataclass that a parameter is annotated with; None for anything else."""
    if isinstance(annotation, str):
        annotation = getattr(inspect.unwrap(function), "__globals__", {}).get(annotation)
    known = isinstance(annotation, type) and (hasattr(annotation, "_fields") or is_dataclass(annotation))
    return annotation if known else None


def assigned(
    takings: Sequence[Taking], wanted: Sequence[Parameter], *, by_order: bool
) -> tuple[dict[str, str], list[str]]:
    """Return which parameter of a function is which of an operation, and those of the operation that none is.

    Those with a name of their own are found by it. `by_order` gives the required ones that are left to the required
    parameters of the function that are left, in their order.
    """
    found: dict[str, str] = {}
    for parameter in wanted:
        called = [one.name for one in takings if one.name not in found and is_called(one.name, parameter)]
        if called:
            # Beside another mask, one of padding says what it is.
            its = min(called, key=lambda name: "pad" in folded(name)) if parameter.name == "mask" else called[0]
            found[its] = parameter.name
    left = [one.name for one in wanted if one.name not in found.values() and one.is_required]
    if by_order:
        free = [one.name for one in takings if one.name not in found and not one.has_default]
        found |= dict(zip(free, left, strict=False))
        left = left[len(free) :]
    return found, left


def is_called(name: str, parameter: Parameter) -> bool:
    """Return whether a name is one of those of a parameter."""
    return folded(name) in {folded(parameter.name), *parameter.also_called.split()}


def nearest(name: str, takings: Iterable[Taking], number: int = 3) -> list[tuple[str, list[str]]]:
    """Return the operations whose required parameters a function has most of, and those that it lacks of each."""
    takings, of_name = list(takings), suggested(name) or suggested_by_a_word(name)
    ranked = []
    for operation in forward_operations():
        required = [one for one in operation.parameters if one.requirement == "positional"]
        found, missing = assigned(takings, required, by_order=False)
        share = len(found) / max(len(required), len([one for one in takings if not one.has_default]), 1)
        if found or operation.name in of_name:
            ranked.append((operation.name not in of_name, -share, operation.name, missing))
    return [(one, missing) for _, _, one, missing in sorted(ranked)[:number]]
