"""Encoder and decoder layers: sublayers with a residual connection and a normalisation each."""

from __future__ import annotations

from veriformer.spec.operations.feed_forward import ACTIVATION
from veriformer.spec.operations.operation import Operation, Parameter

NUM_HEADS = Parameter("num_heads", "", "scalar", "keyword", "H, where H·D = E")
NORM_FIRST = Parameter("norm_first", "", "flag", "keyword", "whether norms stand before sublayers or after the sums")
EPS = Parameter("eps", "", "scalar", "keyword", "added to the variance by every norm")
PADDING_MASK = Parameter(
    "padding_mask",
    "(B, L)",
    "bool",
    "feature",
    "True at real tokens, at least one in each sample; only their rows are compared",
)
MEMORY_PADDING_MASK = Parameter(
    "memory_padding_mask", "(B, S)", "bool", "feature", "True at real tokens of the memory, at least one in each sample"
)
LAYER_CONVENTIONS = ("gelu_form", "layer_norm_eps", "softmax_dtype")

ENCODER_LAYER = Operation(
    name="encoder_layer",
    prefix="encoder_layer",
    summary="Let every position attend to all real ones, then transform each alone.",
    parameters=(
        Parameter("x", "(B, L, E)", "float", "positional", "one vector for each position"),
        Parameter(
            "weights",
            "self_attention as in multi_head_attention, feed_forward as there, norm_1 and norm_2 with gamma, beta (E,)",
            "weights",
            "positional",
            "attributes; norms are numbered in the order of their sublayers",
        ),
        NUM_HEADS,
        NORM_FIRST,
        ACTIVATION,
        EPS,
        PADDING_MASK,
    ),
    result="(B, L, E)",
    formula="pre-norm: y = x + attention(norm_1 x), y + feed_forward(norm_2 y);"
    " post-norm: y = norm_1(x + attention(x)), norm_2(y + feed_forward(y))",
    source="Vaswani et al. 2017, section 3.1; Xiong et al. 2020, table 1 (pre-norm)",
    conventions=LAYER_CONVENTIONS,
    place=23,
)

DECODER_LAYER = Operation(
    name="decoder_layer",
    prefix="decoder_layer",
    summary="Let every position attend to the real ones that are not later, then to a memory, then transform it alone.",
    parameters=(
        Parameter("x", "(B, L, E)", "float", "positional", "one vector for each position"),
        Parameter("memory", "(B, S, E)", "float", "positional", "the encoder's output for the source"),
        Parameter(
            "weights",
            "self_attention and cross_attention as in multi_head_attention, feed_forward as there,"
            " norm_1, norm_2 and norm_3 with gamma, beta (E,)",
            "weights",
            "positional",
            "attributes; norms are numbered in the order of their sublayers",
        ),
        NUM_HEADS,
        NORM_FIRST,
        ACTIVATION,
        EPS,
        PADDING_MASK,
        MEMORY_PADDING_MASK,
    ),
    result="(B, L, E)",
    formula="as an encoder layer, with causal self-attention, and between it and the network, with norm_2,"
    " attention of the stream to the memory",
    source="Vaswani et al. 2017, sections 3.1 and 3.2.3; Xiong et al. 2020, table 1 (pre-norm)",
    conventions=LAYER_CONVENTIONS,
    place=24,
)

OPERATIONS = (ENCODER_LAYER, DECODER_LAYER)
