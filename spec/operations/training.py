"""Training a language model: steps of AdamW on the loss of next tokens."""

from __future__ import annotations

from veriformer.spec.operations.models import CONFIG, LANGUAGE_MODEL, WEIGHTS
from veriformer.spec.operations.operation import Operation, Parameter

TRAINING_STEPS = Operation(
    name="training_steps",
    prefix="training_steps",
    summary="Train a language model by AdamW, each step on the next tokens of a batch of its own.",
    parameters=(
        Parameter("tokens", "(T, B, L)", "int", "positional", "numbers of tokens, a batch for each step"),
        WEIGHTS,
        CONFIG,
        Parameter("learning_rates", "(T,)", "scalar", "keyword", "η of each step, a tuple of numbers"),
        Parameter("beta1", "", "scalar", "keyword", "β₁, the share of the first moment that stays"),
        Parameter("beta2", "", "scalar", "keyword", "β₂, the share of the second moment that stays"),
        Parameter("eps", "", "scalar", "keyword", "ε, added to the root of the second moment"),
        Parameter("weight_decay", "", "scalar", "keyword", "λ, of the weights that decay"),
        Parameter("ignore_index", "", "scalar", "feature", "a token that is read, and is no target"),
        Parameter(
            "micro_batches", "", "scalar", "feature", "in how many parts of as many samples each batch is processed"
        ),
    ),
    result="(T,), a record of the trained weights",
    formula="loss_t = next_token_loss(language_model(tokens_t; w), tokens_t), g = ∂loss_t/∂w, "
    "w, m, v ← adamw_step(w, g, m, v; step t, learning_rates_t), m = v = 0 before step 1, "
    "with a weight_decay of 0 for weights that are spared",
    source="Vaswani et al. 2017, section 5; Loshchilov & Hutter 2019, algorithm 2; Radford et al. 2018, section 3.1",
    conventions=(*LANGUAGE_MODEL.conventions, "adamw_eps", "adamw_decay", "decayed_weights"),
    results=("losses", "weights"),
    keeps_results=False,
    records=(("weights", "weights"),),
    place=44,
)

OPERATIONS = (TRAINING_STEPS,)
