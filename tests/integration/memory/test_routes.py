"""The routes of workflow memory, as API Gateway calls them."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from meridian.memory.store import MemoryStore
from tests.services.functions import ROOT, Api, load_function

READ, WRITE, FORGET = (f"/api/internal/memory/{name}" for name in ("read", "write", "forget"))
ITEM = {
    "scope": "workflow",
    "subjectKind": "patient",
    "subjectId": "sub-zq7",
    "workflow": "potassium-alert",
    "key": "key-zq7",
}
OF_SUBJECT = {"subjectKind": "patient", "subjectId": "sub-zq7"}
CONTENT = {
    "type": {"kind": "Observation"},
    "typeName": "Observation",
    "value": {"note": "val-zq7"},
    "writtenBy": {"workflow": "potassium-alert", "run": "e-1:potassium-alert", "node": "remember"},
}


def writer(node: str) -> dict[str, Any]:
    return {"writtenBy": {**CONTENT["writtenBy"], "node": node}}  # type: ignore[dict-item]


@pytest.fixture
def api(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Api:
    return Api(load_function("memory", monkeypatch, RUN_DB_URL=postgres_url))


def test_a_value_is_written_read_and_forgotten(api: Api) -> None:
    written = api.call("POST", WRITE, {**ITEM, **CONTENT})
    read = api.call("POST", READ, ITEM)
    forgotten = api.call("POST", FORGET, ITEM)

    assert (written.status, read.status, forgotten.status) == (200, 200, 200)
    assert written.json.keys() == {"version", "expiresAt"}
    item = read.json
    assert item.pop("writtenAt")[10] == "T"
    assert item == {**CONTENT, **written.json}
    assert forgotten.json == {"forgotten": True}
    assert api.call("POST", READ, ITEM).json == {"version": 0}
    assert api.call("POST", FORGET, ITEM).json == {"forgotten": False}


def test_times_have_milliseconds_and_end_in_z(api: Api) -> None:
    api.call("POST", WRITE, {**ITEM, **CONTENT, "retentionSeconds": 3_155_760_000})
    item = api.call("POST", READ, ITEM).json
    for time in (item["writtenAt"], item["expiresAt"]):
        assert len(time) == len("2026-11-30T20:09:00.123Z")
        assert time.endswith("Z")
    assert int(item["expiresAt"][:4]) - int(item["writtenAt"][:4]) == 100


def test_a_decimal_keeps_its_digits_from_body_to_body(api: Api) -> None:
    body = json.dumps({**ITEM, **CONTENT, "value": "@"}).replace(
        '"@"', '{"value":6.10,"low":1e-7,"n":12345678901234567890}'
    )
    assert api.call("POST", WRITE, body.encode()).status == 200
    assert '"value":{"value":6.10,"low":1E-7,"n":12345678901234567890}' in api.call("POST", READ, ITEM).text
    assert '"value":{"value":6.10,' in api.call("GET", "/api/memory", query=OF_SUBJECT).text


def test_a_conflict_names_the_current_version(api: Api) -> None:
    version = api.call("POST", WRITE, {**ITEM, **CONTENT}).json["version"]
    refused = [
        api.call("POST", WRITE, {**ITEM, **CONTENT, **writer("other"), "expectedVersion": 0}),
        api.call("POST", WRITE, {**ITEM, **CONTENT, **writer("other"), "expectedVersion": version + 1}),
        api.call("POST", FORGET, {**ITEM, "expectedVersion": version + 1}),
    ]
    for answer in refused:
        assert (answer.status, answer.json["currentVersion"]) == (409, version)
        assert answer.headers["content-type"] == "application/problem+json"
    api.call("POST", FORGET, ITEM)
    gone = api.call("POST", WRITE, {**ITEM, **CONTENT, **writer("other"), "expectedVersion": version})
    assert (gone.status, gone.json["currentVersion"]) == (409, 0)


def test_the_same_write_again_is_answered_alike(api: Api) -> None:
    body = {**ITEM, **CONTENT, "expectedVersion": 0}
    first, second = api.call("POST", WRITE, body), api.call("POST", WRITE, body)
    assert (second.status, second.json) == (200, first.json)


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        (READ, {**ITEM, "scope": "tenant"}, "/scope"),
        (READ, {**ITEM, "scope": "workflow-global"}, "/subjectKind"),
        (WRITE, {**ITEM, **CONTENT, "workflow": ""}, "/workflow"),
        (WRITE, {**ITEM, **CONTENT, "key": "key-zq7" * 29}, "/key"),
        (FORGET, {**ITEM, "key": ""}, "/key"),
        (FORGET, {**ITEM, "expectedVersion": "1"}, "/expectedVersion"),
    ],
)
def test_a_field_that_is_not_allowed_is_named(api: Api, path: str, body: dict[str, Any], pointer: str) -> None:
    answer = api.call("POST", path, body)
    assert answer.status == 422
    assert answer.json["errors"][0]["pointer"] == pointer
    assert answer.json["errors"][0]["in"] == "body"
    assert "zq7" not in answer.text


@pytest.mark.parametrize("text", ["\\u0000", "\\ud83d", "\\udc00 val-zq7"])
@pytest.mark.parametrize("field", ["key", "subjectId", "subjectKind", "workflow", "typeName", "value", "type"])
def test_text_that_cannot_be_kept_is_refused_by_field(api: Api, field: str, text: str) -> None:
    body = json.dumps({**ITEM, **CONTENT, field: "@"}).replace("@", text)
    answer = api.call("POST", WRITE, body.encode())
    assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, f"/{field}")
    assert "zq7" not in answer.text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize(
    ("path", "field"),
    [
        *((WRITE, field) for field in ("value", "type", "expectedVersion", "retentionSeconds")),
        (READ, "key"),
        (FORGET, "expectedVersion"),
    ],
)
def test_a_number_that_is_not_finite_is_refused_by_field(api: Api, path: str, field: str, number: str) -> None:
    fields = {**ITEM, **CONTENT} if path == WRITE else ITEM
    body = json.dumps({**fields, field: "@"}).replace('"@"', number)
    answer = api.call("POST", path, body.encode())
    assert (answer.status, answer.json["errors"][0]["pointer"]) == (422, f"/{field}")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff", 400),
        (b'{"value":1e99999999999999999999}', 400),
        (json.dumps([ITEM]).encode(), 422),
        (json.dumps({**ITEM, **CONTENT, "value": "v" * (256 * 1024 - 1)}).encode(), 413),
        (json.dumps({**ITEM, **CONTENT, "value": "v" * 1024 * 1024}).encode(), 413),
        (json.dumps({**ITEM, **CONTENT, "value": "v" * (256 * 1024 - 2)}).encode(), 200),
    ],
)
def test_bodies_at_the_limits(api: Api, content: bytes, status: int) -> None:
    assert api.call("POST", WRITE, content).status == status
    assert (api.call("POST", READ, ITEM).json["version"] > 0) == (status == 200)


@pytest.mark.parametrize("depth", [100, 1_000, 10_000, 100_000])
def test_a_value_of_any_depth_is_readable_once_it_is_kept(api: Api, depth: int) -> None:
    body = json.dumps({**ITEM, **CONTENT, "value": "@"}).replace('"@"', "[" * depth + "]" * depth)
    written = api.call("POST", WRITE, body.encode())
    assert written.status in (200, 400, 422)
    read = api.call("POST", READ, ITEM)
    assert read.status == 200
    assert ("[" * depth in read.text) == (written.status == 200)


class TestList:
    @pytest.fixture(autouse=True)
    def _five_items(self, api: Api) -> None:
        for number in range(3):
            api.call("POST", WRITE, {**ITEM, **CONTENT, "key": f"key-zq7 {number}"})
        api.call("POST", WRITE, {**OF_SUBJECT, **CONTENT, "scope": "subject", "key": "key-zq7"})
        api.call("POST", WRITE, {**CONTENT, "scope": "workflow-global", "workflow": "w", "key": "key-zq7"})

    def test_each_item_has_its_address_and_content(self, api: Api) -> None:
        answer = api.call("GET", "/api/memory", query={**OF_SUBJECT, "scope": "subject"})
        (item,) = answer.json["items"]
        assert {name: item.pop(name) for name in ("version", "writtenAt", "expiresAt")}["version"] > 0
        assert item == {**OF_SUBJECT, **CONTENT, "scope": "subject", "key": "key-zq7"}
        assert answer.json["nextCursor"] is None
        assert answer.headers["cache-control"] == "no-store"

    def test_pages_follow_each_other(self, api: Api) -> None:
        keys: list[str] = []
        query = {**OF_SUBJECT, "limit": "1"}
        while True:
            page = api.call("GET", "/api/memory", query=query).json
            keys += [item["key"] for item in page["items"]]
            if page["nextCursor"] is None:
                break
            query["cursor"] = page["nextCursor"]
        assert keys == ["key-zq7", "key-zq7 0", "key-zq7 1", "key-zq7 2"]

    def test_workflow_global_items_are_listed_without_a_subject(self, api: Api) -> None:
        (item,) = api.call("GET", "/api/memory", query={"scope": "workflow-global"}).json["items"]
        assert {name: item.get(name) for name in ("scope", "workflow", "subjectKind", "subjectId")} == {
            "scope": "workflow-global",
            "workflow": "w",
            "subjectKind": None,
            "subjectId": None,
        }

    @pytest.mark.parametrize("query", [{}, {**OF_SUBJECT, "cursor": "x"}, {**OF_SUBJECT, "limit": "0"}])
    def test_a_query_that_is_not_allowed(self, api: Api, query: dict[str, str]) -> None:
        answer = api.call("GET", "/api/memory", query=query)
        assert (answer.status, answer.json["errors"][0]["in"]) == (422, "query")

    def test_one_item_is_forgotten_by_its_whole_address(self, api: Api) -> None:
        one = {**ITEM, "key": "key-zq7 1"}
        assert api.call("DELETE", "/api/memory", query=one).json == {"forgotten": 1}
        assert api.call("DELETE", "/api/memory", query=one).json == {"forgotten": 0}
        assert len(api.call("GET", "/api/memory", query=OF_SUBJECT).json["items"]) == 3

    def test_all_of_a_subject_are_forgotten_by_the_subject_alone(self, api: Api) -> None:
        assert api.call("DELETE", "/api/memory", query=OF_SUBJECT).json == {"forgotten": 4}
        assert api.call("GET", "/api/memory", query=OF_SUBJECT).json == {"items": [], "nextCursor": None}
        assert len(api.call("GET", "/api/memory", query={"scope": "workflow-global"}).json["items"]) == 1

    @pytest.mark.parametrize(
        "query",
        [
            {},
            {"subjectKind": "patient"},
            {**OF_SUBJECT, "scope": "workflow"},
            {**OF_SUBJECT, "workflow": "potassium-alert"},
            {**OF_SUBJECT, "key": "key-zq7"},
            {**OF_SUBJECT, "colour": "red"},
            {**ITEM, "key": ""},
            {"scope": "workflow-global"},
        ],
    )
    def test_half_an_address_forgets_nothing(self, api: Api, query: dict[str, str]) -> None:
        answer = api.call("DELETE", "/api/memory", query=query)
        assert answer.status == 422
        assert len(api.call("GET", "/api/memory", query=OF_SUBJECT).json["items"]) == 4


@pytest.mark.parametrize(
    "settings", [{}, {"RUN_DB_URL": "sqlite:/nowhere/runs.sqlite"}, {"AWS_LAMBDA_FUNCTION_NAME": "memory"}]
)
@pytest.mark.parametrize(
    ("method", "path", "body", "query"),
    [
        ("POST", READ, ITEM, None),
        ("POST", WRITE, {**ITEM, **CONTENT}, None),
        ("POST", FORGET, ITEM, None),
        ("GET", "/api/memory", None, OF_SUBJECT),
        ("DELETE", "/api/memory", None, OF_SUBJECT),
    ],
)
def test_without_a_database_the_answer_names_the_settings(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], method: str, path: str, body: Any, query: Any
) -> None:
    answer = Api(load_function("memory", monkeypatch, **settings)).call(method, path, body, query)
    assert answer.status == 503
    assert "DEFINITION_STORE_URL" in answer.json["detail"]
    assert "RUN_DB_URL" in answer.json["detail"]
    assert "retry-after" in answer.headers


def test_the_definitions_database_comes_before_that_of_the_runs(
    new_postgres_url: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    definitions, runs = new_postgres_url(), new_postgres_url()
    api = Api(load_function("memory", monkeypatch, DEFINITION_STORE_URL=definitions, RUN_DB_URL=runs))
    assert api.call("POST", WRITE, {**ITEM, **CONTENT}).status == 200
    other = Api(load_function("memory", monkeypatch, RUN_DB_URL=runs))
    assert other.call("POST", READ, ITEM).json == {"version": 0}


def test_a_database_that_is_down_is_503_and_is_used_again_when_it_is_back(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = load_function("memory", monkeypatch, RUN_DB_URL="postgresql://meridian@127.0.0.1:1/meridian")
    api = Api(function)
    answer = api.call("POST", READ, ITEM)
    assert answer.status == 503
    assert answer.headers["retry-after"] == "5"
    monkeypatch.setattr(function, "database_url", postgres_url)
    assert api.call("POST", READ, ITEM).json == {"version": 0}


def test_the_sample_events_are_answered(store: MemoryStore, api: Api) -> None:
    def send(name: str) -> Any:
        answer = api.send(json.loads((ROOT / "events" / f"memory-{name}.json").read_text()))
        assert answer.status == 200, answer.text
        return answer.json

    assert send("write")["version"] == 1
    assert str(send("read")["value"]) == "6.10"
    assert [item["key"] for item in send("list")["items"]] == ["last-level"]
    assert send("forget") == {"forgotten": True}
    assert send("forget-by-hand") == {"forgotten": 0}
    send("write")
    assert send("forget-subject") == {"forgotten": 1}
