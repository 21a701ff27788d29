"""Losses of tokens as people write them: with weights, masks or lengths, of log-probabilities, and log-softmax."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from veriformer.adapters.arrays import ArrayFramework
from veriformer.adapters.matching import linear_losses, reductions
from veriformer.adapters.matching.forms import LEFT_OUT, Form, Source
from veriformer.adapters.matching.layouts import Arguments, Around, Inner
from veriformer.adapters.matching.names import LENGTHS, Z_LOSSES, folded
from veriformer.adapters.matching.namespaces import (
    chosen,
    joined,
    log_softmax,
    mean_of,
    negated,
    picked,
    reshaped,
    shape_of,
    size_of,
    smallest,
)
from veriformer.adapters.matching.probes import Probe, is_near, probe_with
from veriformer.adapters.matching.sources import Taken
from veriformer.adapters.matching.trying import Trials

_LOG_PROBABILITIES = frozenset(
    "logprobs logprob logp lp logps logprobabilities logprobability logsoftmaxed logpreds logpred".split()  # noqa: SIM905
)
# No sample weights: where they are called so, as by Keras, their mean is taken over all tokens.
_WEIGHTS = frozenset(
    """
    weights weight mask lossmask lossmasks lossweights lossweight tokenweights tokenmask tokenweight targetmask
    targetweights labelmask paddingmask padmask attentionmask keep keepmask validmask valid nonpad nonpadmask
    """.split()  # noqa: SIM905
)
_OF_DOCUMENTS = frozenset(
    "docid docids documentid documentids segmentid segmentids segid segids seqids sequenceids segments".split()  # noqa: SIM905
)
# How far below the smallest logit of a row that of another class lies, so that it adds nothing.
_FAR = 200.0
# The square of what is larger might overflow in float32.
_SQUARED = 1e15
# A target that is no class: most libraries' own value.
_NO_TARGET = -100
_LEAST_AGREEMENT = 0.5


@dataclass(frozen=True)
class _Weighing:
    """A kind of weights: what they are of the tokens that count, and the words that say so."""

    words: str
    of: Callable[[Any, Arguments], Any]


_WEIGHINGS = (
    _Weighing("1 counts, 0 is ignored", lambda kept, arguments: chosen(kept, 1.0, 0.0, arguments["logits"])),
    _Weighing("True counts", lambda kept, _: kept),
    _Weighing("True is ignored", lambda kept, _: negated(kept)),
    _Weighing("1 is ignored, 0 counts", lambda kept, arguments: chosen(kept, 0.0, 1.0, arguments["logits"])),
)


def _documents(kept: Any, arguments: Arguments) -> Any:
    """Return the number of each token's document, of which a token that is ignored begins another one."""
    return 1 + chosen(kept, 0, 1, arguments["targets"]).cumsum(-1)


_BY_DOCUMENT = _Weighing("the number of a document, another one from a token on that is ignored", _documents)


def _weighings_of(name: str) -> tuple[_Weighing, ...]:
    return (_BY_DOCUMENT,) if folded(name) in _OF_DOCUMENTS else _WEIGHINGS


@dataclass(frozen=True)
class EachToken(Around):
    """A layout in which each token is a sample of its own, which counts or does not."""

    def call(self, inner: Inner, arguments: Arguments) -> Any:
        """Return what the function returns, with the axes of the targets where it has one number for each."""
        logits, targets = arguments["logits"], arguments["targets"]
        shape = shape_of(targets)
        apart = {
            "logits": reshaped(logits, (size_of(shape), 1, shape_of(logits)[-1])),
            "targets": reshaped(targets, (size_of(shape), 1)),
        }
        result = self.layout.call(inner, {**arguments, **apart})
        return reshaped(result, shape) if size_of(shape_of(result)) == size_of(shape) != 1 else result


def forms(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of a loss: of logits or log-probabilities; of what has no targets, that it is a log-softmax."""
    roles = {role: name for name, role in found.roles.items()}
    if "targets" not in found.missing:
        yield from _of_hidden_states(form, found, framework)
    if "logits" in found.missing and "targets" not in found.missing:
        return
    if "targets" in found.missing:
        if "logits" in roles and len(found.needed) <= 1:
            yield replace(form, features=(), after=_loss_of, words=("its result picked at the targets",))
            yield replace(form, features=(), after=_less_target, words=("its result less the logit of the target",))
        return
    form = _without_large_squares(_with_all_counted(form, found), roles.get("logits"))
    logits = roles.get("logits", "")
    if folded(logits) in _LOG_PROBABILITIES:
        plain = form.sources[logits]
        sources = {**form.sources, logits: lambda arguments: log_softmax(plain(arguments))}
        form = replace(form, sources=sources, words=(f"`{logits}`: the log-softmax of the logits",))
        yield from (form, *reductions.forms(form))
        return
    yield from (*reductions.forms(form), form, _of_one_more_class(form, roles))


def forms_of_next_tokens(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    """Yield the forms of a loss of next tokens."""
    yield from _of_hidden_states(form, found, framework)
    if "logits" in found.missing:
        return
    counted = {name: _of_tokens(_counted(_weighings_of(name)[0].of, needed=True)) for name in _masks_of_tokens(found)}
    sources = {name: source for name, source in counted.items() if name in found.needed}
    form = replace(form, sources={**form.sources, **sources})
    yield _without_large_squares(form, next(name for name, role in found.roles.items() if role == "logits"))


def _masks_of_tokens(found: Taken) -> list[str]:
    """Return the parameters that say which tokens count, one for each."""
    return [name for name in _weighing_of(found) if folded(name) not in LENGTHS]


def _of_tokens(source: Source) -> Source:
    """Return a source that is of all tokens of a row, the first one, which is no target, among them."""
    return lambda arguments: source({**arguments, "targets": arguments["tokens"]})


def with_mask_of_tokens(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form of a loss of next tokens whose mask says what is ignored; the form itself where it has none.

    Of masks of padding that give no right loss the first is taken that has an effect: what it hides is then wrong. A
    mask of another name may be one of predictions, each at the place of the token before.
    """
    names = [] if "ignore_index" in form.features or "tokens" in found.missing else _masks_of_tokens(found)
    tokens = next((name for name, role in found.roles.items() if role == "tokens"), "")
    if not names or not tokens:
        return form
    ignored = probe.with_argument("ignore_index", int(probe.arguments["tokens"][0, 1]))
    # Where it must be given, what it is given lets each token count.
    plain, best = trials.result(form, probe), form
    for name, weighing in ((one, each) for one in names for each in _weighings_of(one)):
        classes = _of_tokens(_classes(form.sources[tokens], _first_class))
        counted = _of_tokens(_counted(weighing.of, needed=name in found.needed))
        one = replace(form, sources={**form.sources, tokens: classes})
        one = one.with_source(name, counted, "ignore_index", f"`{name}`: {weighing.words}")
        result = trials.result(one, ignored)
        if result is None or result.shape != ignored.expected.shape:
            continue
        if is_near(result, ignored.expected):
            return one
        has_effect = plain is not None and not is_near(result, plain) and bool(np.isfinite(result).all())
        of_padding = "pad" in folded(name) or folded(name) == "attentionmask" or weighing is _BY_DOCUMENT
        best = one if best is form and has_effect and of_padding else best
    return _saying_what_counts(form, found, names) if best is form else best


def _saying_what_counts(form: Form, found: Taken, names: Sequence[str]) -> Form:
    """Return a form that says of masks it must give that every token counts: what they hide fits nothing known."""
    said = [one for one in names if one in found.needed and not any(f"`{one}`" in words for words in form.words)]
    words = (f"`{one}` lets every token count: what it hides fits no known mask, and is not judged" for one in said)
    return replace(form, words=(*form.words, *words))


def _of_hidden_states(form: Form, found: Taken, framework: ArrayFramework) -> Iterator[Form]:
    hidden = linear_losses.hidden_states_in(found)
    for one in linear_losses.forms(form, found, framework):
        yield _without_large_squares(one, hidden)


def _without_large_squares(form: Form, logits: str | None) -> Form:
    """Return the form of a loss that adds squares of its normalisers, of which it is asked for none.

    Zero times a square that overflows is no number, so that rows whose squares would are given less their largest
    logit, which no loss depends on.
    """
    shares = [name for name in form.sources if folded(name) in Z_LOSSES]
    if not shares or logits is None:
        return form
    plain = form.sources[logits]

    def moderate(arguments: Arguments) -> Any:
        array = plain(arguments)
        low, high = smallest(array), -smallest(-array)
        return array - chosen((high > _SQUARED) | (low < -_SQUARED), 1.0, 0.0, array) * high

    words = (*form.words, *(f"`{name}` is 0" for name in shares))
    return replace(form, sources={**form.sources, logits: moderate}, words=words)


def _loss_of(log_probabilities: Any, arguments: Arguments) -> Any:
    """Return the loss of what a log-softmax returned."""
    if shape_of(log_probabilities) != shape_of(arguments["logits"]):
        raise ValueError("the result has another shape than the logits")
    return -mean_of(picked(log_probabilities, arguments["targets"]))


def _less_target(log_sums: Any, arguments: Arguments) -> Any:
    """Return the loss of what a log-sum-exp returned."""
    picked_ones = picked(arguments["logits"], arguments["targets"])
    if size_of(shape_of(log_sums)) != size_of(shape_of(picked_ones)):
        raise ValueError("the result has no number for each row of logits")
    return mean_of(reshaped(log_sums, shape_of(picked_ones)) - picked_ones)


def is_weighing(name: str) -> bool:
    """Return whether a parameter is called as weights, masks or lengths of tokens are."""
    return folded(name) in _WEIGHTS | LENGTHS | _OF_DOCUMENTS


def _weighing_of(found: Taken) -> list[str]:
    """Return the parameters that are weights, masks or lengths of the tokens."""
    return [name for name in found.sources if name not in found.roles and is_weighing(name)]


def _with_all_counted(form: Form, found: Taken) -> Form:
    """Return the form in which weights that must be given let each token count."""
    for name in _weighing_of(found):
        if name in found.needed:
            of = _lengths if folded(name) in LENGTHS else _weighings_of(name)[0].of
            form = replace(form, sources={**form.sources, name: _counted(of, needed=True)})
    return form


def _counted(of: Callable[[Any, Arguments], Any], *, needed: bool) -> Source:
    def source(arguments: Arguments) -> Any:
        if arguments.get("ignore_index") is None and not needed:
            return LEFT_OUT
        return of(reductions.kept(arguments), arguments)

    return source


def _lengths(kept: Any, arguments: Arguments) -> Any:
    """Return how many tokens of each row count, where all or none does."""
    return chosen(kept[:, 0], shape_of(kept)[1], 0, arguments["targets"])


def _classes(source: Source, of: Callable[[Any, Any, Arguments], Any]) -> Source:
    """Return the source of targets where those that do not count are others."""

    def targets(arguments: Arguments) -> Any:
        return of(source(arguments), reductions.kept(arguments), arguments)

    return targets


def _first_class(targets: Any, kept: Any, _: Arguments) -> Any:
    return targets * chosen(kept, 1, 0, targets)


def _no_class(targets: Any, kept: Any, _: Arguments) -> Any:
    return _first_class(targets, kept, _) + chosen(kept, 0, _NO_TARGET, targets)


def _next_class(targets: Any, kept: Any, _: Arguments) -> Any:
    return (targets + 1) * chosen(kept, 1, 0, targets)


def _of_one_more_class(form: Form, roles: dict[str, str]) -> Form:
    """Return the form in which there is one class more, the first, whose tokens the function ignores by itself.

    Smoothing would give it a share, so that it is not asked for.
    """
    logits, targets = roles["logits"], roles["targets"]
    plain = form.sources[logits]

    def more(arguments: Arguments) -> Any:
        array = plain(arguments)
        return joined([smallest(array) - _FAR, array], -1)

    sources = {**form.sources, logits: more, targets: _classes(form.sources[targets], _next_class)}
    features = tuple(one for one in form.features if one != "label_smoothing")
    words = (*form.words, "class 0 is ignored, the classes are those after it")
    return replace(form, sources=sources, features=features, words=words)


def _ways(form: Form, found: Taken) -> Iterator[tuple[Form, float]]:
    """Yield the forms that ignore targets, and the agreement that wrong values need to be taken for one.

    A target of -100 may have no effect on a loss that knows nothing of it: only right values tell.
    """
    roles = {role: name for name, role in found.roles.items()}
    targets = roles["targets"]
    for name in _weighing_of(found):
        needed = name in found.needed
        others = {targets: _classes(form.sources[targets], _first_class)}
        if folded(name) in LENGTHS:
            apart = replace(form, layout=EachToken(form.layout), sources={**form.sources, **others})
            counted = _counted(_lengths, needed=needed)
            yield (
                apart.with_source(name, counted, "ignore_index", f"`{name}`: the number of tokens that count"),
                _LEAST_AGREEMENT,
            )
            continue
        for weighing in _WEIGHINGS:
            one = replace(form, sources={**form.sources, **others})
            counted = _counted(weighing.of, needed=needed)
            yield one.with_source(name, counted, "ignore_index", f"`{name}`: {weighing.words}"), _LEAST_AGREEMENT
    if any("class 0" in word for word in form.words):
        yield replace(form, features=(*form.features, "ignore_index")), 1.0
        return
    features = (*form.features, "ignore_index")
    yield replace(_of_one_more_class(form, roles), features=features), 1.0
    sources = {**form.sources, targets: _classes(form.sources[targets], _no_class)}
    yield replace(form, sources=sources, features=features, words=(*form.words, f"{_NO_TARGET} is ignored")), math.inf


def with_ignored(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form that ignores targets, as far as the function does; the form itself where it does not.

    What no parameter says has to show: the loss must not depend on what is ignored.
    """
    if "targets" in found.missing:
        return form
    if "ignore_index" in form.features:
        return _with_ignored_outside(trials, form, found, probe)
    ignored = probe.with_argument("ignore_index", int(probe.arguments["targets"][0, 0]))
    best, likest = form, 0.0
    for one, least in _ways(form, found):
        result = trials.result(one, ignored)
        if result is None or result.shape != ignored.expected.shape:
            continue
        agreement = _agreement(trials, one, ignored, result)
        if is_near(result, ignored.expected) and agreement == 1.0:
            return one
        if agreement > likest and agreement >= least:
            best, likest = one, agreement
    return _saying_what_counts(form, found, _weighing_of(found)) if best is form else best


def _with_ignored_outside(trials: Trials, form: Form, found: Taken, probe: Probe) -> Form:
    """Return the form in which what is ignored is a class of its own, where a function needs one that is a class.

    One whose default is a number that is no class has to answer for that.
    """
    roles = {role: name for name, role in found.roles.items()}
    ignoring = roles["ignore_index"]
    default = found.defaults.get(ignoring)
    # A library's own value may be ignored by what is called, and another one be out of its bounds.
    probes = [_with_target_outside(probe, value) for value in (_NO_TARGET, -1)]
    if default is not None and not default >= 0:
        return form
    results = [trials.result(form, one) for one in probes]
    if all(result is not None and not np.isnan(result).any() for result in results):
        # JAX raises nothing where a place is out of bounds: it returns no number.
        return form
    outside = probes[0]
    more = _of_one_more_class(form, roles)
    plain = form.sources[ignoring]
    first = lambda arguments: plain(arguments) if arguments.get("ignore_index") is None else 0  # noqa: E731
    words = (*form.words, f"`{ignoring}`: the first class, the others are those after it")
    more = replace(more, sources={**more.sources, ignoring: first}, words=words)
    result = trials.result(more, outside)
    if result is not None and (is_near(result, outside.expected) or _ignores(trials, more, outside, result, ignoring)):
        return more
    return replace(form, features=tuple(one for one in form.features if one != "ignore_index"))


def _with_target_outside(probe: Probe, value: int) -> Probe:
    """Return the probe with a target that is no class, and is ignored."""
    targets = probe.arguments["targets"].copy()
    targets[0, 0] = value
    return probe_with(probe.operation, {**probe.arguments, "targets": targets, "ignore_index": value})


def _ignores(trials: Trials, form: Form, probe: Probe, result: np.ndarray, name: str) -> bool:
    """Return whether targets that a parameter is said to ignore have no influence, on a loss that is another one."""
    called = any(word in folded(name) for word in ("pad", "ignore"))
    return called and result.shape == probe.expected.shape and _agreement(trials, form, probe, result) == 1.0


def _agreement(trials: Trials, form: Form, probe: Probe, result: np.ndarray) -> float:
    """Return the share of tokens whose logits change the loss where they should, and only there."""
    logits, targets = probe.arguments["logits"], probe.arguments["targets"]
    found = []
    for place in np.ndindex(*targets.shape):
        changed = logits.copy()
        # A target that is no class has no logit of its own.
        changed[(*place, max(int(targets[place]), 0))] += 1.0
        other = trials.result(form, probe.with_argument("logits", changed))
        moved = other is not None and not np.allclose(other, result, rtol=1e-6, atol=0.0)
        found.append(moved == (targets[place] != probe.arguments["ignore_index"]))
    return float(np.mean(found))
