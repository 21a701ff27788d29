"""Attention sees queries and keys through their inner products only, and values component by component."""

from __future__ import annotations

from sympy import Expr, Function, sqrt
from veriformer.spec.derivations.context import Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Meaning, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import total
from veriformer.spec.derivations.formulas import array, attention, entry_of, index, scaled_score, size, up_to

S, d_k, d_v, d_out = size("S"), size("d_k"), size("d_v"), size("d_o")
KEYS, WIDTH = up_to(S), up_to(d_k)
i, j, e, first, second = index("i"), index("j"), index("e"), index("f"), index("g")
query, key, value, matrix, shift = array("Q"), array("K"), array("V"), array("A"), array("c")
reflected, keep = array("R"), array("B")
pi = Function("pi", integer=True)
RANGES = {i: KEYS, j: KEYS, e: up_to(d_out)}
CONTEXT = Context(ranges=RANGES, indicators=frozenset({keep}))
REORDERED = Context(ranges=RANGES, bijections={pi: WIDTH})
REFLECTED = Context(ranges=RANGES, indicators=frozenset({reflected}))
score = scaled_score(entry_of(query), entry_of(key), d_k)


def sign(component: Expr) -> Expr:
    """Return 1, or −1 where the component is reflected."""
    return 1 - 2 * reflected[component]


def mapped(place: Expr, component: Expr) -> Expr:
    """Return a component of the mapped value V A."""
    return total(lambda b: value[place, b] * matrix[b, component], "b", up_to(d_v))


BASIS = (
    Step(
        "Components of queries and keys in another order have the same inner products",
        scaled_score(lambda r, c: query[r, pi(c)], lambda m, c: key[m, pi(c)], d_k)(i, j),
        score(i, j),
        "It is a sum over all components, in another order.",
        context=REORDERED,
    ),
    Step(
        "Components reflected in both have the same inner products",
        scaled_score(lambda r, c: query[r, c] * sign(c), lambda m, c: key[m, c] * sign(c), d_k)(i, j),
        score(i, j),
        "Each product gains the factor 1 − 2R twice. Its square is 1, for R = 0 and for R = 1.",
        context=REFLECTED,
    ),
    Difference(
        "Reordering the components of one side alone changes the inner products",
        total(lambda c: query[1, c] * key[1, 3 - c], "c", up_to(2)),
        total(lambda c: query[1, c] * key[1, c], "c", up_to(2)),
        "Take the query (1, 0) and the key (0, 1), and exchange the components of the key.",
        example=World(
            arrays={(query, (1, 1)): 1, (query, (1, 2)): 0, (key, (1, 1)): 0, (key, (1, 2)): 1},
        ),
        values=("1", "0"),
        optional=True,
    ),
    Step(
        "One vector added to every key moves a row of scores by one number",
        scaled_score(entry_of(query), lambda m, c: key[m, c] + shift[c], d_k)(i, j) - score(i, j),
        total(lambda c: query[i, c] * shift[c], "c", WIDTH) / sqrt(d_k),
        "The difference does not depend on j, and softmax does not change under it: see the derivation of softmax.",
        context=CONTEXT,
    ),
)

VALUES = (
    Step(
        "A linear map of the values is one of the output",
        attention(score, mapped, KEYS, entry_of(keep))(i, e),
        total(lambda b: attention(score, entry_of(value), KEYS, entry_of(keep))(i, b) * matrix[b, e], "b", up_to(d_v)),
        "The weights do not depend on the component. A permutation of components is such a map.",
        context=CONTEXT,
    ),
)

DERIVATION = Derivation(
    id="inner_products",
    title="Attention sees queries and keys through their inner products only",
    opening=(
        "What does attention know of queries, keys and values? It sees queries and keys through their inner "
        "products only and treats every component of the values alike, so reordering or reflecting components must "
        "change nothing."
    ),
    see_also=(
        "rotary",
        "convex_hull",
    ),
    symbols=(
        Meaning((S,), "how many tokens there are"),
        Meaning((d_k, d_v, d_out), "the widths of a key, of a value, and of a mapped value"),
        Meaning((i, j), "the numbers of a query and of a key"),
        Meaning((e,), "the number of an output component"),
        Meaning((query, key, value), "queries, keys and values: one row for each"),
        Meaning((pi,), "a permutation of the components"),
        Meaning((reflected,), "1 where a component is reflected, 0 elsewhere"),
        Meaning((shift,), "a vector that is added to every key"),
        Meaning((matrix,), "a matrix by which values are mapped"),
        Meaning((keep,), "the mask: 1 where a query may attend to a key, 0 elsewhere"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("Scores are inner products of queries and keys, divided by √d_k.",),
    sources=(
        Source("Vaswani et al. 2017, Attention Is All You Need, section 3.2.1", comment="the scores are dot products"),
    ),
    steps=BASIS + VALUES,
    remarks=(
        "The same holds of every orthogonal map; signed permutations are those that every floating-point format "
        "represents exactly.",
        "A rotary embedding is a position-dependent orthogonal map, and the inner products do see it.",
    ),
)
