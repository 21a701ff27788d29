"""Laws of dropout, which hold whatever the mask of an implementation is.

Laws about chance accuse a correct implementation in one of 10¹² calls at most.
"""

from __future__ import annotations

from dataclasses import replace

from veriformer.spec.laws.interface import RESULT_KEPT
from veriformer.spec.laws.law import Property, state
from veriformer.spec.operations.dropout import DROPOUT

MASK = "Srivastava et al. 2014, section 4: each unit is retained with a fixed probability independent of other units"
FACTOR = "Srivastava et al. 2014, section 10: activations are scaled in training, so that nothing is left to do at test"
INTERFACE = "the interface of an implementation under test (docs/interface.md)"
_AVERAGE = "On average an entry stays as it is"
_SEED = "part of the interface: all random numbers come from the seed"
_AGREEMENT = ("How often two masks agree", "How often two entries of one mask agree")

VALUE = Property(
    key="value",
    statement="In training each entry is zero, or the entry of x divided by 1 − p.",
    formula="y_i ∈ {0, x_i / (1 − p)}",
    source=f"{MASK}; {FACTOR}",
    derivation="dropout",
    steps=(_AVERAGE,),
)
EVALUATION = Property(
    key="evaluation",
    statement="In evaluation the result is x itself, to the last bit.",
    formula="y = x",
    source=FACTOR,
    derivation="dropout",
    steps=(_AVERAGE,),
    features=("training",),
)
TRAINING_AGAIN = Property(
    key="evaluation.training_again",
    statement="Training after an evaluation drops about the share p of many entries, as training before it does.",
    formula="#{i: f(x)_i = 0} ~ B(n, p) after f(x, training=False), x_i ≠ 0",
    source=INTERFACE,
    reason="a function of its arguments by definition; only the program can break it",
    features=("training",),
)
NOTHING_DROPPED = Property(
    key="rate.zero",
    statement="At rate zero nothing is dropped: the result is x itself, to the last bit.",
    formula="p = 0: y = x",
    source=MASK,
    reason="the definition: an entry is dropped with probability 0, and the others are divided by 1",
)
SHARE = Property(
    key="share",
    statement="Of many entries about the share p is dropped, no more and no fewer than chance allows.",
    formula="#{i: y_i = 0} ~ B(n, p), x_i ≠ 0",
    source=MASK,
    derivation="dropout",
    steps=("How many entries are dropped on average", "The variance of the number of dropped entries"),
)
NEIGHBOURS = Property(
    key="mask.neighbours",
    statement="Neighbouring entries, along any axis, are kept independently of each other.",
    formula="#{pairs i, i + 1: m_i = m_i+1} ~ B(pairs, 1 − 2p(1 − p))",
    source=MASK,
    derivation="dropout",
    steps=_AGREEMENT[1:],
)
NOTHING_SHARED = Property(
    key="mask.shared",
    statement="No two samples, rows or columns have the same mask, or opposite ones.",
    formula="#{j: m_ij = m_kj} ~ B(entries, 1 − 2p(1 − p)), i ≠ k, along each axis",
    source=MASK,
    derivation="dropout",
    steps=_AGREEMENT[1:],
)
OF_SEED = Property(
    key="seed.same",
    statement="With the same seed the same entries are dropped, whatever the values of x are.",
    formula="y_i(x) = 0 ⇔ y_i(x′) = 0, x_i, x′_i ≠ 0",
    source=INTERFACE,
    reason=_SEED,
)
OTHER_SEED = Property(
    key="seed.other",
    statement="With another seed other entries are dropped, independently of those before.",
    formula="#{i: m_i = m′_i} ~ B(n, 1 − 2p(1 − p))",
    source=INTERFACE,
    derivation="dropout",
    steps=_AGREEMENT[:1],
)
MULTIPLE = Property(
    key="multiple",
    statement="A multiple of x has that multiple of the result.",
    formula="f(c x) = c f(x), c a power of two or the negative of one",
    source=MASK,
    derivation="dropout",
    steps=("The result is linear in a factor of the entries",),
)
RESULT_KEPT_IN_TRAINING = replace(
    RESULT_KEPT,
    statement="In training a result does not change when its arguments are overwritten and the call is repeated.",
)
OF_DROPOUT = (
    RESULT_KEPT_IN_TRAINING,
    VALUE,
    EVALUATION,
    TRAINING_AGAIN,
    NOTHING_DROPPED,
    SHARE,
    NEIGHBOURS,
    NOTHING_SHARED,
    OF_SEED,
    OTHER_SEED,
    MULTIPLE,
)

LAWS = state(OF_DROPOUT, DROPOUT)
