"""The operation that turns tokens into vectors."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

TOKEN_EMBEDDING = Operation(
    name="token_embedding",
    prefix="embedding",
    summary="Look up the vector of each token.",
    parameters=(
        Parameter(
            "tokens",
            "(B, L)",
            "int",
            "positional",
            "numbers 0 to N − 1",
            also_called="ids tokenids inputids x idx indices input inputs t toks",
        ),
        Parameter(
            "table",
            "(N, E)",
            "float",
            "positional",
            "one row for each word of the vocabulary",
            also_called="weight embedding embeddings emb wte e w matrix embeddingmatrix params weights wordembeddings",
        ),
        Parameter("scale_by_sqrt_d_model", "", "flag", "feature", "multiply by √E; False by default"),
    ),
    result="(B, L, E)",
    formula="y[b, i] = table[tokens[b, i]], times √E where scaled",
    source="Vaswani et al. 2017, section 3.4; Phuong & Hutter 2022, algorithm 1",
    place=15,
    also_called=(
        "tokenembedding embed embedding embeddinglookup lookup embedtokens wordembedding tokenembed embedlookup"
    ),
)

OPERATIONS = (TOKEN_EMBEDDING,)
