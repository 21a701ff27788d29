"""Laws of the weights with which a model starts: what holds of every draw, and what chance allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt

import numpy as np
from veriformer import reference
from veriformer.conformance_tests.core.law import judges
from veriformer.conformance_tests.core.trial import Trial
from veriformer.conformance_tests.core.verdict import Verdict, compare, words
from veriformer.conformance_tests.drawing.arrays import Array
from veriformer.conformance_tests.operations.initialisation.arrays import (
    Arrays,
    heads_of,
    is_bias,
    is_table,
    name_of,
    projections,
    variance,
)
from veriformer.conformance_tests.operations.initialisation.cases import InitialSpace
from veriformer.conformance_tests.operations.initialisation.chance import (
    FALSE_ALARM,
    ROUNDED,
    Form,
    first_broken,
    largest_mean,
    mean_square,
    nothing_in_common,
    sum_of_forms,
)
from veriformer.conformance_tests.operations.initialisation.explaining import of_one_size
from veriformer.conformance_tests.operations.initialisation.inputs import InitialInputs
from veriformer.conformance_tests.operations.parts import worst

_INITIAL = ("initial_weights",)
_MANY = InitialSpace(many=True)
_NOT_FINITE = words("finite weights", "weights that are not finite", holds=False)


@judges("norms", space=InitialSpace(), operations=_INITIAL)
def norms(trial: Trial[InitialInputs]) -> Verdict:
    """Gains are ones, shifts zeros."""
    values = {"gamma": 1.0, "beta": 0.0}
    return worst(
        compare(np.full(array.shape, values[name_of(path)]), array, np.zeros(array.shape), note=path)
        for path, array in _weights(trial).items()
        if name_of(path) in values
    )


@judges("biases", space=_MANY, operations=_INITIAL)
def biases(trial: Trial[InitialInputs]) -> Verdict:
    """Biases are zeros, or none is larger than 1/√n_in, and all together are as large as uniform numbers are."""
    found = {path: array for path, array in _weights(trial).items() if is_bias(path)}
    if not found:
        return words("no bias", "no bias", holds=True)
    if trial.conventions["initial_bias"] == "zero":
        return worst(
            compare(np.zeros(array.shape), array, np.zeros(array.shape), note=path) for path, array in found.items()
        )
    config = trial.inputs.config
    scaled = {path: array * sqrt(reference.bias_inputs(name_of(path), config)) for path, array in found.items()}
    verdicts = [
        compare(np.clip(array, -1.0, 1.0), array, np.full(array.shape, ROUNDED), note=f"{path} times √n_in")
        for path, array in scaled.items()
    ]
    return first_broken([*verdicts, *_uniform(np.concatenate(list(scaled.values())))], "biases of up to 1/√n_in")


def _uniform(scaled: Array) -> Iterator[Verdict]:
    """Yield the verdicts on the mean and the mean square of uniform numbers from −1 to 1, which share the alarm."""
    half = FALSE_ALARM / 2.0
    yield _mean(scaled, 1.0 / 3.0, "all biases, each times √n_in,", half)
    within = mean_square(scaled.size, half).times(1.0 / 3.0)
    yield within.holds(float(np.square(scaled).mean()), "a mean square of all biases, each times √n_in,")


@judges("mean", space=_MANY, operations=_INITIAL)
def mean(trial: Trial[InitialInputs]) -> Verdict:
    """The mean of every projection, and of all together in units of their deviations, is zero within chance."""
    found = _scaled(trial)
    alarm = FALSE_ALARM / (len(found) + 1)
    everything = np.concatenate([array.ravel() for array in found.values()])
    verdicts = [_mean(array, 1.0, f"{path} by its deviation", alarm) for path, array in found.items()]
    return first_broken(
        [*verdicts, _mean(everything, 1.0, "all by their deviations", alarm)], "every mean within chance"
    )


def _mean(array: Array, expected: float, what: str, alarm: float) -> Verdict:
    largest, found = largest_mean(array.size, expected, alarm), float(array.mean())
    return words(f"a mean of {what} within ±{largest:.4g}", f"{found:.4g}", holds=abs(found) <= largest)


@judges("deviation", space=_MANY, operations=_INITIAL)
def deviation(trial: Trial[InitialInputs]) -> Verdict:
    """The mean square of every projection is the convention's variance, within chance; all share the alarm."""
    found, conventions = projections(_weights(trial)), trial.conventions
    alarm = FALSE_ALARM / max(len(found), 1)
    return first_broken(
        (
            mean_square(array.size, alarm)
            .times(variance(path, trial.inputs.config, conventions))
            .holds(float(np.square(array).mean()), f"a mean square of {path} {array.shape}")
            for path, array in found.items()
        ),
        "every mean square within chance",
    )


@judges("logits", space=_MANY, operations=_INITIAL)
def logits(trial: Trial[InitialInputs]) -> Verdict:
    """‖W_Q W_Kᵀ‖²/D, the variance of the logit of independent vectors of unit variance, of each key/value head with
    the heads that read it, and of all together.

    Chance has a part in W_Q, and given that in W_K: the two share the alarm.
    """
    weights, config = _weights(trial), trial.inputs.config
    if not all(np.isfinite(array).all() for array in weights.values()):
        return _NOT_FINITE
    layers = [f"layers.{number}.self_attention" for number in range(config.num_layers)]
    alarm = FALSE_ALARM / (len(layers) * (config.num_kv_heads + 1))
    return first_broken(
        (verdict for layer in layers for verdict in _logits(trial, weights, layer, alarm)),
        "the variance of every logit within chance",
    )


def _logits(trial: Trial[InitialInputs], weights: Arrays, layer: str, alarm: float) -> Iterator[Verdict]:
    config = trial.inputs.config
    expected, of_keys = (variance(f"{layer}.{name}", config, trial.conventions) for name in ("w_q", "w_k"))
    grouped, keys = _heads(weights[f"{layer}.w_q"], config), _heads(weights[f"{layer}.w_k"], config)
    forms, found = [], []
    for queries, key in zip(np.split(grouped, config.num_kv_heads), keys, strict=True):
        # Stacked, the heads that read one key are a matrix with a column for each component of that key.
        stacked = np.concatenate(list(queries))
        forms.append(Form.of(stacked, len(key), of_keys))
        found.append(float(np.square(stacked @ key.T).sum()))
    width, readers = config.d_model, config.num_heads // len(keys)
    single = [([place], f"key head {place}") for place in range(len(keys))]
    for places, name in [*single, ([*range(len(keys))], "all heads")]:
        heads, head_width = readers * len(places), width // config.num_heads
        within = mean_square(heads * width * head_width, alarm / 2.0)
        given = sum_of_forms([forms[place] for place in places], alarm / 2.0)
        of_logits = within.also(given).times(width * width * expected * of_keys)
        value = sum(found[place] for place in places) / (heads * head_width)
        yield of_logits.holds(value, f"a variance of the logits of {name} of {layer}, E = {width},")


def _heads(matrix: Array, config: reference.TransformerConfiguration) -> Array:
    """Return a projection as (heads, E, D)."""
    width = config.d_model // config.num_heads
    return matrix.reshape(len(matrix), -1, width).transpose(1, 0, 2)


@judges("depth", space=InitialSpace(deep=True), operations=_INITIAL)
def depth(trial: Trial[InitialInputs]) -> Verdict:
    """What all branches of all layers add to the variance of the stream: of a position that sees itself alone
    ‖W_V W_O‖²/E, and of hidden units of unit variance ‖W_2‖²/E. Where each layer has a variance of its own, what it
    adds is measured in that, and told as if it were that of the first.

    Chance has a part in W_V, given that in W_O, and in W_2: the three share the alarm.
    """
    weights, inputs, alarm = _weights(trial), trial.inputs, FALSE_ALARM / 3.0
    if not all(np.isfinite(array).all() for array in weights.values()):
        return _NOT_FINITE
    config = inputs.config
    by = {name: variance(f"layers.0.{name}", config, trial.conventions) for name in _names(config)}
    forms, attended, hidden = [], 0.0, 0.0
    for number in range(config.num_layers):
        values = _heads(weights[f"layers.{number}.self_attention.w_v"], config)
        spread = np.concatenate(list(np.repeat(values, config.num_heads // len(values), axis=0)), axis=1)
        output, last = (_as_if_first(weights, trial, number, name) for name in _names(config)[1:])
        forms.append(Form.of(spread, output.shape[1], by["self_attention.w_o"]))
        attended += float(np.square(spread @ output).sum()) / config.d_model
        hidden += float(np.square(last).sum()) / config.d_model
    of_values, of_output, of_network = (by[name] for name in _names(config))
    entries = config.num_layers * config.d_model * (config.d_model // config.num_heads) * config.num_kv_heads
    width = config.num_layers * config.d_model
    added = (
        mean_square(entries, alarm)
        .also(sum_of_forms(forms, alarm))
        .times(width * config.d_model * of_values * of_output)
    )
    of_hidden = mean_square(width * config.d_ff, alarm).times(config.num_layers * config.d_ff * of_network)
    layers = f"after {config.num_layers} layers"
    return first_broken(
        (
            added.holds(attended, f"a variance added by the attention {layers}"),
            of_hidden.holds(hidden, f"a variance added by the networks {layers}"),
        ),
        f"a variance of the stream {layers} of {1.0 + attended + hidden:.4g}",
    )


def _as_if_first(weights: Arrays, trial: Trial[InitialInputs], layer: int, name: str) -> Array:
    """Return a projection of a layer in the deviation that it would have in the first layer."""
    first, own = (variance(f"layers.{number}.{name}", trial.inputs.config, trial.conventions) for number in (0, layer))
    return weights[f"layers.{layer}.{name}"] * sqrt(first / own)


def _names(config: reference.TransformerConfiguration) -> tuple[str, str, str]:
    """Return the names of W_V, W_O and the last matrix of the network in a layer."""
    return "self_attention.w_v", "self_attention.w_o", f"feed_forward.{'w_down' if config.gated else 'w_2'}"


@judges("matrices.independent", space=InitialSpace(many=True, least_layers=2), operations=_INITIAL)
def independent(trial: Trial[InitialInputs]) -> Verdict:
    """Any two projections with equally many entries, of all layers, are independent; all pairs share the alarm."""
    found = _scaled(trial)
    groups = of_one_size(found)
    return first_broken(
        (_nothing_in_common(np.stack([found[path].ravel() for path in paths]), paths, len(groups)) for paths in groups),
        "no two projections with more in common than by chance",
    )


@judges("heads.independent", space=_MANY, operations=_INITIAL)
def heads_independent(trial: Trial[InitialInputs]) -> Verdict:
    """Any two heads of a layer, of queries, keys, values and outputs, are independent; all pairs share the alarm."""
    found, config = _scaled(trial), trial.inputs.config
    layers = (heads_of(number, found, config) for number in range(config.num_layers))
    return first_broken(
        (_nothing_in_common(np.stack(list(heads.values())), list(heads), config.num_layers) for heads in layers),
        "no two heads with more in common than by chance",
    )


@judges("rows.independent", space=_MANY, operations=_INITIAL)
def rows_independent(trial: Trial[InitialInputs]) -> Verdict:
    """Any two rows, and any two columns, of a projection are independent; all pairs share the alarm."""
    found = _scaled(trial)
    return first_broken(
        (
            _nothing_in_common(rows, [f"{kind} {number} of {path}" for number in range(len(rows))], 2 * len(found))
            for path, array in found.items()
            for kind, rows in (("row", array), ("column", array.T))
        ),
        "no two rows or columns with more in common than by chance",
    )


def _nothing_in_common(rows: Array, names: list[str], groups: int) -> Verdict:
    return nothing_in_common(rows, np.ones(len(rows)), names, FALSE_ALARM / groups)


@judges("tables", space=_MANY, operations=_INITIAL)
def tables(trial: Trial[InitialInputs]) -> Verdict:
    """The rows of each table have the mean 0, one variance, and nothing in common, whatever the variance is.

    That is known from the mean square of all entries, up to chance. A table of positions may be zero, and a row of
    embeddings: that of padding, as torch.nn.Embedding's with a padding_idx.
    """
    found = {path: array for path, array in _weights(trial).items() if is_table(path)}
    verdicts = (
        verdict
        for path, array in found.items()
        if array.any() or path == "embedding"
        for verdict in _table(path, _without_padding(array), FALSE_ALARM / len(found))
    )
    return first_broken(verdicts, "tables of independent rows")


def _without_padding(table: Array) -> Array:
    used = table.any(axis=1)
    return table[used] if int((~used).sum()) == 1 else table


def _table(path: str, table: Array, alarm: float) -> Iterator[Verdict]:
    """Yield the verdicts on a table: four statements share the alarm."""
    share = alarm / 4.0
    square, of_all = float(np.square(table).mean()), mean_square(table.size, share)
    if not square > 0.0 or of_all.least == 0.0:
        yield words(f"{path} with entries other than zero", f"a mean square of {square:.4g}", holds=square > 0.0)
        return
    # What was drawn has at most this variance, and at least that.
    largest, smallest = square / of_all.least, square / of_all.most
    yield _mean(table, largest, path, share)
    of_row = mean_square(table.shape[1], share / len(table))
    for number, row in enumerate(table):
        found = float(np.square(row).mean())
        least, most = of_row.least * smallest, of_row.most * largest
        what = f"a mean square of row {number} of {path} from {least:.4g} to {most:.4g}"
        yield words(what, f"{found:.4g}", holds=least <= found <= most)
    names = [f"row {number} of {path}" for number in range(len(table))]
    yield nothing_in_common(table, np.full(len(table), largest), names, share)


@judges("seed.other", space=_MANY, operations=_INITIAL)
def other_seed(trial: Trial[InitialInputs]) -> Verdict:
    """The projections of two seeds are independent; all share the alarm."""
    another = replace(trial.inputs, seed=trial.inputs.seed + int(trial.generator.integers(1, 1000)))
    one, other = _scaled(trial), _scaled(trial, another)
    return first_broken(
        (
            _nothing_in_common(
                np.stack([array.ravel(), other[path].ravel()]), [path, f"that of seed {another.seed}"], len(one)
            )
            for path, array in one.items()
        ),
        "other projections with another seed",
    )


def _weights(trial: Trial[InitialInputs], inputs: InitialInputs | None = None) -> Arrays:
    called = trial.inputs if inputs is None else inputs
    return called.arrays(trial.output(called))


def _scaled(trial: Trial[InitialInputs], inputs: InitialInputs | None = None) -> dict[str, Array]:
    """Return the projections, each divided by the deviation that the conventions give it."""
    config, conventions = trial.inputs.config, trial.conventions
    found = projections(_weights(trial, inputs))
    return {path: array / sqrt(variance(path, config, conventions)) for path, array in found.items()}
