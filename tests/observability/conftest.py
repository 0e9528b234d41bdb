"""Hosts on which a server runs, or none does, and small disks."""

import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from django.conf import settings

from meshmgmt.core import runtime
from meshmgmt.core.runtime import ServerInfo
from tests.observability.disks import mounted

STARTED = 1_800_000_000


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The runtime directory of a host on which no server runs."""
    folder = tmp_path / "run"
    folder.mkdir()
    monkeypatch.setattr(settings, "SVC", replace(settings.SVC, runtime_dir=folder))
    return folder


@pytest.fixture
def serving(idle: Path) -> Iterator[Path]:
    """The runtime directory of a running server: this process."""
    held = runtime.claim(idle)
    info = ServerInfo(os.getpid(), STARTED, "127.0.0.1:1", 1, 1, "0")
    runtime.write_json(idle / runtime.INFO, asdict(info))
    yield idle
    os.close(held)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk") as disk:
        yield disk
