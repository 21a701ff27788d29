"""Cases drawn on purpose, which laws of value meet in addition to random ones."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import Any

from veriformer.conformance_tests.drawing.case import Case
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.rarity import RareCase, Rarity
from veriformer.conformance_tests.operations.attention.case import ADDITIONS, PROJECTED
from veriformer.conformance_tests.operations.suites import suite_of

__all__ = ["RareCase", "Rarity", "every_rare_case", "rare_cases"]

THOROUGH = 2
# With a framework that compiles for each shape, a quick run has none of them; in a standard one some laws get one,
# others at another seed; in a thorough one each law gets several.
_LAWS_FOR_ONE = 3
_THOROUGH_NUMBER = 8


def rare_cases(key: str, limits: Limits) -> list[RareCase]:
    """Return the rare cases that the law of this key meets, in the order of their sizes."""
    known = enumerate(suite_of(limits.operation).rarities)
    return _drawn([one for place, one in known if _is_its_turn(one, place, key, limits)], key, limits)


def every_rare_case(limits: Limits) -> list[RareCase]:
    """Return each rare case once, as a law that takes its turn would meet it, in the order of their sizes."""
    in_turn: dict[str, list[Rarity]] = {}
    for place, one in enumerate(suite_of(limits.operation).rarities):
        laws = [key for key in one.laws if _is_of_an_architecture_offered(key, limits)]
        if laws:
            in_turn.setdefault(laws[place % len(laws)], []).append(one)
    drawn = (case for key, rarities in in_turn.items() for case in _drawn(rarities, key, limits))
    return sorted(drawn, key=lambda case: case.size)


def _drawn(rarities: list[Rarity], key: str, limits: Limits) -> list[RareCase]:
    """Return the cases of those rarities that an implementation offers, in the order of their sizes."""
    random, offered = Random(limits.seed), [one for one in rarities if _is_offered(one, limits)]
    if limits.compiles_per_shape:
        number = (0, int(limits.seed % _LAWS_FOR_ONE == 0), _THOROUGH_NUMBER)[limits.reach]
        offered = random.sample(offered, min(number, len(offered)))
    drawn = [_case(one, number, random, key, limits) for number, one in enumerate(offered)]
    return sorted((case for case in drawn if case is not None), key=lambda case: case.size)


def _is_its_turn(rarity: Rarity, place: int, key: str, limits: Limits) -> bool:
    if not _is_of_an_architecture_offered(key, limits):
        return False
    return key in rarity.laws if limits.reach == THOROUGH else rarity.laws[place % len(rarity.laws)] == key


def _is_of_an_architecture_offered(key: str, limits: Limits) -> bool:
    group, _, name = key.partition(".")
    return group != "architecture" or name in limits.architectures


def _is_offered(rarity: Rarity, limits: Limits) -> bool:
    """Return whether an implementation offers the features of a rarity, and the tier includes it."""
    wanted = rarity.fields
    given = {*wanted, ADDITIONS.get(limits.operation, "")}
    return (
        rarity.reach <= limits.reach
        and rarity.needs <= limits.features
        and not (limits.equal_widths and wanted.get("value_width") is not None)
        and not (limits.equal_lengths and wanted.get("query_length") != wanted.get("key_length"))
        and not (limits.causal_excludes_mask and "is_causal" in given and given & {"mask", "bias"})
        and not (limits.bias_excludes_mask and {"mask", "bias"} <= given)
        and not (wanted.get("kv_heads", 0) != wanted.get("heads", 0) and _needs_kv_heads(limits))
        and wanted.get("architecture", "") in ("", *limits.architectures)
        and (limits.left_padding or wanted.get("padding") != "left")
        and (limits.left_padding or not any(kind == "with_gaps" for _, kind in rarity.changes))
    )


def _needs_kv_heads(limits: Limits) -> bool:
    return limits.operation in PROJECTED and "num_kv_heads" not in limits.features


def _case(rarity: Rarity, number: int, random: Random, key: str, limits: Limits) -> RareCase | None:
    """Return the case of a rarity, in a dtype that holds it; None if no dtype does."""
    dtypes = [dtype for dtype in limits.dtypes if not (rarity.is_wide and dtype == "float16")]
    if rarity.is_subnormal and "float32" in dtypes:
        dtypes = ["float32"]
    if not dtypes:
        return None
    suite = suite_of(limits.operation)
    ordinary: Any = suite.ordinary
    known = {field.name for field in fields(ordinary)}
    given = {name: value for name, value in rarity.fields.items() if name in known}
    if limits.operation.startswith("encoder_layer"):
        given.pop("memory", None)
    if not limits.operation.startswith("encoder_decoder"):
        given.pop("source_length", None)
    case = replace(ordinary, **given, dtype=dtypes[(number + limits.seed) % len(dtypes)], seed=random.randrange(2**16))
    case = suite.suited(case, key, limits)
    offered = limits.fixed.applied(case, None)
    return RareCase(offered, rarity.changes) if _is_free(case, offered, rarity, limits) else None


def _is_free(case: Case, offered: Case, rarity: Rarity, limits: Limits) -> bool:
    """Return whether a case is still that of the rarity when choices that are not offered are fixed."""
    names = {"norm_first", *rarity.fields}
    if any(getattr(case, name, None) != getattr(offered, name, None) for name in names):
        return False
    fixed = limits.fixed.offered
    biases = "biases" in fixed and any(kind == "absent" for _, kind in rarity.changes)
    return not biases and not ("context" in fixed and any(path in ("x", "context") for path, _ in rarity.changes))
