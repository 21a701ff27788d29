"""What is special to some operations: forms of their own, what a function may lack, and the values of features."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching import alibi, held, losses, reductions
from veriformer.adapters.matching.forms import LEFT_OUT, Form, Source
from veriformer.adapters.matching.layouts import Arguments
from veriformer.adapters.matching.names import folded, is_called
from veriformer.adapters.matching.namespaces import broadcast, negated, shape_of
from veriformer.adapters.matching.places import FARTHEST
from veriformer.adapters.matching.probes import Probe, drawn_argument, is_near
from veriformer.adapters.matching.sources import BASE, KEYS, QUERIES, Taken
from veriformer.adapters.matching.texts import reads, says_result_hides
from veriformer.adapters.matching.trying import Trials
from veriformer.spec.operations import OPERATIONS

TableOf = Callable[[Arguments], "list[np.ndarray]"]
"""The tables that a function makes for all positions up to the last of a call: one, or cosines and sines."""
Forms = Callable[[Form, Taken, ArrayFramework], Iterator[Form]]
MAY_BE_MISSING: Mapping[str, frozenset[str]] = {
    "layer_norm": frozenset({"gamma", "beta", "eps"}),
    "rms_norm": frozenset({"gamma", "eps"}),
    "feed_forward": frozenset({"activation"}),
    "gated_feed_forward": frozenset({"activation"}),
    "multi_head_attention": frozenset({"context"}),
    "causal_mask": frozenset({"key_length"}),
    "alibi_bias": frozenset({"query_length", "key_length"}),
}
# What the positions are called that a table of sinusoids is made of.
_PLACES = ("position", "positions", "positionids", "pos", "t", "timesteps", "timestep", "times", "n")
# A name that a function gives its table of cosines or sines.
_COS, _SIN = ("cos", "costable", "cosines", "freqscos", "cosemb"), ("sin", "sintable", "sines", "freqssin", "sinemb")

# What the frequencies are called that a rotation is given.
_RATES = ("invfreq", "invfreqs", "inversefreq", "inversefreqs", "inversefrequencies", "frequencies", "thetas")
# A name that a function gives its table of angles; some call it frequencies.
_ANGLES = ("angles", "angle", "phases", "phase", "rotangles", "rotaryangles", "freqs", "rotaryfreqs", "rotaryemb")
# A name that a function gives its table of both: complex numbers, or cosines and sines side by side.
_COMPLEX = (
    *("freqscis", "freqs", "cis", "freqcis", "freqscomplex", "freqscislocal"),
    *("cache", "ropecache", "rotarycache", "ropetable", "rotarytable", "cossin", "cossintable", "cossincache"),
)


def limited(operation: str, form: Form, found: Taken) -> Form:
    """Return a form with what its function lacks: a norm's gain and eps, a projection's biases, a context."""
    lacking, limits = set(found.missing), list(form.limitations)
    if "eps" in lacking:
        limits.append(f"{operation}.eps")
    if "context" in lacking:
        limits.append(f"{operation}.context")
    if operation == "multi_head_attention":
        limits.append(f"{operation}.value_width")
    if operation in ("feed_forward", "multi_head_attention") and not any(
        role.startswith("weights.b_") for role in found.roles.values()
    ):
        limits.append(f"{operation}.biases")
    words = tuple(f"without {name}" for name in ("gamma", "beta") if name in lacking)
    return replace(form, limitations=tuple(limits), after=_gain(lacking), words=(*form.words, *words))


def _gain(lacking: set[str]) -> Callable[[Any, Arguments], Any]:
    def after(result: Any, arguments: Arguments) -> Any:
        if "gamma" in lacking and "gamma" in arguments:
            # A root mean square alone is a number, of which the product with a gain is a vector.
            if len(shape_of(result)) < len(shape_of(arguments["gamma"])):
                raise ValueError(f"its result has the shape {shape_of(result)}")
            result = result * arguments["gamma"]
        return result + arguments["beta"] if "beta" in lacking and "beta" in arguments else result

    return after


def value_of(operation: str, feature: str, probe: Probe) -> Any:
    """Return a value to try a feature with; None for what needs none."""
    parameter = OPERATIONS[operation].parameter(feature)
    if parameter.kind == "scalar" or parameter.name == "window":
        return drawn_argument(parameter, {}, np.random.default_rng(0))
    if parameter.kind == "flag":
        return True
    if feature == "bias" and "query" in probe.arguments:
        query, key = probe.arguments["query"].shape, probe.arguments["key"].shape
        return np.random.default_rng(1).standard_normal((*query[:3], key[2]))
    return None


def drawn_mask(lengths: Mapping[str, int]) -> np.ndarray:
    """Return a mask that differs between samples, heads and rows; each row sees the first key and not the last."""
    mask = np.random.default_rng(2).random([lengths[name] for name in "BHLS"]) < 0.6
    mask[..., 0], mask[..., -1] = True, False
    return mask


def _masks(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of a function that makes a mask: a causal one of one length or two, of each kind of mask."""
    del framework
    square = "key_length" in found.missing
    limits = (*form.limitations, *(("causal_mask.unequal_lengths",) if square else ()))
    for words, visible in _KINDS_OF_MASK:
        after = _square(visible) if square else visible
        yield replace(form, after=after, limitations=limits, words=(words,))


def _square(visible: Callable[[Any, Arguments], Any]) -> Callable[[Any, Arguments], Any]:
    def after(result: Any, arguments: Arguments) -> Any:
        if arguments["query_length"] != arguments["key_length"]:
            raise ValueError("the function takes one length: there are as many queries as keys")
        return visible(result, arguments)

    return after


def _is_truth(result: Any) -> bool:
    return "bool" in str(getattr(result, "dtype", ""))


def _truths(result: Any, _: Arguments) -> Any:
    return result if _is_truth(result) else result == 1


def _opposite(result: Any, _: Arguments) -> Any:
    return negated(result) if _is_truth(result) else result == 0


def _added(result: Any, _: Arguments) -> Any:
    if _is_truth(result):
        raise ValueError("the mask is not added")
    return result > -1.0


# What is added has zeros where keys are visible: it is asked before what hides where it is not zero.
_KINDS_OF_MASK = (
    ("True or 1 may be attended", _truths),
    ("added, −∞ is hidden", _added),
    ("True or 1 is hidden", _opposite),
)


def is_contradicted(form: Form, function: Callable[..., Any]) -> bool:
    """Return whether documentation says the opposite of what a form makes of a mask: then a wrong mask is wrong.

    So is a sum of losses, where nothing calls it one.
    """
    if reductions.is_contradicted(form, function):
        return True
    kinds = [after for words, after in _KINDS_OF_MASK if words in form.words and after is not _added]
    if form.operation not in ("causal_mask", "padding_mask") or not kinds:
        return False
    hides = says_result_hides(function)
    return hides is not None and hides != (kinds[0] is _opposite)


OF_TENSOR2TENSOR = (
    "its frequencies are 10000^(−i/(D/2 − 1)), as those of tensor2tensor, fairseq and Whisper; the laws are of "
    "10000^(−2i/D)"
)


def is_of_tensor2tensor(trials: Trials, form: Form, probe: Probe) -> bool:
    """Return whether sines and cosines are those whose frequencies end at 1/10000, which no law is about."""
    if form.operation != "sinusoidal_positions":
        return False
    length, width = (int(probe.arguments[name]) for name in ("length", "d_model"))
    result = trials.result(form, probe)
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(width // 2) / max(width // 2 - 1, 1))
    sines, cosines = np.sin(angles), np.cos(angles)
    tables = (np.concatenate([sines, cosines], 1), np.stack([sines, cosines], -1).reshape(length, -1))
    return result is not None and any(is_near(result, one) for one in tables)


def exchanged(form: Form, found: Taken) -> Iterator[Form]:
    """Yield the form of a gated network in which the other matrix of the two is the gate.

    Where a name says which one is, the other is a mistake.
    """
    roles = {role: name for name, role in found.roles.items()}
    gate, up = roles.get("weights.w_gate"), roles.get("weights.w_up")
    if gate is not None and up is not None and not any("gate" in one or "up" in one for one in (gate, up)):
        sources = {**form.sources, gate: form.sources[up], up: form.sources[gate]}
        yield replace(form, sources=sources, words=(*form.words, f"`{up}` is the gate"))


_OF_NORMS: Mapping[str, str] = {
    "gamma": "gamma g gain scale weight w",
    "beta": "beta b bias shift offset",
}


def with_held_parameters(form: Form, found: Taken) -> Iterator[Form]:
    """Yield the form of a norm whose gain and shift come in a dictionary, by each name that people give them."""
    names = [one for one in found.needed if folded(one) in (*held.NAMES, "ln", "norm", "ps")]
    role = next((found.roles.get(one, "") for one in names), "")
    if form.operation not in ("layer_norm", "rms_norm") or len(names) != 1 or role in ("x", "eps"):
        return

    def of(arguments: Arguments) -> Any:
        given = {role: arguments[role] for role in _OF_NORMS if role in arguments}
        return {name: value for role, value in given.items() for name in _OF_NORMS[role].split()}

    known = {*found.missing, role} & {*_OF_NORMS}
    lacking = tuple(one for one in found.missing if one not in known)
    words = (f"`{names[0]}`: a dictionary",)
    yield limited(
        form.operation,
        replace(form, sources={**form.sources, names[0]: of}, words=words),
        replace(found, missing=lacking),
    )


def takes_tables(found: Taken) -> bool:
    """Return whether a function is given tables of cosines and sines."""
    return not {*_COS, *_SIN, *_COMPLEX, *_ANGLES}.isdisjoint(_folded(found.sources))


def rotates_by_tables(names: Iterable[str]) -> bool:
    """Return whether parameters of these names are a table of cosines and one of sines, as a rotation takes them."""
    known = _folded(names)
    return not (known.keys().isdisjoint(_COS) or known.keys().isdisjoint(_SIN))


def _folded(names: Iterable[str]) -> dict[str, str]:
    return {folded(name): name for name in names}


def without_unread_places(found: Taken, function: Callable[..., Any]) -> Taken:
    """Return what the parameters of a rotation by tables are given, without positions that it takes and never reads.

    Hugging Face's functions have kept `position_ids` so, "deprecated and unused": their tables are those of the rows.
    """
    places = named_places(found)
    if places is None or places in found.needed or not takes_tables(found) or reads(function, places):
        return found
    roles = {name: role for name, role in found.roles.items() if name != places}
    sources = {**found.sources, places: lambda _: LEFT_OUT}
    return replace(found, roles=roles, sources=sources, missing=(*found.missing, "positions"))


def _rotary(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of a rotation: by positions, by tables of cosines and sines, or by the place of each row."""
    form = _with_rates(_with_keys(form), framework)
    cos, sin, table = _named_tables(form)
    if cos is not None and sin is not None:
        places = named_places(found)
        if places is not None:
            yield from _by_tables_and_places(form, cos, sin, places, framework)
        if places is None or places not in found.needed:
            for one in _by_tables(_without(form, places), cos, sin, framework):
                yield replace(one, last_resort=places is not None)
    elif table is not None and framework.name in ("torch", "jax", "numpy"):
        yield _by_complex_table(form, table, framework)
        yield _by_table_of_both(form, table, framework)
        yield from _by_angles(form, framework)
    elif not _folded(form.sources).keys().isdisjoint(_ANGLES):
        yield from _by_angles(form, framework)
    else:
        yield form
        places = named_places(found)
        if places is not None:
            words = (*form.words, f"`{places}`: (B, L)")
            yield replace(form, sources={**form.sources, places: _places_of_samples}, words=words)


def tables_in(form: Form) -> list[str]:
    """Return the parameters that are given tables."""
    return [name for name in _named_tables(form) if name is not None]


def _named_tables(form: Form) -> list[str | None]:
    """Return the parameters that are called as tables: of cosines, of sines, and of complex numbers."""
    names = _folded(form.sources)
    return [next((names[one] for one in those if one in names), None) for those in (_COS, _SIN, _COMPLEX)]


def named_places(found: Taken) -> str | None:
    """Return the parameter that is called as positions are."""
    record = OPERATIONS["rotary_embedding"].parameter("positions")
    return next((name for name, role in found.roles.items() if role == "positions" and is_called(name, record)), None)


def _by_tables(form: Form, cos: str, sin: str, framework: ArrayFramework) -> Iterator[Form]:
    for kind, words in (
        ("joined", "(L, D), halves alike"),
        ("half", "(L, D/2)"),
        ("repeated", "(L, D), pairs alike"),
    ):
        for axes in (2, 4, 3):
            sources = {
                **form.sources,
                cos: _table(np.cos, kind, axes, framework),
                sin: _table(np.sin, kind, axes, framework),
            }
            features = tuple(dict.fromkeys((*form.features, "base")))
            yield replace(form, sources=sources, features=features, words=(f"tables {words}",))


def _by_angles(form: Form, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of a rotation by a table of angles, position times frequency, of which it takes both."""
    names = _folded(form.sources)
    angles = next((names[one] for one in _ANGLES if one in names), None)
    if angles is None:
        return
    sources = _with_pairs_side_by_side(form)
    features = tuple(dict.fromkeys((*form.features, "base")))
    for kind, words in (("half", "(L, D/2)"), ("joined", "(L, D), halves alike"), ("repeated", "(L, D), pairs alike")):
        for axes in (2, 4, 3):
            table = _table(lambda given: given, kind, axes, framework)
            yield replace(form, sources={**sources, angles: table}, features=features, words=(f"angles {words}",))


def by_given_tables(form: Form, tables: TableOf, framework: ArrayFramework) -> Iterator[Form]:
    """Yield a form that takes tables with those of another function instead, for each number of axes that they have."""
    cos, sin, table = _named_tables(form)
    wanted = [name for name in (cos, sin) if name is not None] or [name for name in (table,) if name is not None]
    # A rotation that takes positions looks them up itself.
    looks_up = any(isinstance(one, partial) and one.func is _places_of_rows for one in form.sources.values())

    def of(number: int, axes: int, *, both: bool = False) -> Source:
        def source(arguments: Arguments) -> Any:
            made = tables(arguments)
            if len(made) != len(wanted):
                raise ValueError(f"the function makes {len(made)} tables, and {len(wanted)} are taken")
            rows = made[number] if looks_up else made[number][framework.to_numpy(arguments["positions"])]
            return _given(rows.reshape(*rows.shape[:-1], -1, 2) if both else _with_axes(rows, axes), framework)

        return source

    for axes in (2, 4, 3) if table is None else (2,):
        yield replace(form, sources={**form.sources, **{name: of(at, axes) for at, name in enumerate(wanted)}})
    if wanted == [table]:
        yield replace(form, sources={**form.sources, wanted[0]: of(0, 2, both=True)})


def _given(table: np.ndarray, framework: ArrayFramework) -> Any:
    """Return a table as an array of a framework, which may be of complex numbers."""
    if table.dtype.kind != "c":
        return framework.from_numpy(table.astype(np.float64), "float32")
    if framework.name == "torch":
        return sys.modules["torch"].from_numpy(table)
    return framework.from_numpy(table.real.astype(np.float64), "float32") + 1j * framework.from_numpy(
        table.imag.astype(np.float64), "float32"
    )


def _by_tables_and_places(form: Form, cos: str, sin: str, places: str, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of a rotation that looks up the positions of its rows in tables of all positions."""
    for shape, axes in (("(B, L)", 2), ("(L,)", 1)):
        given = replace(form, sources={**form.sources, places: partial(_places_of_rows, axes)})
        for one in _by_tables(given, cos, sin, framework):
            tables = {name: partial(_of_all_places, one.sources[name], framework) for name in (cos, sin)}
            yield replace(
                one, sources={**one.sources, **tables}, words=(*one.words, f"`{places}`: {shape}, places in them")
            )


def _places_of_rows(axes: int, arguments: Arguments) -> Any:
    positions = arguments["positions"]
    return positions if len(shape_of(positions)) == axes else positions[None]


def _places_of_samples(arguments: Arguments) -> Any:
    """Return the positions of each sample, which may be those of all."""
    positions, samples = arguments["positions"], shape_of(arguments["x"])[0]
    shape = shape_of(positions)
    return positions if len(shape) == 2 else broadcast(positions, (samples, *shape))


def _of_all_places(table: Source, framework: ArrayFramework, arguments: Arguments) -> Any:
    """Return a table of every position up to the last of a call; ValueError where that is too many."""
    positions = framework.to_numpy(arguments["positions"])
    if positions.size and (positions.max() > FARTHEST or positions.min() < 0):
        raise ValueError(f"positions are places in a table here, at most {FARTHEST}")
    rows = framework.from_numpy(np.arange(int(positions.max(initial=0)) + 1))
    return table({**arguments, "positions": rows})


def _without(form: Form, parameter: str | None) -> Form:
    """Return the form in which a parameter is left out."""
    return form if parameter is None else replace(form, sources={**form.sources, parameter: lambda _: LEFT_OUT})


def _by_complex_table(form: Form, table: str, framework: ArrayFramework) -> Form:
    """Return the form of a rotation that multiplies pairs by complex numbers of a table (L, D/2)."""
    cos, sin = (_table(one, "half", 2, framework) for one in (np.cos, np.sin))

    def of(arguments: Arguments) -> Any:
        real, imaginary = cos(arguments), sin(arguments)
        if framework.name == "torch":
            return sys.modules["torch"].complex(real, imaginary)
        return real + 1j * imaginary

    sources = {**_with_pairs_side_by_side(form), table: of}
    features = tuple(dict.fromkeys((*form.features, "base")))
    return replace(form, sources=sources, features=features, words=("table of complex numbers (L, D/2)",))


def _by_table_of_both(form: Form, table: str, framework: ArrayFramework) -> Form:
    """Return the form of a rotation by a table (L, D/2, 2) of cosines and sines side by side."""
    both = [_table(one, "half", 2, framework) for one in (np.cos, np.sin)]

    def of(arguments: Arguments) -> Any:
        cos, sin = (framework.to_numpy(one(arguments)) for one in both)
        return framework.from_numpy(np.stack([cos, sin], axis=-1), "float32")

    features = tuple(dict.fromkeys((*form.features, "base")))
    sources = {**form.sources, table: of}
    return replace(form, sources=sources, features=features, words=("table (L, D/2, 2) of cosines and sines",))


def _with_pairs_side_by_side(form: Form) -> dict[str, Source]:
    """Return the sources of a rotation whose arrays can be read as complex numbers."""
    names = _folded(form.sources)
    turned = [names[one] for one in (*QUERIES, "x", *KEYS) if one in names]
    return {**form.sources, **{name: partial(_side_by_side, form.sources[name]) for name in turned}}


def _side_by_side(source: Source, arguments: Arguments) -> Any:
    """Return an array whose pairs lie side by side in memory, as torch needs them for complex numbers."""
    array = source(arguments)
    return array.contiguous() if hasattr(array, "contiguous") else array


def _with_keys(form: Form) -> Form:
    """Return the form in which the keys, if a rotation turns them too, are −2 times the queries."""
    names = _folded(form.sources)
    query, key = (next((names[one] for one in those if one in names), None) for those in (QUERIES, KEYS))
    if query is None or key is None:
        return form
    turned = form.sources[query]
    return replace(form, sources={**form.sources, key: lambda arguments: -2.0 * turned(arguments)}, turns_both=True)


def _with_rates(form: Form, framework: ArrayFramework) -> Form:
    """Return the form in which a rotation is given its frequencies, of the base of the call, if it takes them."""
    names = _folded(form.sources)
    name = next((names[one] for one in _RATES if one in names), None)
    if name is None:
        return form

    def rates(arguments: Arguments) -> Any:
        width = shape_of(arguments["x"])[-1]
        powers = np.arange(0, width, 2) / width
        return framework.from_numpy(float(arguments.get("base", BASE)) ** -powers, "float32")

    features = tuple(dict.fromkeys((*form.features, "base")))
    return replace(
        form,
        sources={**form.sources, name: rates},
        features=features,
        words=(*form.words, f"`{name}`: the frequencies (D/2,)"),
    )


def _with_axes(table: np.ndarray, axes: int) -> np.ndarray:
    """Return a table of positions, or of those of samples, with axes of size 1 before them."""
    if table.ndim == 2 and axes > 2:
        return table[(None,) * (axes - 2)]
    return table[:, None] if table.ndim == 3 and axes == 4 else table


def _table(function: Callable[..., Any], kind: str, axes: int, framework: ArrayFramework) -> Callable[[Arguments], Any]:
    def of(arguments: Arguments) -> Any:
        width = shape_of(arguments["x"])[-1]
        positions = framework.to_numpy(arguments["positions"]).astype(np.float64)
        rates = float(arguments.get("base", BASE)) ** (-np.arange(0, width, 2) / width)
        angles = positions[..., None] * rates
        if kind == "joined":
            angles = np.concatenate([angles, angles], axis=-1)
        elif kind == "repeated":
            angles = np.repeat(angles, 2, axis=-1)
        angles = _with_axes(angles, axes)
        return framework.from_numpy(function(angles).astype(np.float32).astype(np.float64), "float32")

    return of


def may_take_places(operation: str, names: Iterable[str]) -> bool:
    """Return whether a parameter of a table of sinusoids may be the positions themselves, and not how many."""
    return operation == "sinusoidal_positions" and any(folded(name) in _PLACES for name in names)


def _sinusoids(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of a table of sinusoids: of a number of positions, and of the positions themselves."""
    yield form
    name = next((one for one, role in found.roles.items() if role == "length" and folded(one) in _PLACES), None)
    if name is None:
        return

    def places(arguments: Arguments) -> Any:
        return framework.from_numpy(np.arange(int(arguments["length"])))

    words = (*form.words, f"`{name}`: 0 … L − 1")
    yield replace(form, sources={**form.sources, name: places}, words=words)


FORMS: Mapping[str, Forms] = {
    "sinusoidal_positions": _sinusoids,
    "causal_mask": _masks,
    "padding_mask": _masks,
    "rotary_embedding": _rotary,
    "alibi_bias": alibi.forms,
    "cross_entropy": losses.forms,
    "next_token_loss": losses.forms_of_next_tokens,
}
