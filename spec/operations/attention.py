"""The attention operations that take queries, keys and values."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

VASWANI = "Vaswani et al. 2017, section 3.2.1"
QUERY = Parameter(
    "query",
    "(B, H, L, D)",
    "float",
    "positional",
    "what each position looks for",
    also_called="q queries xq querystates qs",
)
KEY = Parameter(
    "key", "(B, H, S, D)", "float", "positional", "what each position offers", also_called="k keys xk keystates ks"
)
VALUE = Parameter(
    "value",
    "(B, H, S, Dv)",
    "float",
    "positional",
    "what each position contributes",
    also_called="v values xv valuestates vs vals",
)
MASK = Parameter(
    "mask",
    "(L, S) or rank 4, broadcastable to (B, H, L, S)",
    "bool",
    "feature",
    "True = may attend",
    also_called=(
        "attnmask attentionmask srcmask tgtmask paddingmask keypaddingmask causalmask keepmask m visible allowed"
    ),
)
BIAS = Parameter(
    "bias",
    "broadcastable to (B, H, L, S)",
    "float",
    "feature",
    "added to the scaled logits",
    also_called="attnbias attentionbias positionbias relbias relativebias alibi additivemask",
)
IS_CAUSAL = Parameter(
    "is_causal",
    "",
    "flag",
    "feature",
    "a query sees no later key",
    also_called="causal usecausal applycausal docausal autoregressive",
)
SCALE = Parameter(
    "scale",
    "",
    "scalar",
    "feature",
    "positive factor of the logits, 1/√D by default",
    also_called="smscale softmaxscale scaling scalefactor attnscale",
)
WINDOW = Parameter(
    "window",
    "(left, right)",
    "int",
    "feature",
    "keys seen on each side, None or −1 without limit",
    also_called="windowsize slidingwindow localwindow attentionwindow slidingwindowsize",
)
SOFTCAP = Parameter(
    "softcap",
    "",
    "scalar",
    "feature",
    "c in c tanh(logit / c), None or 0 for none",
    also_called=(
        "logitssoftcap logitsoftcap softcapping logitcap logitscap attnlogitsoftcapping attnlogitsoftcap "
        "attnsoftcap cap"
    ),
)
SINKS = Parameter(
    "sinks",
    "(H,)",
    "float",
    "feature",
    "one more logit per head, not scaled, not capped, no value",
    also_called="sink saux",
)
LOGIT_FEATURES = (MASK, BIAS, IS_CAUSAL, SCALE)
MODERN_FEATURES = (WINDOW, SOFTCAP, SINKS)
WINDOW_CONVENTIONS = ("window_counting", "softcap_order")
MASK_CONVENTIONS = ("mask_polarity", "causal_alignment", "causal_with_mask", "empty_row", "masked_nonfinite")
SCALED_DOT_PRODUCT_ATTENTION = Operation(
    name="scaled_dot_product_attention",
    prefix="attention",
    summary="Average the values, weighted by how well each key matches the query.",
    parameters=(QUERY, KEY, VALUE, *LOGIT_FEATURES, *MODERN_FEATURES),
    result="(B, H, L, Dv)",
    formula="softmax(cap(scale · Q Kᵀ) + bias, over the visible keys and the sink) V, scale = 1/√D",
    source=f"{VASWANI}, equation 1",
    conventions=("layout", *MASK_CONVENTIONS, *WINDOW_CONVENTIONS, "softmax_dtype", "numerics"),
    place=2,
    also_called=(
        "scaleddotproductattention scaleddotproduct dotproductattention attention attn sdpa attend "
        "flashattention flashattn memoryefficientattention coreattention dotattention qkvattention "
        "slidingwindowattention swa localattention slidingattention windowedattention bandedattention "
        "selfattention selfattn attentionhead multiheadscaleddotproductattention attentionoutput "
        "sdpattention chunkedattention blockattention tiledattention"
    ),
)
GROUPED_QUERY_ATTENTION = Operation(
    name="grouped_query_attention",
    prefix="grouped_query",
    summary="Attention in which several query heads share one key/value head.",
    parameters=(
        QUERY,
        Parameter(
            "key",
            "(B, G, S, D)",
            "float",
            "positional",
            "one key head for each group of query heads",
            also_called="k keys xk keystates ks",
        ),
        Parameter(
            "value",
            "(B, G, S, Dv)",
            "float",
            "positional",
            "one value head for each group of query heads",
            also_called="v values xv valuestates vs vals",
        ),
        *LOGIT_FEATURES,
        *MODERN_FEATURES,
    ),
    result="(B, H, L, Dv)",
    formula="head h = attention(Q_h, K_g, V_g) with g = h // (H // G)",
    source="Ainslie et al. 2023, section 2.2; Shazeer 2019 (G = 1)",
    conventions=("layout", *MASK_CONVENTIONS, *WINDOW_CONVENTIONS, "kv_grouping", "softmax_dtype", "numerics"),
    place=3,
    also_called="groupedqueryattention gqa groupedattention gqattention groupedqueryattn multiqueryattention mqa "
    "gqaattention gqaattn mqaattention mqaattn groupqueryattention groupqueryattn groupattention multiqueryattn",
)
ATTENTION_WEIGHTS = Operation(
    name="attention_weights",
    prefix="weights",
    summary="The weights with which attention averages the values.",
    parameters=(QUERY, KEY, *LOGIT_FEATURES, *MODERN_FEATURES),
    result="(B, H, L, S)",
    formula="softmax(cap(scale · Q Kᵀ) + bias, over the visible keys and the sink), scale = 1/√D; the sink's own"
    " weight is left out",
    source=f"{VASWANI}, equation 1",
    conventions=("layout", *MASK_CONVENTIONS, *WINDOW_CONVENTIONS, "softmax_dtype", "numerics"),
    place=4,
    also_called=(
        "attentionweights attnweights attentionprobs attnprobs attentionprobabilities "
        "attentionmap attentionpattern attentiondistribution"
    ),
)

OPERATIONS = (SCALED_DOT_PRODUCT_ATTENTION, GROUPED_QUERY_ATTENTION, ATTENTION_WEIGHTS)
