"""What the routes of workflow memory answer, as JSON values."""

from datetime import datetime
from typing import Any

from meridian.clock import text
from meridian.jsontext import embedded
from meridian.memory.model import NO_ITEM, Address, Item, Written


def read_answer(item: Item | None) -> dict[str, Any]:
    """Of `read`: the item without its address, which the caller gave; version 0 alone where nothing is."""
    if item is None:
        return {"version": NO_ITEM}
    return {
        "version": item.version,
        "value": embedded(item.value),
        "type": embedded(item.type),
        "typeName": item.type_name,
        "writtenAt": text(item.written_at),
        "expiresAt": _time(item.expires_at),
        "writtenBy": embedded(item.written_by),
    }


def written_answer(written: Written) -> dict[str, Any]:
    """Of `write`."""
    return {"version": written.version, "expiresAt": _time(written.expires_at)}


def listed_item(item: Item) -> dict[str, Any]:
    """Of the list: the item with its address."""
    return {**address_json(item.address), **read_answer(item)}


def address_json(address: Address) -> dict[str, str]:
    """An address without the parts that its scope has not."""
    parts = {
        "scope": address.scope,
        "subjectKind": address.subject_kind,
        "subjectId": address.subject_id,
        "workflow": address.workflow,
        "key": address.key,
    }
    return {name: part for name, part in parts.items() if part}


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else text(moment)
