"""The recorded session shows what README.md says, from a clone to the first named mistake."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORDING = ROOT / "docs" / "first_contact.cast"
SCRIPT = ROOT / "docs" / "record_first_contact.py"


def _output() -> str:
    _, *events = (json.loads(line) for line in RECORDING.read_text(encoding="utf-8").splitlines())
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", "".join(text for _, kind, text in events if kind == "o"))


def test_the_recorded_commands_are_those_of_the_readme() -> None:
    spec = importlib.util.spec_from_file_location("record_first_contact", SCRIPT)
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    shown, readme = _output(), (ROOT / "README.md").read_text(encoding="utf-8")
    assert script.COMMANDS[1] in readme
    assert all(f"$ {one}" in shown.replace("\r\n", "\n") for one in script.COMMANDS[1:])
    assert script.OWN_FILE.replace("\n", "\r\n") in shown


def test_the_session_ends_with_the_mistake_its_place_and_the_next_command() -> None:
    header = json.loads(RECORDING.read_text(encoding="utf-8").partition("\n")[0])
    last = _output().splitlines()[-int(header["height"]) :]
    for words in (
        "`softmax_wrong_axis` (certain",
        "veriformer explain softmax_wrong_axis",
        "attention.py:7",
        "violated",
    ):
        assert any(words in line for line in last), words


def test_the_page_says_how_long_the_session_took() -> None:
    seconds = json.loads(RECORDING.read_text(encoding="utf-8").splitlines()[-1])[0]
    assert f"it took {seconds:.0f} s, installation included" in (ROOT / "docs" / "first_steps.md").read_text()
