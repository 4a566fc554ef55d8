"""The nodes that call another system: what they send, and what its answer means."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from meridian import jsontext
from meridian.engine.model import Call, Done, HttpCall, Json, MemoryCall, NodeFailed
from meridian.engine.nodes import Evaluation, Visit
from meridian.engine.values import checked

DEFAULT_TIMEOUT_SECONDS = 10
MAX_URL_CHARACTERS = 8192

_CONFLICT = 409
_OK = 200
_CLIENT_ERROR = 400


# --- http ---------------------------------------------------------------------------------------------------


def http(visit: Visit) -> Call:
    """`http`: completes with the status and the body of the answer; a 4xx fails the node.

    What changes something is sent with an `Idempotency-Key`, the same for each try, because a step that is
    cut after the call and before its journal is made again.
    """
    url = _url(visit.field("url"))
    body = checked(visit.field("body"), "body")
    headers = {name.lower(): value for name, value in _headers(visit).items()}
    method: str = visit.node["method"]
    content = _content(body, headers)
    if method not in ("GET", "HEAD"):
        headers.setdefault("idempotency-key", quote(f"{visit.run.run_id}:{visit.id}", safe=":"))
    timeout: int = visit.node.get("timeoutSeconds", DEFAULT_TIMEOUT_SECONDS)

    def complete(answer: Json) -> Done:
        _raise_if_failed(answer)
        if answer["status"] >= _CLIENT_ERROR:
            raise NodeFailed(f"the service answered {answer['status']}")
        return Done({"status": answer["status"], "body": answer["body"]}, visit.node["next"])

    shown = {"method": method, "url": url, "body": body}  # not the headers: they may hold a credential
    return Call(HttpCall(method, url, headers, content, timeout), shown, complete)


def _url(url: Any) -> str:
    if not isinstance(url, str) or len(url) > MAX_URL_CHARACTERS:
        raise NodeFailed("url is not a text of at most 8192 characters")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        valid = False
    if not valid or not url.isprintable():
        raise NodeFailed("url is not an http or https address")
    return url


def _headers(visit: Visit) -> dict[str, str]:
    """The headers that have a value; a number is written as it is."""
    headers: dict[str, str] = {}
    for name, text in visit.node.get("headers", {}).items():
        value = visit.evaluate(text, f"headers.{name}")
        if value is None:
            continue
        value = value if isinstance(value, str) else jsontext.serialize(value)
        if not (value.isascii() and value.isprintable()) or value != value.strip():
            raise NodeFailed(f"headers.{name} is not printable ASCII")
        headers[name] = value
    return headers


def _content(body: Any, headers: dict[str, str]) -> bytes | None:
    """The body as JSON, unless the author names another type and gives it as text."""
    if body is None:
        return None
    if isinstance(body, str) and "json" not in headers.get("content-type", "json"):
        return body.encode()
    headers.setdefault("content-type", "application/json")
    return jsontext.serialize(body).encode()


# --- workflow memory ----------------------------------------------------------------------------------------


def memory_read(visit: Visit) -> Call:
    """`memory.read`: the remembered value, or version 0."""
    return _memory("read", visit, {}, _read_output)


def memory_write(visit: Visit) -> Call:
    """`memory.write`: remembers a value. Who writes is told by the visit's path, so that a retry is known."""
    writer = {"workflow": visit.run.slug, "run": visit.run.run_id, "node": visit.id}
    written: Json = {
        "type": visit.node["valueType"],
        "typeName": visit.node["typeName"],
        "value": checked(visit.field("value"), "value"),
        "writtenBy": writer,
        **_condition(visit),
    }
    if "retentionSeconds" in visit.node:
        written["retentionSeconds"] = visit.node["retentionSeconds"]
    return _memory("write", visit, written, _write_output)


def memory_forget(visit: Visit) -> Call:
    """`memory.forget`: forgets the value."""
    return _memory("forget", visit, _condition(visit), _forget_output)


def _memory(
    operation: Literal["read", "write", "forget"],
    visit: Visit,
    body: Json,
    output_of: Any,
) -> Call:
    address = _address(visit)

    def complete(answer: Json) -> Done:
        """A conflict is an outcome of a condition; any other 4xx fails the node."""
        _raise_if_failed(answer)
        if answer["status"] == _CONFLICT:
            version = _member(answer["body"], "currentVersion")
            follows = visit.node.get("onConflict", visit.node["next"])
            return Done({"conflict": True, "currentVersion": version}, follows)
        if answer["status"] != _OK or not isinstance(answer["body"], dict):
            raise NodeFailed(f"workflow memory refused the {operation}: {answer['status']}")
        return Done(output_of(answer["body"]), visit.node["next"])

    shown: Json = {**address, **{name: body[name] for name in ("value", "expectedVersion") if name in body}}
    return Call(MemoryCall(operation, {**address, **body}), shown, complete)


def _address(visit: Visit) -> Json:
    """The address of the node's item, without the parts that its scope has not."""
    scope: str = visit.node["scope"]
    key = checked(visit.field("key"), "key")
    if not isinstance(key, str) or not key:
        raise NodeFailed("key is not a text")
    address: Json = {"scope": scope}
    if scope != "workflow-global":
        kind = visit.node["subject"]
        if kind not in visit.run.subjects:
            raise NodeFailed(f"the run has no subject of the kind {kind}")
        address |= {"subjectKind": kind, "subjectId": visit.run.subjects[kind]}
    if scope != "subject":
        address["workflow"] = visit.run.slug
    return {**address, "key": key}


def _condition(visit: Visit) -> Json:
    if "expectedVersion" not in visit.node:
        return {}
    version = visit.field("expectedVersion")
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise NodeFailed("expectedVersion is not a version")
    return {"expectedVersion": version}


def _read_output(body: Mapping[str, Any]) -> Json:
    names = ("version", "value", "type", "typeName", "writtenAt", "expiresAt")
    return {name: body[name] for name in names if name in body}


def _write_output(body: Mapping[str, Any]) -> Json:
    return {"version": body.get("version"), "expiresAt": body.get("expiresAt"), "conflict": False}


def _forget_output(body: Mapping[str, Any]) -> Json:
    return {"forgotten": body.get("forgotten")}


def _raise_if_failed(answer: Json) -> None:
    if "failed" in answer:
        raise NodeFailed(answer["failed"])


def _member(body: Any, name: str) -> Any:
    return body.get(name) if isinstance(body, dict) else None


CALLING_NODES: Mapping[str, Evaluation] = {
    "http": http,
    "memory.read": memory_read,
    "memory.write": memory_write,
    "memory.forget": memory_forget,
}
