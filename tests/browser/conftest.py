"""Headless Chromium, and the pages that it opens: reports of every kind, and pages of the documentation."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))
ROOT = FOLDER.parents[1]
AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# Chromium looks up hosts of its maker at every start unless all of these are there.
_QUIET = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def chromium():
    """Yield the browser; skip where it, its driver or the rules of accessibility are not installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install '.[browser]'")
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        # A container's root has no sandbox of its own.
        browser = started.chromium.launch(executable_path=CHROMIUM, args=_QUIET, chromium_sandbox=False)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the script with the rules of accessibility."""
    if not AXE.exists():
        pytest.skip("no axe-core: npm ci --prefix tests/browser")
    return AXE.read_text("utf-8")


@pytest.fixture(scope="session")
def screenshots(tmp_path_factory) -> Path:
    """Return the folder for pictures of the pages: that of `VERIFORMER_SCREENSHOTS`, or one of the test run."""
    given = os.environ.get("VERIFORMER_SCREENSHOTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def report_page(tmp_path_factory):
    """Return a function from the words of a command to the report that it writes; each is written once."""
    folder, written = tmp_path_factory.mktemp("reports"), {}

    def page(name: str, *words: str) -> Path:
        if name not in written:
            target = folder / f"{name}.html"
            command = [sys.executable, "-m", "veriformer.cli", *words, "--report", str(target)]
            finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
            assert target.exists(), f"{finished.stdout}\n{finished.stderr}"
            written[name] = target
        return written[name]

    return page


@pytest.fixture(scope="session")
def documentation() -> Path:
    """Return the folder of the built documentation; skip where nobody built it."""
    folder = ROOT / "documentation"
    if not (folder / "index.html").exists():
        pytest.skip("the documentation is not built: python docs/build.py")
    return folder
