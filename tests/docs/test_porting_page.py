"""What the porting page shows is what its commands print, and its defaults are those of the libraries."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.loading import load

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "porting.md").read_text(encoding="utf-8")
LIBRARIES = {
    "torch": ("torch.nn", "LayerNorm", "eps", "RMSNorm", "MultiheadAttention", "bias", "dropout"),
    "flax": ("flax.nnx", "LayerNorm", "epsilon", "RMSNorm", "MultiHeadAttention", "use_bias", "dropout_rate"),
    "equinox": ("equinox.nn", "LayerNorm", "eps", "RMSNorm", "MultiheadAttention", "use_query_bias", "dropout_p"),
    "keras": (
        "keras.layers",
        "LayerNormalization",
        "epsilon",
        "RMSNormalization",
        "MultiHeadAttention",
        "use_bias",
        "dropout",
    ),
}


@pytest.fixture
def pages() -> Iterator[Any]:
    """Return the module docs/check_pages.py, imported as it is when it is run as a program."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        yield import_module("check_pages")
    finally:
        sys.path.remove(str(ROOT / "docs"))


def column(library: str) -> list[str]:
    """Return the cells of a library in the table of defaults."""
    table = re.findall(r"^\| (.*) \|$", PAGE.partition("| default |")[2].partition("\n\n")[0], re.MULTILINE)
    place = 1 + list(LIBRARIES).index(library)
    return [row.split(" | ")[place] for row in table if not row.startswith("---")]


def default(kind: Any, name: str) -> Any:
    return inspect.signature(kind.__init__).parameters[name].default


def query_projection(library: str, nn: Any, attention: Any) -> tuple[int, ...]:
    """Return the shape of the parameter that projects queries of width 6 to 2 heads."""
    if library == "torch":
        return tuple(attention(6, 2).in_proj_weight.shape)
    if library == "flax":
        return tuple(attention(2, 6, 6, rngs=nn.Rngs(0)).query.kernel.shape)
    if library == "equinox":
        return tuple(attention(2, 6, key=import_module("jax").random.key(0)).query_proj.weight.shape)
    layer = attention(2, 3)
    layer.build((1, 4, 6), (1, 4, 6))
    return tuple(layer.query_dense.kernel.shape)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_defaults_are_those_of_the_library(library: str) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    # Keras needs its backend chosen before it is imported.
    load(library)
    module, layer_norm, eps, rms_norm, attention, bias, dropout = LIBRARIES[library]
    nn = import_module(module)
    of_layer, of_rms, biases, shape, rate = column(library)
    kind = getattr(nn, attention)
    assert float(of_layer) == default(getattr(nn, layer_norm), eps)
    of_root = default(getattr(nn, rms_norm), eps)
    assert of_rms == ("none: that of the dtype" if of_root is None else str(of_root))
    assert biases == ("yes" if default(kind, bias) else "no")
    assert shape.startswith(str(query_projection(library, nn, kind)))
    assert float(rate) == default(kind, dropout)


def test_the_example_of_two_models_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    exec(compile(block, "porting.md", "exec"), {"__name__": "porting_example"})
    assert capsys.readouterr().out.startswith('transposed\n("up: transpose it')


def test_the_relations_and_causes_are_those_of_the_code() -> None:
    interface = (ROOT / "docs" / "interface.md").read_text(encoding="utf-8")
    row = next(line for line in interface.splitlines() if line.startswith("| `relation` of a weight"))
    room = ROOT / "conformance_tests" / "ports"
    sources = "".join(path.read_text(encoding="utf-8") for path in room.glob("*.py"))
    made = set(re.findall(r'Relation\(\s*"([^"]+)"', sources)) | {"elsewhere", "unknown", "longer", "shorter"}
    assert set(re.findall(r"`([^`]+)`", row)) - {"relation"} == made


@pytest.mark.long
def test_every_command_prints_what_the_page_shows(pages: Any) -> None:
    for library in ("jax", "flax", "transformers"):
        pytest.importorskip(library)
    current = pages.brought_up_to_date(PAGE, pages.PAGES["docs/porting.md"])
    assert pages.comparable(current) == pages.comparable(PAGE), "python docs/check_pages.py docs/porting.md --write"


def test_every_block_of_the_page_is_run() -> None:
    kinds = re.findall(r"^```(\S+.*)$", PAGE, re.MULTILINE)
    followed = {"console", "diff", "python", "python file=docs/examples/port/hf_llama.py"}
    assert set(kinds) == followed
    assert kinds.count("python") == 1


def test_the_figures_are_those_of_the_benchmarks() -> None:
    measured = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    faults = measured.partition("## `port_faults.py`")[2]
    planted, seen, part, _, named = re.findall(r"^\| all \| (.*) \|$", faults, re.MULTILINE)[0].split(" | ")
    prose = " ".join(PAGE.split())
    assert f"Of {planted} faults that were planted" in prose
    assert f"{seen} are seen, the first difference is in the right part for {part}" in prose
    assert f"the cause is named for {named} (" in prose
    assert f"| `veriformer compare` | {seen} | " in PAGE
    rivals = measured.partition("## `port_rivals.py`")[2].partition("\n## ")[0]
    for name in ("`allclose` of the logits", "cosine of the logits", "KL divergence of the logits"):
        (every, of_torch) = re.findall(rf"^\| {name} \| \d+ \| (\d+) \|", rivals, re.MULTILINE)
        assert re.search(rf"^\| {name}.* \| {every} \| {of_torch} \| – \|", PAGE, re.MULTILINE)
    for name in ("modules in order", "hashes of DebugMode, by position", "without the correct port"):
        (row,) = re.findall(rf"^\| .*{name}.* \| 49 (\| \d+ \| \d+ \| \d of \d \|)$", rivals, re.MULTILINE)
        assert f" | – {row}" in PAGE


def test_a_change_that_does_not_fit_its_file_is_an_error(pages: Any, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n", encoding="utf-8")
    header = "--- a.py\n+++ a.py\n"
    pages.apply_patch(f"{header}@@ -2,2 +2,3 @@\n-two\n+2\n+2.5\n three\n", tmp_path)
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == "one\n2\n2.5\nthree\n"
    with pytest.raises(ValueError, match="from line 1 on"):
        pages.apply_patch(f"{header}@@ -1 +1 @@\n-two\n+2\n", tmp_path)
    with pytest.raises(ValueError, match="twice the same"):
        pages.apply_patch("--- a.py\n+++ b.py\n", tmp_path)


def test_a_page_is_followed_from_the_first_block_to_the_last(pages: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "port").mkdir()
    (tmp_path / "port" / "a.txt").write_text("wrong\n", encoding="utf-8")
    change = "```diff\n--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-wrong\n+right\n```\n"
    page = f"```console\n$ cat a.txt\n$ true\n```\n{change}```console\n$ cat a.txt\nstale\n```\n"
    shown = f"```console\n$ cat a.txt\nwrong\n$ true\n```\n{change}```console\n$ cat a.txt\nright\n```\n"
    assert pages.brought_up_to_date(page, "port") == shown
    assert (tmp_path / "port" / "a.txt").read_text(encoding="utf-8") == "wrong\n"


def test_seconds_and_roundings_are_all_that_may_differ(pages: Any) -> None:
    assert pages.comparable("in 12.3 s, 1.8e-07 of the largest") == pages.comparable("in 4.5 s, 2.9e-07 of the largest")
    assert pages.comparable("eps is 1e-06") != pages.comparable("eps is 1e-05")
