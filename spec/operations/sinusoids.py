"""Sinusoidal positions, which are added to tokens."""

from __future__ import annotations

from veriformer.spec.operations.operation import Operation, Parameter

SINUSOIDAL_POSITIONS = Operation(
    name="sinusoidal_positions",
    prefix="sinusoid",
    summary="Encode each position as the phases of d_model/2 clocks of geometrically spaced frequency.",
    parameters=(
        Parameter(
            "length",
            "",
            "scalar",
            "positional",
            "number of positions, counted from 0",
            also_called=(
                "maxlen seqlen npositions numpositions position positions n t maxlength seqlength maxseqlen l "
                "numpos npos maxpos"
            ),
        ),
        Parameter(
            "d_model",
            "",
            "scalar",
            "positional",
            "width, even",
            also_called=(
                "dim d embdim hiddensize embeddim depth demb nembd width e dmodel embeddingdim dims channels nhid"
            ),
        ),
    ),
    result="(length, d_model)",
    formula="PE[p, 2k] = sin(p ω_k), PE[p, 2k+1] = cos(p ω_k), ω_k = 10000^(−2k/d_model)",
    source="Vaswani et al. 2017, section 3.5",
    conventions=("sinusoidal_layout",),
    place=10,
    also_called=(
        "sinusoidalpositions positionalencoding positionencoding sinusoidalpositionalencoding "
        "sinusoidalencoding sinusoidalembedding sinusoidalembeddings positionalencodings sinusoidalpe "
        "sinusoidal posencoding posenc pe sinusoids positionembedding positionalembedding "
        "sinusoidalpositionembedding sinusoidalpositionembeddings sinusoidtable sinusoidencoding "
        "sinusoidencodingtable sinusoidaltable sinusoidalpositiontable positionaltable "
        "sinpe fixedpositions sinusoidalpositionencoding sincos sinusoid"
    ),
)

OPERATIONS = (SINUSOIDAL_POSITIONS,)
