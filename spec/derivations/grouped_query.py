"""Query head h = gγ + s reads key/value head g = ⌊h/γ⌋, where γ = H/G; heads are counted from 0."""

from __future__ import annotations

from sympy import Expr, Integer, KroneckerDelta, Symbol
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import Quotient, Range, Remainder, total
from veriformer.spec.derivations.formulas import Entries, array, attention, index, scaled_score, size, up_to
from veriformer.spec.derivations.provers import EUCLIDEAN_DIVISION


def natural(name: str) -> Symbol:
    """An integer ≥ 0."""
    return Symbol(name, integer=True, nonnegative=True)


groups, group_size, heads_count = size("G"), size("gamma"), size("H")
S, d_k, d_v, d_model = size("S"), size("d_k"), size("d_v"), size("d_model")
group, member, head = natural("g"), natural("s"), natural("h")
slack, more_slack = natural("t"), natural("u")
i, e, out = index("i"), index("e"), index("o")
query, key, value, w_output = array("Q"), array("K"), array("V"), array("W_O")
key_heads: Range = (Integer(0), groups - 1)
query_heads: Range = (Integer(0), groups * group_size - 1)

MEMBER_FITS = Context(parametrisation={group_size: member + 1 + slack})
READ = Quotient(group * group_size + member, group_size)
KNOWN = Context(ranges={i: up_to(S), e: up_to(d_v)}, facts={READ: group}, parametrisation=MEMBER_FITS.parametrisation)
PAIRS = Context(
    ranges={group: key_heads, i: up_to(S), out: up_to(d_model)}, pairings={query_heads: (groups, group_size)}
)


def head_attention(query_head: Entries, read: Expr) -> Entries:
    """Attention of one query head, given as (i, c) ↦ entry, with key/value head `read`."""
    score = scaled_score(query_head, lambda j, c: key[read, j, c], d_k)
    return attention(score, lambda j, c: value[read, j, c], up_to(S))


def grouped(h: Expr) -> Entries:
    """Query head h of grouped-query attention."""
    return head_attention(lambda row, c: query[h, row, c], Quotient(h, group_size))


def full_with_repeated(h: Expr, repeated: Entries) -> Entries:
    """Query head h of ordinary attention whose key/value head h is head `repeated(h)` of the grouped ones."""
    return head_attention(lambda row, c: query[h, row, c], repeated(h))


def summed_by_group(read_through: Expr) -> Expr:
    """The heads of one position, projected and added up; `read_through` is the flat number of the head."""
    g, s = Quotient(read_through, group_size), Remainder(read_through, group_size)
    return total(
        lambda c: value[g, i, c] * w_output[g, s, c, out],
        "c",
        up_to(d_v),
    )


READING = (
    Step(
        "The key/value head that is read",
        READ,
        group,
        "h = gγ + s with 0 ≤ s < γ is the division of h by γ with remainder; write γ = s + 1 + t.",
        EUCLIDEAN_DIVISION,
        MEMBER_FITS,
    ),
    Step(
        "The place within the group",
        Remainder(group * group_size + member, group_size),
        member,
        "The remainder of the same division: query heads and pairs (g, s) correspond one to one.",
        EUCLIDEAN_DIVISION,
        MEMBER_FITS,
        optional=True,
    ),
    Step(
        "Grouped attention is attention with each key/value head repeated γ times",
        grouped(group * group_size + member)(i, e),
        full_with_repeated(group * group_size + member, lambda h: group)(i, e),
        "Repeating each head γ times in a row puts head g at the places gγ, …, gγ + γ − 1. By the first step the "
        "query heads of these numbers read head g.",
        context=KNOWN,
    ),
    Step(
        "Every key/value head is read by γ query heads",
        total(lambda h: KroneckerDelta(Quotient(h, group_size), group), "h", query_heads),
        group_size,
        "Of the pairs (g', s), those with g' = g are γ in number.",
        context=PAIRS,
        optional=True,
    ),
    Step(
        "A sum over query heads is a sum over groups",
        total(summed_by_group, "h", query_heads),
        total(
            lambda g: total(
                lambda c: value[g, i, c] * total(lambda s: w_output[g, s, c, out], "s", (Integer(0), group_size - 1)),
                "c",
                up_to(d_v),
            ),
            "g",
            key_heads,
        ),
        "The value of a group is the same for all its members, so it can be taken out of the sum over them.",
        context=PAIRS,
        optional=True,
    ),
)

LIMITS = (
    Step(
        "One group (multi-query): every head reads head 0",
        Quotient(head, heads_count),
        Integer(0),
        "G = 1, γ = H and h < H: write H = h + 1 + t.",
        EUCLIDEAN_DIVISION,
        Context(parametrisation={heads_count: head + 1 + slack}),
    ),
    Step(
        "As many groups as heads: head h reads head h",
        Quotient(head, Integer(1)),
        head,
        "G = H and γ = 1: ordinary multi-head attention.",
        EUCLIDEAN_DIVISION,
    ),
)

TILING = (
    Step(
        "Tiling agrees for one group",
        Remainder(head, Integer(1)),
        Integer(0),
        "Tiling reads head h mod G. For G = 1 this is 0, as above.",
        EUCLIDEAN_DIVISION,
        optional=True,
    ),
    Step(
        "Tiling agrees for as many groups as heads",
        Remainder(head, heads_count),
        head,
        "For G = H and h < H this is h, as above.",
        EUCLIDEAN_DIVISION,
        Context(parametrisation={heads_count: head + 1 + slack}),
        optional=True,
    ),
    Step(
        "With fewer groups than heads query head 1 reads head 0",
        Quotient(Integer(1), group_size),
        Integer(0),
        "For G < H the groups have γ ≥ 2 members; write γ = 2 + t.",
        EUCLIDEAN_DIVISION,
        Context(parametrisation={group_size: 2 + slack}),
        optional=True,
    ),
    Step(
        "With tiling query head 1 reads head 1 instead",
        Remainder(Integer(1), groups),
        Integer(1),
        "For G ≥ 2, G = 2 + u. So tiling differs if and only if 1 < G < H.",
        EUCLIDEAN_DIVISION,
        Context(parametrisation={groups: 2 + more_slack}),
        optional=True,
    ),
    Difference(
        "Six query heads on three key/value heads",
        Remainder(head, groups),
        Quotient(head, group_size),
        "H = 6, G = 3, γ = 2: query head 4 reads head 1 when tiled and head 2 when repeated.",
        example=World(symbols={head: 4, groups: 3, group_size: 2}),
        values=("1", "2"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="grouped_query",
    title="Grouped-query attention is attention with repeated key/value heads",
    opening=(
        "Which key/value head does a query head read when several query heads share one? Implementations differ in "
        "whether they repeat each head in a row or tile the whole list, and only the first gives grouped-query "
        "attention."
    ),
    see_also=(
        "multi_head",
        "attention_backward",
    ),
    symbols=(
        Meaning((groups, heads_count), "how many key/value heads and how many query heads there are"),
        Meaning((group_size,), "how many query heads share a key/value head, H/G"),
        Meaning((S,), "how many tokens there are"),
        Meaning((d_k, d_v, d_model), "the widths of a key, of a value, and of an output"),
        Meaning(
            (group, member), "the number of a key/value head, and that of a query head within its group, both from 0"
        ),
        Meaning((head,), "the number of a query head, from 0"),
        Meaning((slack, more_slack), "whole numbers ≥ 0 by which something exceeds the least possible value"),
        Meaning((i,), "the number of a token"),
        Meaning((e, out), "numbers of components"),
        Meaning((query, key, value), "queries, keys and values: the first index is the head"),
        Meaning((w_output,), "the output matrix: the first two indices are the group and the member of a query head"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("H = Gγ query heads share G key/value heads in groups of γ.", "Heads are counted from 0."),
    sources=(
        Source(
            "Ainslie et al. 2023, GQA, section 2.2",
            "Grouped-query attention divides query heads into G groups, each of which shares a single key "
            "head and value head",
        ),
        Source(
            "Shazeer 2019, Fast Transformer Decoding, section 3",
            comment="multi-query attention: one key/value head (G = 1)",
        ),
    ),
    steps=READING + LIMITS + TILING,
    remarks=("Tests with G = 1 or G = H cannot tell repetition from tiling.",),
)
