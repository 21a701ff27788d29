"""Attention over a union of key sets from the (output, log-sum-exp) pairs of its parts, however they are split."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from sympy import Expr, Integer, Symbol, exp, log, oo
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.definitions import Definition, written
from veriformer.spec.derivations.derivation import (
    Derivation,
    Difference,
    Inequality,
    Limit,
    Meaning,
    Scope,
    Source,
    Step,
)
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Range, total
from veriformer.spec.derivations.formulas import Entries, array, entry_of, index, real, size, up_to

first, second, S, parts, d_v = size("P"), size("R"), size("S"), size("N"), size("d_v")
i, e = index("i"), index("e")
score, value = array("s"), array("V")
member, other_member, part_of = array("A"), array("C"), array("C")
output, other_output, third_output = real("a"), real("b"), real("c")
lse, other_lse, third_lse = real("alpha"), real("beta"), real("gamma")
pivot, new_pivot, shift = real("m"), real("m'"), real("t")
KEYS, WHOLE, FIRST, SECOND = up_to(S), up_to(first + second), up_to(first), (first + 1, first + second)
VALUES = Context(ranges={e: up_to(d_v)})
SPLIT = Context(ranges={e: up_to(d_v)}, splits={WHOLE: first})
NEWEST = Context(ranges={e: up_to(d_v)}, splits={up_to(first + 1): first})


class Pair(NamedTuple):
    """The result of attention over a set of keys: its output and the log-sum-exp of its logits."""

    output: Expr
    lse: Expr


def everything(key: Expr) -> Expr:
    """The indicator of all keys."""
    return Integer(1)


def mass(keys: Range, keep: Entries = everything) -> Expr:
    """Σ_j keep(j) e^(s_j)."""
    return total(lambda j: keep(j) * exp(score[j]), "j", keys)


def weighted_values(keys: Range, keep: Entries = everything) -> Expr:
    """Σ_j keep(j) e^(s_j) V[j, e]."""
    return total(lambda j: keep(j) * exp(score[j]) * value[j, e], "j", keys)


def attended(keys: Range, keep: Entries = everything) -> Pair:
    """The pair of the keys that `keep` shows: attention over them, and λ = ln Σ e^(s_j)."""
    return Pair(weighted_values(keys, keep) / mass(keys, keep), log(mass(keys, keep)))


def merge(one: Pair, other: Pair) -> Pair:
    """((e^α a + e^β b)/(e^α + e^β), ln(e^α + e^β))."""
    weight, other_weight = exp(one.lse), exp(other.lse)
    both = weight + other_weight
    return Pair((weight * one.output + other_weight * other.output) / both, log(both))


def merge_relative(one: Pair, other: Pair, reference: Expr) -> Pair:
    """The same with all exponents taken relative to a reference value m, which is added to the log-sum-exp again."""
    merged = merge(Pair(one.output, one.lse - reference), Pair(other.output, other.lse - reference))
    return Pair(merged.output, reference + merged.lse)


def of_part(part: Expr) -> Pair:
    """The pair of the keys of one part, C[part, j] saying which they are."""
    return attended(KEYS, lambda j: part_of[part, j])


def relative_mass(keys: Range, reference: Expr) -> Expr:
    """Σ_j e^(s_j − m)."""
    return total(lambda j: exp(score[j] - reference), "j", keys)


def relative_values(keys: Range, reference: Expr) -> Expr:
    """Σ_j e^(s_j − m) V[j, e]."""
    return total(lambda j: exp(score[j] - reference) * value[j, e], "j", keys)


ONE, OTHER, THIRD = Pair(output, lse), Pair(other_output, other_lse), Pair(third_output, third_lse)
MERGED = merge(ONE, OTHER)
LATER = merge(OTHER, THIRD)
of_first, of_second, of_all = real("lambda_1"), real("lambda_2"), real("lambda")
LSE_FIRST = Definition(of_first, lambda: attended(FIRST).lse)
LSE_SECOND = Definition(of_second, lambda: attended(SECOND).lse)
LSE_ALL = Definition(of_all, lambda: attended(WHOLE).lse)
merged_output, merged_lse = real("o_1"), real("lambda_1")
later_output, later_lse = real("o_2"), real("lambda_2")
FIRST_TWO = (Definition(merged_output, lambda: MERGED.output), Definition(merged_lse, lambda: MERGED.lse))
LAST_TWO = (Definition(later_output, lambda: LATER.output), Definition(later_lse, lambda: LATER.lse))

UNION = (
    Step(
        "Two parts: the output",
        merge(attended(FIRST), attended(SECOND)).output,
        attended(WHOLE).output,
        "The numerators of the parts add up, and so do the denominators. For a part with the output a and the "
        "log-sum-exp α they are e^α a and e^α. The right-hand side does not depend on where the keys are split.",
        context=SPLIT,
    ),
    Step(
        "Two parts: the log-sum-exp",
        exp(merge(Pair(output, of_first), Pair(other_output, of_second)).lse),
        exp(of_all),
        "A sum over all keys is the sum over the first part plus the sum over the second.",
        context=SPLIT,
        where=(LSE_FIRST, LSE_SECOND, LSE_ALL),
        optional=True,
    ),
    Step(
        "Any two sets of keys, adjacent or not: the output",
        merge(attended(KEYS, entry_of(member)), attended(KEYS, entry_of(other_member))).output,
        attended(KEYS, lambda j: member[j] + other_member[j]).output,
        "A key that belongs to both parts would count twice, so the parts must be disjoint.",
        context=VALUES,
    ),
    Step(
        "Any number of parts at once",
        total(lambda p: exp(of_part(p).lse) * of_part(p).output, "p", up_to(parts))
        / total(lambda p: exp(of_part(p).lse), "p", up_to(parts)),
        attended(KEYS, lambda j: total(lambda p: part_of[p, j], "p", up_to(parts))).output,
        "If every key belongs to one part, the C_pj of a key sum to 1 over the parts p, and the right-hand side is "
        "attention over all keys.",
        context=VALUES,
        optional=True,
    ),
)

STREAM = (
    Step(
        "A single key is the pair of its value and its logit: the output",
        attended((first + 1, first + 1)).output,
        value[first + 1, e],
        "Its weight is 1.",
        context=VALUES,
        optional=True,
    ),
    Step(
        "One more key: the output",
        merge(attended(FIRST), Pair(value[first + 1, e], score[first + 1])).output,
        attended(up_to(first + 1)).output,
        "By induction attention over any number of keys is computed from one key at a time.",
        context=NEWEST,
        optional=True,
    ),
    Step(
        "One more key: the log-sum-exp",
        exp(merge(Pair(output, of_first), Pair(value[first + 1, e], score[first + 1])).lse),
        exp(of_all),
        "The sum grows by one term.",
        context=NEWEST,
        where=(LSE_FIRST, Definition(of_all, lambda: attended(up_to(first + 1)).lse)),
        optional=True,
    ),
    Step(
        "A running denominator, moved to another reference value",
        exp(pivot - new_pivot) * relative_mass(FIRST, pivot) + exp(score[first + 1] - new_pivot),
        relative_mass(up_to(first + 1), new_pivot),
        "The recurrence of online softmax: e^(m − m') brings the old sum from any m to a new reference value m', "
        "such as the larger maximum.",
        context=NEWEST,
        optional=True,
    ),
    Step(
        "A running numerator, moved to another reference value",
        exp(pivot - new_pivot) * relative_values(FIRST, pivot)
        + exp(score[first + 1] - new_pivot) * value[first + 1, e],
        relative_values(up_to(first + 1), new_pivot),
        "The same for the sum of the values. The quotient of the two sums is the output: e^(−m') cancels.",
        context=NEWEST,
        optional=True,
    ),
)

ALGEBRA = (
    Step(
        "Merging is commutative: the output",
        written(lambda: merge(ONE, OTHER).output),
        written(lambda: merge(OTHER, ONE).output),
        "The order of a sum does not matter.",
    ),
    Step(
        "Merging is commutative: the log-sum-exp",
        written(lambda: exp(merge(ONE, OTHER).lse)),
        written(lambda: exp(merge(OTHER, ONE).lse)),
        "The order of a sum does not matter.",
    ),
    Step(
        "Merging is associative: the output",
        merge(Pair(merged_output, merged_lse), THIRD).output,
        merge(ONE, Pair(later_output, later_lse)).output,
        "Both are (e^α a + e^β b + e^γ c)/(e^α + e^β + e^γ).",
        where=(*FIRST_TWO, *LAST_TWO),
    ),
    Step(
        "Merging is associative: the log-sum-exp",
        exp(merge(Pair(merged_output, merged_lse), THIRD).lse),
        exp(merge(ONE, Pair(later_output, later_lse)).lse),
        "Both are e^α + e^β + e^γ.",
        where=(FIRST_TWO[1], LAST_TWO[1]),
    ),
    Step(
        "A part merged with itself: the output",
        written(lambda: merge(ONE, ONE).output),
        output,
        "So merging is no union of sets that overlap.",
        optional=True,
    ),
    Step(
        "A part merged with itself: the log-sum-exp",
        written(lambda: exp(merge(ONE, ONE).lse)),
        written(lambda: exp(lse + log(2))),
        "Every key counts twice.",
    ),
)

EMPTY = (
    Limit(
        "An empty part changes no output",
        MERGED.output,
        output,
        "The log-sum-exp of no keys is −∞, its mass e^β is 0; its output b may be any number.",
        variable=other_lse,
        point=-oo,
    ),
    Limit(
        "An empty part changes no log-sum-exp",
        MERGED.lse,
        lse,
        "So merging with the output 0 and the log-sum-exp −∞ changes nothing.",
        variable=other_lse,
        point=-oo,
    ),
    Step(
        "Two empty parts have no output",
        merge(ONE, Pair(other_output, lse + shift)).output,
        (output + exp(shift) * other_output) / (1 + exp(shift)),
        "Let both log-sum-exps tend to −∞ at the fixed distance t. The output depends on t but not on α: it is 0/0 in "
        "the end. That the merged part has the output 0 and the log-sum-exp −∞ is a convention: the one that keeps "
        "merging associative.",
        optional=True,
    ),
)

lead = Symbol("t", nonnegative=True)

NUMERICS = (
    Step(
        "The reference value cancels: the output",
        merge_relative(ONE, OTHER, pivot).output,
        MERGED.output,
        "Subtracting the larger of the two log-sum-exps is exact, as subtracting the maximum is in softmax.",
    ),
    Step(
        "The reference value cancels: the log-sum-exp",
        written(lambda: exp(merge_relative(ONE, OTHER, pivot).lse)),
        written(lambda: exp(merge(ONE, OTHER).lse)),
        "Adding m outside of the logarithm undoes subtracting it from both exponents.",
        optional=True,
    ),
    Inequality(
        "With the larger one subtracted nothing overflows",
        Integer(2),
        1 + exp(-lead),
        "Subtract the larger log-sum-exp α. For β = α − t with t ≥ 0 the two weights are 1 and e^(−t), whose sum is "
        "at most 2.",
        certificate=1 - exp(-lead),
    ),
    Inequality(
        "The divisor is never 0",
        1 + exp(-lead),
        Integer(1),
        "One of the two weights is 1.",
        certificate=exp(-lead),
        optional=True,
    ),
    Step(
        "A constant added to all logits leaves the output",
        merge(Pair(output, lse + shift), Pair(other_output, other_lse + shift)).output,
        MERGED.output,
        "Both numerator and denominator gain the factor e^t, which cancels.",
    ),
    Step(
        "A constant added to all logits is added to the log-sum-exp",
        written(lambda: exp(merge(Pair(output, lse + shift), Pair(other_output, other_lse + shift)).lse)),
        written(lambda: exp(merge(ONE, OTHER).lse + shift)),
        "Every exponential gains the factor e^t, and so does their sum.",
    ),
    Step(
        "Only the difference of the log-sum-exps matters to the output",
        MERGED.output,
        other_output + (output - other_output) / (1 + exp(other_lse - lse)),
        "The output lies between those of the parts; the first has the weight 1/(1 + e^(β−α)).",
    ),
    Difference(
        "The mean of the outputs is not the merged output",
        MERGED.output,
        (output + other_output) / 2,
        "Outputs 5 and 2, log-sum-exps 1.1 and 0: the merged output is 4.2508, the mean 3.5.",
        example=World(symbols={output: 5, other_output: 2, lse: Fraction(11, 10), other_lse: 0}),
        values=("4.2508", "3.5"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="online_softmax",
    title="Attention can be merged from the parts of its keys, in any order and grouping",
    opening=(
        "Can attention be computed from parts of its keys, without seeing all logits at once? Yes: each part needs "
        "to keep only its output and one number, which is what makes FlashAttention, split caches and attention "
        "over several devices possible."
    ),
    see_also=(
        "softmax",
        "sinks",
        "merging_backward",
    ),
    symbols=(
        Meaning((first, second), "how many keys the first and the second part have"),
        Meaning((S,), "how many keys there are in all"),
        Meaning((parts,), "how many parts there are"),
        Meaning((score,), "the logits of the keys"),
        Meaning((value,), "the values, one row for each key"),
        Meaning((e,), "the number of a component"),
        Meaning((d_v,), "the width of a value"),
        Meaning(
            (member, other_member),
            "which keys belong to two parts: 1 for those that do, 0 for the others; C with two indices has the part "
            "first",
        ),
        Meaning(
            (output, other_output, third_output),
            "the outputs of three parts: Σ e^(s_j) V_j / Σ e^(s_j) over the keys of the part",
        ),
        Meaning((lse, other_lse, third_lse), "their log-sum-exps: ln Σ e^(s_j) over the keys of the part"),
        Meaning((of_all,), "the log-sum-exp of all keys that a step names; λ_1 and λ_2 are those of its parts"),
        Meaning((pivot, new_pivot), "reference values, which are subtracted from the logits"),
        Meaning((shift,), "a real number: a constant added to logits, or a difference of two log-sum-exps"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=(
        "Logits s_j are real; a part is not empty unless a step says so; logarithms are natural.",
        "The steps are about one query and one component of its output.",
    ),
    sources=(
        Source(
            "Milakov & Gimelshein 2018, Online normalizer calculation for softmax, section 3",
            comment="the running maximum and denominator, and their merging",
        ),
        Source(
            "Dao et al. 2022, FlashAttention, section 3.1",
            comment="softmax of concatenated blocks from the statistics of each",
        ),
    ),
    steps=UNION + STREAM + ALGEBRA + EMPTY + NUMERICS,
    remarks=(
        "e^x = e^y only if x = y, so that a step about e^λ is one about λ.",
        "Associativity and commutativity make the result the same for every order and grouping of any number of parts.",
        "In the coordinates (e^α a, e^α) merging is addition, and an empty part is (0, 0): hence the rules.",
    ),
)
