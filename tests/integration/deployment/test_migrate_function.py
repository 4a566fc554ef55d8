"""The deployment's function as CloudFormation calls it."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from meridian import jsontext
from meridian.database import open_database
from tests.services.functions import Context, load_function

UNREACHABLE = "postgresql://meridian@127.0.0.1:1/meridian"


class Bucket:
    """Where CloudFormation takes answers: counts down `failures` first, then keeps what is put."""

    def __init__(self) -> None:
        self.answers: list[dict[str, Any]] = []
        self.content_types: list[str | None] = []
        self.failures = 0


@pytest.fixture
def bucket() -> Iterator[tuple[Bucket, str]]:
    bucket = Bucket()

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            if bucket.failures:
                bucket.failures -= 1
                self.send_error(503)
                return
            bucket.answers.append(jsontext.parse(content))
            bucket.content_types.append(self.headers["Content-Type"])
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    yield bucket, f"http://127.0.0.1:{server.server_port}/answer?signature=0"
    server.shutdown()
    server.server_close()


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
    database = open_database(url)
    rows = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
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
    bucket: tuple[Bucket, str], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    took, url = bucket
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    app.handler(event("Create", url), Context(60_000))
    assert took.answers[0]["Status"] == "SUCCESS"
    assert took.answers[0]["PhysicalResourceId"] == "Schema"
    assert took.answers[0]["RequestId"] == "r-1"
    assert took.content_types == [""]
    assert tables(postgres_url) == EVERY_TABLE


def test_plain_invocation_migrates(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    assert app.handler({}, Context(60_000)) == {"indexesBuilt": []}
    assert tables(postgres_url) == EVERY_TABLE


def test_failure_is_told_with_its_reason(bucket: tuple[Bucket, str], monkeypatch: pytest.MonkeyPatch) -> None:
    took, url = bucket
    app = load_function("migrate", monkeypatch, RUN_DB_URL=UNREACHABLE)
    app.handler(event("Update", url), Context(60_000))
    assert took.answers[0]["Status"] == "FAILED"
    assert took.answers[0]["Reason"] == "The database is out of reach."


def test_index_that_is_too_old_is_told_with_what_to_do(
    bucket: tuple[Bucket, str], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    took, url = bucket
    database = open_database(postgres_url)
    database.execute("CREATE TABLE runs (id TEXT PRIMARY KEY, patient TEXT NOT NULL)")
    database.close()
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    app.handler(event("Update", url), Context(60_000))
    assert took.answers[0]["Status"] == "FAILED"
    assert "drop it (DROP TABLE runs)" in took.answers[0]["Reason"]


def test_deletion_succeeds_without_touching_any_data(
    bucket: tuple[Bucket, str], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    took, url = bucket
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    app.handler({}, Context(60_000))
    app.handler(event("Delete", url), Context(60_000))
    assert took.answers[0]["Status"] == "SUCCESS"
    assert tables(postgres_url) == EVERY_TABLE


def test_deletion_succeeds_while_the_database_is_gone(
    bucket: tuple[Bucket, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    took, url = bucket
    app = load_function("migrate", monkeypatch, RUN_DB_URL=UNREACHABLE)
    app.handler(event("Delete", url), Context(60_000))
    assert took.answers[0]["Status"] == "SUCCESS"


def test_answer_that_is_not_taken_is_put_again(
    bucket: tuple[Bucket, str], postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    took, url = bucket
    took.failures = 1
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    app.handler(event("Create", url), Context(60_000))
    assert [answer["Status"] for answer in took.answers] == ["SUCCESS"]


def test_engine_that_restate_refuses_fails_the_deployment_with_restates_reason(
    bucket: tuple[Bucket, str], postgres_url: str, monkeypatch: pytest.MonkeyPatch, restate: Any
) -> None:
    took, url = bucket
    monkeypatch.setenv("RESTATE_ADMIN_URL", restate.admin_url)
    app = load_function("migrate", monkeypatch, RUN_DB_URL=postgres_url)
    arn = "arn:aws:lambda:eu-west-1:123456789012:function:engine"  # of no version
    app.handler(event("Create", url, "Custom::EngineRegistration", EngineVersionArn=arn), Context(60_000))
    assert took.answers[0]["Status"] == "FAILED"
    assert took.answers[0]["Reason"].startswith("Restate refused the engine with 4")
    assert "version" in took.answers[0]["Reason"] or "qualified" in took.answers[0]["Reason"]
