"""Laws of whole Transformers."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.symmetry import SAMPLES
from veriformer.spec.operations.models import DECODE_STEP, ENCODER, ENCODER_DECODER, LANGUAGE_MODEL

_DEFINITION = "the definition of the architecture: its parts have derivations of their own"
_CACHE_SOURCE = "Shazeer 2019, section 2.4; Pope et al. 2022, section 2.1"
_VASWANI = "Vaswani et al. 2017, section 3"
BERT = Property(
    key="architecture.bert",
    statement="An encoder like BERT follows the formula: learned positions, norms after the sums, GELU.",
    formula="x = norm(T[tokens] + P); x = norm_2(y + ffn(y)), y = norm_1(x + attention(x))",
    source="Devlin et al. 2019, section 3",
    reason=_DEFINITION,
    conventions=("gelu_form", "layer_norm_eps"),
)
VASWANI = Property(
    key="architecture.vaswani",
    statement="The original Transformer follows the formula: scaled embeddings, sinusoids, norms after the sums, ReLU.",
    formula="x = √E T[tokens] + sinusoids; logits = decoder(x, encoder(source)) Tᵀ",
    source=f"{_VASWANI}; section 3.4 (scaled and shared embeddings)",
    reason=_DEFINITION,
    conventions=("sinusoidal_layout",),
)
BART = Property(
    key="architecture.bart",
    statement="An encoder-decoder like BART follows the formula: learned positions, a norm after the embedding, GELU.",
    formula="x = norm(T[tokens] + P); logits = decoder(x, encoder(source)) Tᵀ",
    source="Lewis et al. 2020, section 2",
    reason=_DEFINITION,
    conventions=("gelu_form", "layer_norm_eps"),
)
GPT = Property(
    key="architecture.gpt",
    statement="A language model like GPT-2 follows the formula: learned positions, norms before the sublayers, GELU.",
    formula="x = T[tokens] + P; y = x + attention(norm_1(x)), x = y + ffn(norm_2(y)); logits = final_norm(x) Tᵀ",
    source="Radford et al. 2019, section 2.3",
    reason=_DEFINITION,
    conventions=("gelu_form", "layer_norm_eps"),
)
LLAMA = Property(
    key="architecture.llama",
    statement="A language model like Llama follows the formula: rotary positions, RMS norms, a gated network.",
    formula="y = x + attention(R rms(x)), x = y + gated_ffn(rms(y)); logits = rms(x) U",
    source="Touvron et al. 2023 (LLaMA), section 2.2; Touvron et al. 2023 (Llama 2), section 2.2 (grouped heads)",
    reason=_DEFINITION,
    conventions=("rms_norm_gain", "rotary_pairing"),
)
PADDING_CONTENT = Property(
    key="padding.content",
    statement="The tokens in the padding, on either side, have no influence on the real ones.",
    formula="f(tokens; mask)[b, i], mask[b, i] True, is the same for every tokens[b, j] with mask[b, j] False",
    source=f"{_VASWANI}.2.3; each sample has one real token at least",
    derivation="masking",
    steps=(
        "The content of a masked key does not matter",
        "The content of a masked value does not matter",
    ),
    features=("padding_mask",),
)
PADDING_REMOVED = Property(
    key="padding.removed",
    statement="Each sample of a batch that is padded on the right is answered as alone, without its padding.",
    formula="f(pad(tokens); mask)[b, : l_b] = f(tokens_b)",
    source=f"{_VASWANI}.2.3; positions count columns from 0",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("padding_mask",),
)
PADDING_LEFT = Property(
    key="padding.left",
    statement="With rotary positions, padding on the left shifts all positions equally and so changes nothing.",
    formula="f(left_pad(tokens); mask)[b, L − l_b :] = f(tokens_b), positions relative",
    source="Su et al. 2021, section 3.2 (only differences of positions enter)",
    derivation="rotary",
    steps=("A common shift changes nothing",),
    features=("padding_mask",),
)
FUTURE = Property(
    key="causal.no_future_leak",
    statement="No later token has any influence.",
    formula="f(tokens)[i] is the same for every tokens[j] with j > i",
    source=f"{_VASWANI}.2.3; Radford et al. 2018, section 3.1",
    derivation="causality",
    steps=("A stack of causal layers is causal",),
)
PREFIX = Property(
    key="causal.prefix",
    statement="Cutting the end off a sequence does not change the results before the cut.",
    formula="f(tokens)[: L − t] = f(tokens[: L − t])",
    source=f"{_VASWANI}.2.3",
    derivation="decoding_cache",
    steps=("Appending tokens changes no earlier output of a causal layer",),
)
TOKEN_ORDER = Property(
    key="tokens.permutation",
    statement="If all positions have the same vector, reordering the tokens reorders the results in the same way.",
    formula="P[i] = p for all i: f(tokens[π]) = f(tokens)[π]",
    source="seed document 004: self-attention is permutation-equivariant; every other part works on one position",
    derivation="permutation",
    steps=("Self-attention is equivariant",),
)
VOCABULARY = Property(
    key="vocabulary.permutation",
    statement="Renumbering the tokens, with rows and columns moved along, changes no token's result.",
    formula="f(π(tokens); T[π⁻¹], U[:, π⁻¹]) = f(tokens; T, U), logits moved along",
    source="Phuong & Hutter 2022, algorithms 1 and 7",
    reason="a token's number is only the name of its row: a lookup by another name finds the same vector",
)
UNUSED_ROW = Property(
    key="embedding.unused_row",
    statement="The embedding of a token that does not occur has no influence, except on its logit where it is tied.",
    formula="v not in tokens: f(…; T[v] := t)[…, w] is the same for every t, w ≠ v where tied, every w otherwise",
    source="Press & Wolf 2017; Vaswani et al. 2017, section 3.4 (tied); Touvron et al. 2023 (untied)",
    reason="the formula reads rows of the tokens that occur; tied logits read each row for its own token alone",
)
UNEMBEDDING = Property(
    key="unembedding.linear",
    statement="A token's logit is linear in its unembedding vector and depends on no other.",
    formula="v not in tokens, u_v := 2 u_v: logit_v doubles; u_v is row v of T where tied, column v of U otherwise",
    source="Phuong & Hutter 2022, algorithm 7 (without the softmax)",
    reason="logits are products of a state with the unembedding vectors, without a bias",
)
SOURCE_CONTENT = Property(
    key="source.padding.content",
    statement="The tokens in the padding of the source have no influence.",
    formula="f(source, target; source mask) is the same for every source[b, j] with mask[b, j] False",
    source=f"{_VASWANI}.2.3: the decoder attends to the encoder's output",
    derivation="masking",
    steps=(
        "The content of a masked key does not matter",
        "The content of a masked value does not matter",
    ),
    features=("source_padding_mask",),
)
SOURCE_REMOVED = Property(
    key="source.padding.removed",
    statement="A source that is padded on the right is read as without its padding.",
    formula="f(pad(source), target; mask)[b] = f(source_b, target_b)",
    source=f"{_VASWANI}.2.3; positions count columns from 0",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("source_padding_mask",),
)
TARGET_CONTENT = Property(
    key="target.padding.content",
    statement="The tokens in the padding of the target have no influence on the real ones.",
    formula="f(source, target; target mask)[b, i], mask[b, i] True, is the same for every target[b, j] in the padding",
    source=f"{_VASWANI}.2.3",
    derivation="masking",
    steps=(
        "The content of a masked key does not matter",
        "The content of a masked value does not matter",
    ),
    features=("target_padding_mask",),
)
SOURCE_ORDER = Property(
    key="source.permutation",
    statement="If all source positions have the same vector, the order of the source's tokens has no influence.",
    formula="P_source[i] = p for all i: f(source[π], target) = f(source, target)",
    source="attention to a memory is a sum over its positions",
    derivation="permutation",
    steps=(
        "Permuting keys and values together changes nothing",
        "Self-attention is equivariant",
    ),
)
TARGET_FUTURE = Property(
    key="target.no_future_leak",
    statement="No later token of the target has any influence.",
    formula="f(source, target)[i] is the same for every target[j] with j > i",
    source=f"{_VASWANI}.2.3: masking of illegal connections",
    derivation="causality",
    steps=("A stack of causal layers is causal",),
)
TARGET_PREFIX = Property(
    key="target.prefix",
    statement="Cutting the end off the target does not change the results before the cut.",
    formula="f(source, target)[: L − t] = f(source, target[: L − t])",
    source=f"{_VASWANI}.2.3",
    derivation="decoding_cache",
    steps=("Appending tokens changes no earlier output of a causal layer",),
)
WHOLE_SOURCE = Property(
    key="source.last_token",
    statement="Every target position sees the source to its end, the last token as well.",
    formula="f(source, target)[0] = the formula over all S source tokens, S > L",
    source=f"{_VASWANI}.2.3: every position in the decoder attends over all positions in the input sequence",
    reason="the definition: attention to the memory is not causal",
)
PREFILL = Property(
    key="prefill",
    statement="A sequence cut in two, continued from the cache, has the same results as in one pass.",
    formula="f(b, cache of f(a, None)) = f(a ⧺ b, None)[|a| :], for every cut",
    source=_CACHE_SOURCE,
    derivation="decoding_cache",
    steps=("Two steps are one",),
)
ONE_TOKEN = Property(
    key="token_by_token",
    statement="A sequence given one token at a time has the same results as in one pass.",
    formula="f(t_i, cache of t_0 … t_{i−1}) = f(t_0 … t_{L−1}, None)[i]",
    source=_CACHE_SOURCE,
    derivation="decoding_cache",
    steps=("A new token's output in the full pass is attention to cached and new keys",),
)
CHUNKS = Property(
    key="chunks",
    statement="A sequence given in chunks of any lengths has the same results as in one pass.",
    formula="f(c_1, None), f(c_2, cache), … = f(c_1 ⧺ c_2 ⧺ …, None)",
    source=_CACHE_SOURCE,
    derivation="decoding_cache",
    steps=("Two steps are one",),
)
SAME_AS_MODEL = Property(
    key="language_model",
    statement="Decoding a whole sequence without a cache is the language model.",
    formula="f(tokens, None) = language_model(tokens)",
    source=_CACHE_SOURCE,
    reason="the definition: a pass that starts from no cache is the full pass",
)
CACHE_KEPT = Property(
    key="cache.kept",
    statement="A cache can be continued twice: the first continuation has no influence on the second.",
    formula="f(c, cache of a), after f(b, cache of a), = f(a ⧺ c, None)[|a| :]",
    source="docs/interface.md: every operation is pure",
    reason="purity is a promise of the program; the formula cannot express a mutation",
)
CACHES_APART = Property(
    key="cache.apart",
    statement="Two sequences decoded in turns do not disturb each other.",
    formula="f(a_2, cache of a_1), with f(b_1, None) in between, = f(a_1 ⧺ a_2, None)[|a_1| :]",
    source="docs/interface.md: an operation keeps no state that a later call can see",
    reason="purity is a promise of the program; the formula cannot express hidden state",
)
POSITIONS_VALUE = Property(
    key="positions.value",
    statement="Explicit positions replace the counted ones.",
    formula="f(…; positions = p): learned rows P[p], rotary angles p ω; columns decide which keys are later",
    source="docs/interface.md; Hugging Face's position_ids",
    reason="the definition of the parameter",
    features=("positions",),
)
POSITIONS_DEFAULT = Property(
    key="positions.default",
    statement="Without explicit positions, positions continue from the cache.",
    formula="f(…; positions = S − T, …, S − 1) = f(…)",
    source="docs/interface.md: positions count columns from 0",
    reason="the definition of the parameter",
    features=("positions",),
)
POSITIONS_SHARED = Property(
    key="positions.shared",
    statement="Positions given once apply to every sample.",
    formula="f(…; positions = p (T,)) = f(…; positions = 1 pᵀ (B, T))",
    source="docs/interface.md",
    reason="the definition of the parameter",
    features=("positions",),
)
CHAIN_PADDING_VALUE = Property(
    key="padding.value",
    statement="No real token sees a token that the padding mask hides, in this or an earlier call.",
    formula="f(…; mask) = the formula over the visible keys j ≤ i with mask[b, j]",
    source="docs/interface.md; Hugging Face's attention_mask, which covers the cache too",
    reason="the definition of the parameter: the mask covers all columns so far",
    features=("padding_mask",),
)
CHAIN_ALL_REAL = Property(
    key="padding.all_real",
    statement="A padding mask that hides nothing equals no mask.",
    formula="f(…; mask = True everywhere) = f(…)",
    source="docs/interface.md, padding_mask",
    reason="the definition of the parameter: where nothing is hidden, every key is summed over",
    features=("padding_mask",),
)
CHAIN_PADDING_POSITIONS = Property(
    key="padding.positions",
    statement="If positions count real tokens only, padding in front or in between changes nothing.",
    formula="f(padded; mask, positions[b, i] = Σ_(j < i) mask[b, j])[b, real] = f(tokens_b, None)",
    source="Radford et al. 2019 and Su et al. 2021: positions enter by what is added, or by the rotation, alone",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("positions", "padding_mask"),
)
GREEDY = Property(
    key="greedy",
    statement="Greedy generation with the cache chooses tokens that are greedy without it.",
    formula="t_{i+1} = argmax f(t_i, cache): f(t_0 … t_i, None)[i, t_{i+1}] = max f(t_0 … t_i, None)[i]",
    source=_CACHE_SOURCE,
    derivation="decoding_cache",
    steps=("A new token's output in the full pass is attention to cached and new keys",),
)
_PADDED = (PADDING_CONTENT, PADDING_REMOVED)
_LOGITS = (VOCABULARY, UNUSED_ROW, UNEMBEDDING)
ENCODER_LAWS = (BERT, *_PADDED, TOKEN_ORDER, VOCABULARY)
LANGUAGE_MODEL_LAWS = (GPT, LLAMA, FUTURE, PREFIX, *_PADDED, PADDING_LEFT, *_LOGITS)
ENCODER_DECODER_LAWS = (
    VASWANI,
    BART,
    SOURCE_CONTENT,
    SOURCE_REMOVED,
    TARGET_CONTENT,
    SOURCE_ORDER,
    TARGET_FUTURE,
    TARGET_PREFIX,
    WHOLE_SOURCE,
    *_LOGITS,
)
DECODING_LAWS = (
    GPT,
    LLAMA,
    PREFILL,
    ONE_TOKEN,
    CHUNKS,
    SAME_AS_MODEL,
    CACHE_KEPT,
    CACHES_APART,
    GREEDY,
    VOCABULARY,
    POSITIONS_VALUE,
    POSITIONS_DEFAULT,
    POSITIONS_SHARED,
    PADDING_CONTENT,
    CHAIN_PADDING_VALUE,
    CHAIN_ALL_REAL,
    CHAIN_PADDING_POSITIONS,
)

LAWS = (
    *state((*SAMPLES, *ENCODER_LAWS), ENCODER),
    *state((*SAMPLES, *ENCODER_DECODER_LAWS), ENCODER_DECODER),
    *state((*SAMPLES, *LANGUAGE_MODEL_LAWS), LANGUAGE_MODEL),
    *state((*SAMPLES, *DECODING_LAWS), DECODE_STEP),
)
