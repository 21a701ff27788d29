"""The console report: what it must say, what it must never say, and that nothing in it can harm a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from veriformer.conformance_tests.conventions.profile import Finding
from veriformer.conformance_tests.core.counterexample import Counterexample
from veriformer.conformance_tests.core.law_result import LawResult
from veriformer.conformance_tests.core.subject import CallRecord
from veriformer.conformance_tests.core.verdict import compare, words
from veriformer.conformance_tests.operations.attention.case import AttentionCase
from veriformer.conformance_tests.reports.comparison import different_conventions, side_by_side
from veriformer.conformance_tests.reports.console import law_text, report_lines, report_text
from veriformer.conformance_tests.reports.options import Options
from veriformer.conformance_tests.reports.screen import open_console, print_lines
from veriformer.conformance_tests.run.report import Report
from veriformer.spec.laws import LAWS

GROUPED = "grouped_query.repeated_heads"


def grouped_violation() -> LawResult:
    """Return the violation of the design document: heads tiled instead of repeated."""
    case = AttentionCase(1, 4, 2, 1, 1, 1, 1)
    value = np.array([0.0, 1.0]).reshape(1, 2, 1, 1)
    arguments = {"query": np.zeros((1, 4, 1, 1)), "key": np.zeros((1, 2, 1, 1)), "value": value}
    expected, actual = (np.array(heads).reshape(1, 4, 1, 1) for heads in ([0.0, 0, 1, 1], [0.0, 1, 0, 1]))
    call = CallRecord("grouped_query_attention", "float32", arguments, actual)
    verdict = compare(expected, actual, np.full(expected.shape, 1e-5))
    return LawResult(LAWS[GROUPED], "failed", 25, 0.5, counterexample=Counterexample(case, (call,), verdict))


def passed(law: str) -> LawResult:
    return LawResult(LAWS[law], "passed", 25, 0.1)


def error(law: str, reason: str) -> LawResult:
    return LawResult(LAWS[law], "error", 1, reason=reason, traceback="Traceback\n  line\nValueError: x\n")


def report(*results: LawResult, **more: object) -> Report:
    return replace(Report("my.py", "torch", 0, "standard", results, seconds=2.345, source="my.py"), **more)


def test_the_last_line_counts_everything() -> None:
    undeclared = LawResult(LAWS["attention.bias.value"], "not_declared", reason="no operation x")
    text = report_text(report(passed("softmax.shape"), grouped_violation(), undeclared))
    assert text.splitlines()[-1] == "1 law held, 1 violated, 0 errors, 1 not declared; 50 cases in 2.3 s"


def test_thousands_are_separated() -> None:
    text = report_text(report(replace(passed("softmax.shape"), cases=1304)))
    assert text.splitlines()[-1].endswith("1,304 cases in 2.3 s")


def test_a_run_that_judged_nothing_says_so() -> None:
    undeclared = LawResult(LAWS["softmax.shape"], "not_declared", reason="no operation softmax")
    last = report_text(report(undeclared)).splitlines()[-1]
    assert last.startswith("No law was judged: 0 laws held")
    assert "1 not declared" in last


def test_wrong_entries_are_marked_below_what_was_received() -> None:
    lines = report_text(report(grouped_violation())).splitlines()
    at = next(number for number, line in enumerate(lines) if "got" in line)
    expected, received, marks = lines[at - 1], lines[at], lines[at + 1]
    assert [expected.split()[1:], received.split()[1:]] == [["0", "0", "1", "1"], ["0", "1", "0", "1"]]
    assert [received[column] for column, mark in enumerate(marks) if mark == "^"] == ["1", "0"]
    assert [expected[column] for column, mark in enumerate(marks) if mark == "^"] == ["0", "1"]


def test_a_violation_says_what_by_how_much_and_where_to_read_on() -> None:
    text = report_text(report(grouped_violation()))
    assert f"✗ {GROUPED}: {LAWS[GROUPED].statement}" in text
    assert "batch 1, heads 4, key/value heads 2" in text
    assert "1e5 times what rounding explains" in text
    assert "in 2 of 4 entries" in text
    assert f"veriformer explain {GROUPED}" in text
    assert "key/value head 0 [0]   key/value head 1 [1]" in text


def test_long_rows_show_the_columns_around_the_difference() -> None:
    expected = np.arange(200.0).reshape(1, 1, 1, 200)
    actual = expected.copy()
    actual[..., 150] = -1.0
    violation = grouped_violation()
    counterexample = replace(violation.counterexample, verdict=compare(expected, actual, np.zeros(expected.shape)))
    text = report_text(report(replace(violation, counterexample=counterexample)))
    assert "of 200" in text
    assert "149  150" in text
    assert max(map(len, text.splitlines())) <= 100


def test_numbers_get_the_digits_that_tell_them_apart() -> None:
    expected, actual = np.array([1 / 3, 0.5]), np.array([1 / 3 + 1e-7, 0.5])
    counterexample = replace(grouped_violation().counterexample, verdict=compare(expected, actual, np.full(2, 1e-9)))
    text = report_text(report(replace(grouped_violation(), counterexample=counterexample)))
    assert "0.3333333" in text
    assert "0.3333334" in text


@pytest.mark.parametrize(
    ("expected", "actual", "sentence"),
    [
        (1.0, np.nan, "NaN where a finite number is expected"),
        (np.nan, 1.0, "something else where NaN is expected"),
        (1.0, np.inf, "an infinity where a finite number is expected"),
        (-np.inf, np.inf, "an infinity of the wrong sign"),
        (np.nan, np.nan, "NaN in both results, where both should be numbers"),
        (1.0, 2.0, "1, where no rounding is allowed"),
    ],
)
def test_errors_that_are_no_multiple_are_told_in_words(expected: float, actual: float, sentence: str) -> None:
    verdict = compare(np.array([expected]), np.array([actual]), np.zeros(1), may_be_nan=False)
    counterexample = replace(grouped_violation().counterexample, verdict=verdict)
    text = law_text(report(), replace(grouped_violation(), counterexample=counterexample))
    assert sentence in text


def test_nan_is_never_what_is_expected_of_two_results() -> None:
    verdict = compare(np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), np.zeros(2), may_be_nan=False)
    counterexample = replace(grouped_violation().counterexample, verdict=verdict)
    text = law_text(report(), replace(grouped_violation(), counterexample=counterexample))
    expected, got = (next(line for line in text.splitlines() if line.strip().startswith(one)) for one in _SIDES)
    assert "a number" in expected
    assert "nan" not in expected
    assert "nan" in got


_SIDES = ("expected", "got")


def test_verdicts_in_words_are_shown_as_words() -> None:
    counterexample = Counterexample(None, (), words("bool", "float32", holds=False))
    text = law_text(report(), LawResult(LAWS["causal_mask.dtype"], "failed", 1, counterexample=counterexample))
    assert "expected        bool" in text
    assert "got             float32" in text


def test_one_reason_is_one_paragraph_however_many_laws_it_stops() -> None:
    ids = [name for name in LAWS if name.startswith("attention.")][:30]
    reasons = [f"attention returned shape ({size}, 3); expected (1, {size})" for size in range(30)]
    text = report_text(report(*(error(name, reason) for name, reason in zip(ids, reasons, strict=True))))
    assert text.count("laws could not be judged\n") == 2  # the verdict and the paragraph
    assert "30 could not be judged\n" in text
    assert text.count("attention returned shape") == 1
    assert f"{ids[0]}, and the same in 29 more laws" in " ".join(text.split())
    assert ids[1] not in text
    assert all(
        name in report_text(report(*(error(name, "one") for name in ids)), Options(verbose=True)) for name in ids
    )


RAISED = """Traceback (most recent call last):
  File "/usr/lib/python3.13/site-packages/veriformer/adapters/calling.py", line 96, in _called
    return function(*arguments)
           ^^^^^^^^^^^^^^^^^^^^
  File "/home/user/mine.py", line 4, in softmax
    return torch.softmax(x)
  File "/usr/lib/python3.13/site-packages/torch/functional.py", line 9, in softmax
    raise TypeError("dim")
TypeError: dim is missing
"""


def test_an_exception_is_shown_with_the_frames_of_the_users_own_code() -> None:
    result = replace(error("softmax.shape", "softmax raised TypeError: dim is missing"), traceback=RAISED)
    text = report_text(report(result))
    assert 'File "/home/user/mine.py", line 4, in softmax' in text
    assert "return torch.softmax(x)" in text
    assert "functional.py" not in text
    assert "calling.py" not in text
    # The reason has said it.
    assert text.count("TypeError: dim is missing") == 1
    whole = report_text(report(result), Options(traceback=True))
    assert "functional.py" in whole
    assert "calling.py" not in whole


def test_the_frames_of_a_package_are_shown_where_it_is_what_is_checked() -> None:
    only = RAISED.replace("/home/user/", "/usr/lib/python3.13/site-packages/")
    text = report_text(report(replace(error("softmax.shape", "softmax raised"), traceback=only)))
    assert "site-packages/mine.py" in text
    assert "TypeError: dim is missing" in text


def test_a_long_exception_is_cut_to_twelve_lines() -> None:
    deep = "".join(f'  File "/home/user/mine.py", line {line}, in deeper\n    deeper()\n' for line in range(100))
    result = replace(error("softmax.shape", "softmax raised"), traceback=f"Traceback:\n{deep}RecursionError: deep\n")
    lines = report_text(report(result)).splitlines()
    start = next(number for number, line in enumerate(lines) if line.strip() == "traceback")
    shown = lines[start + 1 : -1]
    assert len(shown) == 12
    assert "lines left out" in shown[0]
    assert shown[-1].strip() == "RecursionError: deep"


def test_text_of_others_cannot_speak_to_the_terminal() -> None:
    hostile = "[bold]x[/bold] \x1b]0;title\x07\u202e" + "y" * 100_000
    named = report(error("softmax.shape", hostile), implementation=hostile, notices=(hostile,))
    stream = io.StringIO()
    print_lines(open_console(stream), report_lines(named, Options(verbose=True, traceback=True)))
    text = stream.getvalue()
    assert "[bold]x[/bold] \\x1b]0;title\\x07\\u202e" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert len(text) < 10_000


def test_only_the_first_violation_is_shown_in_full_unless_verbose() -> None:
    results = [
        replace(grouped_violation(), law=law) for name, law in LAWS.items() if name.startswith("grouped_query.k")
    ]
    assert len(results) >= 3
    short, long = (report_text(report(*results * 2), Options(verbose=verbose)) for verbose in (False, True))
    assert short.count("smallest case") == 1
    assert long.count("smallest case") == 2 * len(results)
    assert f"{2 * len(results)} do not (--verbose)\n" in short
    assert "do not (--verbose)" not in long


def test_expected_failures_are_told_apart_from_others() -> None:
    known = replace(grouped_violation(), expected_failure="tiled on purpose")
    text = report_text(report(known))
    assert "Expected failures" in text
    assert "tiled on purpose" in text
    assert "✗" not in text
    assert "1 violated, 0 errors, 1 of these expected" in text.splitlines()[-1]


def test_stale_entries_come_with_the_command_that_removes_them() -> None:
    stale = report(passed("softmax.shape"), stale=("line 3: softmax.shape is expected to fail but is passed",))
    text = report_text(stale, Options(repair="veriformer check my.py --remove-stale"))
    assert "line 3: softmax.shape" in text
    assert "veriformer check my.py --remove-stale" in text
    assert "1 stale entry" in text.splitlines()[-1]


def test_missing_features_are_named_with_the_number_of_laws() -> None:
    missing = "scaled_dot_product_attention has no keyword bias"
    undeclared = [LawResult(LAWS[f"attention.bias.{name}"], "not_declared", reason=missing) for name in ("value",)]
    text = report_text(report(passed("attention.shape"), *undeclared))
    assert "Not declared  1 law (--verbose says which, and why)" in text
    assert "no keyword bias" not in text
    verbose = report_text(report(passed("attention.shape"), *undeclared), Options(verbose=True))
    assert "1 law holds, 1 not declared" in verbose
    assert "no keyword bias (1 law)" in verbose


def test_what_is_not_declared_is_one_line_of_the_whole_run() -> None:
    absent = [LawResult(law, "not_declared", reason=f"no operation {law.operation.name}") for law in LAWS.values()]
    short, long = (report_text(report(*absent), Options(verbose=verbose)) for verbose in (False, True))
    assert short.count("declared") == 2
    assert f"Not declared  {len(LAWS):,} laws" in short
    assert "layer_norm (17)" in long


def test_the_verdict_and_the_notices_come_before_the_results() -> None:
    lines = report_text(report(passed("softmax.shape"), grouped_violation(), notices=("it printed",))).splitlines()
    assert lines[1] == "✗ 1 of 2 laws does not hold"
    assert lines[2] == "Notices       it printed"
    # What holds takes a line, since the screen belongs to what does not.
    assert lines[3] == "Hold          softmax (1 law)"
    assert lines[5].split() == ["grouped_query_attention", "0", "laws", "hold,", "1", "does", "not"]


@pytest.mark.parametrize(
    ("results", "more", "verdict"),
    (
        ((passed("softmax.shape"),), {}, "✓ All declared laws hold"),
        ((passed("softmax.shape"), error("softmax.dtype", "it raised")), {}, "✗ 1 of 2 laws could not be judged"),
        (
            (replace(grouped_violation(), expected_failure="tiled"), passed("softmax.shape")),
            {},
            "✓ All declared laws hold, but for the expected failures",
        ),
        ((passed("softmax.shape"),), {"stale": ("line 3",)}, "✗ The list of expected failures is not true any more"),
        ((LawResult(LAWS["softmax.shape"], "not_tried"),), {}, "! No law was judged"),
        (
            (LawResult(LAWS["softmax.shape"], "not_tried"), passed("softmax.dtype")),
            {},
            "! 1 of 2 laws was not tried",
        ),
        (
            (grouped_violation(), error("softmax.dtype", "it raised"), passed("softmax.shape")),
            {},
            "✗ 1 of 3 laws does not hold, 1 could not be judged",
        ),
    ),
)
def test_the_verdict_is_a_sentence(results: tuple[LawResult, ...], more: dict[str, object], verdict: str) -> None:
    assert report_text(report(*results, **more)).splitlines()[1] == verdict


def test_conventions_that_are_not_standard_are_always_shown() -> None:
    findings = (
        Finding("scaled_dot_product_attention", "empty_row", "nan", "inferred"),
        Finding("scaled_dot_product_attention", "layout", "bhld", "inferred"),
    )
    text = report_text(report(passed("attention.shape"), findings=findings))
    assert "empty_row nan (inferred), 1 other as usual" in text
    verbose = report_text(report(passed("attention.shape"), findings=findings), Options(verbose=True))
    assert "nan (inferred): not a number" in verbose
    assert "bhld (inferred)" in verbose


def test_lines_fit_the_width_and_carry_no_trailing_blanks() -> None:
    text = report_text(report(grouped_violation(), error("softmax.shape", "word " * 60)))
    assert all(len(line) <= 100 and line == line.rstrip() for line in text.splitlines())


def test_implementations_stand_side_by_side() -> None:
    other = report(passed(GROUPED), implementation="numpy")
    stream = io.StringIO()
    console = open_console(stream)
    console.print(side_by_side([report(grouped_violation()), other]), soft_wrap=False)
    row = next(line for line in stream.getvalue().splitlines() if line.startswith("grouped_query_attention"))
    assert row.split(maxsplit=1)[1].strip() == "0 hold, 1 does not   1 holds"


def test_only_conventions_in_which_implementations_differ_are_tabled() -> None:
    one, other = (
        report(
            findings=(
                Finding("softmax", "empty_row", value, "inferred"),
                Finding("softmax", "layout", "bhld", how),
            )
        )
        for value, how in (("zeros", "inferred"), ("nan", "standard"))
    )
    table = different_conventions([one, other])
    assert table is not None
    assert table.row_count == 1
    assert different_conventions([one, one]) is None


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = {}
    for name, stream, color in (
        ("tty", Terminal(), True),
        ("no color", Terminal(), False),
        ("pipe", io.StringIO(), True),
    ):
        print_lines(open_console(stream, color=color), report_lines(report(grouped_violation())))
        coloured[name] = "\x1b[1;31m" in stream.getvalue()
    assert coloured == {"tty": True, "no color": False, "pipe": False}
