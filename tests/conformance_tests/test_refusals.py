"""Programs that refuse something are met with one sentence that says what, and without it in all other laws."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from veriformer import reference
from veriformer.adapters.loading import load
from veriformer.conformance_tests import check
from veriformer.conformance_tests.core.selection import Selection
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.reports.law_tests import law_tests
from veriformer.conformance_tests.run.options import RunOptions
from veriformer.conformance_tests.run.runner import Run
from veriformer.spec.operations import OPERATIONS

pytestmark = pytest.mark.long

REFERENCE = load("numpy")


def bound(operation: str, positional: tuple[Any, ...], keywords: dict[str, Any]) -> SimpleNamespace:
    """Return the arguments of a call by name, those that are not there as None."""
    names = OPERATIONS[operation].positional
    everything = dict.fromkeys(parameter.name for parameter in OPERATIONS[operation].parameters)
    return SimpleNamespace(**everything | dict(zip(names, positional, strict=True)) | keywords)


def refusing(operation: str, refuses: Any) -> Any:
    """Return the reference's operation, which raises for some calls; its signature has every keyword."""
    original = REFERENCE.operations[operation]
    parameters = OPERATIONS[operation].parameters
    required = [p.name for p in parameters if p.requirement == "positional"]
    keywords = [p.name for p in parameters if p.requirement == "keyword"]
    features = [p.name for p in parameters if p.requirement == "feature"]

    def call(positional: tuple[Any, ...], given: dict[str, Any]) -> Any:
        given = {name: value for name, value in given.items() if value is not None}
        if refuses(bound(operation, positional, given)):
            raise NotImplementedError("this kernel does not do that")
        return original(*positional, **given)

    names = ", ".join([*required, "*", *keywords, *(f"{name}=None" for name in features)])
    names = names if keywords or features else ", ".join(required)
    handed = ", ".join(f"{name!r}: {name}" for name in (*keywords, *features))
    namespace: dict[str, Any] = {"call": call}
    exec(f"def {operation}({names}):\n    return call(({', '.join(required)},), {{{handed}}})", namespace)
    return namespace[operation]


def on_heads(test: Any) -> Any:
    """Return the test of the sizes of query, key and value."""
    return lambda a: test(SimpleNamespace(B=len(a.query), H=a.query.shape[1], G=a.key.shape[1], L=a.query.shape[2],
        S=a.key.shape[2], D=a.query.shape[3], Dv=a.value.shape[3]), a)  # fmt: skip


ATTENTION = {
    "L > S": on_heads(lambda s, a: s.L > s.S),
    "L < S": on_heads(lambda s, a: s.L < s.S),
    "L ≠ S": on_heads(lambda s, a: s.L != s.S),
    "L > S under the causal flag": on_heads(lambda s, a: s.L > s.S and a.is_causal),
    "L ≠ S under the causal flag": on_heads(lambda s, a: s.L != s.S and a.is_causal),
    "Dv ≠ D": on_heads(lambda s, a: s.Dv != s.D),
    "odd D": on_heads(lambda s, a: s.D % 2),
    "D not divisible by 8": on_heads(lambda s, a: s.D % 8),
    "D not a power of two": on_heads(lambda s, a: s.D & (s.D - 1)),
    "B > 1": on_heads(lambda s, a: s.B > 1),
    "S = 1": on_heads(lambda s, a: s.S == 1),
    "S > 48": on_heads(lambda s, a: s.S > 50),
    "a mask": lambda a: a.mask is not None,
    "a mask of rank 2": lambda a: a.mask is not None and a.mask.ndim == 2,
    "the causal flag": lambda a: bool(a.is_causal),
    "scale": lambda a: a.scale is not None,
    "None on a side of a window": lambda a: a.window is not None and None in a.window,
    "odd L with a mask": on_heads(lambda s, a: a.mask is not None and s.L % 2),
}
VECTORS = {
    "odd E": lambda a: a.x.shape[-1] % 2,
    "E not divisible by 8": lambda a: a.x.shape[-1] % 8,
    "E not a power of two": lambda a: a.x.shape[-1] & (a.x.shape[-1] - 1),
    "B > 1": lambda a: len(a.x) > 1,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "scaled_dot_product_attention": ATTENTION,
    "grouped_query_attention": {name: ATTENTION[name] for name in ("L > S", "Dv ≠ D", "odd D", "a mask", "B > 1")}
    | {"G = H": on_heads(lambda s, a: s.G == s.H), "G < H": on_heads(lambda s, a: s.G < s.H)},
    "layer_norm": VECTORS | {"E > 48": lambda a: a.x.shape[-1] > 48},
    "gated_feed_forward": VECTORS
    | {
        "odd F": lambda a: a.weights.w_up.shape[1] % 2,
        "F < E": lambda a: a.weights.w_up.shape[1] < a.weights.w_up.shape[0],
    },
    "multi_head_attention": {
        "L > S": lambda a: a.x.shape[1] > a.context.shape[1],
        "L ≠ S": lambda a: a.x.shape[1] != a.context.shape[1],
        "odd E": lambda a: a.x.shape[2] % 2,
        "H > 1": lambda a: a.num_heads > 1,
    },
    "encoder_layer": {
        "odd E": lambda a: a.x.shape[2] % 2,
        "a padding mask": lambda a: a.padding_mask is not None,
        "L = 1": lambda a: a.x.shape[1] == 1,
        "a padding mask with norm_first=False": lambda a: a.padding_mask is not None and not a.norm_first,
    },
    "cross_entropy": {
        "ignore_index": lambda a: a.ignore_index is not None,
        "label_smoothing": lambda a: a.label_smoothing is not None,
        "ignore_index with label_smoothing": lambda a: None not in (a.ignore_index, a.label_smoothing),
        "B > 1": lambda a: len(a.logits) > 1,
        "odd N": lambda a: a.logits.shape[-1] % 2,
    },
    "sinusoidal_positions": {
        "odd length": lambda a: a.length % 2,
        "d_model not divisible by 4": lambda a: a.d_model % 4,
        "d_model not a power of two": lambda a: a.d_model & (a.d_model - 1),
        "length > d_model": lambda a: a.length > a.d_model,
    },
}
PROGRAMS = [(operation, words) for operation, family in FAMILIES.items() for words in family]


# Tried against all laws; of the others the sentence alone is found, which takes a tenth of the time.
THROUGH_ALL_LAWS = [
    ("scaled_dot_product_attention", "L > S under the causal flag"),
    ("scaled_dot_product_attention", "B > 1"),
    ("layer_norm", "E not divisible by 8"),
    ("gated_feed_forward", "odd E"),
    ("multi_head_attention", "L ≠ S"),
    ("encoder_layer", "a padding mask with norm_first=False"),
    ("cross_entropy", "label_smoothing"),
    ("sinusoidal_positions", "d_model not divisible by 4"),
]


def target_of(operation: str, words: str) -> SimpleNamespace:
    return SimpleNamespace(**{operation: refusing(operation, FAMILIES[operation][words])})


def broken(report: Any) -> list[Any]:
    return [result for result in report.results if result.status in ("failed", "error")]


@pytest.mark.parametrize(("operation", "words"), PROGRAMS)
def test_what_is_refused_is_found_from_calls_on_purpose(operation, words):
    selection = Selection(None, None, None, "quick", 0)
    run = Run(load(target_of(operation, words)), RunOptions(selection))
    known = run.profile_of(OPERATIONS[operation]).subject.refusals
    assert known.learn()
    assert [refusal.sentence for refusal in known.found] == [f"{operation} refuses {words}"]


@pytest.mark.parametrize(("operation", "words"), THROUGH_ALL_LAWS)
def test_a_refusal_is_the_error_of_one_law_and_no_other_law_is_broken(operation, words):
    report = check(target_of(operation, words), tier="quick")
    (result,) = broken(report)
    assert result.status == "error"
    assert result.reason == f"{operation} refuses {words}; it raised NotImplementedError: this kernel does not do that"
    assert result.counterexample is not None
    assert (report.exit_status, report.diagnoses) == (1, ())


def test_an_activation_that_is_refused_is_not_offered():
    target = SimpleNamespace(gated_feed_forward=refusing("gated_feed_forward", lambda a: a.activation == "silu"))
    report = check(target, tier="quick")
    (notice,) = report.notices
    assert notice.startswith("gated_feed_forward refuses activation='silu'; it was tried with ")
    assert (broken(report), report.exit_status) == ([], 0)


def test_the_law_that_speaks_is_most_about_what_is_refused():
    laws = ("*.shape", "attention.causal.*", "attention.value_width", "encoder_layer.*_norm.*")
    carriers = {
        ("scaled_dot_product_attention", "L > S under the causal flag"): "attention.causal.unequal_lengths",
        ("scaled_dot_product_attention", "Dv ≠ D"): "attention.value_width",
        ("encoder_layer", "norm_first=False"): "encoder_layer.post_norm.value",
    }
    for (operation, words), law in carriers.items():
        refuses = FAMILIES[operation].get(words) or (lambda a: not a.norm_first)
        target = SimpleNamespace(**{operation: refusing(operation, refuses)})
        report = check(target, laws=laws, tier="quick", diagnosis=False)
        assert [result.law.id for result in broken(report)] == [law]


def test_a_law_of_which_every_case_is_refused_was_not_tried():
    laws = ("attention.mask.value", "attention.mask.removed_keys")
    report = check(target_of("scaled_dot_product_attention", "a mask"), laws=laws, tier="quick", diagnosis=False)
    assert [result.status for result in report.results] == ["error", "not_declared"]
    assert all(result.reason.startswith("scaled_dot_product_attention refuses a mask") for result in report.results)


def never(a: Any) -> bool:
    return True


@pytest.mark.parametrize("refuses", [never, lambda a: float(np.abs(a.x).max()) > 3.0])
def test_what_no_words_separate_is_an_error_as_it_was(refuses):
    report = check(SimpleNamespace(softmax=refusing("softmax", refuses)), tier="quick", diagnosis=False)
    assert len(broken(report)) > 3
    assert all("refuses" not in result.reason for result in broken(report))


PROGRAM = """
{imports}

def layer_norm(x, gamma, beta, *, eps):
    if x.shape[-1] % 2:
        raise ValueError(f"width {{x.shape[-1]}} is odd")
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / {root}((centred**2).mean(axis=-1, keepdims=True) + eps) * gamma + beta
"""
FRAMEWORKS = {
    "numpy": ("import numpy as np", "np.sqrt"),
    "torch": ('import torch\nframework = "torch"', "torch.sqrt"),
    "jax": ('import jax.numpy as jnp\nframework = "jax"', "jnp.sqrt"),
}


def essence(report: Any) -> list[Any]:
    return [(result.law.id, result.status, result.cases, result.reason) for result in report.results]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_programs_of_each_framework_in_a_process_of_their_own_and_with_workers(framework, tmp_path):
    imports, root = FRAMEWORKS[framework]
    path = tmp_path / "norms.py"
    path.write_text(PROGRAM.format(imports=imports, root=root))
    settings = {"tier": "quick", "operations": ("layer_norm",)}
    here = check(str(path), **settings)
    (result,) = broken(here)
    assert result.reason.startswith("layer_norm refuses odd E; it raised ValueError: width ")
    written = {law["id"]: law["refused"] for law in report_as_json(here)["laws"]}
    assert written[result.law.id] == ["layer_norm refuses odd E"]
    assert essence(check(str(path), isolate=True, **settings)) == essence(here)
    if framework == "numpy":
        assert essence(check(str(path), workers=2, **settings)) == essence(here)


def test_under_pytest_a_refusal_is_said_by_the_first_law_that_meets_it():
    target = SimpleNamespace(layer_norm=refusing("layer_norm", VECTORS["odd E"]))
    said = []
    for law in law_tests(target, RunOptions(Selection(laws=("layer_norm.shape", "layer_norm.dtype"), effort="quick"))):
        try:
            law()
        except pytest.fail.Exception as failure:
            said.append(str(failure))
    (sentence,) = said
    assert "layer_norm refuses odd E" in sentence


def test_what_is_declared_is_no_error():
    refuses = FAMILIES["scaled_dot_product_attention"]["L > S under the causal flag"]
    target = SimpleNamespace(
        scaled_dot_product_attention=refusing("scaled_dot_product_attention", refuses),
        limitations=("more_queries_than_keys",),
    )
    assert broken(check(target, laws=("attention.causal.*",), tier="quick", diagnosis=False)) == []


def wider_cross_entropy(logits, targets, *, ignore_index=None, label_smoothing=0.0):
    settings = {"ignore_index": ignore_index, "label_smoothing": label_smoothing}
    return np.float64(reference.cross_entropy(logits.astype(np.float64), targets, **settings))


def dividing_by_a_cap_of_zero(query, key, value, *, softcap=None):
    logits = query @ key.swapaxes(-1, -2) / np.float32(np.sqrt(query.shape[-1]))
    with np.errstate(all="ignore"):
        logits = logits if softcap is None else softcap * np.tanh(logits / np.float32(softcap))
    return (reference.softmax(logits) @ value).astype(query.dtype)


@pytest.mark.parametrize(
    ("function", "law"),
    [
        ({"cross_entropy": wider_cross_entropy}, "cross_entropy.dtype"),
        ({"scaled_dot_product_attention": dividing_by_a_cap_of_zero}, "attention.softcap.off"),
    ],
)
def test_a_wider_scalar_and_a_cap_of_zero_that_divides_are_one_law_each(function, law):
    report = check(SimpleNamespace(**function), tier="quick", diagnosis=False)
    assert [result.law.id for result in broken(report)] == [law]


def joined(tokens):
    """Embed with `view`, as models of PyTorch do with tokens that are contiguous."""
    flat = tokens.view(-1)
    return torch.cos(flat[:, None] * torch.arange(1.0, 5.0)).reshape(*tokens.shape, 4)


def test_a_model_that_takes_contiguous_tokens_only_has_a_limitation_and_breaks_no_law():
    target = SimpleNamespace(framework="torch", model=joined, model_inputs={"vocabulary_size": 7})
    report = check(target, laws=("model.memory_layout", "model.shape"), tier="quick", diagnosis=False)
    results = {result.law.id: result for result in report.results}
    layout = results["model.memory_layout"]
    assert (layout.law.obligation, layout.status, report.exit_status) == ("should", "not_declared", 0)
    assert layout.reason.startswith("model takes contiguous arrays only: it raised RuntimeError")
