"""Laws of a model as a black box."""

from __future__ import annotations

from veriformer.spec.laws.interface import EVERY_MODEL
from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.symmetry import SAMPLES
from veriformer.spec.operations.black_box import MODEL

PERMUTED_POSITIONS = Property(
    key="tokens.permutation",
    statement="A model that declares permutation equivariance gives reordered inputs results in the same new order.",
    formula="model(inputs[:, π]) = model(inputs)[:, π]",
    source="docs/interface.md, model_properties",
    reason="declared by the implementation: nothing is known of a black box",
)
DECLARED_CAUSAL = Property(
    key="causal.no_future_leak",
    statement="In a model that declares itself causal, no later input has any influence.",
    formula="model(inputs)[:, i] is the same for every inputs[:, j] with j > i",
    source="docs/interface.md, model_properties",
    reason="declared by the implementation: nothing is known of a black box",
)
CAUSAL_PREFIX = Property(
    key="causal.prefix",
    statement="In a model that declares itself causal, a cut at the end does not change the results before it.",
    formula="model(inputs[:, : l]) = model(inputs)[:, : l]",
    source="docs/interface.md, model_properties; what is generated token by token has been computed at other lengths",
    reason="declared by the implementation; some models look at the length on purpose, as with dynamic NTK frequencies",
    obligation="should",
)
BOX_CONTENT = Property(
    key="padding.content",
    statement="The contents of the padding have no influence on the rest.",
    formula="model(inputs; mask)[b, i], mask[b, i] True, is the same for every inputs[b, j] with mask[b, j] False",
    source="docs/interface.md, padding_mask",
    reason="the meaning of the keyword: nothing is known of a black box",
    features=("padding_mask",),
)
BOX_REMOVED = Property(
    key="padding.removed",
    statement="Each sample of a batch that is padded on the right is answered as alone, without its padding.",
    formula="model(pad(inputs); mask)[b, : l_b] = model(inputs_b)",
    source="docs/interface.md, padding_mask",
    reason="the meaning of the keyword: nothing is known of a black box",
    features=("padding_mask",),
)
BOX_LEFT = Property(
    key="padding.left",
    statement="The contents of left padding have no influence on the rest.",
    formula="model([pad; inputs]; mask)[b, i], mask[b, i] True, is the same for every pad",
    source="docs/interface.md, padding_mask; huggingface/sentence-transformers#3208: the first position is padding",
    reason="the meaning of the keyword: nothing is known of a black box",
    obligation="should",
    features=("padding_mask",),
)
NO_PADDING = Property(
    key="padding.all_real",
    statement="A padding mask that hides nothing equals no mask.",
    formula="model(inputs; mask = True everywhere) = model(inputs)",
    source="docs/interface.md, padding_mask",
    reason="the meaning of the keyword: nothing is known of a black box",
    features=("padding_mask",),
)
TOKEN_BY_TOKEN = Property(
    key="cache.tokens",
    statement="A sequence that is continued token by token, with a cache, gives the results of the whole sequence.",
    formula="model(inputs; parts = (l, 1, 1, …)) = model(inputs)",
    source="docs/interface.md, parts",
    reason="the meaning of the keyword: nothing is known of a black box",
    features=("parts",),
)
IN_PARTS = Property(
    key="cache.parts",
    statement="A sequence that is continued by several tokens at once, with a cache, gives the results of the whole.",
    formula="model(inputs; parts = (l, m)) = model(inputs), m > 1",
    source="docs/interface.md, parts; a model may be made for one token at a time",
    reason="the meaning of the keyword: nothing is known of a black box",
    obligation="should",
    features=("parts",),
)
GRADIENTS = Property(
    key="gradients.value",
    statement="The gradient of each parameter, and of vectors that are given, is the derivative of the results by it.",
    formula="⟨∇_θ ⟨c, model(inputs)⟩, d⟩ = (⟨c, model(inputs; θ + h d)⟩ − ⟨c, model(inputs; θ − h d)⟩) / 2h + O(h²)",
    source="docs/interface.md, cotangent; training follows the gradient",
    reason="the definition of a derivative: nothing is known of a black box",
    features=("cotangent",),
)
LOSS = Property(
    key="loss.value",
    statement="The loss for labels is the mean cross-entropy of the logits, at their own labels or at the next ones.",
    formula="model(inputs; labels) = mean_i (lse(z_i) − z_i[y_i]), z = model(inputs), y = labels or labels[:, 1:]",
    source="docs/interface.md, labels; Hugging Face's causal models shift the labels, nanoGPT does not",
    reason="the meaning of the keyword: the logits of a black box are known, and its loss follows from them",
    features=("labels",),
)
IGNORED_LABELS = Property(
    key="loss.ignored",
    statement="Positions whose label is ignored have no part in the loss, nor in what it is divided by.",
    formula="model(inputs; labels) = mean_{i: y_i ≠ −100} (lse(z_i) − z_i[y_i])",
    source="docs/interface.md, labels",
    reason="the meaning of the keyword: the logits of a black box are known, and its loss follows from them",
    features=("labels",),
)
OWN_ARGUMENTS = Property(
    key="batch.arguments",
    statement="Each sample is answered by what was handed over with it, such as its own time step or class.",
    formula="model(inputs[π]; samples = s[π]) = model(inputs; samples = s)[π], π some of the samples in another order",
    source="docs/interface.md, samples",
    reason="the meaning of the keyword: nothing is known of a black box",
    features=("samples",),
)

LAWS = state(
    (
        *EVERY_MODEL,
        *SAMPLES,
        OWN_ARGUMENTS,
        BOX_CONTENT,
        BOX_REMOVED,
        BOX_LEFT,
        NO_PADDING,
        TOKEN_BY_TOKEN,
        IN_PARTS,
        GRADIENTS,
        LOSS,
        IGNORED_LABELS,
        DECLARED_CAUSAL,
        CAUSAL_PREFIX,
        PERMUTED_POSITIONS,
    ),
    MODEL,
)
