"""Workflow memory: what the engine reads, writes and forgets, and what people list and forget.

The engine's routes stand on the internal API alone, the others on the public one.
"""

from functools import cache
from typing import Any

from aws_lambda_powertools.event_handler import Response

from meridian.api import http_handler, json_response, make_resolver, read_body, read_query
from meridian.api.documentation import documented
from meridian.config import Settings
from meridian.cursor import decode_cursor, encode_cursor
from meridian.errors import Conflict, Unavailable
from meridian.memory.answers import listed_item, read_answer, written_answer
from meridian.memory.model import Conflicted, Forgotten, Position
from meridian.memory.requests import AddressFields, ForgetBody, ListQuery, SubjectQuery, WriteBody
from meridian.memory.store import MemoryStore, open_memory_store

settings = Settings()
database_url = settings.memory_url

app = make_resolver()
handler = http_handler(app)


@cache
def memory() -> MemoryStore:
    """The store, opened with the first request; a request that finds the database down leaves it to the next."""
    if database_url is None:
        raise Unavailable(
            "Workflow memory needs a PostgreSQL database: set DEFINITION_STORE_URL, or RUN_DB_URL to a "
            "postgresql:// URL."
        )
    return open_memory_store(settings.open_database(database_url, "DEFINITION_STORE_URL"))


@app.post("/api/internal/memory/read")
@documented("Reads a value", {200: "ReadItem"}, body=AddressFields)
def read() -> Response[str]:
    fields = read_body(AddressFields, app.current_event, allow_nan=True)
    return json_response(read_answer(memory().read(fields.address)))


@app.post("/api/internal/memory/write")
@documented("Writes a value, on a condition where one is given", {200: "Written"}, body=WriteBody, problems=(409,))
def write() -> Response[str]:
    body = read_body(WriteBody, app.current_event, allow_nan=True)
    outcome = memory().write(body.write)
    if isinstance(outcome, Conflicted):
        raise _conflict(outcome)
    return json_response(written_answer(outcome))


@app.post("/api/internal/memory/forget")
@documented(
    "Forgets a value, on a condition where one is given", {200: "ForgottenItem"}, body=ForgetBody, problems=(409,)
)
def forget() -> Response[str]:
    body = read_body(ForgetBody, app.current_event, allow_nan=True)
    outcome = memory().forget(body.address, body.expectedVersion)
    if isinstance(outcome, Conflicted):
        raise _conflict(outcome)
    return json_response({"forgotten": outcome.forgotten})


@app.get("/api/memory")
@documented("Lists what is remembered of a subject, or of a workflow", {200: "ItemPage"}, query=(ListQuery,))
def list_items() -> Response[str]:
    query = read_query(ListQuery, app.current_event)
    after = None if query.cursor is None else Position(*decode_cursor(query.cursor, len(Position._fields)))
    page = memory().find(query.chosen, after, query.limit)
    answer: dict[str, Any] = {
        "items": [listed_item(item) for item in page.items],
        "nextCursor": encode_cursor(*page.next) if page.next is not None else None,
    }
    return json_response(answer)


@app.delete("/api/memory")
@documented(
    "Forgets one item, or all of a subject when only the subject is given",
    {200: "ForgottenItems"},
    query=(SubjectQuery, AddressFields),
)
def forget_by_hand() -> Response[str]:
    """One item, or all of a subject when nothing but the subject is given.

    The address is in the query: proxies drop the body of a DELETE.
    """
    given = app.current_event.query_string_parameters or {}
    if given.keys() <= SubjectQuery.model_fields.keys():
        subject = read_query(SubjectQuery, app.current_event)
        return json_response({"forgotten": memory().forget_subject(subject.subjectKind, subject.subjectId)})
    fields = read_query(AddressFields, app.current_event)
    outcome = memory().forget(fields.address)
    return json_response({"forgotten": int(outcome == Forgotten(True))})


def _conflict(conflicted: Conflicted) -> Conflict:
    return Conflict("The item is not at the expected version.", extra={"currentVersion": conflicted.current_version})
