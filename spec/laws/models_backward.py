"""Laws of the gradients of whole Transformers."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.multi_head_backward import ADDITIVE
from veriformer.spec.operations.models_backward import (
    ENCODER_BACKWARD,
    ENCODER_DECODER_BACKWARD,
    LANGUAGE_MODEL_BACKWARD,
)

_CHAIN = "The gradient passes through one layer after the other"
_BEARING = ("gelu_form", "layer_norm_eps", "rms_norm_gain", "rotary_pairing")
_TRANSLATION = ("gelu_form", "layer_norm_eps", "sinusoidal_layout")
_TABLE = "The gradient of a table is the sum over the places of each token"


def _of(key: str, statement: str, formula: str, conventions: tuple[str, ...]) -> Property:
    return Property(
        key=key,
        statement=statement,
        formula=formula,
        source="the chain rule, from the result back to the embedding",
        derivation="backward",
        steps=(_CHAIN,),
        conventions=conventions,
    )


def _of_layers(conventions: tuple[str, ...]) -> Property:
    return _of(
        "grad_layers",
        "Every weight of every layer has the gradient of its part, at what reaches it from the layers above.",
        "d layer_k = layer_backward(x_k, g_k), g_(k−1) the gradient of x_k",
        conventions,
    )


def _of_tables(conventions: tuple[str, ...]) -> Property:
    return Property(
        key="grad_tables",
        statement="The tables of tokens and of learned positions have the sums of the gradients of all their uses.",
        formula="dT[v] = Σ_(b, i: tokens[b, i] = v) g[b, i], dP[i] = Σ_b g[b, i]; tied to the logits: and Σ dz[v] y",
        source="Phuong & Hutter 2022, algorithms 1 and 2, differentiated",
        derivation="lookup",
        steps=(_TABLE,),
        conventions=conventions,
    )


def _of_ends(conventions: tuple[str, ...]) -> Property:
    return _of(
        "grad_ends",
        "The norms before the first layer and behind the last, and the unembedding, have the gradients of their parts.",
        "dU = Σ yᵀ dz; dgamma = Σ g ŷ, dbeta = Σ g",
        conventions,
    )


UNUSED_TOKENS = Property(
    key="tokens.absent",
    statement="The vector of a token that does not occur has no gradient, where it makes no logit either.",
    formula="v not among the tokens, T not tied: dT[v] = 0",
    source="a table is used at the places of its tokens only",
    derivation="lookup",
    steps=("A place adds to the row of its own token only",),
)
PADDED = Property(
    key="padding.no_gradient",
    statement="The gradients do not depend on the tokens in the padding.",
    formula="g(tokens; mask) is the same for every tokens[b, j] with mask[b, j] False, but for their own rows' zeros",
    source="Vaswani et al. 2017, section 3.2.3: no real token sees the padding, and it is no part of a loss",
    derivation="attention_backward",
    steps=("A key hidden from every query has no gradient", "The value of a hidden key has no gradient"),
    features=("padding_mask",),
)
FUTURE = Property(
    key="causal.no_future_gradient",
    statement="A loss on a prefix gives no gradient to the learned positions behind it.",
    formula="dz[:, i] = 0 for i ≥ n: dP[i] = 0 for i ≥ n",
    source="Radford et al. 2019, section 2.3: predictions depend on earlier tokens only",
    derivation="attention_backward",
    steps=(
        "With a causal mask a loss on a prefix sends no gradient to later keys",
        "With a causal mask a loss on a prefix sends no gradient to later values",
    ),
)


def _laws(conventions: tuple[str, ...]) -> tuple[Property, ...]:
    return (
        _of_layers(conventions),
        _of_tables(conventions),
        _of_ends(conventions),
        ADDITIVE,
        *EVERY_BACKWARD_PASS,
    )


LAWS = (
    *state((*_laws(("gelu_form", "layer_norm_eps")), UNUSED_TOKENS, PADDED), ENCODER_BACKWARD),
    *state(_laws(_TRANSLATION), ENCODER_DECODER_BACKWARD),
    *state((*_laws(_BEARING), UNUSED_TOKENS, PADDED, FUTURE), LANGUAGE_MODEL_BACKWARD),
)
