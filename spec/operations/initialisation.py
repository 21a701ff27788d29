"""The weights with which a model starts."""

from __future__ import annotations

from veriformer.spec.operations.models import CONFIG
from veriformer.spec.operations.operation import Operation, Parameter

SOURCE = (
    "LeCun et al. 1998 (Efficient BackProp), section 4.6; Glorot & Bengio 2010, section 4.2.1; Radford et al. 2019, "
    "section 2.3"
)
INITIAL_WEIGHTS = Operation(
    name="initial_weights",
    prefix="initial_weights",
    summary="Draw the weights with which a language model or an encoder starts.",
    parameters=(
        CONFIG,
        Parameter("seed", "", "scalar", "keyword", "an integer from 0 on, which all random numbers are made from"),
    ),
    result="a record of all weights",
    formula="gains 1, shifts 0; entries of a projection independent, of mean 0 and variance σ²(n_in, n_out), "
    "1/n_in as standard; entries of a table independent, of mean 0 and one variance",
    source=SOURCE,
    conventions=("initial_deviation", "initial_residual", "initial_bias"),
    results=("weights",),
    keeps_results=False,
    records=(("weights", "config"),),
    random=True,
    place=45,
)

OPERATIONS = (INITIAL_WEIGHTS,)
