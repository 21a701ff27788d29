"""A package adds an operation, which is checked, diagnosed and reported like ours; a broken package adds none."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from veriformer.spec.operations import OPERATIONS

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "own_operation"
RIGHT = "import numpy as np\n\n\ndef relu_squared(x):\n    return np.square(np.maximum(x, 0))\n"
WRONG = "import numpy as np\n\n\ndef relu_squared(x):\n    return np.maximum(x, 0)\n"


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the example's package."""
    source, target = tmp_path_factory.mktemp("source") / "package", tmp_path_factory.mktemp("packages")
    shutil.copytree(EXAMPLE, source)
    offline = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    command = [sys.executable, "-m", "pip", "install", *offline, "--target", str(target), str(source)]
    subprocess.run(command, check=True, timeout=120)
    return target


def veriformer(packages: Path, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, "-m", "veriformer.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100"},
    )


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    return tmp_path


def test_it_is_listed_behind_ours_and_explained(packages: Path) -> None:
    operations = veriformer(packages, "list", "operations").stdout
    assert operations.index("\nmodel ") < operations.index("\nrelu_squared ")
    assert f"{len(OPERATIONS) + 1} operations" in operations
    assert "relu_squared.doubled" in veriformer(packages, "list", "laws").stdout
    assert "relu_cubed" in veriformer(packages, "list", "mistakes", "--operation", "relu_squared").stdout
    page = veriformer(packages, "explain", "relu_squared.doubled").stdout
    assert "f(2x) = 4 f(x)" in page
    assert "relu_cubed, relu_not_squared" in page
    assert "+ return np.maximum(x, 0)" in veriformer(packages, "explain", "relu_not_squared").stdout


@pytest.mark.parametrize("options", [(), ("--isolate",), ("--workers", "2")])
def test_a_right_implementation_conforms(packages: Path, programs: Path, options: tuple[str, ...]) -> None:
    run = veriformer(packages, "check", "right.py", "--tier", "quick", *options, folder=programs)
    assert run.returncode == 0, run.stderr
    assert "10 laws held, 0 violated, 0 errors" in run.stdout


def test_a_wrong_one_breaks_the_laws_and_its_mistake_is_named(packages: Path, programs: Path) -> None:
    run = veriformer(packages, "check", "wrong.py", "--json", "report.json", folder=programs)
    assert run.returncode == 1, run.stderr
    assert "The outputs are those of `relu_not_squared`" in run.stdout
    report = json.loads((programs / "report.json").read_text(encoding="utf-8"))
    failed = [law for law in report["laws"] if law["status"] == "failed"]
    assert [law["id"] for law in failed] == ["relu_squared.value", "relu_squared.doubled"]
    assert failed[0]["counterexample"]["calls"][0]["arguments"]["x"]["shape"] == [1, 1, 1]
    assert [found["mistake"] for found in report["diagnosis"]] == ["relu_not_squared"]


def test_what_it_plants_is_caught_by_the_laws_that_it_names(packages: Path, programs: Path) -> None:
    script = (
        "from pathlib import Path\nfrom veriformer.conformance_tests import check\n"
        "from relu_squared_laws import EXTENSION\n"
        "for mistake in EXTENSION.mistakes:\n"
        "    Path('planted.py').write_text(mistake.source_text())\n"
        "    broken = {result.law.id for result in check('planted.py').results if result.status == mistake.status}\n"
        "    print(mistake.slug, set(mistake.laws) <= broken)\n"
    )
    (programs / "plant.py").write_text(script)
    path = os.pathsep.join(filter(None, (str(packages), os.environ.get("PYTHONPATH"))))
    command, environment = [sys.executable, "plant.py"], {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, cwd=programs, env=environment
    )
    assert run.stdout.splitlines() == ["relu_not_squared True", "relu_cubed True"]


def install_unlucky(folder: Path, module: str) -> None:
    information = folder / "unlucky-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: unlucky\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[veriformer.suites]\nluck = unlucky_laws:EXTENSION\n")
    (folder / "unlucky_laws.py").write_text(module)


OWN = "from dataclasses import replace\nfrom relu_squared_laws import *\n"
BROKEN = [
    ("import not_there\n", "it raises ModuleNotFoundError: No module named 'not_there'"),
    ("raise SystemExit(3)\n", "it raises SystemExit: 3"),
    ("EXTENSION = 3\n", "it names an object of type int, not a veriformer.conformance_tests.suite.Extension"),
    (OWN + "EXTENSION = replace(EXTENSION, suites=())\n", "each of its operations (relu_squared) needs one suite"),
    (OWN + "EXTENSION = replace(EXTENSION, laws=())\n", "relu_squared has no law"),
    (
        OWN + "EXTENSION = replace(EXTENSION, laws=vf.state((VALUE, replace(DOUBLED, key='x')), OPERATION))\n",
        "the law relu_squared.x has no check; register one with @judges('x', …)",
    ),
    (
        OWN + "other = replace(OPERATION, name='other', prefix='other')\n"
        "EXTENSION = replace(EXTENSION, operations=(other,), laws=vf.state((VALUE,), other), mistakes=(),\n"
        "    suites=(replace(EXTENSION.suites[0], operation='other'),))\n",
        # Ours has a check of this key for operations without one of their own.
        "the law other.value has no check; register one with @judges('value', …)",
    ),
    (
        OWN + "EXTENSION = replace(EXTENSION, sources={'relu_squared_numpy': 'x = 1'})\n",
        "' ** 2' must occur once in relu_squared_numpy; it occurs 0 times",
    ),
    (
        OWN + "EXTENSION = replace(EXTENSION, mistakes=tuple(replace(m, summary='') for m in EXTENSION.mistakes))\n",
        "the mistake relu_not_squared needs a summary",
    ),
    (
        OWN + "EXTENSION = replace(EXTENSION, mistakes=tuple(replace(m, laws=()) for m in EXTENSION.mistakes))\n",
        "the mistake relu_not_squared needs a law that it breaks",
    ),
    (
        OWN + "EXTENSION = replace(EXTENSION, sources={**EXTENSION.sources, 'layers_numpy': ''})\n",
        "its source layers_numpy has the name of one of ours",
    ),
    (
        OWN + "derived = replace(VALUE, reason=None, derivation='softmax', steps=('x',))\n"
        "EXTENSION = replace(EXTENSION, laws=vf.state((derived,), OPERATION))\n",
        "the law relu_squared.value names a derivation, and ours are about our operations; give it a reason",
    ),
    (
        OWN + "EXTENSION = replace(EXTENSION, laws=vf.state((replace(VALUE, features=('y',)),), OPERATION))\n",
        "the law relu_squared.value needs the feature y, which its operation does not have",
    ),
    (
        OWN + "claim = replace(VALUE, conventions=('gelu_form',))\n"
        "EXTENSION = replace(EXTENSION, laws=vf.state((claim,), OPERATION))\n",
        "the law relu_squared.value depends on conventions, and ours are about our operations; leave them out",
    ),
    (
        OWN + "known = tuple(replace(m, slug='scale_missing') for m in EXTENSION.mistakes)\n"
        "EXTENSION = replace(EXTENSION, mistakes=known)\n",
        "the mistake scale_missing has the slug of one of ours; give it another one",
    ),
    (
        OWN + "gelu = replace(OPERATION, prefix='gelu')\n"
        "EXTENSION = replace(EXTENSION, operations=(gelu,), laws=vf.state((VALUE,), gelu), mistakes=())\n",
        "the laws of gelu have the prefix 'gelu' already; choose another one",
    ),
    (
        OWN + "vf.judges('value', space=vf.VectorSpace(), operation='gelu')\n",
        "it raises ValueError: gelu is not an operation of your own; give one of another name",
    ),
    (
        OWN + "dotted = replace(OPERATION, prefix='attention.causal')\n"
        "EXTENSION = replace(EXTENSION, operations=(dotted,), laws=vf.state((VALUE,), dotted), mistakes=())\n",
        "the prefix 'attention.causal' is not an identifier",
    ),
    (OWN, "an operation called relu_squared exists already; give its own another name"),
    (
        OWN + "other = replace(OPERATION, name='other', prefix='other')\n"
        "vf.judges('value', space=vf.VectorSpace(), operation='other')(value)\n"
        "EXTENSION = replace(EXTENSION, operations=(other,), laws=vf.state((VALUE,), other), mistakes=(),\n"
        "    suites=(replace(EXTENSION.suites[0], operation='other'),))\n",
        "a source called relu_squared_numpy exists already; give its own another name",
    ),
]


@pytest.mark.parametrize(("module", "what"), BROKEN)
def test_a_broken_package_is_named_and_stops_nothing(packages: Path, tmp_path: Path, module: str, what: str) -> None:
    """Its neighbour, and our own operations, are there as ever."""
    install_unlucky(tmp_path, module)
    both = Path(os.pathsep.join(map(str, (tmp_path, packages))))
    listed = veriformer(both, "list", "operations")
    assert listed.returncode == 0
    assert f"{len(OPERATIONS) + 1} operations" in listed.stdout
    assert "the package unlucky adds no operations" in listed.stderr
    assert what in listed.stderr
    assert listed.stderr.count("unlucky_laws:EXTENSION") == 1


RAISING = {
    "a check": "@vf.judges('raising', space=vf.VectorSpace(), operation=NAME)\ndef raising(trial):\n    return 1 / 0\n"
    "EXTENSION = replace(EXTENSION, mistakes=(),\n"
    "    laws=(*EXTENSION.laws, *vf.state((replace(VALUE, key='raising'),), OPERATION)))\n",
    "the inputs": "class Raising(Inputs):\n    def expected(self, conventions):\n        return 1 / 0\n"
    "EXTENSION = replace(EXTENSION, suites=(replace(EXTENSION.suites[0], inputs=Raising),))\n",
    "the cases": "EXTENSION = replace(EXTENSION, suites=(replace(EXTENSION.suites[0], draw=lambda *_: 1 / 0),))\n",
    "the family": "EXTENSION = replace(EXTENSION,\n"
    "    suites=(replace(EXTENSION.suites[0], variants=('unlucky_laws', 'ABSENT')),))\n",
}


@pytest.mark.parametrize("where", RAISING)
def test_what_a_package_raises_is_blamed_on_it(tmp_path: Path, where: str) -> None:
    """Laws of our own operations are tried all the same."""
    example = (EXAMPLE / "relu_squared_laws.py").read_text(encoding="utf-8")
    install_unlucky(tmp_path, f"{example}\nfrom dataclasses import replace\n" + RAISING[where])
    (tmp_path / "both.py").write_text(WRONG + "\n\nfrom veriformer.adapters.numpy import softmax\n")
    run = veriformer(tmp_path, "check", "both.py", "--tier", "quick", "--json", "report.json", folder=tmp_path)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Internal error" not in run.stderr
    said = " ".join((run.stdout + run.stderr).split())
    assert "the package unlucky cannot judge relu_squared: its code raised" in said
    assert "No known mistake explains" not in said
    laws = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["laws"]
    ours = [law["status"] for law in laws if law["operation"] == "softmax"]
    assert set(ours) == {"passed"}


def test_a_comparison_blames_the_package_too(tmp_path: Path) -> None:
    example = (EXAMPLE / "relu_squared_laws.py").read_text(encoding="utf-8")
    install_unlucky(tmp_path, f"{example}\nfrom dataclasses import replace\n" + RAISING["the inputs"])
    for name in ("one.py", "other.py"):
        (tmp_path / name).write_text(RIGHT + "\n\nfrom veriformer.adapters.numpy import softmax\n")
    run = veriformer(tmp_path, "compare", "one.py", "other.py", "--tier", "quick", folder=tmp_path)
    assert "the package unlucky cannot judge relu_squared" in " ".join(run.stdout.split())
    assert "1 operation agrees" in run.stdout
    assert run.returncode == 2
    assert not run.stderr


def test_a_check_says_that_a_package_is_broken(tmp_path: Path) -> None:
    install_unlucky(tmp_path, "raise ValueError('no luck')\n")
    (tmp_path / "right.py").write_text(RIGHT)
    ours = veriformer(tmp_path, "check", "numpy", "--law", "softmax.value", "--tier", "quick")
    assert ours.returncode == 0
    assert "the package unlucky adds no operations" in " ".join(ours.stdout.split())
    theirs = veriformer(tmp_path, "check", "right.py", folder=tmp_path)
    assert theirs.returncode == 2
    assert "declares no operation" in theirs.stderr
    assert "the package unlucky adds no operations, because it raises ValueError: no luck" in theirs.stderr
