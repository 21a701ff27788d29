"""Which packages there are: the rooms of the repository, each with its folders, under one namespace.

The rooms stay at the top level and install as `veriformer.ROOM`, so that no package called `spec` lands in anyone's
environment. `veriformer` itself has no `__init__.py`. Everything else is said in pyproject.toml.

The site of the documentation goes into a wheel where `docs/build.py` has built it, so that nobody needs Sphinx to
install the package.
"""

from pathlib import Path

from setuptools import find_packages, setup

ROOMS = ("spec", "reference", "conformance_tests", "adapters", "cli", "pictures", "lessons")

SITE = ("documentation",) if (Path(__file__).parent / "documentation" / "index.html").is_file() else ()
FOUND = [name for room in ROOMS for name in find_packages(include=(room, f"{room}.*"))]

setup(
    packages=[f"veriformer.{name}" for name in (*FOUND, *SITE)],
    package_dir={f"veriformer.{folder}": folder for folder in (*ROOMS, *SITE)},
)
