"""Laws of encoder and decoder layers: residual connections, norms, masks and the order of sublayers."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.layers import DECODER_LAYER, ENCODER_LAYER

VASWANI = "Vaswani et al. 2017, section 3.1"
XIONG = "Xiong et al. 2020, table 1"
BA = "Ba, Kiros & Hinton 2016, section 3"
_BEARING = ("gelu_form", "layer_norm_eps")

PRE_NORM_VALUE = Property(
    key="pre_norm.value",
    statement="A pre-norm layer adds to the stream the result of each sublayer on the normalised stream.",
    formula="x ← x + f_k(norm_k(x)), k = 1, 2, …",
    source=XIONG,
    reason="the definition",
    conventions=_BEARING,
)
POST_NORM_VALUE = Property(
    key="post_norm.value",
    statement="After each sublayer, a post-norm layer normalises the sum of the stream and the sublayer's result.",
    formula="x ← norm_k(x + f_k(x)), k = 1, 2, …",
    source=f"{VASWANI}: LayerNorm(x + Sublayer(x))",
    reason="the definition",
    conventions=_BEARING,
)
IDENTITY = Property(
    key="pre_norm.identity",
    statement="If every sublayer gives zero, a pre-norm layer is the identity, to the last digit.",
    formula="norm_first, f_k = 0: f(x) = x",
    source=f"{XIONG}; He et al. 2016b, section 2",
    derivation="residual",
    steps=("A residual layer whose sublayer is zero is the identity",),
)
SHIFT = Property(
    key="pre_norm.shift",
    statement="A number added to all components of a position is added to its result: the stream is not normalised.",
    formula="norm_first: f(x + c 1ᵀ) = f(x) + c 1ᵀ, c a number for each position",
    source=f"{XIONG}; norm(x + c 1) = norm(x)",
    derivation="residual",
    steps=("Pre-norm: a constant added to all components passes unchanged",),
)
OWN_NORM = Property(
    key="pre_norm.own_norm",
    statement="The norm of a sublayer that gives zero has no influence: each sublayer reads its own norm.",
    formula="norm_first, f_k = 0: f(x) does not depend on gamma_k, beta_k",
    source="docs/interface.md: norms are numbered in the order of their sublayers",
    derivation="residual",
    steps=("A residual layer whose sublayer is zero is the identity",),
)
NORMS_ALONE = Property(
    key="post_norm.norms_alone",
    statement="If every sublayer gives zero, a post-norm layer is its norms, one after the other.",
    formula="post-norm, f_k = 0: f(x) = … norm_2(norm_1(x))",
    source=VASWANI,
    derivation="residual",
    steps=("A residual layer whose sublayer is zero is the identity",),
    conventions=("layer_norm_eps",),
)
ZERO_MEAN = Property(
    key="post_norm.zero_mean",
    statement="A post-norm layer whose last norm has unit gain and no shift returns vectors of mean zero.",
    formula="post-norm, gamma_last = 1, beta_last = 0: mean f(x)[i] = 0",
    source=f"{VASWANI}; {BA}",
    derivation="residual",
    steps=("A post-norm layer's outputs have mean 0 before gain and offset",),
)
UNIT_VARIANCE = Property(
    key="post_norm.unit_variance",
    statement="A post-norm layer whose last norm has unit gain returns vectors of variance one, up to eps.",
    formula="post-norm, gamma_last = 1, v the variance of what it normalises: var f(x)[i] = v / (v + eps)",
    source=f"{VASWANI}; {BA}",
    derivation="residual",
    steps=("A post-norm layer's outputs have variance v/(v + ε) before gain and offset",),
    conventions=("layer_norm_eps",),
)
LAST_NORM = Property(
    key="post_norm.last_norm",
    statement="Gain and shift of the last sublayer's norm are the last thing that a post-norm layer applies.",
    formula="post-norm: f(x; gamma_last, beta_last) = f(x; 1, 0) ⊙ gamma_last + beta_last",
    source="docs/interface.md: norms are numbered in the order of their sublayers",
    reason="the definition of a post-norm layer",
)
NORM_EPS = Property(
    key="eps",
    statement="Every norm adds the given eps, which shows if the stream is as small as √eps.",
    formula="x = √eps · z: the variance under each root is eps (var z + 1)",
    source="Ba, Kiros & Hinton 2016 have no eps; every library adds it, of different sizes by default",
    derivation="layer_norm",
    steps=("Scaling by α is scaling ε by 1/α²",),
    conventions=("layer_norm_eps",),
)
ACTIVATION = Property(
    key="feed_forward.activation",
    statement="The requested activation is applied between the two matrices.",
    formula="attention = 0: f(x) has activation(n W_1 + b_1) W_2 + b_2 of the stream n, activation as given",
    source="Vaswani et al. 2017, section 3.3",
    reason="part of the interface: what the keyword stands for",
    conventions=_BEARING,
)
POSITION_WISE = Property(
    key="feed_forward.position_wise",
    statement="Without attention each position is transformed alone.",
    formula="attention = 0: f(x)[i] = f(x[i])",
    source="Vaswani et al. 2017, section 3.3: applied to each position separately and identically",
    derivation="feed_forward",
    steps=("No dependence on another position",),
)
NO_BIAS = Property(
    key="biases",
    statement="A bias that is None is a bias of zeros, in every sublayer.",
    formula="f(x; b = None) = f(x; b = 0)",
    source="docs/interface.md",
    reason="part of the interface: what None stands for",
)
HEAD_ORDER = Property(
    key="heads.permutation",
    statement="Reordering the heads, with their columns and rows of the projections, changes nothing.",
    formula="f(x; heads in the order π) = f(x)",
    source="Vaswani et al. 2017, section 3.2.2: a sum over heads",
    derivation="multi_head",
    steps=("Permuting the heads together with the blocks of W_O changes nothing",),
)
SINGLE_TOKEN = Property(
    key="single_token",
    statement="A token that sees only itself has all its weight on itself, for any queries and keys.",
    formula="L = 1: f(x) does not depend on W_Q, b_Q, W_K, b_K of the self-attention",
    source="softmax of one logit is 1",
    derivation="convex_hull",
    steps=("A single key gives its value",),
)
BATCH_INDEPENDENCE = Property(
    key="batch.independence",
    statement="A sample's result does not depend on the other samples of the batch, nor on their padding.",
    formula="f(inputs)[b] = f(inputs[b])",
    source="the formula has no term in which two samples meet",
    derivation="independence",
    steps=(
        "No dependence on queries of another batch entry",
        "No dependence on keys of another batch entry",
        "No dependence on values of another batch entry",
        "No dependence on masks of another batch entry",
    ),
)
BATCH_PERMUTATION = Property(
    key="batch.permutation",
    statement="Reordering the samples reorders the results in the same way.",
    formula="f(inputs[π]) = f(inputs)[π], π a permutation of the batch",
    source="the formula has no term in which two samples meet",
    derivation="independence",
    steps=(
        "No dependence on queries of another batch entry",
        "No dependence on keys of another batch entry",
        "No dependence on values of another batch entry",
        "No dependence on masks of another batch entry",
    ),
)
PADDING_CONTENT = Property(
    key="padding.content",
    statement="The contents of padded positions have no influence on the real ones.",
    formula="f(x; padding_mask)[i], i real, is the same for every x[j], j padded",
    source="Vaswani et al. 2017, section 3.2.3 (illegal connections are set to −∞)",
    derivation="masking",
    steps=(
        "The content of a masked key does not matter",
        "The content of a masked value does not matter",
    ),
    features=("padding_mask",),
)
PADDING_REMOVED = Property(
    key="padding.removed",
    statement="Padding on the right gives the same result as cutting it off.",
    formula="f(pad(x); padding_mask)[: n] = f(x), n the real length",
    source="the sum over keys splits into real and padded, and the padded part is zero",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("padding_mask",),
)
LEFT_PADDING = Property(
    key="padding.left",
    statement="Padding on the left gives the same result as cutting it off.",
    formula="f(pad(x); padding_mask)[L − n :] = f(x), n the real length",
    source="the sum over keys splits into real and padded, and the padded part is zero; no term knows a position",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("padding_mask",),
)
NO_PADDING = Property(
    key="padding.none",
    statement="A padding mask that is True everywhere changes nothing.",
    formula="f(x; padding_mask = True) = f(x)",
    source="docs/interface.md",
    reason="part of the interface: padding_mask is True at real tokens, whatever the polarity of `mask`",
    features=("padding_mask",),
)

TOKENS = Property(
    key="tokens.permutation",
    statement="An encoder layer without positions is permutation equivariant.",
    formula="f(P x) = P f(x)",
    source="seed document 004: self-attention is permutation-equivariant; the rest acts on each position alone",
    derivation="permutation",
    steps=("Self-attention is equivariant",),
)

NO_FUTURE = Property(
    key="causal.no_future_leak",
    statement="No later position has any influence.",
    formula="f(x)[i] is the same for every x[j], j > i",
    source="Vaswani et al. 2017, section 3.1: position i can depend only on positions that are not later",
    derivation="causality",
    steps=(
        "The output does not depend on a later token, projections included",
        "A stack of causal layers is causal",
    ),
)
PREFIX = Property(
    key="causal.prefix",
    statement="Cutting the end off a sequence does not change the results before the cut.",
    formula="f(x)[: n] = f(x[: n])",
    source="Vaswani et al. 2017, section 3.1",
    derivation="causality",
    steps=(
        "The outputs of a prefix are those of the prefix alone",
        "A stack of causal layers is causal",
    ),
)
MEMORY_ORDER = Property(
    key="memory.permutation",
    statement="The memory's order does not matter.",
    formula="f(x, P m) = f(x, m)",
    source="a sum does not depend on the order of its terms",
    derivation="permutation",
    steps=("Permuting keys and values together changes nothing",),
)
MEMORY_SINGLE = Property(
    key="memory.single_token",
    statement="A memory of one token has all the weight, for any queries and keys.",
    formula="S = 1: f(x, m) does not depend on W_Q, b_Q, W_K, b_K of the cross-attention",
    source="softmax of one logit is 1",
    derivation="convex_hull",
    steps=("A single key gives its value",),
)
MEMORY_AS_GIVEN = Property(
    key="memory.as_given",
    statement="The memory is projected unchanged: no norm of the layer is applied to it.",
    formula="f(x, 2 m; W_K, W_V) = f(x, m; 2 W_K, 2 W_V), the weights being those of the cross-attention",
    source=f"{VASWANI}: the decoder attends to the output of the encoder stack",
    reason="the definition: the memory has passed its own norm",
)
MEMORY_CONTENT = Property(
    key="memory.padding_content",
    statement="The contents of padded positions of the memory have no influence.",
    formula="f(x, m; memory_padding_mask) is the same for every m[j], j padded",
    source="Vaswani et al. 2017, section 3.2.3 (illegal connections are set to −∞)",
    derivation="masking",
    steps=(
        "The content of a masked key does not matter",
        "The content of a masked value does not matter",
    ),
    features=("memory_padding_mask",),
)
MEMORY_REMOVED = Property(
    key="memory.padding_removed",
    statement="Padding of the memory gives the same result as cutting it off.",
    formula="f(x, pad(m); memory_padding_mask) = f(x, m)",
    source="the sum over keys splits into real and padded, and the padded part is zero",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("memory_padding_mask",),
)

LAYER_LAWS = (
    PRE_NORM_VALUE,
    POST_NORM_VALUE,
    IDENTITY,
    SHIFT,
    OWN_NORM,
    NORMS_ALONE,
    ZERO_MEAN,
    UNIT_VARIANCE,
    LAST_NORM,
    NORM_EPS,
    ACTIVATION,
    POSITION_WISE,
    NO_BIAS,
    HEAD_ORDER,
    SINGLE_TOKEN,
    BATCH_INDEPENDENCE,
    BATCH_PERMUTATION,
    PADDING_CONTENT,
    PADDING_REMOVED,
    LEFT_PADDING,
    NO_PADDING,
)
ENCODER_LAYER_LAWS = (*LAYER_LAWS, TOKENS)
DECODER_LAYER_LAWS = (
    *LAYER_LAWS,
    NO_FUTURE,
    PREFIX,
    MEMORY_ORDER,
    MEMORY_SINGLE,
    MEMORY_AS_GIVEN,
    MEMORY_CONTENT,
    MEMORY_REMOVED,
)

LAWS = (
    *state(ENCODER_LAYER_LAWS, ENCODER_LAYER),
    *state(DECODER_LAYER_LAWS, DECODER_LAYER),
)
