"""Ingestion on a real PostgreSQL and a real Restate."""

from collections.abc import Iterator

import pytest

from local.restate import RestateServer
from tests.services.control import Control
from tests.services.endpoint import serving
from tests.services.scripted import scripted_endpoint


@pytest.fixture(scope="module")
def engine(restate: RestateServer) -> Iterator[RestateServer]:
    """Restate with runs that complete at once: a run's input has no steps, so that it only begins."""
    with serving(scripted_endpoint([])) as url:
        restate.register({"uri": url, "use_http_11": True})
        yield restate


@pytest.fixture
def control(postgres_url: str, engine: RestateServer) -> Iterator[Control]:
    made = Control(postgres_url, engine.ingress_url)
    yield made
    made.close()
