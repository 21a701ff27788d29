"""Laws of the cross entropy between logits and target classes."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.softmax import LARGE_LOGITS
from veriformer.spec.operations.loss import CROSS_ENTROPY

SOFTMAX_LOSS = "Goodfellow, Bengio & Courville 2016, section 6.2.2.3"
SMOOTHING = "Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4"
INTERFACE = "the interface of an implementation under test (docs/interface.md): mean over targets that are not ignored"

VALUE = Property(
    key="value",
    statement="The loss is the mean negative logarithm of the softmax probability of each target.",
    formula="f(z, t) = (1 / B L) Σ_i (ln Σ_k e^(z_ik) − z_i,t_i)",
    source=SOFTMAX_LOSS,
    reason="the definition",
)
SHIFT = Property(
    key="shift",
    statement="Adding one number to all logits of a position changes nothing.",
    formula="f(z + c 1ᵀ, t) = f(z, t), c one number for each position",
    source=f"{SOFTMAX_LOSS}: softmax is invariant to adding the same scalar to all of its inputs",
    derivation="cross_entropy",
    steps=("Adding a constant to all logits changes nothing",),
)
UNIFORM = Property(
    key="uniform",
    statement="Equal logits cost the logarithm of the number of classes.",
    formula="z_ik = c_i: f(z, t) = ln N",
    source="an even distribution over N classes gives each the probability 1/N",
    derivation="cross_entropy",
    steps=("Equal logits cost ln n",),
)
LEAD = Property(
    key="lead",
    statement="A target whose logit exceeds equal others by a large g costs almost nothing.",
    formula="z_i = g one-hot(t_i): f(z, t) = ln(1 + (N − 1) e^(−g)) → 0 as g → ∞",
    source="the logits go through one softmax: a second one would keep the loss above ln(1 + (N − 1)/e)",
    derivation="cross_entropy",
    steps=(
        "A target that leads equal rivals by g",
        "A wide lead costs nothing",
    ),
)
NONNEGATIVE = Property(
    key="nonnegative",
    statement="No loss is negative.",
    formula="f(z, t) ≥ 0",
    source="a probability is at most one",
    derivation="cross_entropy",
    steps=("No loss is negative",),
)
IGNORE_VALUE = Property(
    key="ignore.value",
    statement="An ignored target counts neither in the sum nor in the number that divides it.",
    formula="f(z, t; ignore_index = j) = Σ_(t_i ≠ j) ℓ_i / #{i : t_i ≠ j}",
    source=INTERFACE,
    reason="the definition of the parameter",
    features=("ignore_index",),
)
IGNORE_NO_INFLUENCE = Property(
    key="ignore.no_influence",
    statement="The logits at ignored targets change nothing.",
    formula="t_i = j: ∂f(z, t; ignore_index = j) / ∂z_ik = 0",
    source=INTERFACE,
    derivation="cross_entropy",
    steps=("An ignored position contributes nothing",),
    features=("ignore_index",),
)
SAMPLES = Property(
    key="batch.permutation",
    statement="The order of the samples does not matter.",
    formula="f(z[π], t[π]) = f(z, t), π a permutation of the batch",
    source="a sum does not depend on the order of its terms",
    derivation="cross_entropy",
    steps=("The order of the positions does not matter",),
)
POSITIONS = Property(
    key="positions.permutation",
    statement="Every kept position counts the same, in every sample and at every place.",
    formula="f(P z, P t) = f(z, t), P a permutation of all B L positions",
    source="one mean over all positions, not a mean of means",
    derivation="cross_entropy",
    steps=(
        "What a position contributes to the mean",
        "The order of the positions does not matter",
    ),
)
CLASSES = Property(
    key="classes.permutation",
    statement="Renumbering the classes of both logits and targets changes nothing.",
    formula="f(z P, π(t)) = f(z, t)",
    source="a sum does not depend on the order of its terms",
    derivation="cross_entropy",
    steps=("Renumbering the classes changes nothing",),
)
SMOOTHING_VALUE = Property(
    key="smoothing.value",
    statement="Smoothing spreads ε evenly over all classes, the target included.",
    formula="f(z, t; ε) = (1 − ε) f(z, t) + ε (1/N) Σ_k f(z, k)",
    source=SMOOTHING,
    derivation="cross_entropy",
    steps=("Smoothing mixes the target's loss with the mean over all classes",),
    features=("label_smoothing",),
)
SMOOTHING_ZERO = Property(
    key="smoothing.zero",
    statement="Smoothing by zero is no smoothing.",
    formula="f(z, t; ε = 0) = f(z, t)",
    source=SMOOTHING,
    derivation="cross_entropy",
    steps=("Without smoothing only the target counts",),
    features=("label_smoothing",),
)
SMOOTHING_IGNORED = Property(
    key="smoothing.ignored",
    statement="Ignored targets have no part in the evenly spread share either.",
    formula="f(z, t; ignore_index = j, ε) = Σ_(t_i ≠ j) ℓ_i(ε) / #{i : t_i ≠ j}",
    source=f"{INTERFACE}; {SMOOTHING}",
    reason="the definitions of the two parameters together",
    features=("ignore_index", "label_smoothing"),
)
REDUCTION_MEAN = Property(
    key="reduction.mean",
    statement="The mean is the default reduction.",
    formula='f(z, t; reduction = "mean") = f(z, t)',
    source=INTERFACE,
    reason="the definition of the parameter",
    features=("reduction",),
)
REDUCTION_SUM = Property(
    key="reduction.sum",
    statement="Summed losses are not divided.",
    formula='f(z, t; reduction = "sum") = Σ_(t_i ≠ j) ℓ_i, j = ignore_index where it is given',
    source="seed document 000, line 350: cross-entropy summed across positions",
    reason="the definition of the parameter: minus the logarithm of the probability of all targets together",
    features=("reduction",),
)
REDUCTION_NONE = Property(
    key="reduction.none",
    statement="Without reduction there is one loss for each position.",
    formula='f(z, t; reduction = "none")_bi = ln Σ_k e^(z_bik) − z_bi,t_bi',
    source=SOFTMAX_LOSS,
    reason="the definition",
    features=("reduction",),
)
REDUCTION_IGNORED = Property(
    key="reduction.none.ignored",
    statement="An ignored target has the loss 0 where losses are not reduced.",
    formula='t_bi = j: f(z, t; ignore_index = j, reduction = "none")_bi = 0',
    source="PyTorch's documentation of cross_entropy (ignore_index does not contribute); docs/interface.md",
    reason="the definitions of the two parameters together: the entries then add up to the sum",
    features=("reduction", "ignore_index"),
)

CROSS_ENTROPY_LAWS = (
    VALUE,
    LARGE_LOGITS,
    SHIFT,
    UNIFORM,
    LEAD,
    NONNEGATIVE,
    SAMPLES,
    POSITIONS,
    CLASSES,
    IGNORE_VALUE,
    IGNORE_NO_INFLUENCE,
    SMOOTHING_VALUE,
    SMOOTHING_ZERO,
    SMOOTHING_IGNORED,
    REDUCTION_MEAN,
    REDUCTION_SUM,
    REDUCTION_NONE,
    REDUCTION_IGNORED,
)

LAWS = state(CROSS_ENTROPY_LAWS, CROSS_ENTROPY)
