"""The stage on which runs live and end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local.restate import RestateServer
from tests.services.stage import Stage, staged


@pytest.fixture
def stage(restate: RestateServer, postgres_url: str) -> Iterator[Stage]:
    with staged(restate, postgres_url) as made:
        yield made
