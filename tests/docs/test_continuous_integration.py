"""The workflows that the page offers to copy are YAML, and their commands exist with these options."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from veriformer.cli.application import application
from veriformer.conformance_tests.reports.exports.markdown import markdown

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "continuous_integration.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ACTION, GITHUB, GITLAB, HOOK = (yaml.safe_load(block) for block in BLOCKS)
PUBLISHED = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SOURCE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]


def commands(value: Any) -> list[list[str]]:
    """Return the commands of a workflow that run Veriformer."""
    if isinstance(value, dict | list):
        return [one for part in (value.values() if isinstance(value, dict) else value) for one in commands(part)]
    lines = value.splitlines() if isinstance(value, str) else []
    return [shlex.split(line) for line in lines if line.startswith("veriformer ")]


WRITTEN = [
    *commands(GITHUB),
    *commands(GITLAB),
    *(shlex.split(one) for one in re.findall(r"`(veriformer check [^`]+ .*?)`", PAGE)),
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


def test_the_action_has_the_inputs_and_outputs_of_the_page() -> None:
    used = ACTION["jobs"]["laws"]["steps"][1]
    assert f"https://github.com/{used['uses'].split('@')[0]}" == SOURCE
    assert used["with"].keys() <= PUBLISHED["inputs"].keys()
    table = re.findall(r"^\| `([a-z-]+)` \| .* \| (.*) \|$", PAGE, re.MULTILINE)
    defaults = {name: str(one.get("default", "")) for name, one in PUBLISHED["inputs"].items()}
    told = {name: "" if default in ("none", "must be given") else default.strip("`") for name, default in table}
    assert told == defaults
    assert all(f"`{name}`" in PAGE for name in PUBLISHED["outputs"])


def test_the_hook_of_the_page_is_the_one_of_the_repository() -> None:
    (repository,) = HOOK["repos"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert repository["repo"] == SOURCE
    assert {one["id"] for one in repository["hooks"]} == {one["id"] for one in hooks}
    assert f"runs a check with `{' '.join(hooks[0]['args'])}`" in PAGE


def test_what_is_installed_comes_from_the_repository() -> None:
    installed = re.findall(r'pip install "(.*)"', PAGE)
    assert len(installed) == 2
    assert set(installed) == {f"veriformer[torch] @ git+{SOURCE}"}
