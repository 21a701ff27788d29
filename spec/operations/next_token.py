"""The training loss of a language model, which shifts its tokens itself."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

NEXT_TOKEN_LOSS = Operation(
    name="next_token_loss",
    prefix="next_token_loss",
    summary="Average how improbable the model found each next token.",
    parameters=(
        Parameter("logits", "(B, L, N)", "float", "positional", "one row for each token, not yet normalised; L ≥ 2"),
        Parameter(
            "tokens",
            "(B, L)",
            "int",
            "positional",
            "the tokens that the model read, not shifted",
            also_called="labels label inputids ids tokenids idx targets input",
        ),
        Parameter(
            "ignore_index",
            "",
            "scalar",
            "feature",
            "targets of this value are ignored; −100 by default",
            also_called="padid padidx paddingidx padtokenid ignoreidx ignore pad",
        ),
    ),
    result="scalar",
    formula="Σ_kept ℓ / number of kept targets, ℓ_bi = −ln softmax(logits_bi)_t, t = tokens_b,i+1, i < L − 1",
    source="Radford et al. 2018, equation 1; Goodfellow, Bengio & Courville 2016, section 6.2.2.3",
    place=30,
    also_called="nexttokenloss causallmloss forcausallmloss lmloss shiftedcrossentropy nexttoken nexttokencrossentropy",
)

OPERATIONS = (NEXT_TOKEN_LOSS,)
