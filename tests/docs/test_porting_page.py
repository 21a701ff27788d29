"""The defaults on the porting page are those of the libraries as they are installed."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from veriformer.adapters.loading import load

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "porting.md").read_text(encoding="utf-8")
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
    interface = (Path(__file__).resolve().parents[2] / "docs" / "interface.md").read_text(encoding="utf-8")
    row = next(line for line in interface.splitlines() if line.startswith("| `relation` of a weight"))
    room = Path(__file__).resolve().parents[2] / "conformance_tests" / "ports"
    sources = "".join(path.read_text(encoding="utf-8") for path in room.glob("*.py"))
    made = set(re.findall(r'Relation\(\s*"([^"]+)"', sources)) | {"elsewhere", "unknown", "longer", "shorter"}
    assert set(re.findall(r"`([^`]+)`", row)) - {"relation"} == made
