"""Laws tried on a Dask cluster: a real one, of two processes on this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from veriformer.cli import main
from veriformer.conformance_tests import check
from veriformer.conformance_tests.reports.json_report import report_as_json
from veriformer.conformance_tests.run.workers import cluster as parallel_cluster
from veriformer.conformance_tests.run.workers.cluster import cluster
from veriformer.conformance_tests.run.workers.errors import NoCluster

distributed = pytest.importorskip("distributed")

SMALL = ("softmax", "gelu", "causal_mask", "rms_norm")
WRONG = """
import numpy as np
def softmax(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster's address."""
    # Workers that are started here do not listen to anybody else, and serve no page.
    settings: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": None, "worker_dashboard_address": None}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **settings) as local:
        yield local.scheduler_address


def test_a_cluster_finds_what_one_process_finds(address: str) -> None:
    alone = check("numpy", operations=SMALL, tier="quick")
    with cluster(address) as pool:
        assert pool.size == 2
        together = check("numpy", operations=SMALL, tier="quick", executor=pool)
    assert without_times(report_as_json(together)) == without_times(report_as_json(alone))
    assert together.findings == alone.findings


def test_files_are_found_whatever_the_working_directory(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong.py").write_text(WRONG)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["check", "wrong.py", "--operation", "softmax", "--tier", "quick", "--dask", address])
    assert end.value.code == 1
    assert "✗ softmax.large_logits" in capsys.readouterr().out


def test_a_worker_of_the_cluster_that_is_killed_loses_nothing(address: str) -> None:
    alone = check("numpy", operations=SMALL, tier="quick")
    with distributed.Client(address) as client:
        processes = list(client.run(os.getpid).values())

        def kill(_: object) -> None:
            if processes:
                os.kill(processes.pop(), signal.SIGKILL)
                processes.clear()

        together = check(
            "numpy", operations=SMALL, tier="quick", executor=client.get_executor(pure=False), progress=kill
        )
    assert without_times(report_as_json(together)) == without_times(report_as_json(alone))


def test_an_address_that_nobody_answers_at_is_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel_cluster, "_SECONDS_TO_ANSWER", 1)
    with pytest.raises(SystemExit) as end:
        main(["check", "numpy", "--operation", "softmax", "--dask", "tcp://127.0.0.1:1"])
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in error
    assert "dask scheduler" in error


def test_a_word_that_is_no_address_is_one_sentence() -> None:
    with pytest.raises(NoCluster, match="no Dask scheduler answers at 'somewhere://'"), cluster("somewhere://"):
        pass


def test_a_cluster_without_workers_is_told() -> None:
    settings: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=0, **settings) as empty,
        pytest.raises(NoCluster, match="has no workers; start some: dask worker"),
        cluster(empty.scheduler_address),
    ):
        pass


def without_times(value: Any) -> Any:
    """Return JSON without the seconds that anything took."""
    if isinstance(value, dict):
        return {name: without_times(part) for name, part in value.items() if name != "seconds"}
    return [without_times(part) for part in value] if isinstance(value, list) else value
