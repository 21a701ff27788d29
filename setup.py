"""Which packages there are: the rooms of the repository, each with its folders, under one namespace.

The rooms stay at the top level and install as `veriformer.ROOM`, so that no package called `spec` lands in anyone's
environment. What `import veriformer` finds is in the folder `package`. Everything else is said in pyproject.toml, but
for the description that a package index shows: the README, whose links lead nowhere outside the repository.

The site of the documentation goes into a wheel where `docs/build.py` has built it, so that nobody needs Sphinx to
install the package.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ROOMS = ("spec", "reference", "conformance_tests", "adapters", "cli", "pictures", "lessons")

# A block of code, which stays as it is, or the target of a link or a picture inside the repository.
FENCE_OR_LINK = re.compile(
    r"^```.*?^```$|(?P<text>!?\[[^\]]*\])\((?P<path>(?!\w+:|#)[^)#\s]+)", re.MULTILINE | re.DOTALL
)


def long_description(readme: str, source: str, version: str) -> str:
    """Return the README with links to the repository at `source`, as it is at the tag of the version."""

    def absolute(found: re.Match[str]) -> str:
        text, path = found["text"], found["path"]
        if path is None:
            return found[0]
        kind = "raw" if text.startswith("!") else "tree" if (ROOT / path).is_dir() else "blob"
        return f"{text}({source}/{kind}/v{version}/{path}"

    return FENCE_OR_LINK.sub(absolute, readme)


def main() -> None:
    """Hand setuptools what pyproject.toml does not say."""
    # Imported here: it replaces distutils, and fails in a process that has that of Python already, as tests may have.
    from setuptools import find_packages, setup

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    site = ("documentation",) if (ROOT / "documentation" / "index.html").is_file() else ()
    found = [name for room in ROOMS for name in find_packages(include=(room, f"{room}.*"))]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    setup(
        packages=["veriformer", *(f"veriformer.{name}" for name in (*found, *site))],
        package_dir={"veriformer": "package"} | {f"veriformer.{folder}": folder for folder in (*ROOMS, *site)},
        long_description=long_description(readme, project["urls"]["Source"], project["version"]),
        long_description_content_type="text/markdown",
    )


# Also under a build backend, which runs this file as a program.
if __name__ == "__main__":
    main()
