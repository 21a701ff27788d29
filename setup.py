"""Which packages there are: the rooms of the repository, each with its folders, under one namespace.

The rooms stay at the top level and install as `veriformer.ROOM`, so that no package called `spec` lands in anyone's
environment. `veriformer` itself has no `__init__.py`. Everything else is said in pyproject.toml.
"""

from setuptools import find_packages, setup

ROOMS = ("spec", "reference", "conformance_tests", "adapters", "cli", "pictures", "lessons")

setup(
    packages=[f"veriformer.{name}" for room in ROOMS for name in find_packages(include=(room, f"{room}.*"))],
    package_dir={f"veriformer.{room}": room for room in ROOMS},
)
