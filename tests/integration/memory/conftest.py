"""What the tests of workflow memory share: a store, items to keep, and ears on every log line."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from meridian.database import Database, open_database
from meridian.memory.model import Address, Write, Written, WrittenBy
from meridian.memory.store import MemoryStore, open_memory_store
from tests.services.quiet import all_log_lines, lines_with, print_to_each_test

# Whatever the tests keep of a subject holds one of these. They stand in nothing else that is written.
SECRETS = ("sub-zq7", "key-zq7", "val-zq7", "31415.92650")

SUBJECT = "sub-zq7"
ADDRESS = Address("patient", SUBJECT, "workflow", "potassium-alert", "key-zq7")
VALUE = '{"level":31415.92650,"note":"val-zq7"}'


@pytest.fixture(autouse=True)
def _no_subject_data_is_logged(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fails the test that makes anything log a value, a subject's id or a key."""
    print_to_each_test()
    with all_log_lines() as lines:
        yield
    written = capfd.readouterr()
    lines += [*written.out.splitlines(), *written.err.splitlines()]
    assert lines_with(lines, SECRETS) == []


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
