"""Laws of masks: hidden keys have no influence, and nothing else changes."""

from __future__ import annotations

from veriformer.spec.laws.law import Property

VASWANI = "Vaswani et al. 2017, section 3.2.3"
SEED_MASK = "seed document 000, worked example 3; seed document 004, footnote on autoregressive models"

POLARITY = Property(
    key="mask.polarity",
    statement="A boolean mask is True where a query may attend.",
    formula="mask[i, j] True for one j only: f(…)[i] = V[j]",
    source="Phuong & Hutter 2022, algorithm 4 (Mask = 1: attend)",
    reason="a convention: libraries differ in what True means",
    features=("mask",),
    conventions=("mask_polarity",),
)
MASK_VALUE = Property(
    key="mask.value",
    statement="Masked keys are left out of the softmax and the rest is renormalised.",
    formula="f(…; mask)[i] = Σ_visible e^z V / Σ_visible e^z",
    source=f"{VASWANI}: set to −∞ in the input of the softmax; {SEED_MASK}",
    derivation="masking",
    steps=(
        "The other keys share the row among themselves",
        "Masking after softmax, then renormalising",
    ),
    features=("mask",),
)
MASKED_CONTENT = Property(
    key="mask.masked_content",
    statement="The finite contents of a masked key or value have no influence.",
    formula="mask[:, j] False: f is the same for every K[j], V[j]",
    source=f"{VASWANI}; {SEED_MASK}",
    derivation="masking",
    steps=(
        "The content of a masked key does not matter",
        "The content of a masked value does not matter",
    ),
    features=("mask",),
)
LOW_LOGITS = Property(
    key="mask.low_logits",
    statement="A masked key stays hidden however low the logits of the visible keys are.",
    formula="z_visible < −10⁴: f(…; mask)[i] = Σ_visible e^z V / Σ_visible e^z, where a fill of −10⁴ would win the row",
    source=f"{VASWANI}: set to −∞, which is below every number",
    derivation="masking",
    steps=("One number added to every visible logit changes no weight",),
    features=("mask",),
)
NO_SHARE = Property(
    key="mask.no_share",
    statement="A masked key has no share of the output at all, not even a faint one.",
    formula="V[j] = 0 for all j that i may see: f(…; mask)[i] = 0",
    source=f"{VASWANI}; {SEED_MASK}: e^(−∞) = 0",
    derivation="masking",
    steps=("A masked key has weight 0",),
    features=("mask",),
)
NONFINITE = Property(
    key="mask.nonfinite_behind_mask",
    statement="A NaN or an infinity behind the mask reaches no further than the convention allows.",
    formula="ignored: f unchanged; value_propagates: f unchanged by keys; propagates: other batch entries unchanged",
    source="docs/interface.md, convention masked_nonfinite",
    reason="0 · NaN is NaN in floating point and has no counterpart in exact arithmetic; libraries differ",
    obligation="should",
    features=("mask",),
    conventions=("masked_nonfinite",),
)
REMOVED_KEYS = Property(
    key="mask.removed_keys",
    statement="Removing the masked keys changes nothing.",
    formula="f(Q, K, V; mask) = f(Q, K[kept], V[kept])",
    source="the sum over keys splits into kept and masked, and the masked part is zero",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("mask",),
)
PADDING = Property(
    key="mask.padding",
    statement="Each sample of a padded batch gives the same result alone, without its padding.",
    formula="f(Q, pad(K), pad(V); padding mask)[b] = f(Q_b, K_b, V_b)",
    source="seed document 000, worked example 3, step 4",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("mask",),
)
LEFT_PADDING = Property(
    key="mask.left_padding",
    statement="Masked padding in front of a sample's keys changes nothing.",
    formula="f(Q, [pad; K], [pad; V]; mask hides the padding) = f(Q, K, V)",
    source="the sum over keys splits into kept and masked, and the masked part is zero",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("mask",),
)
PACKED = Property(
    key="mask.packed",
    statement="Documents packed into one sequence under a block-diagonal mask are answered as each alone.",
    formula="f([Q; Q′], [K; K′], [V; V′]; mask = blocks) = [f(Q, K, V); f(Q′, K′, V′)]",
    source="Krell et al. 2021, section 3.2.2 (packed sequences)",
    derivation="masking",
    steps=("Removing masked keys changes nothing",),
    features=("mask",),
)
COMPOSITION = Property(
    key="mask.composition",
    statement="A mask together with a bias of −∞ hides the keys that either hides.",
    formula="f(…; mask = M, bias = where(N, 0, −∞)) = f(…; mask = M ∧ N)",
    source="seed document 000: combine causal and padding masks by addition",
    derivation="masking",
    steps=("Two masks combine by adding, or by the product of the booleans",),
    features=("mask", "bias"),
)
ADDITIVE = Property(
    key="mask.additive",
    statement="A boolean mask equals a bias of 0 where it is True and −∞ where it is False.",
    formula="f(…; mask = M) = f(…; bias = where(M, 0, −∞))",
    source=SEED_MASK,
    derivation="masking",
    steps=("An additive mask multiplies the exponentials",),
    features=("mask", "bias"),
)
BROADCAST = Property(
    key="mask.broadcast",
    statement="A mask with an axis of size one holds for every entry of that axis.",
    formula="f(…; mask) = f(…; mask expanded to (B, H, L, S))",
    source="the interface's broadcasting rule (NumPy's)",
    reason="part of the interface: the meaning of an axis of size one",
    features=("mask",),
)
EMPTY_ROW = Property(
    key="mask.empty_row",
    statement="A query that may see no key gets the result that the convention specifies.",
    formula="no visible j: f(…)[i] = 0, NaN, or the mean of all values",
    source="docs/interface.md, convention empty_row",
    reason="a convention; the derivation shows that no value follows from the formula",
    motivation="masking",
    steps=("So no value of an empty row is the limit of masked rows",),
    obligation="should",
    features=("mask",),
    conventions=("empty_row",),
)
EMPTY_ROW_LOCAL = Property(
    key="mask.empty_row_is_local",
    statement="A query that may see no key does not disturb the others.",
    formula="f(…)[i] for a row with visible keys does not depend on the mask of row i′ ≠ i",
    source="each row has its own softmax",
    derivation="independence",
    steps=("No dependence on masks of other queries",),
    features=("mask",),
)

FUTURE = Property(
    key="causal.no_future_leak",
    statement="Under the causal flag no later key or value has any influence.",
    formula="f(…; is_causal)[i] is the same for every K[j], V[j] with j > i (+ S − L when bottom-right)",
    source=f"{VASWANI}; seed document 003: only attend to current and previous tokens",
    derivation="causality",
    steps=(
        "The output does not depend on a later key",
        "The output does not depend on a later value",
    ),
    features=("is_causal",),
    conventions=("causal_alignment",),
)
OWN_POSITION = Property(
    key="causal.own_position",
    statement="Under the causal flag the first query of a sequence sees the first key and no other.",
    formula="L = S: f(…; is_causal)[0] = V[0]",
    source="seed document 003: current and previous tokens; document 001 omits the current one",
    derivation="convex_hull",
    steps=("A single key gives its value",),
    features=("is_causal",),
)
PREFIX = Property(
    key="causal.prefix",
    statement="A cut at the end does not change the results before it, and the last query sees every key.",
    formula=(
        "f(Q, K, V; is_causal)[: L − t] = f(Q[: L − t], K[: S − t], V[: S − t]; is_causal); "
        "L = S: f(Q, K, V; is_causal)[L − 1] = f(Q, K, V)[L − 1]"
    ),
    source=VASWANI,
    derivation="causality",
    steps=("The outputs of a prefix are those of the prefix alone", "The last query sees every key"),
    features=("is_causal",),
)
UNEQUAL_LENGTHS = Property(
    key="causal.unequal_lengths",
    statement="With L ≠ S the causal flag follows one alignment, always the same.",
    formula="visible: j ≤ i (top-left) or j ≤ i + S − L (bottom-right)",
    source="docs/interface.md, convention causal_alignment",
    reason="a convention: no definition fixes where the diagonal of an oblong mask begins",
    motivation="causality",
    steps=("The two alignments differ by S − L",),
    features=("is_causal",),
    conventions=("causal_alignment",),
)
EXPLICIT_CAUSAL = Property(
    key="causal.explicit_mask",
    statement="The causal flag equals the explicit triangular mask.",
    formula="f(…; is_causal) = f(…; mask = causal_mask(L, S))",
    source=SEED_MASK,
    reason="the definition of the flag",
    features=("is_causal", "mask"),
    conventions=("causal_alignment",),
)
WITH_PADDING = Property(
    key="causal.with_padding",
    statement="The causal flag and a mask given together both apply.",
    formula="f(…; is_causal, mask = M) = f(…; mask = causal_mask ∧ M)",
    source="seed document 000, worked example 3, step 4",
    derivation="causality",
    steps=("Causal and padding mask together are the product of their indicators",),
    features=("is_causal", "mask"),
    conventions=("causal_with_mask",),
)

MASK_LAWS = (
    POLARITY,
    MASK_VALUE,
    MASKED_CONTENT,
    NONFINITE,
    REMOVED_KEYS,
    PADDING,
    LEFT_PADDING,
    PACKED,
    BROADCAST,
    EMPTY_ROW,
    EMPTY_ROW_LOCAL,
)
CAUSAL_LAWS = (FUTURE, OWN_POSITION, PREFIX, UNEQUAL_LENGTHS, EXPLICIT_CAUSAL, WITH_PADDING)
