"""Laws of the gradient of the cross entropy between logits and target classes."""

from __future__ import annotations

from veriformer.spec.laws.gradients import EVERY_BACKWARD_PASS
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.loss_backward import CROSS_ENTROPY_BACKWARD

SOFTMAX_LOSS = "Goodfellow, Bengio & Courville 2016, section 6.2.2.3"
SMOOTHING = "Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4"
INTERFACE = "the interface of an implementation under test (docs/interface.md): mean over targets that are not ignored"
OF_ONE_CLASS = "The gradient for one class"
OF_SMOOTHED = "The gradient for smoothed targets"

GRAD_LOGITS = Property(
    key="grad_logits",
    statement="The gradient of each logit is its probability, less one at the target, over the number of targets.",
    formula="dz_ik = dO (p_ik − δ_k,t_i) / (B L), p = softmax(z)",
    source=SOFTMAX_LOSS,
    derivation="cross_entropy",
    steps=(OF_ONE_CLASS, "What a position contributes to the mean"),
)
LARGE_LOGITS = Property(
    key="large_logits",
    statement="Logits far beyond the range of exp give finite gradients.",
    formula="|z| > 88: dz is finite and equals the formula",
    source="Milakov & Gimelshein 2018, section 2 (safe softmax)",
    derivation="cross_entropy",
    steps=(OF_ONE_CLASS, "Adding a constant to all logits changes nothing"),
)
ROWS_SUM_TO_ZERO = Property(
    key="rows_sum_to_zero",
    statement="The gradients of the logits of each position sum to zero.",
    formula="Σ_k dz_ik = 0",
    source="the loss ignores a shift of a position's logits, so that no gradient points along it",
    derivation="cross_entropy",
    steps=("The gradients of the logits sum to 0",),
)
DIRECTION = Property(
    key="direction",
    statement="Without smoothing a larger logit of a target never raises the loss, one of a rival never lowers it.",
    formula="dO ≥ 0: dz_ik ≤ 0 at k = t_i, dz_ik ≥ 0 elsewhere",
    source="a probability is between zero and one",
    derivation="cross_entropy",
    steps=(OF_ONE_CLASS,),
)
UNIFORM = Property(
    key="uniform",
    statement="Equal logits have the gradients of equal probabilities.",
    formula="z_ik = c_i: dz_ik = dO (1/N − y_ik) / number of kept targets",
    source="an even distribution over N classes gives each the probability 1/N",
    derivation="cross_entropy",
    steps=(OF_SMOOTHED,),
)
SHIFT = Property(
    key="shift",
    statement="Adding one number to all logits of a position leaves its gradients as they are.",
    formula="dz(z + c 1ᵀ, t, dO) = dz(z, t, dO), c one number for each position",
    source=f"{SOFTMAX_LOSS}: softmax is invariant to adding the same scalar to all of its inputs",
    derivation="cross_entropy",
    steps=("Adding a constant to all logits changes nothing",),
)
SAMPLES = Property(
    key="batch.permutation",
    statement="The samples in another order have their gradients in that order.",
    formula="dz(z[π], t[π], dO) = dz(z, t, dO)[π], π a permutation of the batch",
    source="a sum does not depend on the order of its terms",
    derivation="cross_entropy",
    steps=("The order of the positions does not matter",),
)
POSITIONS = Property(
    key="positions.permutation",
    statement="Every kept position counts the same, in every sample and at every place.",
    formula="dz(P z, P t, dO) = P dz(z, t, dO), P a permutation of all B L positions",
    source="one mean over all positions, not a mean of means",
    derivation="cross_entropy",
    steps=("What a position contributes to the mean", "The order of the positions does not matter"),
)
CLASSES = Property(
    key="classes.permutation",
    statement="Renumbering the classes of both logits and targets renumbers the gradients.",
    formula="dz(z P, π(t), dO) = dz(z, t, dO) P",
    source="a sum does not depend on the order of its terms",
    derivation="cross_entropy",
    steps=("Renumbering the classes changes nothing",),
)
IGNORE_VALUE = Property(
    key="ignore.value",
    statement="The gradients are divided by the number of targets that are not ignored.",
    formula="dz_ik = dO (p_ik − δ_k,t_i) / #{i : t_i ≠ j}, ignore_index = j",
    source=INTERFACE,
    derivation="cross_entropy",
    steps=("What a position contributes to the mean", OF_ONE_CLASS),
    features=("ignore_index",),
)
IGNORE_ZERO = Property(
    key="ignore.zero",
    statement="The logits at an ignored target have no gradient.",
    formula="t_i = j: dz_ik = 0, ignore_index = j",
    source=INTERFACE,
    derivation="cross_entropy",
    steps=("An ignored position contributes nothing",),
    features=("ignore_index",),
)
IGNORE_NO_INFLUENCE = Property(
    key="ignore.no_influence",
    statement="The logits at ignored targets change no gradient.",
    formula="t_i = j: dz(z, t, dO) does not depend on z_i, ignore_index = j",
    source=INTERFACE,
    derivation="cross_entropy",
    steps=("An ignored position contributes nothing",),
    features=("ignore_index",),
)
SMOOTHING_VALUE = Property(
    key="smoothing.value",
    statement="With smoothing the gradient goes from the probabilities to the smoothed target, of which each class has"
    " ε/N.",
    formula="dz_ik = dO (p_ik − (1 − ε) δ_k,t_i − ε/N) / number of kept targets",
    source=SMOOTHING,
    derivation="cross_entropy",
    steps=(OF_SMOOTHED,),
    features=("label_smoothing",),
)
SMOOTHING_ZERO = Property(
    key="smoothing.zero",
    statement="Smoothing by zero is no smoothing.",
    formula="dz(z, t, dO; ε = 0) = dz(z, t, dO)",
    source=SMOOTHING,
    derivation="cross_entropy",
    steps=("Without smoothing only the target counts",),
    features=("label_smoothing",),
)
SMOOTHING_IGNORED = Property(
    key="smoothing.ignored",
    statement="Ignored targets have no part in the evenly spread share either.",
    formula="t_i = j: dz_ik = 0; elsewhere dz_ik = dO (p_ik − y_ik) / #{i : t_i ≠ j}",
    source=f"{INTERFACE}; {SMOOTHING}",
    derivation="cross_entropy",
    steps=(OF_SMOOTHED, "An ignored position contributes nothing"),
    features=("ignore_index", "label_smoothing"),
)
REDUCTION_MEAN = Property(
    key="reduction.mean",
    statement="The mean is the default reduction.",
    formula='dz(z, t, dO; reduction = "mean") = dz(z, t, dO)',
    source=INTERFACE,
    reason="the definition of the parameter",
    features=("reduction",),
)
REDUCTION_SUM = Property(
    key="reduction.sum",
    statement="The gradients of a sum of losses are not divided.",
    formula='reduction = "sum": dz_ik = dO (p_ik − y_ik) where t_i is kept',
    source=SOFTMAX_LOSS,
    derivation="cross_entropy",
    steps=(OF_SMOOTHED,),
    features=("reduction",),
)
REDUCTION_COUNT = Property(
    key="reduction.count",
    statement="The gradients of the mean are those of the sum over the number of targets that count.",
    formula='dz(…; "sum") = n dz(…; "mean"), n = #{i : t_i ≠ j}',
    source=INTERFACE,
    derivation="cross_entropy",
    steps=("What a position contributes to the mean",),
    features=("reduction",),
)
REDUCTION_NONE = Property(
    key="reduction.none",
    statement="Without reduction each position's gradients are multiplied by the gradient of its own loss.",
    formula='reduction = "none": dz_bik = dO_bi (p_bik − y_bik)',
    source=SOFTMAX_LOSS,
    derivation="cross_entropy",
    steps=(OF_SMOOTHED,),
    features=("reduction",),
)
REDUCTION_OWN = Property(
    key="reduction.none.own",
    statement="Without reduction another gradient of one loss changes the gradients of its own position only.",
    formula='reduction = "none": dO′ = dO but at (b, i): dz′ = dz but at (b, i)',
    source="the loss of a position depends on the logits there only",
    reason="no other position occurs in the definition of a loss that is not reduced",
    features=("reduction",),
)
REDUCTION_IGNORED = Property(
    key="reduction.none.ignored",
    statement="Without reduction the gradient of an ignored target's loss has no effect.",
    formula='t_bi = j: dz_bik = 0 whatever dO_bi is, ignore_index = j, reduction = "none"',
    source="PyTorch's documentation of cross_entropy (ignore_index does not contribute); docs/interface.md",
    reason="the loss there is 0 whatever the logits are, by the definitions of the two parameters together",
    features=("reduction", "ignore_index"),
)

CROSS_ENTROPY_BACKWARD_LAWS = (
    GRAD_LOGITS,
    LARGE_LOGITS,
    ROWS_SUM_TO_ZERO,
    DIRECTION,
    UNIFORM,
    SHIFT,
    SAMPLES,
    POSITIONS,
    CLASSES,
    IGNORE_VALUE,
    IGNORE_ZERO,
    IGNORE_NO_INFLUENCE,
    SMOOTHING_VALUE,
    SMOOTHING_ZERO,
    SMOOTHING_IGNORED,
    REDUCTION_MEAN,
    REDUCTION_SUM,
    REDUCTION_COUNT,
    REDUCTION_NONE,
    REDUCTION_OWN,
    REDUCTION_IGNORED,
)

LAWS = state((*CROSS_ENTROPY_BACKWARD_LAWS, *EVERY_BACKWARD_PASS), CROSS_ENTROPY_BACKWARD)
