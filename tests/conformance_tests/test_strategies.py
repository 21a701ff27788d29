"""Cases respect what their space demands and what the implementation can do, whichever way they are drawn."""

from __future__ import annotations

import random
import subprocess
import sys
from dataclasses import astuple, dataclass, fields, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import Phase, find, settings
from hypothesis.errors import NoSuchExample
from veriformer.adapters.model_declarations import ARCHITECTURES, BlackBox
from veriformer.conformance_tests.drawing.limits import Limits
from veriformer.conformance_tests.drawing.space import NoSpace, OwnSpace, Space
from veriformer.conformance_tests.drawing.vectors import VectorCase, VectorSpace
from veriformer.conformance_tests.operations.adamw.cases import StepCase, StepSpace
from veriformer.conformance_tests.operations.attention.case import ADDITIONS, AttentionCase, AttentionSpace
from veriformer.conformance_tests.operations.black_box.cases import BoxCase, BoxSpace
from veriformer.conformance_tests.operations.cases import cases, own_space
from veriformer.conformance_tests.operations.clipping.cases import ClipCase, ClipSpace
from veriformer.conformance_tests.operations.dropout.cases import DropoutCase, DropoutSpace
from veriformer.conformance_tests.operations.embedding.cases import EmbeddingCase, EmbeddingSpace
from veriformer.conformance_tests.operations.feed_forward.cases import FeedForwardCase, FeedForwardSpace
from veriformer.conformance_tests.operations.initialisation.cases import InitialCase, InitialSpace
from veriformer.conformance_tests.operations.laws import laws
from veriformer.conformance_tests.operations.layers.cases import LayerCase, LayerSpace
from veriformer.conformance_tests.operations.loss.cases import LossCase, LossSpace
from veriformer.conformance_tests.operations.masks.cases import (
    CausalMaskCase,
    CausalMaskSpace,
    PaddingMaskCase,
    PaddingMaskSpace,
)
from veriformer.conformance_tests.operations.merging.cases import MergeCase, MergeSpace
from veriformer.conformance_tests.operations.models.cases import ModelCase, ModelSpace
from veriformer.conformance_tests.operations.next_token.cases import NextTokenCase
from veriformer.conformance_tests.operations.relative_positions.cases import (
    AlibiCase,
    AlibiSpace,
    BucketCase,
    BucketSpace,
)
from veriformer.conformance_tests.operations.rotary.cases import RotaryCase, RotarySpace
from veriformer.conformance_tests.operations.schedules.cases import CosineCase, CosineSpace, RootCase, RootSpace
from veriformer.conformance_tests.operations.sinusoids.cases import PositionCase, PositionSpace
from veriformer.conformance_tests.operations.training.cases import TrainingCase, TrainingSpace
from veriformer.spec.operations import OPERATIONS

DTYPES = ("float32", "bfloat16", "float16")
CASES_EACH = 8
# To the strategies these two are one operation.
ALIKE = {"scaled_dot_product_attention": "attention_weights"}


@dataclass(frozen=True)
class Drawing:
    """A space as an operation's laws use it, and the keywords that those laws cannot do without."""

    operation: str
    space: Space
    needed: frozenset[str]


def drawings() -> tuple[Drawing, ...]:
    """Return every space that a law draws from, once for each operation and set of needed features."""
    found = {}
    for law in laws().values():
        operation, space = law.statement.operation.name, law.space
        operation = ALIKE.get(operation, operation)
        if isinstance(space, NoSpace):
            continue
        if isinstance(space, OwnSpace):
            space = own_space(operation, extras=space.extras)
        found[Drawing(operation, space, frozenset(law.statement.features))] = None
    return tuple(found)


DRAWINGS = drawings()


def drawn(space: Space, limits: Limits, count: int = CASES_EACH, seed: int = 0) -> list[Any]:
    """Return the distinct cases that a search of `count` examples would look at: drawn plainly, and by Hypothesis."""
    choice, plainly = cases(space, limits), random.Random(seed)
    seen: dict[Any, None] = dict.fromkeys(choice.sample(plainly) for _ in range(count))

    def looked_at(case: Any) -> bool:
        seen[case] = None
        return False

    with pytest.raises(NoSuchExample):
        find(
            choice.strategy,
            looked_at,
            settings=settings(max_examples=count, database=None, deadline=None, phases=(Phase.generate,)),
            random=random.Random(seed),
        )
    return list(seen)


def limits_of(drawing: Drawing, *, few_features: bool = False, **others: Any) -> Limits:
    features = drawing.needed if few_features else frozenset(OPERATIONS[drawing.operation].features)
    box = BlackBox(vocabulary_size=11, max_length=9)
    architectures = ARCHITECTURES.get(drawing.operation, ())
    return Limits(drawing.operation, DTYPES, features, architectures, box, **others)


LIMITS = {
    "free": partial(limits_of, seed=3),
    "pooled": partial(limits_of, compiles_per_shape=True),
    "small": partial(limits_of, small=True),
    "few features": partial(limits_of, few_features=True, equal_widths=True, seed=4),
    "flag refuses mask": partial(limits_of, causal_excludes_mask=True, seed=5),
}


# Where a space calls a size otherwise than its cases, and (empty) where a check of its own compares it.
NAMES_OF_SIZES = {
    AttentionCase: {"queries": "query_length", "keys": "key_length", "width": "head_width"},
    AlibiCase: {"length": "query_length"},
    PaddingMaskCase: {"batch": ""},
    EmbeddingCase: {"positions": ""},
    LayerCase: {"memory": ""},
    ModelCase: {"source": ""},
    TrainingCase: {"source": ""},
}


def check_attention(case: AttentionCase, space: AttentionSpace, limits: Limits) -> None:
    check_attention_sizes(case, space, limits)
    check_features(case, space, limits)
    assert case.palette in space.palettes
    assert case.amplitude in space.amplitudes or (case.amplitude == 8 and case.dtype == "float16")
    if case.mask != "none":
        assert case.mask in space.mask_kinds
        assert case.mask_shape in space.mask_shapes


def check_attention_sizes(case: AttentionCase, space: AttentionSpace, limits: Limits) -> None:
    assert space.queries in (None, case.query_length)
    assert space.keys in (None, case.key_length)
    assert space.heads in (None, case.heads)
    assert case.heads % case.kv_heads == 0
    if "grouped_query_attention" not in limits.operation and not space.grouped:
        assert case.kv_heads == case.heads
    if space.grouped:
        assert 1 < case.kv_heads < case.heads
    if space.kv_heads != "any":
        assert case.kv_heads == (1 if space.kv_heads == "one" else case.heads)
        assert case.heads > 1
    check_lengths_and_widths(case, space, limits)


def check_lengths_and_widths(case: AttentionCase, space: AttentionSpace, limits: Limits) -> None:
    queries, keys = case.query_length, case.key_length
    rules = {
        "any": True,
        "equal": queries == keys,
        "unequal": queries != keys,
        "keys_suffice": keys >= queries,
    }
    assert rules[space.lengths]
    if space.widths == "unequal":
        assert case.value_width != case.head_width
    elif limits.equal_widths:
        assert case.value_width == case.head_width


def check_features(case: AttentionCase, space: AttentionSpace, limits: Limits) -> None:
    given = {"mask": case.mask != "none", "bias": case.bias, "is_causal": case.is_causal}
    given["scale"] = case.scale is not None
    given |= {"window": case.window is not None, "softcap": case.softcap is not None, "sinks": case.sinks}
    wishes = {"mask": space.mask, "bias": space.bias, "is_causal": space.causal, "scale": space.scale}
    wishes |= {"window": space.window, "softcap": space.softcap, "sinks": space.sinks}
    always = ADDITIONS.get(limits.operation)
    if always is not None:
        # What is required is no feature, and no law demands it. Beside a flag that excludes it no law is offered.
        assert given.pop(always) or (limits.causal_excludes_mask and space.causal == "always")
    for name, is_given in given.items():
        assert not (is_given and name not in limits.features), f"{name} is not a keyword of the implementation"
        assert not (is_given and wishes[name] == "never"), f"the space never has {name}"
        if not limits.causal_excludes_mask and name in limits.features:
            assert is_given or wishes[name] != "always", f"the space always has {name}"
    if limits.causal_excludes_mask:
        assert not (given["is_causal"] and (given["mask"] or case.bias))
    assert case.biases or space.biases != "always"


def check_loss(case: LossCase, space: LossSpace, limits: Limits) -> None:
    assert case.palette in space.palettes
    for given, wish, name in (
        (case.ignore != "none", space.ignore, "ignore_index"),
        (case.label_smoothing is not None, space.smoothing, "label_smoothing"),
    ):
        assert given or wish != "always"
        assert not given or (wish != "never" and name in limits.features)
    assert case.ignore == "none" or case.batch * case.length >= 2
    assert case.ignore != "inside" or case.classes >= 2
    assert case.label_smoothing is None or case.label_smoothing in space.shares
    assert case.reduction in space.reductions and (case.reduction is None or "reduction" in limits.features)


def check_least(case: Any, space: Space) -> None:
    """Check every size that the space has a least value of, but for the few that mean something else."""
    names = NAMES_OF_SIZES.get(type(case), {})
    for field in fields(space):
        size = field.name.removeprefix("least_")
        if size != field.name and (name := names.get(size, size)):
            assert getattr(case, name) >= getattr(space, field.name), f"{name} of {case} in {space}"


def stage_of(case: CosineCase | RootCase) -> str:
    if case.step <= case.warmup_steps:
        return "top" if case.step == case.warmup_steps else "warmup"
    end = case.total_steps if isinstance(case, CosineCase) else case.step + 1
    return "decay" if case.step < end else "end" if case.step == end else "beyond"


def check_training(case: Any, space: Space, limits: Limits) -> None:
    assert case.dtype in limits.dtypes
    if isinstance(space, StepSpace):
        assert isinstance(case, StepCase)
        assert case.step in space.steps
    elif isinstance(space, ClipSpace):
        assert isinstance(case, ClipCase)
        assert case.bound in space.bounds
    elif isinstance(space, CosineSpace):
        assert isinstance(case, CosineCase)
        assert stage_of(case) in space.stages and case.total_steps > case.warmup_steps
    else:
        assert isinstance(space, RootSpace)
        assert isinstance(case, RootCase)
        assert stage_of(case) in space.stages and case.step >= 1


def check_training_steps(case: ModelCase, space: TrainingSpace, limits: Limits) -> None:
    assert isinstance(case, TrainingCase)
    kinds = {"zero": not any(case.learning_rates), "one": len(case.learning_rates) == 1}
    kinds |= {"last": not any(case.learning_rates[:-1]) and case.learning_rates[-1] > 0.0}
    kinds |= {"all": min(case.learning_rates) > 0.0}
    assert any(kinds[kind] for kind in space.rates)
    for given, wish, name in (
        (case.ignoring, space.ignore_index, "ignore_index"),
        (case.in_parts, space.micro_batches, "micro_batches"),
    ):
        assert not given or (wish != "never" and name in limits.features)


def check_random(case: Any, space: DropoutSpace | InitialSpace, limits: Limits) -> None:
    if isinstance(space, DropoutSpace):
        assert isinstance(case, DropoutCase)
        assert case.rate in space.rates
        assert case.training in space.training and (case.training is None or "training" in limits.features)
    else:
        assert isinstance(case, InitialCase)
        assert case.layers >= space.least_layers and case.config.num_heads == case.heads
        assert case.kv_heads == case.heads or case.architecture == "llama"


def check_case(case: Any, space: Space, limits: Limits) -> None:
    check_least(case, space)
    if isinstance(space, AttentionSpace):
        assert isinstance(case, AttentionCase)
        check_attention(case, space, limits)
    elif isinstance(space, VectorSpace):
        assert isinstance(case, VectorCase)
        assert case.palette in space.palettes
        assert case.eps > 0
    elif isinstance(space, FeedForwardSpace):
        assert isinstance(case, FeedForwardCase)
        check_feed_forward(case, space, limits)
    elif isinstance(space, CausalMaskSpace):
        assert isinstance(case, CausalMaskCase)
        assert min(case.query_length, case.key_length) >= 1
        assert case.query_length == case.key_length or not space.square
    elif isinstance(space, PaddingMaskSpace):
        assert isinstance(case, PaddingMaskCase)
        assert len(case.lengths) >= space.least_batch
        assert 1 <= max(case.lengths) <= case.max_length
    elif isinstance(space, LossSpace):
        assert isinstance(case, LossCase)
        check_loss(case, space, limits)
    elif isinstance(space, EmbeddingSpace):
        assert isinstance(case, EmbeddingCase)
        assert case.batch * case.length >= space.least_positions
        assert case.scaled or space.scaled != "always"
        assert not case.scaled or (space.scaled != "never" and "scale_by_sqrt_d_model" in limits.features)
    elif isinstance(space, RotarySpace):
        assert isinstance(case, RotaryCase)
        check_rotary(case, space, limits)
    elif isinstance(space, AlibiSpace):
        assert isinstance(case, AlibiCase)
        check_alibi(case, space)
    elif isinstance(space, BucketSpace):
        assert isinstance(case, BucketCase)
        check_buckets(case, space, limits)
    elif isinstance(space, MergeSpace):
        assert isinstance(case, MergeCase)
        assert (case.empty, case.dtype in limits.dtypes) == (space.empty, True)
    elif isinstance(space, LayerSpace):
        assert isinstance(case, LayerCase)
        assert (case.memory >= space.least_memory) if limits.operation.startswith("decoder_layer") else not case.memory
    elif isinstance(space, ModelSpace):
        assert isinstance(case, ModelCase)
        check_model(case, space, limits)
        if isinstance(space, TrainingSpace):
            check_training_steps(case, space, limits)
    elif isinstance(space, StepSpace | ClipSpace | CosineSpace | RootSpace):
        check_training(case, space, limits)
    elif isinstance(space, BoxSpace):
        assert isinstance(case, BoxCase)
        check_black_box(case, space, limits)
    elif isinstance(space, DropoutSpace | InitialSpace):
        check_random(case, space, limits)
    else:
        assert isinstance(space, PositionSpace)
        assert isinstance(case, PositionCase)
        assert case.d_model % 2 == 0


def check_model(case: ModelCase, space: ModelSpace, limits: Limits) -> None:
    assert case.architecture in (space.architectures or limits.architectures)
    assert case.width % case.heads == 0 and case.width // case.heads % 2 == 0
    assert case.kv_heads == case.heads or case.architecture == "llama"
    translates = limits.operation.startswith("encoder_decoder")
    assert (case.source_length >= space.least_source) if translates else not case.source_length
    own = "target_padding_mask" if translates else "padding_mask"
    given = ((case.padding, space.padding, own), (case.source_padding, space.source_padding, "source_padding_mask"))
    for side, how, name in given[: 2 if translates else 1]:
        assert side != "none" or how != "always"
        assert side == "none" or (how != "never" and name in limits.features)
    assert case.padding in (*space.sides, "none") and (case.padding == "none" or case.length >= 2)
    assert all(0 < cut < case.length for cut in case.cuts) and list(case.cuts) == sorted(set(case.cuts))
    counts = {"none": {0}, "one": {1}, "any": range(case.length), "all": {case.length - 1}}
    assert len(case.cuts) in (counts[space.cuts] if limits.operation == "decode_step" else {0})


def check_black_box(case: BoxCase, space: BoxSpace, limits: Limits) -> None:
    box = limits.black_box
    assert box is not None
    assert (case.vocabulary, case.width) == (box.vocabulary_size or 0, box.d_model or 0)
    assert case.length <= (box.max_length or 9)
    assert case.padded or space.padding != "always"
    assert not case.padded or (space.padding != "never" and "padding_mask" in limits.features)


def check_rotary(case: RotaryCase, space: RotarySpace, limits: Limits) -> None:
    assert case.width % 2 == 0
    assert case.palette in space.palettes
    given = {"base": case.base is not None, "rotary_dim": case.rotary_dim is not None}
    for name, how in (("base", space.base), ("rotary_dim", space.rotary_dim)):
        assert not given[name] or (how != "never" and name in limits.features)
        assert given[name] or how != "always" or name not in limits.features
    assert case.per_sample in {"never": (False,), "always": (True,)}.get(space.per_sample, (False, True))
    if case.rotary_dim is not None:
        assert case.rotary_dim % 2 == 0
        assert 2 <= case.rotary_dim <= case.width - (2 if space.rotary_dim == "always" else 0)


def check_alibi(case: AlibiCase, space: AlibiSpace) -> None:
    is_power = case.heads & (case.heads - 1) == 0
    assert is_power in {"power_of_two": (True,), "other": (False,)}.get(space.heads, (False, True))
    assert case.query_length <= case.key_length
    assert not space.square or case.query_length == case.key_length
    assert not space.more_keys or case.query_length < case.key_length


def check_buckets(case: BucketCase, space: BucketSpace, limits: Limits) -> None:
    settings = (case.bidirectional, case.num_buckets, case.max_distance)
    if not {"bidirectional", "num_buckets", "max_distance"} <= limits.features:
        assert settings == (None, None, None)
        return
    assert None not in settings
    assert case.bidirectional in {"both": (True,), "one": (False,)}.get(space.direction, (False, True))


def check_feed_forward(case: FeedForwardCase, space: FeedForwardSpace, limits: Limits) -> None:
    assert case.palette in space.palettes
    assert case.activation in space.activations
    assert case.dtype != "float16" or case.amplitude <= 2
    if limits.operation in ("feed_forward", "feed_forward_backward"):
        assert space.biases == "sometimes" or case.biases == (space.biases == "always")
    else:
        assert not case.biases


@pytest.mark.parametrize("kind", LIMITS)
def test_every_case_respects_its_space_and_limits(kind: str) -> None:
    for drawing in DRAWINGS:
        limits = LIMITS[kind](drawing)
        seen = drawn(drawing.space, limits)
        assert seen, f"nothing is drawn for {drawing}"
        for case in seen:
            check_case(case, drawing.space, limits)
            check_small(case, drawing.space) if limits.small else None
        if limits.compiles_per_shape and isinstance(drawing.space, AttentionSpace | RotarySpace):
            assert len({compiled_for(case) for case in seen}) <= limits.pool, f"{drawing} is compiled too often"


def check_small(case: Any, space: Any) -> None:
    if isinstance(case, AttentionCase):  # A law may be about very many keys.
        assert max(case.query_length, 0 if space.keys else case.key_length, case.heads, case.value_width) <= 4
        assert case.batch <= 2
    if isinstance(case, LossCase | EmbeddingCase):
        # The first token of a row is no target.
        assert case.batch * (case.length - isinstance(case, NextTokenCase)) <= 6
    if isinstance(case, RotaryCase):
        assert max(case.batch, case.heads, case.length) <= 3
        assert case.width <= 6
    if isinstance(case, AlibiCase):
        assert case.key_length <= 4
    if isinstance(case, BucketCase):
        assert max(case.rows, case.columns) <= 3
    if isinstance(case, FeedForwardCase):
        assert max(case.rows, case.width, case.hidden) <= 3
    if isinstance(case, VectorCase | PositionCase):
        assert max(getattr(case, "width", 0), getattr(case, "length", 0), getattr(case, "d_model", 0)) <= 6


def compiled_for(case: AttentionCase | RotaryCase) -> tuple[Any, ...]:
    """Return what a compiling framework tells cases apart by: everything but the values."""
    if isinstance(case, RotaryCase):
        return astuple(replace(case, palette="bits", amplitude=1, furthest=2, seed=0))
    mask_shape = case.mask_shape if case.mask != "none" else None
    plain = replace(case, palette="bits", amplitude=1, mask="none", mask_shape="full", seed=0)
    return (*astuple(plain), mask_shape)


@pytest.mark.parametrize("count", (1, 2, 3, 4))
@pytest.mark.parametrize("kind", ("free", "pooled", "small"))
def test_every_declared_dtype_is_tried(kind: str, count: int) -> None:
    """Not every law has to meet every dtype of an implementation that compiles, but some law has to."""
    dtypes = ("float32", "bfloat16", "float16", "float64")[:count]
    met = set()
    for seed in range(12):
        limits = replace(LIMITS[kind](DRAWINGS[0]), operation="attention_weights", dtypes=dtypes, seed=seed)
        met |= {case.dtype for case in drawn(AttentionSpace(), limits, seed=seed)}
    assert met == set(dtypes)


def test_the_flag_gives_way_to_the_mask_unless_the_law_is_about_the_flag() -> None:
    limits = Limits(
        "attention_weights", ("float32",), frozenset({"mask", "bias", "is_causal"}), causal_excludes_mask=True
    )
    about_the_flag = drawn(AttentionSpace(causal="always", mask="sometimes", bias="sometimes"), limits, 60)
    assert all(case.is_causal for case in about_the_flag)
    free = drawn(AttentionSpace(causal="sometimes", mask="sometimes", bias="sometimes"), limits, 300)
    assert {(case.is_causal, case.mask != "none" or case.bias) for case in free} == {
        (False, False),
        (False, True),
        (True, False),
    }


def test_nothing_is_drawn_without_a_space() -> None:
    with pytest.raises(TypeError, match="NoSpace"):
        cases(NoSpace(), Limits("softmax", ("float32",), frozenset()))


def test_a_check_is_imported_without_hypothesis() -> None:
    code = "import sys; import veriformer.conformance_tests.run.checking; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
