"""Reading, writing and forgetting on a real PostgreSQL."""

import logging
from collections.abc import Callable
from datetime import timedelta
from random import Random

import pytest

from meridian import jsontext
from meridian.database import open_database
from meridian.errors import DatabaseUnavailable
from meridian.memory.model import Address, Chosen, Conflicted, Forgotten, Item, Written
from meridian.memory.store import MemoryStore
from tests.integration.memory.conftest import ADDRESS, EXPIRED, SUBJECT, VALUE, a_write

Keep = Callable[..., int]
OF_SUBJECT = Chosen("patient", SUBJECT)


def test_what_is_written_is_read_digit_for_digit(store: MemoryStore) -> None:
    written = store.write(a_write(type='{"scale":1.50}'))

    item = store.read(ADDRESS)
    assert isinstance(written, Written)
    assert isinstance(item, Item)
    assert (item.address, item.version, item.expires_at) == (ADDRESS, written.version, written.expires_at)
    assert item.value == VALUE
    assert item.type == '{"scale": 1.50}'
    assert item.type_name == "Observation"
    visit = {"workflow": "potassium-alert", "run": "e-1:potassium-alert", "node": "remember"}
    assert jsontext.parse(item.written_by) == visit


def test_an_item_is_kept_thirty_days_or_as_long_as_the_write_says(store: MemoryStore, kept: Keep) -> None:
    for retention, options in [
        (timedelta(days=30), {}),
        (timedelta(seconds=90), {"retention": timedelta(seconds=90)}),
        (timedelta(days=36_525), {"retention": timedelta(days=36_525)}),
    ]:
        kept(node=f"n.{retention}", **options)
        item = store.read(ADDRESS)
        assert item is not None
        assert item.expires_at is not None
        assert item.expires_at - item.written_at == retention


def test_the_deadline_is_of_the_databases_clock(store: MemoryStore, kept: Keep) -> None:
    before = store.database.execute("SELECT clock_timestamp()")[0][0]
    kept()
    after = store.database.execute("SELECT clock_timestamp()")[0][0]
    item = store.read(ADDRESS)
    assert item is not None
    assert before <= item.written_at <= after


def test_every_write_takes_a_higher_version_also_after_a_forget_and_an_expiry(store: MemoryStore, kept: Keep) -> None:
    other = ADDRESS._replace(workflow="other")
    versions = [kept(node="a"), kept(other, node="b"), kept(node="c")]
    store.forget(ADDRESS)
    versions += [kept(node="d", retention=EXPIRED), kept(node="e"), kept(other, node="f")]
    assert versions == sorted(set(versions))
    assert versions[0] > 0


class TestCondition:
    """Unconditional, on nothing, and on one version."""

    def test_on_nothing_writes_where_nothing_is(self, store: MemoryStore) -> None:
        assert isinstance(store.write(a_write(expected_version=0)), Written)

    def test_on_nothing_conflicts_with_what_is_there(self, store: MemoryStore, kept: Keep) -> None:
        version = kept()
        assert store.write(a_write(node="other", expected_version=0, value="2")) == Conflicted(version)
        self._is_untouched(store, version)

    def test_on_a_version_writes_over_it(self, store: MemoryStore, kept: Keep) -> None:
        version = kept()
        outcome = store.write(a_write(node="other", expected_version=version, value="2"))
        assert isinstance(outcome, Written)
        assert outcome.version > version

    def test_on_a_version_conflicts_with_another(self, store: MemoryStore, kept: Keep) -> None:
        first, second = kept(node="a"), kept(node="b")
        assert store.write(a_write(node="c", expected_version=first, value="2")) == Conflicted(second)
        self._is_untouched(store, second)

    def test_on_a_version_conflicts_with_nothing(self, store: MemoryStore, kept: Keep) -> None:
        version = kept()
        store.forget(ADDRESS)
        assert store.write(a_write(node="c", expected_version=version)) == Conflicted(0)
        assert store.read(ADDRESS) is None

    def test_on_a_version_that_never_was_writes_nothing(self, store: MemoryStore) -> None:
        assert store.write(a_write(expected_version=2**63 - 1)) == Conflicted(0)
        assert store.read(ADDRESS) is None

    def test_a_forget_on_a_version(self, store: MemoryStore, kept: Keep) -> None:
        first, second = kept(node="a"), kept(node="b")
        assert store.forget(ADDRESS, first) == Conflicted(second)
        assert store.forget(ADDRESS, 0) == Conflicted(second)
        self._is_untouched(store, second)
        assert store.forget(ADDRESS, second) == Forgotten(True)
        assert store.read(ADDRESS) is None

    def test_a_forget_without_a_condition(self, store: MemoryStore, kept: Keep) -> None:
        kept()
        assert store.forget(ADDRESS) == Forgotten(True)
        assert store.forget(ADDRESS) == Forgotten(False)

    @staticmethod
    def _is_untouched(store: MemoryStore, version: int) -> None:
        item = store.read(ADDRESS)
        assert item is not None
        assert item.version == version
        assert item.value == VALUE


class TestExpired:
    """An item whose time is over is absent at once, long before any sweep."""

    @pytest.fixture
    def version(self, store: MemoryStore, kept: Keep) -> int:
        """Of an item that was there for the statement before, and is not for the next."""
        version = kept(retention=timedelta(milliseconds=150))
        assert store.read(ADDRESS) is not None
        store.database.execute("SELECT pg_sleep(0.15)")
        assert store.database.execute("SELECT count(*) FROM workflow_memory") == [(1,)]
        return version

    def test_it_is_not_read(self, store: MemoryStore, version: int) -> None:
        assert store.read(ADDRESS) is None

    def test_it_is_not_listed(self, store: MemoryStore, version: int) -> None:
        assert store.find(OF_SUBJECT, None, 10).items == []

    def test_on_nothing_is_met(self, store: MemoryStore, version: int) -> None:
        outcome = store.write(a_write(node="other", expected_version=0))
        assert isinstance(outcome, Written)
        assert outcome.version > version

    def test_its_version_conflicts_with_version_0(self, store: MemoryStore, version: int) -> None:
        assert store.write(a_write(node="other", expected_version=version)) == Conflicted(0)
        assert store.read(ADDRESS) is None

    def test_it_is_not_forgotten_but_gone(self, store: MemoryStore, version: int) -> None:
        assert store.forget(ADDRESS, version) == Forgotten(False)
        assert store.database.execute("SELECT count(*) FROM workflow_memory") == [(0,)]

    def test_it_does_not_count_among_those_of_its_subject(self, store: MemoryStore, kept: Keep, version: int) -> None:
        kept(ADDRESS._replace(key="key-zq7 live"))
        assert store.forget_subject("patient", SUBJECT) == 1
        assert store.database.execute("SELECT count(*) FROM workflow_memory") == [(0,)]

    def test_the_same_write_again_is_no_retry_of_it(self, store: MemoryStore, kept: Keep, version: int) -> None:
        assert kept(retention=timedelta(milliseconds=150)) > version


class TestRetry:
    """A write that is sent again after it happened is answered as it would have been."""

    def test_without_a_condition_it_keeps_its_one_version(self, store: MemoryStore) -> None:
        assert store.write(a_write()) == store.write(a_write())

    @pytest.mark.parametrize("again", [{"node": "remember.2"}, {"run": "e-2:potassium-alert"}])
    def test_another_visit_is_another_write(self, store: MemoryStore, kept: Keep, again: dict[str, str]) -> None:
        assert kept(**again) != kept()

    @pytest.mark.parametrize(
        "other",
        [
            {"value": "2"},
            {"type": '{"kind":"Patient"}'},
            {"retention": timedelta(days=1)},
        ],
    )
    def test_another_content_by_the_same_visit_is_written(
        self, store: MemoryStore, kept: Keep, other: dict[str, object]
    ) -> None:
        first = kept()
        second = kept(**other)
        assert second > first
        item = store.read(ADDRESS)
        assert item is not None
        assert item.version == second

    def test_on_nothing_it_is_a_success(self, store: MemoryStore) -> None:
        write = a_write(expected_version=0)
        assert isinstance(store.write(write), Written)
        assert store.write(write) == store.write(write)

    def test_on_a_version_it_is_a_success(self, store: MemoryStore, kept: Keep) -> None:
        write = a_write(node="other", expected_version=kept())
        first = store.write(write)
        assert isinstance(first, Written)
        assert store.write(write) == first

    def test_over_which_another_run_wrote_is_a_conflict(self, store: MemoryStore, kept: Keep) -> None:
        write = a_write(node="other", expected_version=kept())
        store.write(write)
        newer = kept(run="e-2:potassium-alert")
        assert store.write(write) == Conflicted(newer)

    def test_of_a_forget_is_no_conflict_and_claims_nothing(self, store: MemoryStore, kept: Keep) -> None:
        version = kept()
        assert store.forget(ADDRESS, version) == Forgotten(True)
        assert store.forget(ADDRESS, version) == Forgotten(False)

    def test_of_a_forget_leaves_what_another_run_wrote_since(self, store: MemoryStore, kept: Keep) -> None:
        version = kept()
        store.forget(ADDRESS, version)
        newer = kept(run="e-2:potassium-alert")
        assert store.forget(ADDRESS, version) == Conflicted(newer)


def test_the_longest_address_fits_the_index(store: MemoryStore, kept: Keep) -> None:
    random = Random(4)  # PostgreSQL compresses what repeats itself

    def longest(characters: int) -> str:
        return "".join(chr(random.randrange(0x10000, 0x110000)) for _ in range(characters))

    address = Address(longest(64), longest(256), "workflow", longest(100), longest(200))
    version = kept(address)
    item = store.read(address)
    assert item is not None
    assert item.version == version


def test_values_of_an_earlier_release_without_a_deadline_stay(store: MemoryStore, kept: Keep) -> None:
    version = kept()
    store.database.execute("UPDATE workflow_memory SET expires_at = NULL")
    item = store.read(ADDRESS)
    assert item is not None
    assert item.expires_at is None
    assert store.delete_expired(10) == 0
    assert store.write(a_write(node="other", expected_version=0)) == Conflicted(version)
    assert isinstance(store.write(a_write(node="other", expected_version=version)), Written)


def test_a_conflict_is_an_answer_and_logged_as_nothing_worse(
    store: MemoryStore, kept: Keep, caplog: pytest.LogCaptureFixture
) -> None:
    version = kept()
    caplog.set_level(logging.DEBUG)
    caplog.clear()

    store.write(a_write(node="other", expected_version=0))
    store.forget(ADDRESS, version + 1)

    lines = [(line.name, line.levelname, line.expected, line.current) for line in caplog.records]  # type: ignore[attr-defined]
    assert lines == [("meridian.memory", "DEBUG", 0, version), ("meridian.memory", "DEBUG", version + 1, version)]


def test_a_database_out_of_reach_is_told_as_that() -> None:
    store = MemoryStore(open_database("postgresql://meridian@127.0.0.1:1/meridian"))
    for call in (lambda: store.read(ADDRESS), lambda: store.write(a_write()), lambda: store.forget(ADDRESS)):
        with pytest.raises(DatabaseUnavailable):
            call()
