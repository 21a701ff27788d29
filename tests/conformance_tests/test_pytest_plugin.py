"""Laws as tests of pytest, tried with pytest itself."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from veriformer.conformance_tests import parametrize_with_laws
from veriformer.conformance_tests.operations.laws import laws
from veriformer.spec.laws import LAWS

# pytester forgets what a run in this process imported first, and a law that is imported twice is an error.
laws()

pytest_plugins = ["pytester"]

# Where the package is installed, pytest finds the plugin by itself, and would not take it twice.
_INSTALLED = any(entry.value.endswith("pytest_plugin") for entry in entry_points(group="pytest11", name="veriformer"))
PLUGIN = (*(() if _INSTALLED else ("-p", "veriformer.conformance_tests.pytest_plugin")), "-p", "no:cacheprovider")
IMPLEMENTATION = """
import numpy as np
def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)
def attention_weights(query, key):
    e = np.exp(query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5)
    return e / e.sum(axis=-1, keepdims=True)
"""
TEST = """
from veriformer.conformance_tests import parametrize_with_laws

@parametrize_with_laws("mine.py", {options}tier="quick")
def test_conformance(law):
    law()
"""
SOFTMAX_LAWS = [name for name, law in LAWS.items() if law.operation.name == "softmax"]


@pytest.fixture(autouse=True)
def implementation(pytester: pytest.Pytester) -> None:
    # pytester forgets the modules that a run imports, and a law registers its check once.
    laws()
    pytester.makepyfile(mine=IMPLEMENTATION)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess(*PLUGIN, *arguments)


def test_there_is_one_test_for_each_law(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST.format(options="operations=['softmax'], "))
    items, _ = pytester.inline_genitems(*PLUGIN)
    assert [item.name for item in items] == [f"test_conformance[{name}]" for name in SOFTMAX_LAWS]


def test_a_violation_fails_with_the_report_of_the_command_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST.format(options="laws=['softmax.large_logits', 'softmax.shape'], "))
    result = run(pytester)
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        [
            "*test_conformance?softmax.large_logits?*",
            "✗ softmax_no_max_subtraction: Logits far beyond the range of exp give a finite result.",
            "*smallest case*batch 1, rows 1*float32",
            "*expected*1*",
            "*got*nan*",
            "*veriformer explain softmax.large_logits",
            "*source * mine.py:2",
            "*veriformer check mine.py --law softmax.large_logits --tier quick --verbose",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_violation_names_the_mistake_whose_outputs_it_shows(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        mine="import numpy as np\ndef causal_mask(queries, keys):\n    return np.tri(queries, keys, 1, dtype=bool)\n"
    )
    pytester.makepyfile(TEST.format(options="laws=['causal_mask.value', 'causal_mask.own_position'], "))
    result = run(pytester)
    result.stdout.fnmatch_lines(
        [
            "*veriformer explain causal_mask.value",
            "*Diagnosis",
            "*those of `causal_diagonal_off_by_one` (certain*",
            "*veriformer check mine.py --law causal_mask.value*",
        ]
    )


def test_laws_about_missing_keywords_are_skipped_with_the_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST.format(options="laws=['weights.mask.value', 'weights.shape', 'layer_norm.*'], "))
    result = run(pytester, "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*attention_weights has no keyword mask"])


def test_expected_failures_are_xfails_and_stale_ones_fail(pytester: pytest.Pytester) -> None:
    listed = [
        "softmax.large_logits  # not written yet",
        "softmax.shape  # an old one",
        "weights.mask.value  # none",
    ]
    pytester.makefile(".txt", known="\n".join(listed))
    laws = "laws=['softmax.large_logits', 'softmax.shape', 'weights.mask.value']"
    pytester.makepyfile(TEST.format(options=f"{laws}, expected_failures='known.txt', "))
    result = run(pytester, "-rx")
    result.assert_outcomes(xfailed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "softmax.shape holds but is expected to fail; remove line 2*",
            "weights.mask.value is not declared but is expected to fail; remove line 3*",
            "XFAIL*softmax.large_logits: not written yet",
        ]
    )


def test_the_command_line_needs_no_test_file(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--veriformer", "mine.py", "--veriformer-tier", "quick", "-k", "softmax")
    # The law of the value meets large numbers too.
    result.assert_outcomes(passed=len(SOFTMAX_LAWS) - 2, failed=2, deselected=_weights())
    result.stdout.fnmatch_lines(["FAILED mine.py::softmax.large_logits - softmax_no_max_subtraction: *"])


MIXED = """\
import numpy as np

limitations = ("value_width",)


def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def scaled_dot_product_attention(query, key, value):
    weights = softmax(query @ key.swapaxes(-1, -2) * query.shape[-1] ** -0.5)
    return weights @ value


def silu(x):
    helper = x * no_such_name
    return helper
"""
MIXED_LAWS = "softmax.large_logits or attention.mask or width or silu.zero or softmax.shape"


@pytest.mark.parametrize("more", ((), ("-n", "2")), ids=("alone", "with workers"))
def test_skipped_failing_and_erring_laws_in_a_process_of_their_own(pytester: pytest.Pytester, more) -> None:
    pytester.makepyfile(mixed=MIXED)
    arguments = ("--veriformer=mixed.py", "--veriformer-tier=quick", "-rsf", "-k", MIXED_LAWS, *more)
    result = pytester.runpytest_subprocess(*PLUGIN, *arguments, timeout=300)
    counted = result.parseoutcomes()
    assert (counted["failed"], counted["passed"], result.ret) == (2, 1, pytest.ExitCode.TESTS_FAILED)
    assert counted["skipped"] > 10
    result.stdout.fnmatch_lines_random(
        [
            # Known before it is tried, and known only then.
            "SKIPPED [[]*[]] mixed.py*: scaled_dot_product_attention has no keyword mask",
            "SKIPPED [[]1[]] mixed.py:11: scaled_dot_product_attention declares that values are as wide as keys",
            "*source * mixed.py:6",
            "*source * mixed.py:17",
            "FAILED mixed.py::softmax.large_logits - softmax_no_max_subtraction: Logits*",
            "FAILED mixed.py::silu.zero - silu raised NameError: *",
            "_* mixed.py: softmax.large_logits _*",
        ]
    )
    for unwanted in ("*INTERNALERROR*", "*site-packages*", "*law_tests.py*"):
        result.stdout.no_fnmatch_line(unwanted)


def test_reports_point_to_the_line_of_the_operation_or_of_what_raised(pytester: pytest.Pytester) -> None:
    file = pytester.makepyfile(mixed=MIXED)
    options = ("--veriformer=mixed.py", "--veriformer-tier=quick", "-k", MIXED_LAWS)
    reports = pytester.inline_run(*PLUGIN, *options).getreports("pytest_runtest_logreport")
    crashes = {report.nodeid: report.longrepr.reprcrash for report in reports if report.failed}
    places = {name: (crash.path, crash.lineno) for name, crash in crashes.items()}
    assert places == {"mixed.py::softmax.large_logits": (str(file), 6), "mixed.py::silu.zero": (str(file), 17)}
    # pytest counts these from 0.
    lines = {report.nodeid.partition("::")[2].partition(".")[0]: report.location[:2] for report in reports}
    assert lines == {"softmax": ("mixed.py", 5), "attention": ("mixed.py", 10), "silu": ("mixed.py", 15)}


def test_what_is_no_file_has_a_line_too_which_pytest_needs_to_skip_it(pytester: pytest.Pytester) -> None:
    reports = pytester.inline_run(*PLUGIN, "--veriformer=numpy", "-k", "softmax.shape").getreports(
        "pytest_runtest_logreport"
    )
    assert {report.location for report in reports} == {("numpy", 0, "numpy: softmax.shape")}


def test_names_are_those_of_the_root_and_are_shown_from_the_working_directory(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = pytester.mkdir("inner")
    (inner / "mine.py").write_text(IMPLEMENTATION)
    pytester.makeini("[pytest]")
    monkeypatch.chdir(inner)
    result = run(pytester, "--veriformer=mine.py", "--veriformer=numpy", "-k", "softmax.large_logits", "-v", "-rfp")
    result.stdout.fnmatch_lines(["mine.py::softmax.large_logits FAILED*", "numpy::softmax.large_logits PASSED*"])
    result.stdout.fnmatch_lines_random(["FAILED mine.py::softmax.large_logits - *", "PASSED numpy::*"])


def test_several_implementations_and_a_selection(pytester: pytest.Pytester) -> None:
    result = run(
        pytester,
        "--veriformer=mine.py",
        "--veriformer=numpy",
        "--veriformer-tier=quick",
        "-k",
        "large_logits",
    )
    assert result.parseoutcomes()["failed"] == 2
    assert result.parseoutcomes()["passed"] >= 5


def test_the_first_failure_stops_the_run(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--veriformer=mine.py", "--veriformer-tier=quick", "-k", "large_logits", "-x")
    result.assert_outcomes(failed=1, deselected=_weights() + len(SOFTMAX_LAWS) - 2)


def test_ids_are_the_same_in_every_process(pytester: pytest.Pytester) -> None:
    collected = [
        run(pytester, "--veriformer=mine.py", "--collect-only", "-q").stdout.lines[: len(SOFTMAX_LAWS)]
        for _ in range(2)
    ]
    assert collected[0] == collected[1] == [f"mine.py::{name}" for name in SOFTMAX_LAWS]


def test_an_implementation_that_cannot_be_loaded_is_one_sentence(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--veriformer=nope.py")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["*ERROR collecting nope.py*", "there is no file nope.py*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_without_the_option_nothing_is_added(pytester: pytest.Pytester) -> None:
    assert run(pytester).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_any_object_can_be_checked() -> None:
    class Mine:
        """Softmax of a constant."""

        def softmax(self, x: object) -> object:
            return x

    mark = parametrize_with_laws(Mine(), laws=["softmax.value", "softmax.shape"]).mark
    assert mark.args[0] == "law"
    value, shape = (parameter.values[0] for parameter in mark.args[1])
    assert shape().status == "passed" if shape.id == "softmax.shape" else value().status == "passed"


def test_importing_the_plugin_costs_next_to_nothing() -> None:
    script = (
        "import sys, veriformer.conformance_tests.pytest_plugin as plugin\n"
        "heavy = {'numpy', 'hypothesis', 'sympy', 'torch', 'jax', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def _weights() -> int:
    return sum(law.operation.name == "attention_weights" for law in LAWS.values())


UNJUDGED = (
    IMPLEMENTATION
    + """
def sofmax(x):
    return x * 2 + 1
def banana(apples, pears):
    return apples
def my_softmax(x):
    return softmax(x - x.max(axis=-1, keepdims=True))
class Tower:
    def __init__(self, d_model=8):
        self.d_model = d_model
    def forward(self, x):
        return x
"""
)


def test_what_is_not_judged_is_skipped_with_the_reason_and_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(mine=UNJUDGED)
    result = run(
        pytester,
        "--veriformer",
        "mine.py",
        "--veriformer-tier",
        "quick",
        "-k",
        "sofmax or banana or my_softmax or Tower or softmax.shape",
        "-rs",
    )
    assert result.parseoutcomes()["passed"] == 1
    result.stdout.fnmatch_lines(
        [
            "*not judged by veriformer*",
            "mine.py: banana (*",
            "mine.py: my_softmax (another function is this operation*",
        ]
    )
    result.stdout.fnmatch_lines(["mine.py: sofmax (*"])
    result.stdout.fnmatch_lines(["mine.py: Tower (*"])
    result.stdout.fnmatch_lines(["SKIPPED * not judged: *"])


def test_nothing_is_named_where_everything_is_judged(pytester: pytest.Pytester) -> None:
    result = run(pytester, "--veriformer", "mine.py", "-k", "softmax.shape")
    assert "not judged" not in result.stdout.str()
