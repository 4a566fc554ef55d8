"""The two databases that keep a run index, and a store on each."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meridian.runs.store import SqlRunStore, open_run_store

BACKENDS = ("postgresql", "sqlite")


@pytest.fixture(params=BACKENDS)
def new_url(request: pytest.FixtureRequest, new_postgres_url: Callable[[], str], tmp_path: Path) -> Callable[[], str]:
    """Makes empty databases of one backend; each call gives the URL of a new one."""
    if request.param == "postgresql":
        return new_postgres_url
    names = iter(range(100))
    return lambda: f"sqlite:{tmp_path}/runs-{next(names)}.sqlite"


@pytest.fixture
def database_url(new_url: Callable[[], str]) -> str:
    return new_url()


@pytest.fixture
def store(database_url: str) -> Iterator[SqlRunStore]:
    store = open_run_store(database_url)
    assert isinstance(store, SqlRunStore)
    yield store
    store.close()
