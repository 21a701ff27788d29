"""Parameters that no output depends on, though they should have an effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from veriformer.adapters.capture.inputs import SEGMENTS
from veriformer.conformance_tests.recognition.coverage import coverage
from veriformer.conformance_tests.recognition.departing import departure
from veriformer.conformance_tests.recognition.findings import Departure, StepName
from veriformer.conformance_tests.recognition.layered import Layered
from veriformer.conformance_tests.recognition.maps import LinearMap
from veriformer.conformance_tests.recognition.model_reading import ModelReading
from veriformer.conformance_tests.recognition.paths import is_of_positions, layer_in, step_by_name, without_lists
from veriformer.conformance_tests.recognition.stream_parts import is_unread_end, norms_of
from veriformer.conformance_tests.recognition.sublayers import FeedForwardSublayer, narrowed_maps
from veriformer.conformance_tests.recognition.suspicion import Suspicion, suspected

_LEAST_UNDERSTOOD = 0.8
# Those of a filter's outputs, its inputs, and at least two of places.
_FILTER_AXES = 4
# One for the values of an attention itself, one for those that it is handed.
_SHARES = 2
# What an unused vector of a part is called.
_DROPPED = {"unembedding": "lm_head_bias_dropped", "feed_forward": "ffn_output_bias_dropped"}


def unused_parameters(model: ModelReading) -> Iterator[Departure]:
    """Yield the parameters that no output depends on, though their module runs or other layers use theirs."""
    unused = model.unused()
    captured, understood = coverage(model, ())
    if understood < _LEAST_UNDERSTOOD * captured:
        # What is not understood may have parameters for other inputs, or for training.
        return
    groups: dict[str, list[str]] = {}
    ending = _of_unread_ends(model)
    for name in (one for one in unused if one not in ending):
        # A pooler serves heads of other classes of the same family.
        if "mask" not in name and ".pooler." not in f".{name}" and _should_be_used(model, name, unused):
            groups.setdefault(_group(model, name, unused), []).append(name)
    for path, names in groups.items():
        step, place = _step_of_unused(model, path, names)
        # Layers that have the same fault are one departure if their sentences are equal.
        own = [name.removeprefix(f"{path}.") for name in names]
        sentence = f"the result does not depend on its {', '.join(own[:4])}{' …' if len(own) > 4 else ''}"
        slug = _DROPPED.get(step, "") if all(model.is_vector(name) for name in names) else ""
        suspects = (suspected(slug, 0.9),) if slug else ()
        yield departure(model, path, layer_in(path), "", Suspicion(step, place, sentence, suspects))


def _of_unread_ends(model: ModelReading) -> set[str]:
    """Return the parameters of sublayers that a stream ends with, unread, while another one goes on."""
    places = [one.place for one in model.readings if is_unread_end(model.flow, one.place)]
    maps = [each for one in places for each in (*one.sublayer.entries, one.sublayer.exit)]
    norms = (norm for one in places for _, norm in norms_of(one))
    vectors = [value for norm in norms for value in (norm.gain, norm.shift)] + [one.bias for one in maps]
    named = {name for one in maps for name in one.names}
    return named | {name for value in vectors if value is not None for name in model.flow.parameters_of(value)}


def _is_of_segments(model: ModelReading, name: str) -> bool:
    """Return whether a parameter may be of segments, and none were handed over: a table, or one of the same module.

    XLNet has a table and a vector for segments in each attention.
    """
    left_out = any(SEGMENTS.match(argument) for argument in model.trace.left_out)
    table = model.flow.array(model.trace.parameters[name])
    if left_out and table.ndim == 2 and not _was_called(model, name):
        return True
    given = [one for one in model.trace.inputs if model.flow.array(one).dtype.kind in "iu"]
    parts = [one.rpartition(".") for one in model.unused()]
    of_segments = any(module == name.rpartition(".")[0] and "seg" in last.lower() for module, _, last in parts)
    return len(given) < 2 and of_segments


def _is_of_images_left_out(model: ModelReading, name: str) -> bool:
    """Return whether a parameter stands beside filters of patches that nothing calls: no image was handed over."""
    module = name.rpartition(".")[0]
    around = f"{module}." if module else ""
    beside = (one for one in model.unused() if one.startswith(around) and one != name)
    filters = (one for one in beside if model.flow.array(model.trace.parameters[one]).ndim >= _FILTER_AXES)
    return layer_in(name) is None and any(not _was_called(model, one) for one in filters)


def _should_be_used(model: ModelReading, name: str, unused: Sequence[str]) -> bool:
    used = [one for one in model.trace.parameters if one not in unused]
    pattern, module = _pattern(name), name.rpartition(".")[0]
    if _is_of_segments(model, name) or _is_of_images_left_out(model, name):
        return False
    if layer_in(name) is None and model.acts_on_a_part(name):
        # What is pooled serves heads of other classes.
        return False
    if _has_no_numbers(model, name) or (not _was_called(model, name) and not _is_missed(model, name, used)):
        return False
    if _is_share_of_values(model, name):
        # Only some layers may mix their values with others.
        return False
    if pattern != name and any(_pattern(one) == pattern for one in used):
        return True
    if model.is_vector(name) and _stands_beside_modules(model, name):
        # Such as the vector that ends the lines of an image, where there is none.
        return False
    if any(lookup.names == (name,) for lookup in model.maps.lookups):
        return True
    if _is_of_the_stream(model, name):
        return True
    if _is_one_vector_of_the_stream(model, name):
        # What stands for hidden patches has work in training alone.
        return False
    beside = any(one.rpartition(".")[0] == module for one in used) if module else False
    return beside or any(step.module == module for step in model.flow.steps if module)


def _is_share_of_values(model: ModelReading, name: str) -> bool:
    """Return whether a parameter is one of the few numbers with which other layers mix their values with others."""
    if model.flow.array(model.trace.parameters[name]).size > _SHARES:
        return False
    alike = {value for other, value in model.trace.parameters.items() if _pattern(other) == _pattern(name)}
    attentions = [one.attention.sublayer for one in model.readings if one.attention is not None]
    mixed = [one.sites[0].value_value for one in attentions if one.mixed is not None]
    return any(not alike.isdisjoint(model.flow.ancestors(value)) for value in mixed)


def _stands_beside_modules(model: ModelReading, name: str) -> bool:
    """Return whether a parameter is that of a module made of modules, outside of the layers, and not of a part."""
    module = name.rpartition(".")[0]
    around = f"{module}." if module else ""
    inner = (one.removeprefix(around) for one in model.trace.parameters if one.startswith(around) and one != name)
    return layer_in(name) is None and bool(model.trace.modules) and any(one.count(".") > 1 for one in inner)


def _has_no_numbers(model: ModelReading, name: str) -> bool:
    """Return whether what is made of a parameter, or in its module, is an array of the inputs without a number in it.

    What compresses so many positions at a time has none to compress where there are fewer.
    """
    flow, module = model.flow, name.rpartition(".")[0]
    made = [one for step in flow.steps if module and step.module == module for one in step.results]
    behind = flow.descendants(model.trace.parameters[name])
    return any(not flow.array(one).size and flow.depends_on_input(one) for one in (*made, *behind))


def _was_called(model: ModelReading, name: str) -> bool:
    """Return whether the module of a parameter ran, or one in it; True where the framework does not tell."""
    module = name.rpartition(".")[0]
    if not module or module not in model.trace.modules:
        return True
    unused = model.unused()
    if any(one.rpartition(".")[0] == module and one not in unused for one in model.trace.parameters):
        # Its parameters may be taken by a function that is no call of it.
        return True
    return any(step.module == module or step.module.startswith(f"{module}.") for step in model.flow.steps)


def _is_missed(model: ModelReading, name: str, used: Sequence[str]) -> bool:
    """Return whether a module that no one calls is missed: a table, a norm next to what runs, or a layer left out.

    Others are for other uses, such as a head, a pooler, or an expert to which no token was sent.
    """
    module = name.rpartition(".")[0]
    if "Embedding" in model.trace.modules[module]:
        # None of the parts of a tower for images or sound is missed that nothing was handed to, and a table of classes
        # may be for training alone.
        return is_of_positions(name) and _runs(model, without_lists(model.flow, module.rpartition(".")[0]))
    element = _element(module)
    alike = [one for one in used if _pattern(one) == _pattern(name)]
    if alike:
        # What runs side by side is chosen among; what runs one after the other is a stack of layers.
        return _runs(model, element) or not _are_chosen_among(model, element, alike)
    around = without_lists(model.flow, module.rpartition(".")[0])
    is_lonely = not _goes_with_what_is_left_out(model, module, around)
    return model.is_vector(name) and _is_norm(model, module) and _runs(model, around) and is_lonely


def _goes_with_what_is_left_out(model: ModelReading, norm: str, around: str) -> bool:
    """Return whether a module of matrices next to a norm is not called either: the norm belongs to it.

    A decoder that is handed no memory leaves out the attention to it, and the norm of that.
    """
    unused = set(model.unused())
    beside: dict[str, list[str]] = {}
    inside = f"{around}." if around else ""
    for one in model.trace.parameters:
        if one.startswith(inside) and not one.startswith(f"{norm}."):
            beside.setdefault(one.removeprefix(inside).partition(".")[0], []).append(one)
    matrices = [names for names in beside.values() if not all(model.is_vector(name) for name in names)]
    return any(all(name in unused for name in names) and not _ran_of(model, around, names) for names in matrices)


def _ran_of(model: ModelReading, around: str, names: Sequence[str]) -> bool:
    inside = f"{around}." if around else ""
    return _runs(model, inside + names[0].removeprefix(inside).partition(".")[0])


def _is_norm(model: ModelReading, module: str) -> bool:
    """Return whether the parameters of a module are vectors as gain and shift of a norm are.

    They have the stream's width, or that of the vectors that a query is normalised by in the same attention, or that
    of one of its latents.
    """
    own = [index for name, index in model.trace.parameters.items() if name.rpartition(".")[0] == module]
    around = [one.attention for one in model.readings if one.attention and module.startswith(f"{one.path}.")]
    gains = {one.query.norm.gain for one in around if one.query.norm is not None and one.query.norm.gain is not None}
    latents = {(model.flow.shape(each.input)[-1],) for one in around for each in narrowed_maps(one.sublayer)}
    sizes = {(model.sublayers.width,), *(model.flow.shape(gain) for gain in gains), *latents}
    return all(model.flow.shape(index) in sizes for index in own)


def _runs(model: ModelReading, module: str) -> bool:
    """Return whether a module ran, or one in it."""
    return not module or any(f"{step.module}.".startswith(f"{module}.") for step in model.flow.steps)


def _element(module: str) -> str:
    """Return the innermost member of a list that a module is, or is in; the module itself outside of lists."""
    pieces = module.split(".")
    ends = [end for end, piece in enumerate(pieces, start=1) if piece.isdigit()]
    return ".".join(pieces[: ends[-1]]) if ends else module


def _are_chosen_among(model: ModelReading, element: str, alike: Sequence[str]) -> bool:
    """Return whether the members of a list run on some of the tokens each, and not one after the other."""
    every = dict.fromkeys(_element(one.rpartition(".")[0]) for one in alike)
    members = [one for one in every if one.rpartition(".")[0] == element.rpartition(".")[0]]
    if not members:
        # Nothing runs in this list, and something in others like it.
        return not _runs(model, _around(element))
    rows = {member: _rows_in(model, member) for member in members}
    most = max((_rows(model, one) for one in model.maps.linear), default=0)
    routed = any(one.path.startswith(_around(element)) for mixture in model.mixtures for one in mixture.experts)
    return (routed or any(number < most for number in rows.values())) and not _in_a_row(model, members)


def _around(element: str) -> str:
    return element.rpartition(".")[0].rpartition(".")[0]


def _rows_in(model: ModelReading, member: str) -> int:
    """Return on how many vectors the maps of a module ran at most."""
    own = (one for one in model.maps.linear if any(name.startswith(f"{member}.") for name in one.names))
    return max((_rows(model, one) for one in own), default=0)


def _rows(model: ModelReading, one: LinearMap) -> int:
    return model.flow.array(one.input).size // max(model.maps.width_in(one), 1)


def _in_a_row(model: ModelReading, members: Sequence[str]) -> bool:
    """Return whether the last of some modules that run depends on the first."""
    first, last = members[0], members[-1]
    made = {one for step in model.flow.steps if f"{step.module}.".startswith(f"{first}.") for one in step.results}
    behind = {one for value in made for one in model.flow.descendants(value)}
    later = (step for step in model.flow.steps if f"{step.module}.".startswith(f"{last}."))
    return first != last and any(not behind.isdisjoint(step.operands) for step in later)


def _is_of_the_stream(model: ModelReading, name: str) -> bool:
    """Return whether a parameter is a gain, a shift, or a table with a row for each position or token."""
    array = model.flow.array(model.trace.parameters[name])
    width = model.sublayers.width
    if array.ndim <= 1:
        return array.size > 1
    return bool(width) and array.shape[-1] == width and array.size > width and "mask" not in name


def _is_one_vector_of_the_stream(model: ModelReading, name: str) -> bool:
    array = model.flow.array(model.trace.parameters[name])
    return array.ndim > 1 and array.size == array.shape[-1] == model.sublayers.width


def _group(model: ModelReading, name: str, unused: Sequence[str]) -> str:
    """Return the module of an unused parameter: the whole layer where nothing of it is used."""
    pieces = name.split(".")
    for end, piece in enumerate(pieces, start=1):
        layer = ".".join(pieces[:end])
        if piece.isdigit() and all(one in unused for one in model.trace.parameters if one.startswith(f"{layer}.")):
            return layer
    return name.rpartition(".")[0] or name


def _step_of_unused(model: ModelReading, path: str, names: Sequence[str]) -> tuple[StepName, int]:
    """Return the step that unused parameters belong to, and where it is in the trace."""
    for lookup in model.maps.lookups:
        if set(lookup.names) & set(names):
            return ("positions" if model.flow.is_fixed(lookup.rows) else "embedding"), lookup.step
    tables = [model.flow.array(model.trace.parameters[name]) for name in names]
    if layer_in(path) is None and all(table.ndim > 1 and table.shape[-1] == model.sublayers.width for table in tables):
        rows = min(int(np.prod(table.shape[:-1])) for table in tables)
        return ("positions" if rows >= model.length() else "embedding"), 0
    running = [index for index, step in enumerate(model.flow.steps) if path and step.module == path]
    place = running[0] if running else len(model.flow.steps) - 1
    if _is_whole_layer(model, path, names):
        return "residual", place
    inside = any(one.attention is not None and path.startswith(f"{one.path}.") for one in model.readings)
    if inside and _has_every_role(names):
        return "heads_output", place
    if _pattern_of_norm(model, names):
        return "norm", place
    for one in model.readings:
        for step, maps in _steps_of_maps(model, one):
            if any(name.rpartition(".")[0] == path for map_ in maps for name in map_.names):
                return step, maps[0].step
    if any(name.rpartition(".")[0] == path for one in model.ends for name in one.names):
        return "unembedding", place
    named = step_by_name(names[0])
    if named is not None:
        return named, place
    for one in model.readings:
        if one.network is not None and one.path and path.startswith(f"{one.path}."):
            return "hidden", place
    if all(model.is_vector(name) for name in names):
        return ("norm" if layer_in(path) is not None or _is_before_layers(model, names[0]) else "final_norm"), place
    return "residual", place


def _is_whole_layer(model: ModelReading, path: str, names: Sequence[str]) -> bool:
    """Return whether nothing of a layer is used, of which other layers have several parts that are."""
    if not path.rpartition(".")[2].isdigit():
        return False
    alike = [one for one in model.readings if _pattern(one.path).startswith(_pattern(path))]
    kinds = {one.kind for one in alike}
    return len(kinds) > 1 and len(names) > len(kinds)


def _has_every_role(names: Sequence[str]) -> bool:
    """Return whether parameters of queries, keys and values are among those of an attention that are not used."""
    return {"query", "key", "value"} <= {step_by_name(name) for name in names}


def _pattern_of_norm(model: ModelReading, names: Sequence[str]) -> bool:
    """Return whether parameters are called like the gains and shifts of norms in other layers."""
    vectors = {
        vector
        for one in model.readings
        for _, norm in norms_of(one.place)
        for vector in (norm.gain, norm.shift)
        if vector is not None
    }
    called = {_pattern(name) for vector in vectors for name in model.flow.parameters_of(vector)}
    return all(_pattern(name) in called for name in names)


def _is_before_layers(model: ModelReading, name: str) -> bool:
    """Return whether a parameter is declared before those of the layers."""
    names = list(model.trace.parameters)
    layers = [index for index, one in enumerate(names) if layer_in(one) is not None]
    return bool(layers) and names.index(name) < layers[0]


def _steps_of_maps(model: ModelReading, one: Layered) -> Iterator[tuple[StepName, tuple[LinearMap, ...]]]:
    sublayer = one.place.sublayer
    if isinstance(sublayer, FeedForwardSublayer):
        yield "hidden", sublayer.inner
        yield "feed_forward", (sublayer.exit,)
        return
    yield "query", sublayer.query
    yield "key", sublayer.key
    yield "value", sublayer.value
    yield "attention_output", (sublayer.exit,)


def _pattern(name: str) -> str:
    return ".".join("#" if piece.isdigit() else piece for piece in name.split("."))
