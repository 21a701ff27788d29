"""The workflows that the page offers to copy are YAML, and their commands exist with these options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from veriformer.cli.application import application
from veriformer.conformance_tests.reports.exports.markdown import markdown

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "continuous_integration.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
GITHUB, GITLAB = (yaml.safe_load(block) for block in BLOCKS)


def commands(value: Any) -> list[list[str]]:
    """Return the commands of a workflow that run Veriformer."""
    if isinstance(value, dict | list):
        return [one for part in (value.values() if isinstance(value, dict) else value) for one in commands(part)]
    lines = value.splitlines() if isinstance(value, str) else []
    return [shlex.split(line) for line in lines if line.startswith("veriformer ")]


WRITTEN = [
    *commands(GITHUB),
    *commands(GITLAB),
    *(shlex.split(one) for one in re.findall(r"`(veriformer [^`]+ .*?)`", PAGE)),
]


def parsed(command: list[str]) -> click.Context:
    name, *arguments = command[1:]
    return application.commands[name].make_context(name, arguments)


def test_both_workflows_check() -> None:
    assert len(commands(GITHUB)) == len(commands(GITLAB)) == 1
    assert len(WRITTEN) == 3


@pytest.mark.parametrize("command", WRITTEN, ids=" ".join)
def test_every_command_of_the_page_has_these_options(command: list[str]) -> None:
    assert parsed(command).params["implementations"]


def test_an_option_that_does_not_exist_is_seen() -> None:
    with pytest.raises(click.NoSuchOption):
        parsed(["veriformer", "check", "x.py", "--jnuit", "a.xml"])


def test_the_steps_take_the_files_that_the_command_writes() -> None:
    written = parsed(commands(GITHUB)[0]).params
    steps = GITHUB["jobs"]["laws"]["steps"]
    upload = next(step for step in steps if "upload-sarif" in step.get("uses", ""))
    assert upload["with"]["sarif_file"] == str(written["sarif"])
    comment = next(step["run"] for step in steps if "gh pr comment" in step.get("run", ""))
    assert f"--body-file {written['markdown']}" in comment
    assert GITLAB["veriformer"]["artifacts"]["reports"]["junit"] == str(parsed(commands(GITLAB)[0]).params["junit"])
    # After a violation, which ends the step with status 1, the others must still run.
    after = steps[next(number for number, step in enumerate(steps) if "veriformer check" in step.get("run", "")) + 1 :]
    assert len(after) == 3
    assert all("always()" in step["if"] for step in after)


def test_a_comment_is_found_by_what_the_page_says() -> None:
    assert "`<!-- veriformer -->`" in PAGE
    assert markdown([]).startswith("<!-- veriformer -->\n")
