"""Laws of training steps."""

from __future__ import annotations

from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.training import TRAINING_STEPS

DECOUPLED = "Loshchilov & Hutter 2019, algorithm 2"
_MODEL = ("gelu_form", "layer_norm_eps", "rms_norm_gain", "rotary_pairing")
_ALL = (*_MODEL, "adamw_eps", "adamw_decay", "decayed_weights")

LOSSES = Property(
    key="losses",
    statement="The loss of a step is that of its batch and of the weights before the step, averaged over all targets.",
    formula="loss_t = Σ_(b, i) −ln softmax(z_bi)[tokens_t[b, i + 1]] / #targets, z = language_model(tokens_t; w_(t−1))",
    source="Radford et al. 2018, section 3.1, equation 1",
    reason="the definition",
    conventions=_MODEL,
)
FIRST_STEP = Property(
    key="first_step",
    statement="The first step moves every weight as AdamW does, by the gradient of the loss of next tokens.",
    formula="w = adamw_step(w₀, ∂loss₁/∂w, 0, 0; step 1, η₁)",
    source=f"{DECOUPLED}; the chain rule",
    reason="the definition: a table that is tied moves once, by the gradients of both of its uses",
    conventions=_ALL,
)
LATER_STEP = Property(
    key="later_step",
    statement="After steps of rate 0 the next step moves the weights by the moments of the gradients of all batches.",
    formula="η₁ = … = η_(t−1) = 0: w = adamw_step(w₀, g_t, m, v; step t, η_t), m = (1 − β₁) Σ_s β₁^(t−1−s) g_s, "
    "v = (1 − β₂) Σ_s β₂^(t−1−s) g_s², s < t",
    source=f"{DECOUPLED}; Kingma & Ba 2015, section 3, equation 1",
    reason="the definition: a step takes the gradient of its own batch, its own rate and its own number, and the "
    "moments stay from step to step",
    conventions=_ALL,
)
EVERY_STEP = Property(
    key="every_step",
    statement="Each step leads on from where the steps before it have led.",
    formula="loss_t and w_t follow from w_(t−1) and the gradients g_1, …, g_t at w_0, …, w_(t−1)",
    source=DECOUPLED,
    reason="the definition, judged step by step from the weights that the implementation itself returns after fewer "
    "steps, so that no error has time to grow",
    conventions=_ALL,
)
RATE_ZERO = Property(
    key="rate.zero",
    statement="Steps of rate 0 without decay leave all weights as they were.",
    formula="η = 0, λ = 0: w_T = w₀",
    source=DECOUPLED,
    reason="the step is η times the update",
    conventions=_MODEL,
)
ORDER = Property(
    key="samples.order",
    statement="The order of a batch's samples has no influence.",
    formula="f(tokens[:, π]) = f(tokens)",
    source="a sum does not depend on the order of its terms",
    reason="the loss is a mean over the targets of all samples",
    conventions=_ALL,
)
MICRO_BATCHES = Property(
    key="micro_batches",
    statement="A batch in parts has the loss and the step of the whole, however many targets each part has.",
    formula="loss = Σ_p (n_p / n) loss_p, g = Σ_p (n_p / n) ∂loss_p/∂w, n_p the number of targets of part p",
    source="the mean over all targets is the weighed mean of the parts' means",
    derivation="cross_entropy",
    steps=("A mean is that of its parts, weighted by their numbers of targets",),
    features=("micro_batches",),
    conventions=_ALL,
)

LAWS = state((LOSSES, FIRST_STEP, LATER_STEP, EVERY_STEP, RATE_ZERO, ORDER, MICRO_BATCHES), TRAINING_STEPS)
