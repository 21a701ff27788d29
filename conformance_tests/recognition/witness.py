"""What a model's configuration says, held against what the model does.

A configuration is a witness, and only a contradiction counts: what was found in every layer stands nowhere in it, and
what it states under a known name was found in none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from veriformer.conformance_tests.recognition.agreement import DOUBLE, SINGLE
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.findings import Departure, StepName
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.patches import patch_words
from veriformer.conformance_tests.recognition.stated_rotations import (
    bases,
    bases_of_windows,
    is_share,
    is_turned_width,
    turned_shares,
    turned_widths,
)
from veriformer.conformance_tests.recognition.stated_windows import (
    bands,
    is_band,
    is_band_or_side,
    is_near,
    is_window,
    sense_of_window,
    windows,
)
from veriformer.conformance_tests.recognition.stream_parts import norms_of
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected

# The activations that the words of configurations stand for; the forms of GELU are one here, for people call any so.
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu",
    "gelu_fast": "gelu",
    "gelu_tanh": "gelu",
    "gelu_pytorch_tanh": "gelu",
    "quick_gelu": "gelu",
    "geglu": "gelu",
    "relu": "relu",
    "reglu": "relu",
    "silu": "silu",
    "swish": "silu",
    "swiglu": "silu",
}
_FORMS_OF_GELU = ("gelu", "gelu_tanh", "gelu_sigmoid", "gelu_erf_in_five_terms")


@dataclass(frozen=True)
class Stated:
    """One thing that configurations state: under which names, how it is read off a sublayer, and what it is called.

    `same` says whether a stated value is the one that was found, and what is called so that `may_be` is in its name may
    state it too. `says` completes "config.x is 3, and …", and a value in words that are not known contradicts nothing.
    What is stated `of_all` layers is contradicted by one of them, where another does what is stated. What is stated
    `of_some` is not said of layers in which nothing of it is found. `meant` says in which sense a value is what was
    found.
    """

    names: re.Pattern[str]
    kind: str
    step: StepName
    found: Callable[[Layered], Sequence[float | str]]
    same: Callable[[object, float | str], bool]
    says: str
    mistake: str
    may_be: re.Pattern[str] = re.compile("")
    of_all: bool = False
    of_some: bool = False
    meant: Callable[[object, float | str], str] = lambda *_: ""


def _is_activation(stated: object, found: float | str) -> bool:
    if not isinstance(stated, str):
        return False
    family = "gelu" if found in _FORMS_OF_GELU else found
    meant = _ACTIVATIONS.get(stated.casefold())
    # x σ(1.702 x) is a SiLU of another slope too, which gpt-oss calls so.
    return meant == family or (meant == "silu" and found == "gelu_sigmoid")


def _eps(one: Layered) -> list[float | str]:
    return [norm.eps for _, norm in norms_of(one.place) if norm.eps is not None and norm.mistake is None]


def _activations(one: Layered) -> list[float | str]:
    return [one.network.activation] if one.network is not None and one.network.activation else []


def _heads(one: Layered) -> list[float | str]:
    return [one.attention.head_count] if one.attention is not None and one.attention.setting is not None else []


def _groups(one: Layered) -> list[float | str]:
    # One head of keys for all is what a switch may ask for, whatever the number beside it says.
    known = one.attention is not None and one.attention.setting is not None and one.attention.group_count > 1
    return [one.attention.group_count] if known and one.attention is not None else []


def _caps(one: Layered) -> list[float | str]:
    """Return the cap of the logits in words; nothing where a cap could not be seen."""
    reading = one.attention
    if reading is None or reading.setting is None:
        return []
    if reading.setting.softcap is not None:
        return [f"{_CAP}{reading.setting.softcap:g}"]
    heads, scale = reading.heads, reading.setting.scale
    key = np.repeat(heads.key, heads.query.shape[1] // heads.key.shape[1], axis=1)
    logits = (scale or heads.query.shape[-1] ** -0.5) * (heads.query @ key.swapaxes(-1, -2))
    least = next((least for unit, least in _SHOWS_A_CAP if heads.unit <= unit), np.inf)
    return ["no cap"] if float(np.abs(logits).max(initial=0.0)) > least else []


def _is_cap(stated: object, found: float | str) -> bool:
    return isinstance(found, str) and found.startswith(_CAP) and is_near(stated, float(found.removeprefix(_CAP)))


def _form_of_gelu(stated: object, found: float | str) -> str:
    """Return which form of GELU was found where the word that is stated leaves it open, or names another one."""
    forms = {"gelu": "the exact form", "gelu_tanh": "the tanh form", "gelu_sigmoid": "the sigmoid form"}
    named = str(stated).casefold()
    usual = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "quick_gelu": "gelu_sigmoid"}
    return f" (in {forms[str(found)]})" if found in forms and usual.get(named, found) != found else ""


def _scalars(one: Layered) -> list[float | str]:
    """Return the number by whose root the logits are divided."""
    reading = one.attention
    if reading is None or reading.setting is None:
        return []
    return [(reading.setting.scale or reading.heads.query.shape[-1] ** -0.5) ** -2]


_CAP = "the cap "
# From which size of logits on a cap of 50 shows: it changes them by 2e-5, and by 4e-4 where numbers have float32.
_SHOWS_A_CAP = ((DOUBLE, 0.5), (SINGLE, 1.4))
_STATED = (
    Stated(
        re.compile(r"^(rope_theta|global_rope_theta|rope_base|rotary_base|rotary_emb_base|rope_freq_base|theta)$"),
        "self_attention",
        "rotary",
        bases,
        is_near,
        "the model turns with the base {}",
        "rope_theta_ignored",
        re.compile(r"theta|base|rope|rotary|freq|wave|period", re.IGNORECASE),
    ),
    Stated(
        re.compile(r"^(layer_?norm_eps|layer_?norm_epsilon|rms_norm_eps|rms_eps|norm_eps|norm_epsilon|ln_eps)$"),
        "",
        "norm",
        _eps,
        is_near,
        "the norms add {}",
        "norm_eps_value_mismatch",
    ),
    Stated(
        re.compile(
            r"^(hidden_act|hidden_activation|activation_function|activation|act|act_fn|mlp_act|ffn_activation)$"
        ),
        "feed_forward",
        "activation",
        _activations,
        _is_activation,
        "the activation is {}",
        "ffn_activation_arg_ignored",
        of_all=True,
        meant=_form_of_gelu,
    ),
    Stated(
        re.compile(r"^(num_attention_heads|num_heads|n_heads?|nheads?|heads|query_heads|num_query_heads)$"),
        "self_attention",
        "query",
        _heads,
        is_near,
        "the queries are cut into {} heads",
        "",
    ),
    Stated(
        re.compile(r"^(num_key_value_heads|num_kv_heads|n_kv_heads?|n_kv|kv_heads)$"),
        "self_attention",
        "key",
        _groups,
        is_near,
        "there are {} heads of keys",
        "",
    ),
    Stated(
        re.compile(r"^((sliding|attention|attn|local|swa)_)?window(_size|_length|_len)?$"),
        "self_attention",
        "mask",
        windows,
        is_window,
        "each query sees {} keys",
        "",
        of_some=True,
        meant=sense_of_window,
    ),
    Stated(
        re.compile(r"^((sliding|attention|attn|local|swa)_)?window(_size|_length|_len)?$"),
        "self_attention",
        "mask",
        bands,
        is_band_or_side,
        "each query sees {} keys besides its own",
        "",
        of_some=True,
    ),
    Stated(
        re.compile(r"^local_attention$"),
        "self_attention",
        "mask",
        bands,
        is_band,
        "each query sees {} keys besides its own",
        "",
        of_some=True,
    ),
    Stated(
        re.compile(r"^(attn|attention)_(logits?_)?(soft_?)?cap(ping)?(_value)?$"),
        "self_attention",
        "logits",
        _caps,
        _is_cap,
        "the logits of the attention have {}",
        "",
        of_all=True,
    ),
    Stated(
        re.compile(r"^query_pre_attn_scalar$"),
        "self_attention",
        "logits",
        _scalars,
        is_near,
        "the logits are divided by the root of {}",
        "",
        re.compile(r"scal"),
    ),
    Stated(
        re.compile(r"^(local_rope_theta|rope_local_base_freq|local_rope_base)$"),
        "",
        "rotary",
        bases_of_windows,
        is_near,
        "the layers with a window turn with the base {}",
        "rope_theta_ignored",
        re.compile(r"local"),
    ),
    Stated(
        re.compile(r"^(rotary_pct|partial_rotary_factor|rotary_fraction|rope_pct)$"),
        "",
        "rotary",
        turned_shares,
        is_share,
        "{} components of each head are turned",
        "",
        re.compile(r"rot|rope|partial"),
    ),
    Stated(
        re.compile(r"^(rotary_dim|rotary_ndims|rot_dim|rotary_emb_dim)$"),
        "",
        "rotary",
        turned_widths,
        is_turned_width,
        "{} components of each head are turned",
        "",
        re.compile(r"rot|rope|partial|dim"),
    ),
)


def departures_of_configuration(model: ModelReading) -> Iterator[Departure]:
    """Yield what a configuration states and no layer does, where what they do stands nowhere in it.

    Of what is stated of all layers, those too that do otherwise than the others, which do what is stated.
    """
    for stated, readings, found in _compared(model):
        named = _named(model, stated)
        if not named or any(
            isinstance(value, str) and value.casefold() not in _ACTIVATIONS for value in named.values()
        ):
            continue
        name, value = next(iter(named.items()))
        for one, done in _contradicting(model, stated, readings, found):
            sentence = f"the configuration says that {name} is {_shown(value)}, and {_said(stated, done)}"
            suspects = (suspected(stated.mistake),) if stated.mistake else ()
            yield departure(
                model, one.path, one.layer, one.kind, Suspicion(stated.step, _place(stated, one), sentence, suspects)
            )


def _place(stated: Stated, one: Layered) -> int:
    """Return the step at which a sublayer does what is stated otherwise: logits and masks come at the first product."""
    if one.attention is None or stated.step not in ("logits", "mask"):
        return one.first_step
    return one.attention.sublayer.sites[0].steps[0]


def _contradicting(
    model: ModelReading, stated: Stated, readings: Sequence[Layered], found: Sequence[float | str]
) -> Iterator[tuple[Layered, float | str]]:
    """Yield the sublayers that do what stands nowhere in a configuration, each with what it does."""
    readings = [one for one in readings if _is_spoken_of(model, stated, one)]
    if len(set(found)) == 1:
        if not _stands_in(model, stated, found[0]):
            yield from ((one, found[0]) for one in readings)
        return
    if not stated.of_all or not any(_stands_in(model, stated, one) for one in found):
        return
    for one in readings:
        others = [value for value in map(_rounded, stated.found(one)) if not _stands_in(model, stated, value)]
        if others:
            yield one, others[0]


# Which activation a gated network has by its name: Shazeer 2020, GLU Variants Improve Transformer, section 2.
_GATED = {"swiglu": "silu", "geglu": "gelu", "reglu": "relu"}


def departures_of_names(model: ModelReading) -> Iterator[Departure]:
    """Yield gated networks whose class is called after another activation, which no configuration states."""
    for one in model.readings:
        name = model.trace.modules.get(one.path, "")
        meant = next((found for part, found in _GATED.items() if part in name.replace("_", "").casefold()), "")
        found = one.network.activation if one.network is not None and one.network.gated and one.is_judged else None
        if not meant or not found or _is_activation(meant, found):
            continue
        if not any(_is_activation(value, found) for value in model.trace.configuration.values()):
            sentence = f"the class is called {name}, and its activation is {found}, not {meant}"
            yield departure(model, one.path, one.layer, one.kind, Suspicion("activation", one.first_step, sentence, ()))


_PATCHES = re.compile(r"^(patch|patch_size|patch_width)$")
_TIED = re.compile(
    r"^(weight_tying|(tied?|share)_(word_|input_output_)?(embeddings?|weights|unembedding|head|lm_head|output|softmax)"
    r"(_weights)?)$"
)


def departures_of_patches(model: ModelReading) -> Iterator[Departure]:
    """Yield patches of another size than a configuration states."""
    stated = stated_under(model, _PATCHES)
    for one in model.first_maps if stated else ():
        found = re.match(r"patches of (\d+) × (\d+)", patch_words(model.flow, one))
        shape = tuple(map(int, found.groups())) if found else ()
        # A convolution of single pixels makes no patches.
        if shape > (1, 1) and all(type(value) is int and shape != (value, value) for value in stated.values()):
            name, value = next(iter(stated.items()))
            sentence = f"the configuration says that {name} is {value}, and the patches are {shape[0]} × {shape[1]}"
            item = Suspicion("embedding", one.step, sentence, (), module_of(one))
            yield departure(model, "", None, "token_embedding", item)


def departures_of_ties(model: ModelReading) -> Iterator[Departure]:
    """Yield logits of tokens by a matrix that is not the table of tokens, which a configuration says that it is.

    A head of as many classes as there are token types or positions gives none of tokens: the table is the largest that
    the inputs choose rows of.
    """
    stated = stated_under(model, _TIED)
    tables = [one for one in model.maps.lookups if not model.flow.is_fixed(one.rows)]
    rows = max((model.flow.shape(one.table)[0] for one in tables), default=0)
    for one in model.ends[-1:] if stated and all(value is True for value in stated.values()) else ():
        is_tied = any(set(table.names) & set(one.names) for table in tables)
        if model.flow.shape(one.output)[-1] == rows and not is_tied:
            sentence = f"the configuration says that {next(iter(stated))} is True, and the unembedding is not tied"
            yield departure(
                model, "", None, "unembedding", Suspicion("unembedding", one.step, sentence, (), module_of(one))
            )


def stated_under(model: ModelReading, names: re.Pattern[str]) -> dict[str, object]:
    """Return what is stated under names like these, by where it stands; nothing of a part of which nothing was read."""
    paths = [one.path for one in model.readings]
    known = model.trace.configuration.items()
    named = {name: value for name, value in known if names.match(name.rpartition(".")[2])}
    named = {name: value for name, value in named.items() if not _is_told_anew(name, model.trace.configuration)}
    return {name: value for name, value in named.items() if any(_speaks_of(name, path, paths) for path in paths)}


def _is_told_anew(name: str, every: Iterable[str]) -> bool:
    """Return whether the configuration of a language model has a group of its own in place of the whole's.

    Where "config.text_config.rope_parameters" stands, "config.rope_parameters" is said of something else.
    """
    whole, _, inside = name.partition(".")
    group = inside.rpartition(".")[0]
    if not group or "_config" in group:
        return False
    anew = re.compile(rf"^{re.escape(whole)}\.(\w+)_config\.{re.escape(group)}\.")
    return any(found.group(1) not in _OF_OTHERS for found in map(anew.match, every) if found)


_OPPOSITES = {"encoder": "decoder", "decoder": "encoder"}
# What the configuration of a part is called that is no language model.
_OF_OTHERS = frozenset({"vision", "image", "video", "audio", "speech", "codec"})


def _is_spoken_of(model: ModelReading, stated: Stated, one: Layered) -> bool:
    """Return whether what is stated is said of a sublayer; what the whole only repeats of another part is not."""
    paths, named = [each.path for each in model.readings], _named(model, stated)
    of_others = [(name, value) for name, value in named.items() if not _speaks_of(name, one.path, paths)]
    repeated = {(name.rpartition(".")[2], value) for name, value in of_others}
    own = [(name.rpartition(".")[2], value) for name, value in named.items() if (name, value) not in of_others]
    return any(each not in repeated for each in own)


def _speaks_of(name: str, path: str, paths: Sequence[str]) -> bool:
    """Return whether what stands in a configuration is said of a sublayer: "config.audio_config.theta" of the audio.

    Where no path has the word, it is said of all, such as what a text's configuration says in a language model.
    """
    parts = [part.removesuffix("_config") for part in name.split(".")[1:-1] if part.endswith("_config")]
    elsewhere = [part for part in parts if part not in path]
    return not any(
        part in _OF_OTHERS or any(part in one for one in paths) or _OPPOSITES.get(part, part) in path
        for part in elsewhere
    )


def module_of(one: LinearMap) -> str:
    """Return the module that a map's matrix is a parameter of; empty where it is of none."""
    return one.names[0].rpartition(".")[0] if one.names else ""


def _said(stated: Stated, found: float | str) -> str:
    """Return what a model does in place of what is stated; of one thing it speaks as of one."""
    words = stated.says.format(_shown(found))
    return re.sub(r"\b1 (head|key)s\b", r"1 \1", words).replace("there are 1 ", "there is 1 ") if found == 1 else words


def agreements(model: ModelReading) -> tuple[str, ...]:
    """Return what a configuration states that the model does: "config.rope_theta 10000"."""
    agreed = []
    for stated, _, found in _compared(model):
        for name, value in _named(model, stated).items():
            agreeing = next((one for one in found if stated.same(value, one)), None)
            if agreeing is not None:
                agreed.append(f"{name} {_shown(value)}{stated.meant(value, agreeing)}")
    return tuple(agreed)


def _compared(model: ModelReading) -> Iterator[tuple[Stated, list[Layered], list[float | str]]]:
    """Yield each thing that configurations state, with the sublayers that it is read off and what was found in them."""
    for stated in _STATED:
        # A network that is added to no stream, as inside a router, is not what a configuration speaks of.
        in_stream = [one for one in model.readings if one.is_judged and one.place.residual != "none"]
        of_kind = [one for one in in_stream if stated.kind in ("", one.kind) and not _does_without(stated, one)]
        readings = [one for one in of_kind if stated.found(one)]
        # One that was not read may do what is stated.
        if readings and (not stated.kind or stated.of_some or len(readings) == len(of_kind)):
            yield stated, readings, [_rounded(value) for one in readings for value in stated.found(one)]


def _does_without(stated: Stated, one: Layered) -> bool:
    """Return whether a layer that was read turns nothing, so that what is stated of a rotation is not said of it."""
    reading = one.attention
    is_read = reading is not None and reading.setting is not None and reading.query.understood
    return stated.step == "rotary" and is_read and reading is not None and reading.query.rotation is None


def _named(model: ModelReading, stated: Stated) -> dict[str, object]:
    """Return what is stated under one of the names, by where it stands; numbers that are 0 switch something off."""
    return {name: value for name, value in stated_under(model, stated.names).items() if value}


def _stands_in(model: ModelReading, stated: Stated, found: float | str) -> bool:
    values = model.trace.configuration.items()
    return any(stated.same(value, found) for name, value in values if stated.may_be.search(name))


def _rounded(value: float | str) -> float | str:
    return value if isinstance(value, str) else float(f"{value:.3g}")


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
