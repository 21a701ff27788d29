"""Laws of sliding windows."""

from __future__ import annotations

from veriformer.spec.laws.law import Property

BELTAGY = "Beltagy et al. 2020, section 3.1"
ONNX = "ONNX Attention-25, left_window_size and right_window_size; docs/interface.md"

WINDOW_VALUE = Property(
    key="window.value",
    statement="Under a window the softmax is over the keys near the query's position.",
    formula="visible: i − left ≤ j ≤ i + right (exclusive counting: i − left < j)",
    source=f"{BELTAGY}; Jiang et al. 2023, section 2",
    reason="the definition",
    features=("window",),
    conventions=("window_counting",),
)
WINDOW_UNEQUAL_LENGTHS = Property(
    key="window.unequal_lengths",
    statement="With L ≠ S a window is counted from the query's position under the causal alignment.",
    formula="visible: p − left ≤ j ≤ p + right, p = i (top-left) or i + S − L (bottom-right)",
    source=ONNX,
    reason="the definition of the parameter",
    features=("window",),
    conventions=("causal_alignment",),
)
WINDOW_WIDE = Property(
    key="window.wide",
    statement="A window at least as long as both sequences hides nothing, and leaves a causal flag alone.",
    formula="left, right ≥ L + S: f(…; window = (left, right)) = f(…)",
    source=BELTAGY,
    derivation="windows",
    steps=("A window that holds every key changes nothing",),
    features=("window",),
)
WINDOW_UNLIMITED = Property(
    key="window.unlimited",
    statement="A side of a window that is None or −1 is without limit.",
    formula="f(…; window = (None, r)) = f(…; window = (−1, r)) = f(…; window = (L + S, r))",
    source=ONNX,
    reason="the definition of the parameter",
    features=("window",),
)
WINDOW_MASK = Property(
    key="window.explicit_mask",
    statement="A window equals the explicit banded mask.",
    formula="f(…; window = (l, r)) = f(…; mask[i, j] = (i − l ≤ j ≤ i + r))",
    source=BELTAGY,
    derivation="windows",
    steps=("Windowed weights are masked weights, renormalised",),
    features=("window", "mask"),
    conventions=("window_counting",),
)
WINDOW_OWN = Property(
    key="window.own_position",
    statement="The narrowest window shows each query the key at its own position and no other.",
    formula="L = S: f(Q, K, V; window = (0, 0)) = V (exclusive counting: window = (1, 0))",
    source=BELTAGY,
    derivation="windows",
    steps=("The narrowest window returns the query's own value",),
    features=("window",),
    conventions=("window_counting",),
)
WINDOW_NO_LEAK = Property(
    key="window.no_leak",
    statement="The contents of a key or value beyond the window have no influence.",
    formula="j < i − left: f(…; window = (left, right))[i] is the same for every K[j], V[j]",
    source=BELTAGY,
    derivation="masking",
    steps=(
        "The content of a masked key does not matter",
        "The content of a masked value does not matter",
    ),
    features=("window",),
)
WINDOW_CAUSAL = Property(
    key="window.with_causal",
    statement="A window and the causal flag given together both apply.",
    formula="visible: i − left ≤ j ≤ min(i, i + right)",
    source="Jiang et al. 2023, section 2",
    derivation="windows",
    steps=("Window and mask apply in either order",),
    features=("window", "is_causal"),
)
WINDOW_AS_CAUSAL = Property(
    key="window.causal_as_window",
    statement="A window without limit to the left and of width zero to the right equals the causal flag.",
    formula="f(…; window = (None, 0)) = f(…; is_causal)",
    source="j ≤ i is both",
    derivation="windows",
    steps=("The causal flag changes nothing where the window is (∞, 0)",),
    features=("window", "is_causal"),
    conventions=("causal_alignment",),
)
WINDOW_MASKED = Property(
    key="window.with_mask",
    statement="A window and a mask given together both apply.",
    formula="f(…; window, mask = M) = f(…; mask = band ∧ M)",
    source="seed document 000: masks are combined before the softmax",
    derivation="windows",
    steps=("Window and mask apply in either order",),
    features=("window", "mask"),
)

WINDOW_LAWS = (
    WINDOW_VALUE,
    WINDOW_UNEQUAL_LENGTHS,
    WINDOW_WIDE,
    WINDOW_UNLIMITED,
    WINDOW_MASK,
    WINDOW_OWN,
    WINDOW_NO_LEAK,
    WINDOW_CAUSAL,
    WINDOW_AS_CAUSAL,
    WINDOW_MASKED,
)
# Weights have no values that a window of the own position would return.
WINDOW_LAWS_OF_WEIGHTS = tuple(law for law in WINDOW_LAWS if law is not WINDOW_OWN)
