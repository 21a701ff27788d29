"""An attention sink is one key more whose value is zero: it takes weight and gives nothing."""

from __future__ import annotations

from sympy import Expr, Integer, exp, oo
from veriformer.spec.derivations.context import Block, Context
from veriformer.spec.derivations.derivation import Derivation, Difference, Limit, Meaning, Scope, Source, Step
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
        "The exponentials of the keys and their denominator differ by e^σ.",
        context=ROW,
    ),
    Step(
        "The keys share what is left as they would without the sink",
        beside_sink(j),
        (1 - exp(sink) / (exp(sink) + normaliser())) * weights(entry_of(x), KEYS)(j),
        "The ratios of the weights of keys do not change.",
        context=ROW,
        optional=True,
    ),
    Step(
        "So the output shrinks towards zero",
        output(e),
        (1 - exp(sink) / (exp(sink) + normaliser())) * _plain(e),
        "The factor is between 0 and 1: by the step before it multiplies every weight.",
        context=ROW,
        optional=True,
    ),
)

EXTREMES = (
    Limit(
        "A sink of −∞ has no effect",
        exp(logit) / (exp(sink) + exp(logit) + rest),
        exp(logit) / (exp(logit) + rest),
        "As σ → −∞, e^σ tends to 0 and disappears from the denominator.",
        variable=sink,
        point=-oo,
    ),
    Step(
        "A query that sees no key returns zero",
        output(e, entry_of(keep)),
        Integer(0),
        "The denominator is e^σ > 0. So the output is 0/e^σ = 0 and no convention is needed, as it is for 0/0.",
        context=HIDDEN,
    ),
    Difference(
        "Scaling the sink would give another weight",
        exp(scale * logit) / (exp(sink) + exp(scale * logit)),
        exp(scale * logit) / (exp(scale * sink) + exp(scale * logit)),
        "With z = 2, σ = 3 and the scale a = 2 the weights of the key are 0.73106 and 0.11920.",
        example=World(symbols={logit: 2, sink: 3, scale: 2}),
        values=("0.73106", "0.11920"),
        optional=True,
    ),
)

DERIVATION = Derivation(
    id="sinks",
    title="An attention sink is one key more whose value is zero",
    opening=(
        "What does an attention sink, one more logit in the denominator of softmax, do to an output? It acts as a "
        "key whose value is zero: a query may attend to nothing, its output shrinks towards zero, and a row without "
        "visible keys is well defined."
    ),
    see_also=(
        "windows",
        "online_softmax",
        "additions_backward",
    ),
    symbols=(
        Meaning((S,), "how many keys there are"),
        Meaning((j,), "the number of a key"),
        Meaning((e,), "the number of a component"),
        Meaning((d_v,), "the width of a value"),
        Meaning((x,), "the logits of a row"),
        Meaning((v,), "the values, one row for each key"),
        Meaning((sink,), "the logit of the sink"),
        Meaning((logit,), "the logit of one key"),
        Meaning((rest,), "the sum of the exponentials of the other keys, Z > 0"),
        Meaning((keep,), "the mask: 1 where the key is visible, 0 elsewhere"),
        Meaning((scale,), "a factor of the logits"),
    ),
    scope=Scope.SYMBOLIC,
    assumptions=("A row of S real logits x_1, …, x_S and a real logit σ, that of the sink.",),
    sources=(
        Source("OpenAI 2025, gpt-oss model card, section 2.2", comment="learned, in the denominator of the softmax"),
        Source("Miller 2023, Attention Is Off By One", comment="softmax plus one: σ = 0"),
    ),
    steps=SINK + EXTREMES,
)
