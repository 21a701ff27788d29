"""Export models of the zoo to ONNX, and run each file in onnxruntime beside PyTorch.

    python benchmarks/models/export_onnx.py [--model NAME ...] [--folder FOLDER]

Writes FOLDER/NAME.onnx and prints the largest difference of the outputs; exit status 1 above 1e-5 of their size.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from planting import built, imported, zoo_inputs

MODELS = ("nanogpt", "llama_by_hand")
TOLERANCE = 1e-5


def export(name: str, folder: Path, *, dynamic: bool = False) -> Path:
    """Export a PyTorch model of the zoo with the inputs that it is tried on, and return the file.

    `dynamic` leaves the batch and the length open.
    """
    module = imported(name)
    model = built(module).eval()
    arrays = _arrays(module)
    path = folder / f"{name}.onnx"
    shapes = tuple({0: torch.export.Dim("batch"), 1: torch.export.Dim("length")} for _ in arrays) if dynamic else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model, tuple(map(torch.as_tensor, arrays)), str(path), dynamo=True, dynamic_shapes=shapes, verbose=False
        )
    return path


def difference(name: str, path: Path) -> float:
    """Return the largest difference of the file's outputs from the model's own, relative to their size."""
    module = imported(name)
    arrays = _arrays(module)
    with torch.no_grad():
        outputs = built(module).eval()(*map(torch.as_tensor, arrays))
    expected = (outputs[0] if isinstance(outputs, tuple) else outputs).numpy()
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    given = {put.name: array for put, array in zip(session.get_inputs(), arrays, strict=True)}
    found = np.asarray(session.run(None, given)[0])
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def _arrays(module: Any) -> tuple[Any, ...]:
    inputs = zoo_inputs(module)
    if isinstance(inputs, dict):
        return tuple(inputs.values())
    return inputs if isinstance(inputs, tuple) else (inputs,)


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", nargs="*", default=list(MODELS))
    parser.add_argument("--folder", type=Path, help="where the files go; a temporary folder where it is not given")
    parser.add_argument("--dynamic", action="store_true", help="leave the batch and the length open")
    arguments = parser.parse_args(words)
    worst = 0.0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.model:
            found = difference(name, export(name, folder, dynamic=arguments.dynamic))
            worst = max(worst, found)
            print(f"{name:20} differs by {found:.1e}", flush=True)
    return 0 if worst <= TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
