"""Why two parts differ, in words, and what the second model must change."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from veriformer.conformance_tests.mistakes import catalogue, remedy
from veriformer.conformance_tests.ports.arrangements import factor_in_words
from veriformer.conformance_tests.ports.finding import Finding
from veriformer.conformance_tests.ports.findings import Cause
from veriformer.conformance_tests.ports.items import Choice, Item, Weight
from veriformer.conformance_tests.recognition.findings import Departure

# Where correct models disagree, so that neither of the two is wrong by itself.
_CONVENTIONS = (
    "eps",
    "eps place",
    "rotation",
    "base",
    "head width",
    "embedding factor",
    "positions",
    "softcap",
    "window",
    "sinks",
    "linear branch",
    "gated",
    "kind",
)
_GELU = {"gelu", "gelu_tanh", "gelu_sigmoid"}


def cause_of(finding: Finding) -> Cause:
    """Return why two parts differ in one thing."""
    if finding.relation is not None:
        return _of_weight(finding)
    return _of_choice(finding)


def change_of(own: Departure) -> str:
    """Return what to do where a model departs: the remedy of the mistake, else to do as the other model does."""
    known = next((wanted for one in own.suspects if (wanted := remedy(one.name))), "")
    return known or f"do as A does, where now {own.sentence.rstrip('.')}"


def of_first_departing(cause: Cause, own: Departure) -> Cause:
    """Return the cause of a difference where it is the first model that departs from the Transformer."""
    sentence = f"{cause.sentence}; it is A that departs here: {own.sentence}"
    change = f"{cause.change}; or mend A, which departs there" if cause.change else ""
    if not own.suspects:
        return replace(cause, sentence=sentence, change=change)
    return replace(cause, kind="mistake", name=own.suspects[0].name, sentence=sentence, change=change)


def _of_choice(finding: Finding) -> Cause:
    first, second = finding.first, finding.second
    assert isinstance(first, Choice)
    assert isinstance(second, Choice)
    subject = _subject(second.key)
    sentence = f"{subject}A: {first.words}; B: {second.words}"
    slug = _slug(finding, first, second)
    times = _scaled_by(first.value, second.value) if second.key.endswith(" base") else None
    sentence += "" if times is None else f"; all of B's angles are A's times {factor_in_words(times)}"
    known = slug in catalogue()
    convention = _is_convention(first, second)
    name = slug if known or (slug and not convention) else second.key
    as_in_a = f"{subject.removesuffix(': ')}, as in A" if subject else "as in A"
    change = f"{_where(second)}: {as_in_a}: {first.words}"
    # "learned positions" alone would be no instruction where B has learned positions from row 1.
    change += f", and not {second.words}" if first.words in second.words else ""
    return Cause("convention" if convention or not slug else "mistake", name, sentence, 1.0, change)


def _slug(finding: Finding, first: Choice, second: Choice) -> str:
    """Return the mistake that the second model's way is where the first one's is right."""
    if second.key.endswith(" rotation") and isinstance(first.value, tuple) and isinstance(second.value, tuple):
        names = (
            "" if finding.pairs_moved else "rope_interleaved_vs_half",
            "rope_rotary_dim_ignored",
            "",
            "rope_position_offset",
            "rope_sign_flipped",
        )
        pairs = zip(names, first.value, second.value, strict=False)
        return next((name for name, one, other in pairs if name and one != other), second.slug(first.value))
    if second.key.endswith(" base") and _scaled_by(first.value, second.value) is not None:
        return "rope_scaling_ignored"
    if second.key == "activation" and {first.value, second.value} <= _GELU:
        return "gelu_quick_vs_erf" if "gelu_sigmoid" in (first.value, second.value) else "gelu_tanh_vs_erf"
    if second.key == "visible keys" and first.value in ("masked", "causal and masked"):
        unmasked = {"masked": "every key", "causal and masked": "causal"}[str(first.value)]
        return "padding_mask_ignored" if second.value == unmasked else ""
    return second.slug(first.value)


def _scaled_by(first: Hashable, second: Hashable) -> float | None:
    """Return c where frequencies are those of the other rotation times c, as for positions that are scaled."""
    if not isinstance(first, tuple) or not isinstance(second, tuple) or len(first) != len(second) or len(first) < 2:
        return None
    # They are rounded to four digits after the point.
    pairs = [(one, other) for one, other in zip(first, second, strict=True) if min(abs(one), abs(other)) > 1e-3]
    factor = second[0] / first[0] if first[0] else 1.0
    alike = all(abs(other - factor * one) <= 1e-4 * (1.0 + abs(factor)) for one, other in pairs)
    return factor if len(pairs) > 1 and alike and abs(factor - 1.0) > 1e-2 else None


def _is_convention(first: Choice, second: Choice) -> bool:
    if first.key == "activation":
        return {first.value, second.value} <= _GELU
    last = first.key.rpartition(": ")[2]
    return last in _CONVENTIONS or first.key.partition(" ")[2] in _CONVENTIONS


def _subject(key: str) -> str:
    """Return the words that say what a choice is about, where the choice's own words do not."""
    first = key.partition(" ")[0]
    if first in ("query", "key", "value"):
        return f"{first}: "
    if key.startswith(("norm", "final norm")) and ": " in key:
        return f"{key.partition(': ')[0]}: "
    return ""


def _of_weight(finding: Finding) -> Cause:
    item, found = finding.item, finding.relation
    assert found is not None
    if finding.held:
        return _of_held(finding)
    if finding.elsewhere is not None:
        return _of_elsewhere(finding, finding.elsewhere)
    label_a, label_b = _label(finding.first), _label(finding.second)
    if finding.cut_otherwise and item.key.startswith("row for all"):
        words = f"all tokens get one row of {label_b}, and it is another row than A's of {label_a}"
        return Cause("mistake", "row", words, 1.0, f"{_where(item)}: take the row of {label_b} that A takes")
    if finding.cut_otherwise and found.name == "scaled":
        words = (
            f"the numbers of {label_b} are those of {label_a}, and B uses them times {factor_in_words(found.factor)}"
        )
        change = f"{_where(item)}: use {label_b} as it is, as A does"
        return Cause("factor", "scaled", f"{item.key}: {words}", 1.0, change)
    if finding.cut_otherwise:
        words = (
            f"{item.key}: the numbers of {label_b} are those of {label_a}, and B takes them in another order: it has "
            f"{found.words}"
        )
        numbers = "the numbers of a patch, for" if isinstance(item, Weight) and item.axes else "the columns of"
        return Cause("mistake", found.name, words, 1.0, f"{_where(item)}: take {numbers} {label_b} in A's order")
    if found.name == "rows from later" and item.key == "positions table":
        words = f"{item.key}: B's {label_b} is made of A's {label_a} without its first rows: {found.words}"
        change = f"{label_b}: begin with the first row of A's {label_a}"
        return Cause("mistake", "learned_position_offset_wrong", words, 1.0, change)
    if found.name == "missing":
        sentence = f"A has {label_a} ({item.key}), and B has nothing in its place"
        return Cause("weight", "missing", sentence, 1.0, f"{_where(item)}: add {label_a} ({item.key})")
    if found.name == "additional":
        sentence = f"B has {label_b} ({item.key}), and A has nothing in its place"
        return Cause("weight", "additional", sentence, 1.0, f"{_where(item)}: leave out {label_b} ({item.key})")
    sentence = f"{item.key}: compared with A's {label_a}, B's {label_b} is {found.words}"
    if found.name == "rounded":
        return Cause("precision", "rounded", sentence, 1.0, f"{label_b}: take A's {label_a} in its own precision")
    change = f"{label_b}: {_MENDING.get(found.name, 'take the numbers of')} A's {label_a}"
    if found.name == "scaled":
        shape = (
            finding.first.array.shape if isinstance(finding.first, Weight) and finding.first.array is not None else ()
        )
        change = f"{label_b}: divide it by {factor_in_words(found.factor, shape)}, to be as A's {label_a}"
        return Cause("factor", "scaled", sentence, 1.0, change)
    return Cause("weight", found.name, sentence, 1.0, change)


_MENDING = {
    "transposed": "transpose it, to be as",
    "constant": "load",
    "fused_qkv_layout": "cut it as",
    "reshaped": "transpose it rather than reshape it, to be as",
    "heads permuted": "put its heads into the order of",
    "component major": "count heads before components, as",
    "rotary order": "put the components of each head into the order of",
    "components permuted": "put the components of each head into the order of",
    "axes permuted": "put its axes into the order of",
    "permuted": "put it into the order of",
}


def _of_held(finding: Finding) -> Cause:
    """Return that the code takes another weight than the first model's, or none, though it has the right one."""
    item, wanted = finding.item, _label(finding.first)
    if finding.elsewhere is None:
        sentence = f"{item.key}: A uses {wanted}; B has the same numbers in {finding.held}, and does not use them"
        return Cause("mistake", "missing", sentence, 1.0, f"{_where(item)}: use {finding.held} ({item.key})")
    taken = _label(finding.second)
    sentence = f"{item.key}: A takes {wanted} here, and B takes {taken}; both have the same numbers under these names"
    change = f"{_where(item)}: take {finding.held} ({item.key}) in place of {taken}"
    return Cause("mistake", "elsewhere", sentence, 1.0, change)


def _of_elsewhere(finding: Finding, elsewhere: Weight) -> Cause:
    item = finding.item
    label_b = _label(finding.second)
    sentence = f"{item.key}: B's {label_b} has the numbers of A's {elsewhere.label} ({elsewhere.key})"
    wanted = _label(finding.first)
    sentence += f", in place of {wanted}" if wanted != elsewhere.label else ""
    return Cause("weight", "elsewhere", sentence, 1.0, f"{label_b}: take {wanted} ({item.key}) of A")


def _label(item: Item | None) -> str:
    if isinstance(item, Weight):
        return item.label or item.key
    return "nothing" if item is None else item.path


def _where(item: Item) -> str:
    return item.path or "the model"
