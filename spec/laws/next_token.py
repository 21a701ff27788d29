"""Laws of the loss of next tokens."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.laws.softmax import LARGE_LOGITS
from veriformer.spec.operations.next_token import NEXT_TOKEN_LOSS

NEXT_TOKENS = "Radford et al. 2018, equation 1: each token given those before it"
SOFTMAX_LOSS = "Goodfellow, Bengio & Courville 2016, section 6.2.2.3"
INTERFACE = "the interface of an implementation under test (docs/interface.md): mean over targets that are not ignored"
_NEITHER = "no term of the definition has it: the last target is the last token, the first one is the second"

VALUE = Property(
    key="value",
    statement="The loss is the mean negative logarithm of the probability that the logits at a token give to the next.",
    formula="f(z, x) = (1 / B (L − 1)) Σ_b Σ_(i < L − 1) (ln Σ_k e^(z_bik) − z_bit), t = x_b,i+1",
    source=NEXT_TOKENS,
    reason="the definition: the cross entropy of logits[:, :-1] and tokens[:, 1:]",
)
FIRST_TOKEN = Property(
    key="tokens.first",
    statement="The first token of a row is no target: another one, or one that is ignored, changes nothing.",
    formula="f(z, x) does not depend on x_b,0",
    source=NEXT_TOKENS,
    reason=_NEITHER,
)
LAST_LOGITS = Property(
    key="logits.last",
    statement="The logits at the last token of a row change nothing, because no token follows.",
    formula="∂f/∂z_b,L−1,k = 0",
    source=NEXT_TOKENS,
    reason=_NEITHER,
)
SHIFT = Property(
    key="shift",
    statement="Adding one number to all logits of a position changes nothing.",
    formula="f(z + c 1ᵀ, x) = f(z, x), c one number for each position",
    source=f"{SOFTMAX_LOSS}: softmax is invariant to adding the same scalar to all of its inputs",
    derivation="cross_entropy",
    steps=("Adding a constant to all logits changes nothing",),
)
UNIFORM = Property(
    key="uniform",
    statement="Equal logits cost the logarithm of the number of classes.",
    formula="z_bik = c_bi: f(z, x) = ln N",
    source="an even distribution over N classes gives each the probability 1/N",
    derivation="cross_entropy",
    steps=("Equal logits cost ln n",),
)
LEAD = Property(
    key="lead",
    statement="A model that is sure of every next token, by a lead of g, pays almost nothing.",
    formula="z_bi = g one-hot(x_b,i+1): f(z, x) = ln(1 + (N − 1) e^(−g))",
    source=NEXT_TOKENS,
    derivation="cross_entropy",
    steps=("A target that leads equal rivals by g",),
)
SAMPLES = Property(
    key="batch.permutation",
    statement="The order of the rows does not matter.",
    formula="f(z[π], x[π]) = f(z, x), π a permutation of the batch",
    source="a sum does not depend on the order of its terms",
    derivation="cross_entropy",
    steps=("The order of the positions does not matter",),
)
COPIES = Property(
    key="batch.copies",
    statement="A row twice costs what it costs alone: no token of one row is a target of another.",
    formula="f([z, z], [x, x]) = f(z, x)",
    source=NEXT_TOKENS,
    derivation="cross_entropy",
    steps=("A mean is that of its parts, weighted by their numbers of targets",),
)
MICRO_BATCHES = Property(
    key="micro_batches",
    statement="The loss of a batch is the mean of those of its parts, weighted by their numbers of targets that count.",
    formula="f(z, x) = Σ_p n_p f(z_p, x_p) / Σ_p n_p, n_p the number of kept targets of part p",
    source="one mean over all targets, not a mean of means",
    derivation="cross_entropy",
    steps=("A mean is that of its parts, weighted by their numbers of targets",),
)
CLASSES = Property(
    key="classes.permutation",
    statement="Renumbering the classes of both logits and tokens changes nothing.",
    formula="f(z P, π(x)) = f(z, x)",
    source="a sum does not depend on the order of its terms",
    derivation="cross_entropy",
    steps=("Renumbering the classes changes nothing",),
)
IGNORE_VALUE = Property(
    key="ignore.value",
    statement="A target that is ignored counts neither in the sum nor in the number that divides it.",
    formula="f(z, x; ignore_index = j) = Σ_(t ≠ j) ℓ_bi / #{b, i : t ≠ j}, t = x_b,i+1",
    source=INTERFACE,
    reason="the definition of the parameter: it is about targets, which are the tokens but for each row's first",
    features=("ignore_index",),
)
IGNORE_NO_INFLUENCE = Property(
    key="ignore.no_influence",
    statement="The logits at a token whose next one is ignored change nothing.",
    formula="x_b,i+1 = j: ∂f(z, x; ignore_index = j) / ∂z_bik = 0",
    source=INTERFACE,
    derivation="cross_entropy",
    steps=("An ignored position contributes nothing",),
    features=("ignore_index",),
)

NEXT_TOKEN_LAWS = (
    VALUE,
    LARGE_LOGITS,
    FIRST_TOKEN,
    LAST_LOGITS,
    SHIFT,
    UNIFORM,
    LEAD,
    SAMPLES,
    COPIES,
    MICRO_BATCHES,
    CLASSES,
    IGNORE_VALUE,
    IGNORE_NO_INFLUENCE,
)

LAWS = state(NEXT_TOKEN_LAWS, NEXT_TOKEN_LOSS)
