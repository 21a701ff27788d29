"""The table of derivations. Each is a module of this package named after its id, with a `DERIVATION`."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veriformer.spec.derivations.derivation import Derivation

_TITLES = {
    "variance_scaling": "Dividing by √d_k keeps the variance of the attention logits",
    "sinusoid_relative_position": "The inner product of sinusoidal positions depends on their distance only",
    "softmax": "What softmax guarantees, and how its Jacobian is bounded",
    "saturation": "Widely spread logits saturate softmax, and dividing them by √d_k prevents it",
    "masking": "A masked key has weight exactly zero and might as well not be there",
    "causality": "With a causal mask no output depends on a later input",
    "permutation": "Self-attention is equivariant under permutation of its tokens",
    "convex_hull": "Attention returns a convex combination of the values",
    "multi_head": "Concatenating heads and projecting is a sum over heads",
    "grouped_query": "Grouped-query attention is attention with repeated key/value heads",
    "independence": "Batch entries and heads do not see each other",
    "rotary": "Rotary positions enter inner products by their difference only",
    "alibi": "Under softmax a linear bias of the distance is one of the key's position",
    "layer_norm": "What layer normalisation keeps and what it removes",
    "cross_entropy": "Cross entropy: its gradient, its symmetries, and what smoothing and ignoring do",
    "adamw": "AdamW: equal gradients give equal steps, their scale cancels, and decay stays apart",
    "clipping": "Clipping by the norm of all gradients keeps the direction and bounds the length",
    "schedules": "Schedules of learning rates: a rise that meets a cosine or a root at the peak",
    "dropout": "Dropout with the factor 1/(1 − p) changes no average, and its gradient passes through the same mask",
    "initialisation": "Weights of variance 1/n_in keep the variance of logits, and a factor 1/√(2N) that of the stream",
    "rms_norm": "What root-mean-square normalisation keeps and what it removes",
    "gated_activations": "GELU and SiLU are the input times a gate, and the gates of x and −x sum to one",
    "feed_forward": "Feed-forward networks are sums over hidden units, at each position alone",
    "windows": "A sliding window is a mask, and the narrowest one returns the values",
    "softcap": "A soft cap bounds the logits by c and enlarges no difference",
    "sinks": "An attention sink is one key more whose value is zero",
    "inner_products": "Attention sees queries and keys through their inner products only",
    "online_softmax": "Attention can be merged from the parts of its keys, in any order and grouping",
    "backward": "What every backward pass has in common",
    "matrices_backward": "The gradients of matrices, and of networks that are made of them",
    "lookup": "The gradient of a table of vectors is a sum over the places of each token",
    "attention_backward": "The gradients of attention by queries, keys and values",
    "additions_backward": "The gradients of attention by a bias and by a sink",
    "merging_backward": "The gradients of merging two parts of an attention",
    "residual": "Residual connections: pre-norm keeps the identity, post-norm does not",
    "decoding_cache": "Decoding with a cache gives what the full pass gives",
    "rounding_of_sums": "Rounding errors of sums: γ(n) in the worst case, √n for independent errors",
    "attention_rounding": "Rounding moves an attention output by its logits' errors times distances from it",
    "normalisation_rounding": "Rounding of norms: the variance in two passes errs by a share of itself",
    "cost": "What the operations of a Transformer cost",
}


class UnknownDerivationError(KeyError):
    """No derivation has the requested id; the message names the closest ones."""

    def __str__(self) -> str:
        return str(self.args[0])


def derivation_ids() -> tuple[str, ...]:
    """The ids of all derivations."""
    return tuple(_TITLES)


def derivation_title(derivation_id: str) -> str:
    """The title of a derivation; UnknownDerivationError if there is none of that id."""
    _require(derivation_id)
    return _TITLES[derivation_id]


def load_derivation(derivation_id: str) -> Derivation:
    """Import a derivation (and with it SymPy); UnknownDerivationError if there is none of that id."""
    _require(derivation_id)
    derivation: Derivation = import_module(f"veriformer.spec.derivations.{derivation_id}").DERIVATION
    return derivation


def _require(derivation_id: str) -> None:
    if derivation_id in _TITLES:
        return
    close = difflib.get_close_matches(derivation_id, _TITLES) or list(_TITLES)
    raise UnknownDerivationError(f"no derivation is called {derivation_id!r}; did you mean {', '.join(close)}?")
