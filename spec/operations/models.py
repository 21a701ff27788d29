"""Whole Transformers: encoder, encoder-decoder, language model, and decoding with a cache."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

TOKENS = Parameter("tokens", "(B, L)", "int", "positional", "numbers of tokens")
WEIGHTS = Parameter(
    "weights",
    "tree of records and lists",
    "weights",
    "positional",
    "embedding (N, E), positions (max_length, E) or None, embedding_norm or None, layers, final_norm or None, "
    "unembedding (E, N) or None",
)
CONFIG = Parameter(
    "config", "record", "configuration", "positional", "sizes and choices, as attributes; it has no arrays"
)
PADDING_MASK = Parameter("padding_mask", "(B, L)", "bool", "feature", "True at real tokens")
_NORMS_AND_GELU = ("gelu_form", "layer_norm_eps")
_LANGUAGE = (*_NORMS_AND_GELU, "rms_norm_gain", "rotary_pairing")
ENCODER = Operation(
    name="encoder",
    prefix="encoder",
    summary="Let every token see all real ones, layer after layer.",
    parameters=(TOKENS, WEIGHTS, CONFIG, PADDING_MASK),
    result="(B, L, E)",
    formula="x = embed(tokens); x = layer(x) for each layer; y = final_norm(x) where there is one",
    source="Devlin et al. 2019, section 3; Phuong & Hutter 2022, algorithm 9",
    conventions=_NORMS_AND_GELU,
    keeps_results=False,
    place=25,
)
ENCODER_DECODER = Operation(
    name="encoder_decoder",
    prefix="encoder_decoder",
    summary="Predict each next token of a target from those before it and from a source.",
    parameters=(
        Parameter("source", "(B, S)", "int", "positional", "numbers of the source's tokens"),
        Parameter("target", "(B, L)", "int", "positional", "numbers of the target's tokens"),
        Parameter(
            "weights",
            "tree of records and lists",
            "weights",
            "positional",
            "embedding (N, E) of source and target; for encoder and decoder each: positions, embedding_norm, layers, "
            "final_norm; unembedding (E, N) or None",
        ),
        CONFIG,
        Parameter("source_padding_mask", "(B, S)", "bool", "feature", "True at real tokens"),
        Parameter("target_padding_mask", "(B, L)", "bool", "feature", "True at real tokens"),
    ),
    result="(B, L, N)",
    formula="m = encode(source); x = embed(target); x = decoder_layer(x, m) for each layer; logits = unembed(x)",
    source="Vaswani et al. 2017, section 3; Phuong & Hutter 2022, algorithm 8",
    conventions=(*_NORMS_AND_GELU, "sinusoidal_layout"),
    keeps_results=False,
    place=26,
)
LANGUAGE_MODEL = Operation(
    name="language_model",
    prefix="language_model",
    summary="Predict each next token from those before it.",
    parameters=(TOKENS, WEIGHTS, CONFIG, PADDING_MASK),
    result="(B, L, N)",
    formula="x = embed(tokens); x = layer(x), causal, for each layer; logits = unembed(final_norm(x))",
    source="Radford et al. 2019, section 2.3; Touvron et al. 2023 (LLaMA), section 2.2; Phuong & Hutter 2022, "
    "algorithm 10",
    conventions=_LANGUAGE,
    keeps_results=False,
    place=27,
)
DECODE_STEP = Operation(
    name="decode_step",
    prefix="decoding",
    summary="Continue a sequence by some tokens, with what is needed of those before in a cache.",
    parameters=(
        Parameter("tokens", "(B, T)", "int", "positional", "numbers of the next tokens"),
        Parameter("cache", "opaque", "cache", "positional", "the previous cache; None starts a sequence"),
        WEIGHTS,
        CONFIG,
        Parameter("positions", "(T,) or (B, T)", "int", "feature", "counted on from the cache by default"),
        Parameter(
            "padding_mask",
            "(B, S)",
            "bool",
            "feature",
            "True at real tokens, over all S columns so far, those of this call included",
        ),
    ),
    result="(B, T, N), cache",
    formula="logits = language_model(all tokens so far)[last T]; positions and padding_mask as given",
    source="Shazeer 2019, section 2.4; Pope et al. 2022, section 2.1",
    conventions=_LANGUAGE,
    results=("logits", "cache"),
    keeps_results=False,
    place=28,
)

OPERATIONS = (ENCODER, ENCODER_DECODER, LANGUAGE_MODEL, DECODE_STEP)
