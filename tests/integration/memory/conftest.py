"""What the tests of workflow memory share: a store, and items to keep."""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from meridian.database import Database, open_database
from meridian.memory.model import Address, Write, Written, WrittenBy
from meridian.memory.store import MemoryStore, open_memory_store

SUBJECT = "sub-zq7"
ADDRESS = Address("patient", SUBJECT, "workflow", "potassium-alert", "key-zq7")
VALUE = '{"level":31415.92650,"note":"val-zq7"}'


@pytest.fixture(autouse=True)
def _drivers_are_heard_too(caplog: pytest.LogCaptureFixture) -> None:
    """Those who listen to every test hear here what psycopg and others log at the level DEBUG."""
    caplog.set_level(logging.DEBUG)


@pytest.fixture
def database(postgres_url: str) -> Iterator[Database]:
    database = open_database(postgres_url)
    yield database
    database.close()


@pytest.fixture
def store(database: Database) -> MemoryStore:
    return open_memory_store(database)


def a_write(
    address: Address = ADDRESS, *, node: str = "remember", run: str = "e-1:potassium-alert", **more: Any
) -> Write:
    """A write of `VALUE`; another node path or run makes it another visit."""
    return Write(
        **{
            "address": address,
            "type": '{"kind":"Observation"}',
            "type_name": "Observation",
            "value": VALUE,
            "written_by": WrittenBy("potassium-alert", run, node),
            **more,
        }
    )


@pytest.fixture
def kept(store: MemoryStore) -> Callable[..., int]:
    """Keeps an item, by default of `ADDRESS`, and gives its version."""

    def keep(address: Address = ADDRESS, **more: Any) -> int:
        outcome = store.write(a_write(address, **more))
        assert isinstance(outcome, Written)
        return outcome.version

    return keep


EXPIRED = timedelta(microseconds=1)
