"""The stage on which runs wait, and the signals to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from local.restate import RestateServer
from meridian.signals.service import Signals
from tests.services.stage import Stage, staged


class Scheduled:
    """Follow-ups that are kept instead of queued."""

    def __init__(self) -> None:
        self.run_ids: list[str] = []

    def schedule(self, run_ids: Sequence[str]) -> None:
        self.run_ids += run_ids


@pytest.fixture
def stage(restate: RestateServer, postgres_url: str) -> Iterator[Stage]:
    with staged(restate, postgres_url) as made:
        yield made


@pytest.fixture
def follow_ups() -> Scheduled:
    return Scheduled()


@pytest.fixture
def signals(stage: Stage, follow_ups: Scheduled) -> Signals:
    return Signals(stage.settlement(), follow_ups)
