"""The deployment's function as CloudFormation calls it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from local.ports import free_port
from meridian.database import open_database
from tests.services.bucket import Bucket, bucket_of_answers
from tests.services.functions import Context, load_function
from tests.services.lossy import lossy

UNREACHABLE = "postgresql://meridian@127.0.0.1:1/meridian"


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with bucket_of_answers() as bucket:
        yield bucket


def event(kind: str, url: str, resource: str = "Custom::Schema", **properties: str) -> dict[str, Any]:
    return {
        "RequestType": kind,
        "ResponseURL": url,
        "StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/meridian/1",
        "RequestId": "r-1",
        "ResourceType": resource,
        "LogicalResourceId": "Schema",
        "ResourceProperties": {"ServiceToken": "arn", **properties},
    } | ({} if kind == "Create" else {"PhysicalResourceId": "Schema"})


def tables(url: str) -> set[str]:
    return _names(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")


def functions(url: str) -> set[str]:
    return _names(url, "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace")


def _names(url: str, query: str) -> set[str]:
    database = open_database(url)
    rows = database.execute(query)
    database.close()
    return {str(name) for (name,) in rows}


EVERY_TABLE = {
    "runs",
    "run_snapshots",
    "run_subjects",
    "recent_events",
    "leases",
    "workflow_definitions",
    "workflow_versions",
    "workflow_memory",
}


def test_creation_makes_every_table_and_answers(
    bucket: Bucket, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    app.handler(event("Create", bucket.url), Context(60_000))
    assert bucket.answers[0]["Status"] == "SUCCESS"
    assert bucket.answers[0]["PhysicalResourceId"] == "Schema"
    assert bucket.answers[0]["RequestId"] == "r-1"
    assert bucket.content_types == [""]
    assert tables(postgres_url) == EVERY_TABLE


def test_plain_invocation_migrates(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    assert app.handler({}, Context(60_000)) == {"indexesBuilt": []}
    assert tables(postgres_url) == EVERY_TABLE
    assert functions(postgres_url) == {"meridian_index_subjects", "meridian_known", "meridian_subjects"}


def test_failure_is_told_with_its_reason(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_function("migrate", monkeypatch, RUN_DB_URL=UNREACHABLE)
    began = time.monotonic()
    app.handler(event("Update", bucket.url), Context(33_000))  # thirty of them are kept for the answer
    assert bucket.answers[0]["Status"] == "FAILED"
    assert bucket.answers[0]["Reason"] == "The database is out of reach."
    assert 1 < time.monotonic() - began < 10


def test_a_database_that_was_just_made_is_given_time_to_answer(
    bucket: Bucket, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = urlsplit(postgres_url)
    port = free_port()
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url.replace(f":{address.port}", f":{port}"))
    with ThreadPoolExecutor(1) as pool:
        deployment = pool.submit(app.handler, event("Create", bucket.url), Context(60_000))
        time.sleep(1.5)
        assert bucket.answers == []
        with lossy(postgres_url, port):
            deployment.result()
    assert bucket.answers[0]["Status"] == "SUCCESS"
    assert tables(postgres_url) == EVERY_TABLE


def test_index_that_is_too_old_is_told_with_what_to_do(
    bucket: Bucket, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_database(postgres_url)
    database.execute("CREATE TABLE runs (id TEXT PRIMARY KEY, patient TEXT NOT NULL)")
    database.close()
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    app.handler(event("Update", bucket.url), Context(60_000))
    assert bucket.answers[0]["Status"] == "FAILED"
    assert "drop it (DROP TABLE runs)" in bucket.answers[0]["Reason"]


def test_deletion_succeeds_without_touching_any_data(
    bucket: Bucket, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    app.handler({}, Context(60_000))
    app.handler(event("Delete", bucket.url), Context(60_000))
    assert bucket.answers[0]["Status"] == "SUCCESS"
    assert tables(postgres_url) == EVERY_TABLE


def test_deletion_succeeds_while_the_database_is_gone(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_function("migrate", monkeypatch, RUN_DB_URL=UNREACHABLE)
    app.handler(event("Delete", bucket.url), Context(60_000))
    assert bucket.answers[0]["Status"] == "SUCCESS"


def test_answer_that_is_not_taken_is_put_again(
    bucket: Bucket, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.failures = 1
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    app.handler(event("Create", bucket.url), Context(60_000))
    assert [answer["Status"] for answer in bucket.answers] == ["SUCCESS"]


def test_engine_that_restate_refuses_fails_the_deployment_with_restates_reason(
    bucket: Bucket, postgres_url: str, monkeypatch: pytest.MonkeyPatch, restate: Any
) -> None:
    monkeypatch.setenv("RESTATE_ADMIN_URL", restate.admin_url)
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    arn = "arn:aws:lambda:eu-west-1:123456789012:function:engine"  # of no version
    app.handler(event("Create", bucket.url, "Custom::EngineRegistration", EngineVersionArn=arn), Context(60_000))
    assert bucket.answers[0]["Status"] == "FAILED"
    assert bucket.answers[0]["Reason"].startswith("Restate refused the engine with 4")
    assert "version" in bucket.answers[0]["Reason"] or "qualified" in bucket.answers[0]["Reason"]
