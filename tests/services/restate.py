"""A real Restate server for tests: one per worker of the test run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local.ports import free_port
from local.restate import RestateServer


@contextmanager
def running_restate(
    folder: Path, lambda_url: str | None = None, cleanup_interval: str = "1h"
) -> Iterator[RestateServer]:
    """A server over an empty base directory, for a test that stops, kills or suspends it."""
    server = RestateServer(
        folder / "restate",
        folder / "restate.log",
        ingress=free_port(),
        admin=free_port(),
        node=free_port(),
        lambda_url=lambda_url,
        cleanup_interval=cleanup_interval,
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def restate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestateServer]:
    """The worker's server, `.ingress_url` and `.admin_url`, without a deployment: tests register their own with
    `.register({"uri": …})`, and use run ids of their own. Tests that stop a server use `running_restate`."""
    with running_restate(tmp_path_factory.mktemp("restate")) as server:
        yield server
