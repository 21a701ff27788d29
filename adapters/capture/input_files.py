"""The inputs of a model in a file of NumPy's: an archive of arrays, by position or by the names of arguments."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np
from veriformer.adapters.capture.handed_over import Arguments
from veriformer.adapters.capture.weights import Array
from veriformer.adapters.errors import LoadError

# What np.savez calls arrays without a name, and what they are called here.
_POSITIONAL = re.compile(r"^(?:arr_)?(\d+)$")


def read_inputs(path: Path) -> Arguments:
    """Return the arrays in a file as positional arguments and keywords; LoadError where it holds anything else.

    `np.savez(path, tokens)` makes a positional one, `np.savez(path, input_ids=tokens)` one by name; a .npy file holds
    one.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except AttributeError:
        # A .npy file is an array, and no archive.
        return (np.load(path, allow_pickle=False),), {}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise LoadError(
            f"the inputs in {path} cannot be read ({error}); write them with np.savez({path.name!r}, tokens)"
        ) from error
    numbered: dict[int, Array] = {}
    named: dict[str, Array] = {}
    for name, array in arrays.items():
        found = _POSITIONAL.match(name)
        if found is None:
            named[name] = array
        else:
            numbered[int(found.group(1))] = array
    return tuple(numbered[place] for place in sorted(numbered)), named


def write_inputs(path: Path, arguments: Arguments) -> None:
    """Write positional arguments and keywords, all of them arrays, to a file that `read_inputs` reads."""
    positional, keywords = arguments
    numbered = {str(place): np.asarray(array) for place, array in enumerate(positional)}
    np.savez(path, **numbered, **{name: np.asarray(array) for name, array in keywords.items()})  # type: ignore[arg-type]
