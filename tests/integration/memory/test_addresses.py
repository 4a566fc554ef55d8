"""What is kept for one subject is found, listed and forgotten for that one, page by page."""

from collections.abc import Callable

import pytest

from meridian.memory.model import Address, Chosen, Forgotten, Position
from meridian.memory.store import MemoryStore
from tests.integration.memory.conftest import ADDRESS, SUBJECT

Keep = Callable[..., int]
OF_SUBJECT = Chosen("patient", SUBJECT)

ALIKE = [
    SUBJECT,
    f"{SUBJECT}0",
    f"{SUBJECT}%",
    f"{SUBJECT}_",
    f"%{SUBJECT}",
    f"{SUBJECT[:-1]}_",
    f"{SUBJECT.upper()}",
    f" {SUBJECT}",
    f"{SUBJECT} ",
    f"{SUBJECT}\n",
    f"{SUBJECT}'; DROP TABLE workflow_memory; --",
    f'{SUBJECT}"',
    f"{SUBJECT}\\",
    f"{SUBJECT}\U0001f9ec",
    f"{SUBJECT}é",
    f"{SUBJECT}e\u0301",
    f"{SUBJECT},patient",
]


class TestSubjects:
    """Subjects whose ids contain each other never see each other."""

    @pytest.fixture
    def versions(self, kept: Keep) -> dict[str, int]:
        return {
            subject: kept(ADDRESS._replace(subject_id=subject), node=f"n.{number}")
            for number, subject in enumerate(ALIKE)
        }

    @pytest.mark.parametrize("number", range(len(ALIKE)))
    def test_each_sees_its_own(self, store: MemoryStore, versions: dict[str, int], number: int) -> None:
        subject = ALIKE[number]
        item = store.read(ADDRESS._replace(subject_id=subject))
        assert item is not None
        assert item.version == versions[subject]
        page = store.find(Chosen("patient", subject), None, 50)
        assert [item.address.subject_id for item in page.items] == [subject]

    @pytest.mark.parametrize("number", range(len(ALIKE)))
    def test_each_forgets_its_own(self, store: MemoryStore, versions: dict[str, int], number: int) -> None:
        assert store.forget_subject("patient", ALIKE[number]) == 1
        assert store.database.execute("SELECT count(*) FROM workflow_memory") == [(len(ALIKE) - 1,)]
        assert store.read(ADDRESS._replace(subject_id=ALIKE[number])) is None

    def test_the_kind_and_the_scope_are_parts_of_the_address(self, store: MemoryStore, kept: Keep) -> None:
        addresses = [
            ADDRESS,
            ADDRESS._replace(subject_kind="encounter"),
            Address("patient", SUBJECT, "subject", "", ADDRESS.key),
            Address("", "", "workflow-global", ADDRESS.workflow, ADDRESS.key),
            ADDRESS._replace(workflow="potassium"),
            ADDRESS._replace(key="key-zq7 "),
        ]
        versions = [kept(address) for address in addresses]
        found = [store.read(address) for address in addresses]
        assert [item.version for item in found if item] == versions
        assert store.forget(ADDRESS) == Forgotten(True)
        assert [store.read(address) is None for address in addresses] == [True, *[False] * 5]


class TestList:
    """The live items of a subject, page by page."""

    @pytest.fixture
    def addresses(self, kept: Keep) -> list[Address]:
        keys = ["key-zq7", "key-zq7\n", "key-zq7%", "key-zq7\U0001f9ec", "key-zq7é"]
        addresses = [
            *(ADDRESS._replace(key=key) for key in keys),
            *(ADDRESS._replace(key=key, workflow="other") for key in keys),
            *(Address("patient", SUBJECT, "subject", "", key) for key in keys),
        ]
        for address in addresses:
            kept(address)
        kept(Address("", "", "workflow-global", "other", "key-zq7"))
        kept(ADDRESS._replace(subject_id="sub-zq7 too"))
        return addresses

    def test_pages_hold_each_item_once_in_one_order(self, store: MemoryStore, addresses: list[Address]) -> None:
        for limit in (1, 2, 4, 15, 16):
            seen, after = [], None
            while True:
                page = store.find(OF_SUBJECT, after, limit)
                assert len(page.items) <= limit
                seen += [item.address for item in page.items]
                if page.next is None:
                    break
                after = page.next
            assert seen == sorted(addresses)

    def test_it_is_narrowed_by_scope_and_workflow(self, store: MemoryStore, addresses: list[Address]) -> None:
        def count(scope: str | None, workflow: str | None) -> int:
            chosen = Chosen("patient", SUBJECT, scope, workflow)  # type: ignore[arg-type]
            return len(store.find(chosen, None, 50).items)

        assert (count("workflow", None), count("subject", None)) == (10, 5)
        assert (count(None, "other"), count("workflow", "potassium-alert"), count(None, "othe_")) == (5, 5, 0)

    def test_workflow_global_items_have_no_subject(self, store: MemoryStore, addresses: list[Address]) -> None:
        page = store.find(Chosen("", "", "workflow-global"), None, 50)
        assert [item.address.workflow for item in page.items] == ["other"]

    def test_a_page_ends_before_its_types_are_too_many_bytes(self, store: MemoryStore, kept: Keep) -> None:
        large = '"' + "é" * (8 * 1024 - 1) + '"'  # 16 KiB
        for number in range(130):
            kept(ADDRESS._replace(key=f"key-zq7 {number:03}"), type=large)
        first = store.find(OF_SUBJECT, None, 200)
        second = store.find(OF_SUBJECT, first.next, 200)
        assert (len(first.items), len(second.items), second.next) == (
            127,
            3,
            None,
        )  # 2 MiB, with what is beside the types

    def test_a_page_ends_before_its_values_are_too_many_bytes(self, store: MemoryStore, kept: Keep) -> None:
        large = '"' + "é" * (128 * 1024 - 1) + '"'  # 256 KiB
        for number in range(10):
            kept(ADDRESS._replace(key=f"key-zq7 {number:02}"), value=large)
        first = store.find(OF_SUBJECT, None, 50)
        assert len(first.items) == 8  # 2 MiB
        assert first.next == Position("workflow", "potassium-alert", "key-zq7 07")
        second = store.find(OF_SUBJECT, first.next, 50)
        assert (len(second.items), second.next) == (2, None)

    def test_a_page_is_read_off_the_primary_key(self, store: MemoryStore) -> None:
        store.database.execute(FILL)
        store.database.execute("ANALYZE workflow_memory")
        for chosen in (OF_SUBJECT, Chosen("patient", SUBJECT, "workflow", "w-3")):
            for after in (None, Position("workflow", "w-3", "k")):
                # what is done below the limit, to all rows that the page is taken from
                reading = explain(store, chosen, after).rpartition("Limit")[2]
                assert "Index Scan using workflow_memory_pkey" in reading
                assert "Sort" not in reading


FILL = f"""
INSERT INTO workflow_memory (subject_kind, subject_id, scope, workflow, key, type, type_name, value, expires_at,
  written_by)
SELECT 'patient', CASE WHEN n % 2 = 0 THEN '{SUBJECT}' ELSE 'sub-zq7-' || n END, 'workflow', 'w-' || n % 7,
  'k' || n, '{{}}', 'T', '1', now() + interval '1 day', '{{}}'
FROM generate_series(1, 50000) AS n
"""


def explain(store: MemoryStore, chosen: Chosen, after: Position | None) -> str:
    from meridian.memory.store import _page

    sql, parameters = _page(chosen, after, 50)
    return "\n".join(row[0] for row in store.database.execute(f"EXPLAIN {sql}", parameters))
