"""The training loss of logits."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

CROSS_ENTROPY = Operation(
    name="cross_entropy",
    prefix="cross_entropy",
    summary="Average how improbable the model found the tokens that came.",
    parameters=(
        Parameter(
            "logits",
            "(B, L, N)",
            "float",
            "positional",
            "one row for each position, not yet normalised",
            also_called="pred preds predictions ypred output outputs scores x yhat input z",
        ),
        Parameter(
            "targets",
            "(B, L)",
            "int",
            "positional",
            "the class of each position, already shifted",
            also_called="target labels label y ytrue tgt gold t classes ids",
        ),
        Parameter(
            "ignore_index",
            "",
            "scalar",
            "feature",
            "targets of this value are ignored; None by default",
            also_called=(
                "padid padidx padindex padvalue paddingidx paddingindex paddingid padtokenid padtoken ignoreidx "
                "ignoreid ignorelabel ignorevalue ignoredindex ignore pad"
            ),
        ),
        Parameter(
            "label_smoothing",
            "",
            "scalar",
            "feature",
            "ε, spread evenly over all N classes; 0 by default",
            also_called="smoothing epsilon eps smooth ls alpha",
        ),
        Parameter(
            "reduction",
            "",
            "scalar",
            "feature",
            '"mean" by default, "sum", or "none": ignored ones 0',
            also_called="reduce",
        ),
    ),
    result="scalar, or (B, L) under reduction none",
    formula="Σ_kept ℓ / number of kept targets, ℓ = −Σ_k y_k ln softmax(z)_k, y = (1 − ε) one-hot(target) + ε/N;"
    " Σ_kept ℓ under reduction sum; each ℓ under none",
    source="Goodfellow, Bengio & Courville 2016, section 6.2.2.3; Szegedy et al. 2016, section 7 (smoothing)",
    place=16,
    also_called=(
        "crossentropy crossentropyloss celoss xent ce nllloss loss logsoftmax logsumexp softmaxcrossentropy tokenloss "
        "lmloss crossent seqloss xentropy nll xentloss tokencrossentropy sparsecrossentropy cel "
        "languagemodelloss sequenceloss softmaxxent labelsmoothedcrossentropy maskedcrossentropy "
        "crossentropywithlogits sparsecategoricalcrossentropy labelsmoothing smoothedcrossentropy "
        "labelsmoothingloss linearcrossentropy linearcrossentropyloss linearce linearceloss linearxent lmheadloss "
        "lmheadcrossentropy"
    ),
)

OPERATIONS = (CROSS_ENTROPY,)
