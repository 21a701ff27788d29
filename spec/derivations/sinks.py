"""An attention sink is one key more whose value is zero: it takes weight and gives nothing."""

from __future__ import annotations

from sympy import Expr, Integer, exp, oo
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Limit, Scope, Source, Step
from veriformer.spec.derivations.evaluator import World
from veriformer.spec.derivations.expressions import total
from veriformer.spec.derivations.formulas import (
    ONE,
    Entries,
    array,
    attention,
    entry_of,
    index,
    positive,
    real,
    size,
    up_to,
    weights,
)

S, d_v = size("S"), size("d_v")
KEYS, WITH_SINK = up_to(S), up_to(S + 1)
i, j, e = index("i"), index("j"), index("e")
x, v, keep = array("x"), array("v"), array("B")
sink, logit, rest, scale = real("sigma"), real("z"), positive("Z"), positive("a")
RANGES = {j: KEYS, e: up_to(d_v)}
ROW = Context(ranges=RANGES)
EXTENDED = Context(ranges=RANGES, splits={WITH_SINK: S}, facts={x[S + 1]: sink, v[S + 1, e]: Integer(0)})
HIDDEN = Context(ranges=RANGES, indicators=frozenset({keep}), blocks=(Block(keep, (KEYS,), 0),))


def every(key_index: Expr) -> Expr:
    """1: every key is seen."""
    return ONE


def normaliser(shown: Entries = every) -> Expr:
    """Return the sum of the exponentials of the keys that are seen, the sink's left out."""
    return total(lambda m: shown(m) * exp(x[m]), "l", KEYS)


def beside_sink(place: Expr) -> Expr:
    """The weight of a key where there is a sink."""
    return exp(x[place]) / (exp(sink) + normaliser())


def output(component: Expr, shown: Entries = every) -> Expr:
    """The output where there is a sink."""
    return total(lambda m: shown(m) * exp(x[m]) * v[m, component], "j", KEYS) / (exp(sink) + normaliser(shown))


def _plain(component: Expr) -> Expr:
    return attention(lambda row, m: x[m], entry_of(v), KEYS)(i, component)


SINK = (
    Step(
        "A sink is one key more, of logit σ and value zero",
        attention(lambda row, m: x[m], entry_of(v), WITH_SINK)(i, e),
        output(e),
        "Split the sums at S: the last term adds e^σ to the denominator and e^σ · 0 to the numerator.",
        context=EXTENDED,
    ),
    Step(
        "The weights of the keys sum to one minus the sink's",
        total(beside_sink, "j", KEYS),
        1 - exp(sink) / (exp(sink) + normaliser()),
        "Numerator and denominator differ by e^σ.",
        context=ROW,
    ),
    Step(
        "The keys share what is left as they would without the sink",
        beside_sink(j),
        (1 - exp(sink) / (exp(sink) + normaliser())) * weights(entry_of(x), KEYS)(j),
        "The ratios of the weights of keys do not change.",
        context=ROW,
    ),
    Step(
        "So the output shrinks towards zero",
        output(e),
        (1 - exp(sink) / (exp(sink) + normaliser())) * _plain(e),
        "It is the merge of the attention over the keys with a part of value 0 and logarithm σ.",
        context=ROW,
    ),
)

EXTREMES = (
    Limit(
        "A sink of −∞ is none",
        exp(logit) / (exp(sink) + exp(logit) + rest),
        exp(logit) / (exp(logit) + rest),
        "Z > 0 is the sum over the other keys.",
        variable=sink,
        point=-oo,
    ),
    Step(
        "A query that sees no key returns zero",
        output(e, entry_of(keep)),
        Integer(0),
        "The denominator is e^σ > 0, so that there is nothing to define: 0/e^σ, not 0/0.",
        context=HIDDEN,
    ),
    Difference(
        "Scaling the sink would be another weight",
        exp(scale * logit) / (exp(sink) + exp(scale * logit)),
        exp(scale * logit) / (exp(scale * sink) + exp(scale * logit)),
        "z = 2, σ = 3, scale 2: 0.73106 and 0.11920.",
        example=World(symbols={logit: 2, sink: 3, scale: 2}),
        values=("0.73106", "0.11920"),
    ),
)

DERIVATION = Derivation(
    id="sinks",
    title="An attention sink is one key more whose value is zero",
    scope=Scope.SYMBOLIC,
    assumptions=("A row of S real logits x_1, …, x_S and a real logit σ, that of the sink.",),
    sources=(
        Source("OpenAI 2025, gpt-oss model card, section 2.2", comment="learned, in the denominator of the softmax"),
        Source("Miller 2023, Attention Is Off By One", comment="softmax plus one: σ = 0"),
    ),
    steps=SINK + EXTREMES,
)
