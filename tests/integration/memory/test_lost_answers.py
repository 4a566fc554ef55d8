"""What was committed and not answered is not done again by the try that follows."""

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from meridian.database import open_database
from meridian.memory.model import Conflicted, Forgotten, Write, Written
from meridian.memory.store import MemoryStore, open_memory_store
from tests.integration.memory.conftest import ADDRESS, a_write
from tests.services.functions import ROOT, Api, http_event, load_function
from tests.services.lossy import LossyProxy, lossy

WRITE_BODY = {
    "scope": "workflow",
    "subjectKind": "patient",
    "subjectId": "sub-zq7",
    "workflow": "potassium-alert",
    "key": "key-zq7",
    "type": {"kind": "Observation"},
    "typeName": "Observation",
    "value": {"note": "val-zq7"},
    "writtenBy": {"workflow": "potassium-alert", "run": "e-1:potassium-alert", "node": "remember"},
}
INVOKE = """
import json, sys
from tests.services.functions import Context, imported
print(json.dumps(imported("memory").handler(json.load(sys.stdin), Context())))
"""


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[LossyProxy]:
    with lossy(postgres_url) as proxy:
        yield proxy


@pytest.fixture
def far(proxy: LossyProxy) -> Iterator[MemoryStore]:
    """A store whose answers may be lost."""
    store = open_memory_store(open_database(proxy.url))
    yield store
    store.database.close()


def written(store: MemoryStore, write: Write) -> Written:
    outcome = store.write(write)
    assert isinstance(outcome, Written)
    return outcome


@pytest.mark.parametrize("condition", ["none", "absent", "version"])
def test_a_write_whose_answer_is_lost_takes_one_version(far: MemoryStore, proxy: LossyProxy, condition: str) -> None:
    before = written(far, a_write(node="before")).version if condition == "version" else 0
    expected = {"none": None, "absent": 0, "version": before}[condition]

    proxy.lose_answer_to("workflow_memory AS item")
    outcome = written(far, a_write(expected_version=expected))

    assert proxy.lost == 1
    item = far.read(ADDRESS)
    assert item is not None
    assert (item.version, item.expires_at) == (outcome.version, outcome.expires_at)
    assert item.version == before + 1


@pytest.mark.parametrize("has_condition", [False, True])
def test_a_forget_whose_answer_is_lost_is_no_conflict(far: MemoryStore, proxy: LossyProxy, has_condition: bool) -> None:
    version = written(far, a_write()).version

    proxy.lose_answer_to("DELETE FROM workflow_memory")
    outcome = far.forget(ADDRESS, version if has_condition else None)

    assert (proxy.lost, outcome) == (1, Forgotten(False))
    assert far.read(ADDRESS) is None


def test_a_conflict_whose_answer_is_lost_is_a_conflict(far: MemoryStore, proxy: LossyProxy) -> None:
    version = written(far, a_write()).version

    proxy.lose_answer_to("INSERT INTO workflow_memory")
    outcome = far.write(a_write(node="other", expected_version=0))

    assert (proxy.lost, outcome) == (1, Conflicted(version))


@pytest.mark.parametrize("condition", [{}, {"expectedVersion": 0}])
def test_a_function_killed_between_commit_and_answer_succeeds_once(
    proxy: LossyProxy, store: MemoryStore, monkeypatch: pytest.MonkeyPatch, condition: dict[str, int]
) -> None:
    event = http_event("POST", "/api/internal/memory/write", {**WRITE_BODY, **condition})

    # given: the process is gone, and what it committed is there
    proxy.hold_answer_to("INSERT INTO workflow_memory")
    with subprocess.Popen(
        [sys.executable, "-c", INVOKE],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}/layers/meridian:{ROOT}", "DEFINITION_STORE_URL": proxy.url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(event))
        process.stdin.close()
        assert proxy.held.wait(30)
        process.kill()
        process.wait()
    committed = store.read(ADDRESS)
    assert committed is not None

    # when: the engine tries again, with another function's environment
    function = load_function("memory", monkeypatch, DEFINITION_STORE_URL=store.database.url)
    answer = Api(function).send(event)

    # then
    assert (answer.status, answer.json["version"]) == (200, committed.version)
    item = store.read(ADDRESS)
    assert item is not None
    assert item.version == committed.version
