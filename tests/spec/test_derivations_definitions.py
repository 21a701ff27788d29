"""The formulas that derivations speak of are those of the reference: evaluated on numbers, both give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
from numpy.typing import NDArray
from sympy import Expr, Rational, Symbol, exp, sqrt
from veriformer import reference
from veriformer.spec.derivations import (
    alibi,
    attention_backward,
    causality,
    cross_entropy,
    decoding_cache,
    formulas,
    gated_activations,
    grouped_query,
    independence,
    layer_norm,
    masking,
    multi_head,
    online_softmax,
    permutation,
    rms_norm,
    rotary,
    sinks,
    sinusoid_relative_position,
    softcap,
    softmax,
    variance_scaling,
)
from veriformer.spec.derivations.evaluator import Evaluator, World

L, S, D, DV, E, H = 3, 4, 5, 2, 6, 3
RANDOM = np.random.default_rng(18)
QUERY, KEY, VALUE = RANDOM.normal(size=(L, D)), RANDOM.normal(size=(S, D)), RANDOM.normal(size=(S, DV))
GRAD, KEEP = RANDOM.normal(size=(L, DV)), np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 0]])
TOKENS, ROW = RANDOM.normal(size=(S, E)), RANDOM.normal(size=E)
Numbers = NDArray[np.float64]


def entries(base: Any, numbers: Any, first: int = 1) -> dict[Any, float]:
    """The entries of an array by their indices, which count from `first`."""
    numbers = np.asarray(numbers)
    places = {place: tuple(int(one) + first for one in place) for place in np.ndindex(numbers.shape)}
    return {(base, indices): numbers[place].item() for place, indices in places.items()}


def world(symbols: dict[Symbol, Any], *tables: dict[Any, float]) -> World:
    return World(symbols=dict(symbols), arrays={key: value for each in tables for key, value in each.items()})


def values(formula: Callable[..., Expr], given: World, shape: tuple[int, ...], first: int = 1) -> Numbers:
    """The formula at every place of an array of that shape."""
    result = np.empty(shape)
    for place in np.ndindex(shape):
        indices = [sympy.Integer(one + first) for one in place]
        result[place] = float(Evaluator(given.copy()).value(sympy.sympify(formula(*indices))))
    return result


def heads(*arrays: Numbers) -> list[Numbers]:
    return [array[None, None] for array in arrays]


def plain_attention(changed: Callable[[Expr], Expr] = lambda formula: formula) -> tuple[Numbers, Numbers]:
    """`formulas.attention`, from which every derivation takes its scale, beside the reference."""
    query, key, value = formulas.array("Q"), formulas.array("K"), formulas.array("V")
    score = formulas.scaled_score(formulas.entry_of(query), formulas.entry_of(key), formulas.size("d_k"))
    output = formulas.attention(score, formulas.entry_of(value), formulas.up_to(S))
    given = world({formulas.size("d_k"): D}, entries(query, QUERY), entries(key, KEY), entries(value, VALUE))
    right = reference.scaled_dot_product_attention(*heads(QUERY, KEY, VALUE))[0, 0]
    return values(lambda i, e: changed(output(i, e)), given, (L, DV)), right


def a_softmax() -> tuple[Numbers, Numbers]:
    given = world({softmax.n: E}, entries(softmax.x, ROW))
    return values(softmax.p, given, (E,)), reference.softmax(ROW)


def masked_weights() -> tuple[Numbers, Numbers]:
    given, logits = world({}, entries(formulas.array("x"), KEY[:, 0])), formulas.entry_of(formulas.array("x"))
    row = formulas.weights(logits, formulas.up_to(S), lambda m: 1 - sympy.KroneckerDelta(m, 3))
    expected = reference.softmax(np.where(np.arange(S) == 2, -np.inf, KEY[:, 0]))
    return values(row, given, (S,)), expected


def a_layer_norm() -> tuple[Numbers, Numbers]:
    given = world({layer_norm.d: E, layer_norm.epsilon: 0.1}, entries(layer_norm.x, ROW))
    own = values(lambda i: layer_norm.normalised(layer_norm.own, i), given, (E,))
    return own, reference.layer_norm(ROW, np.ones(E), np.zeros(E), eps=0.1)


def an_rms_norm() -> tuple[Numbers, Numbers]:
    given = world({rms_norm.d: E, rms_norm.epsilon: 0.1}, entries(rms_norm.x, ROW))
    own = values(lambda i: rms_norm.normalised(rms_norm.own, i), given, (E,))
    return own, reference.rms_norm(ROW, np.ones(E), eps=0.1)


def turned(entry: Callable[[Expr, Expr], Expr], pairing: Any) -> tuple[Numbers, Numbers]:
    frequencies = 10000.0 ** (-2 * np.arange(E // 2) / E)
    given = world({rotary.m: 3, rotary.pairs_count: E // 2}, entries(rotary.frequency, frequencies, first=0))
    matrix = values(entry, given, (E, E), first=0)
    right = reference.rotary_embedding(ROW[None, None, None], np.array([3]), pairing=pairing)
    return matrix @ ROW, right[0, 0, 0]


def turned_in_pairs() -> tuple[Numbers, Numbers]:
    frequencies = 10000.0 ** (-2 * np.arange(E // 2) / E)
    tables = entries(rotary.frequency, frequencies, first=0), entries(rotary.x, ROW.reshape(-1, 2), first=0)
    given = world({rotary.m: 3}, *tables)
    own = values(lambda k, s: rotary.turned(rotary.m, rotary.x, k)[int(s)], given, (E // 2, 2), first=0)
    right = reference.rotary_embedding(ROW[None, None, None], np.array([3]), pairing="interleaved")
    return own, right[0, 0, 0].reshape(-1, 2)


def an_inner_product() -> tuple[Numbers, Numbers]:
    frequencies = 10000.0 ** (-2 * np.arange(E // 2) / E)
    one, other = ROW, TOKENS[0]
    halves = [entries(base, row.reshape(-1, 2), first=0) for base, row in ((rotary.query, one), (rotary.key, other))]
    given = world({rotary.pairs_count: E // 2}, entries(rotary.frequency, frequencies, first=0), *halves)
    evaluator = Evaluator(given, definitions=(rotary.QUERY, rotary.KEY))
    own = evaluator.value(rotary.inner_product(sympy.Integer(3), sympy.Integer(7)))
    turned_rows = [reference.rotary_embedding(row[None, None, None], np.array([place]), pairing="interleaved")
                   for row, place in ((one, 3), (other, 7))]  # fmt: skip
    return np.array(own), (turned_rows[0] * turned_rows[1]).sum()


def sinusoids() -> tuple[Numbers, Numbers]:
    module = sinusoid_relative_position
    given = world({}, entries(module.frequency, 10000.0 ** (-2 * np.arange(E // 2) / E), first=0))

    def entry(position: Expr, place: Expr) -> Expr:
        return module.encoding(position)[int(place) % 2].xreplace({module.k: sympy.Integer(int(place) // 2)})

    return values(entry, given, (9, E), first=0), reference.sinusoidal_positions(9, E)


def an_activation(formula: Callable[[Expr], Expr], right: Callable[[Numbers], Numbers]) -> tuple[Numbers, Numbers]:
    argument = Symbol("a", real=True)
    own = [float(Evaluator(World(symbols={argument: one})).value(formula(argument))) for one in ROW]
    return np.array(own), right(ROW)


def tanh_gelu(argument: Expr) -> Expr:
    inner = sqrt(2 / sympy.pi) * (argument + Rational(44715, 1000000) * argument**3)
    return argument * (1 + gated_activations.hyperbolic_tangent(inner)) / 2


def a_loss(smoothing: float) -> tuple[Numbers, Numbers]:
    module = cross_entropy
    given = world({module.n: E, module.target: 2, module.share: smoothing}, entries(module.z, ROW))
    summands = values(lambda k: module.smoothed(k) * module.surprise(module.own, k), given, (E,))
    right = reference.cross_entropy(ROW[None, None], np.array([[1]]), label_smoothing=smoothing)
    return summands.sum(), right


def slopes_and_bias() -> tuple[Numbers, Numbers]:
    given = world({alibi.heads: 4})
    slopes = values(lambda h: alibi.head_slope(h), given, (4,), first=0)
    bias = [values(alibi.bias, world({alibi.slope: slope}), (S, S), first=0) for slope in slopes]
    return np.array(bias), reference.alibi_bias(4, S, S)


def merged() -> tuple[Numbers, Numbers]:
    module, numbers = online_softmax, {"a": 0.5, "b": -1.5, "alpha": 0.25, "beta": 1.75}
    pair = [module.MERGED.output, module.MERGED.lse]
    given = world({symbol: numbers[symbol.name] for part in (module.ONE, module.OTHER) for symbol in part})
    own = np.array([float(Evaluator(given.copy()).value(one)) for one in pair])
    parts = [np.array(numbers[name]).reshape(shape) for name, shape in
             (("a", (1, 1, 1, 1)), ("alpha", (1, 1, 1)), ("b", (1, 1, 1, 1)), ("beta", (1, 1, 1)))]  # fmt: skip
    return own, np.array([part.item() for part in reference.merge_attention(*parts)])


def beside_a_sink() -> tuple[Numbers, Numbers]:
    given = world({sinks.S: S, sinks.sink: 0.7}, entries(sinks.x, KEY[:, 0]), entries(sinks.v, VALUE))
    query, key = np.ones((1, 1)), KEY[:, :1]
    right = reference.scaled_dot_product_attention(*heads(query, key, VALUE), sinks=np.array([0.7]))
    return values(sinks.output, given, (DV,)), right[0, 0, 0]


def capped() -> tuple[Numbers, Numbers]:
    score, logit = QUERY @ KEY.T / np.sqrt(D), formulas.array("z")
    own = values(lambda i, j: softcap.capped(logit[i, j]), world({softcap.cap: 0.8}, entries(logit, score)), (L, S))
    weights = np.exp(own) / np.exp(own).sum(1, keepdims=True)
    return weights @ VALUE, reference.scaled_dot_product_attention(*heads(QUERY, KEY, VALUE), softcap=0.8)[0, 0]


def grouped() -> tuple[Numbers, Numbers]:
    module = grouped_query
    query, key, value = (RANDOM.normal(size=shape) for shape in ((4, L, D), (2, S, D), (2, S, DV)))
    given = World(symbols={module.d_k: D, module.S: S, module.group_size: 2})
    for base, numbers in ((module.query, query), (module.key, key), (module.value, value)):
        shifted = {(base, (h - 1, *rest)): number for (_, (h, *rest)), number in entries(base, numbers).items()}
        given.arrays.update(shifted)
    own = [[values(lambda e, h=h, i=i: module.grouped(sympy.Integer(h))(sympy.Integer(i + 1), e), given, (DV,))
            for i in range(L)] for h in range(4)]  # fmt: skip
    return np.array(own), reference.grouped_query_attention(query[None], key[None], value[None])[0]


def gradients() -> tuple[Numbers, Numbers]:
    module = attention_backward
    symbols = {module.L: L, module.S: S, module.d_k: D, module.d_v: DV, module.scale: 1 / np.sqrt(D)}
    tables = [entries(module.query, QUERY), entries(module.key, KEY), entries(module.value, VALUE)]
    given = world(symbols, *tables, entries(module.grad_output, GRAD), entries(module.keep, KEEP))
    own = [values(module.grad_query, given, (L, D)), values(module.grad_key, given, (S, D)),
           values(module.grad_value, given, (S, DV))]  # fmt: skip
    right = reference.scaled_dot_product_attention_backward(*heads(QUERY, KEY, VALUE, GRAD), mask=KEEP.astype(bool))
    return np.concatenate(own, axis=None), np.concatenate([part[0, 0] for part in right], axis=None)


DEFINITIONS: dict[str, Callable[[], tuple[Numbers, Numbers]]] = {
    "attention": plain_attention,
    "softmax": a_softmax,
    "masked softmax": masked_weights,
    "layer norm": a_layer_norm,
    "rms norm": an_rms_norm,
    "rotary, in pairs": turned_in_pairs,
    "rotary, inner product": an_inner_product,
    "rotary, interleaved": lambda: turned(rotary.interleaved_entry, "interleaved"),
    "rotary, halves": lambda: turned(rotary.half_entry, "half"),
    "sinusoids": sinusoids,
    "gelu": lambda: an_activation(gated_activations.gelu, reference.gelu),
    "gelu, tanh": lambda: an_activation(tanh_gelu, lambda x: reference.gelu(x, "tanh")),
    "silu": lambda: an_activation(
        lambda x: gated_activations.swish(x).xreplace({gated_activations.beta: sympy.Integer(1)}), reference.silu
    ),
    "cross-entropy": lambda: a_loss(0.0),
    "cross-entropy, smoothed": lambda: a_loss(0.1),
    "alibi": slopes_and_bias,
    "merging": merged,
    "sinks": beside_a_sink,
    "soft cap": capped,
    "grouped heads": grouped,
    "gradients of attention": gradients,
}


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_formula_of_a_derivation_is_that_of_the_reference(name: str) -> None:
    own, right = DEFINITIONS[name]()
    np.testing.assert_allclose(own, right, rtol=1e-10, atol=1e-12)


def test_a_scale_of_one_over_the_width_is_noticed() -> None:
    width = formulas.size("d_k")

    def over_the_width(formula: Expr) -> Expr:
        return formula.replace(
            lambda part: part.is_Pow and part.base == width, lambda part: part.base ** (2 * part.exp)
        )

    wrong, right = plain_attention(over_the_width)
    assert not np.allclose(wrong, right, rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "place", "wrong"),
    (
        ("layer norm", (layer_norm, "variance"), lambda vector: layer_norm.mean(lambda m: vector(m) ** 2)),
        ("rms norm", (rms_norm, "mean_square"), lambda vector: rms_norm.d * layer_norm.mean(lambda m: vector(m) ** 2)),
        ("silu", (gated_activations, "logistic"), lambda argument: 1 / (1 + exp(argument))),
        ("cross-entropy, smoothed", (cross_entropy, "smoothed"), cross_entropy.one_hot),
        ("alibi", (alibi, "head_slope"), lambda head: sympy.Integer(2) ** (-8 * head / alibi.heads)),
        ("soft cap", (softcap, "capped"), lambda logit: logit / softcap.cap),
    ),
)  # fmt: skip
def test_another_definition_is_noticed(
    name: str, place: tuple[Any, str], wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*place, wrong)
    own, right = DEFINITIONS[name]()
    assert not np.allclose(own, right, rtol=1e-3)


@pytest.mark.parametrize(
    "module", (independence, masking, causality, permutation, decoding_cache, multi_head, variance_scaling)
)
def test_the_scale_of_every_derivation_is_the_root_of_the_width(module: Any) -> None:
    """They take it from `formulas`, or divide by √d_k themselves: no other power of a width stands in a statement."""
    widths = {symbol for symbol in vars(module).values() if isinstance(symbol, Symbol) and symbol.name == "d_k"}
    powers = {
        power.exp
        for step in module.DERIVATION.steps
        for entry in step.proved_entries()
        for power in entry.atoms(sympy.Pow)
        if power.base in widths
    }
    assert powers & {Rational(-1, 2), Rational(1, 2)} or not powers
    assert -1 not in powers
