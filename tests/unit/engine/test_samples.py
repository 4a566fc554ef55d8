"""The sample workflows of this repository, walked without I/O."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from meridian import jsontext
from tests.services.world import EVENT, World, decided

SAMPLES = Path(__file__).resolve().parents[3] / "workflows"


def sample(slug: str, data: str, *answers: dict[str, Any]) -> World:
    spec = jsontext.parse((SAMPLES / f"{slug}.json").read_bytes())
    event = {**EVENT, "data": jsontext.parse(data)}
    return World(spec["nodes"], *answers, spec=spec, start=spec["start"], event=event)


def remembered(value: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """What memory answers to the read of the last result, and to the write of this one."""
    item = {"version": 0} if value is None else {"version": 4, "value": {"value": jsontext.parse(value), "at": None}}
    written = {"version": 5, "expiresAt": "2027-02-28T20:09:00.000Z"}
    return {"status": 200, "body": item}, {"status": 200, "body": written}


@pytest.mark.parametrize(
    ("last", "previous", "trend"),
    [
        (None, "null", "first result"),
        ("3.90", "3.90", "rising"),
        ("4.50", "4.50", "falling"),
        ("4.2", "4.2", "steady"),
    ],
)
def test_a_safe_potassium_is_compared_with_the_last_one(last: str | None, previous: str, trend: str) -> None:
    output = sample("potassium-alert", '{"code": "K", "value": 4.20}', *remembered(last)).run()
    expected = f'{{"alert":"none","value":4.20,"previous":{previous},"trend":"{trend}"}}'
    assert jsontext.serialize(output) == expected


def test_an_abnormal_potassium_is_resolved_by_a_normal_control() -> None:
    world = sample(
        "potassium-alert",
        '{"code": "K", "value": 6.10}',
        *remembered(None),
        decided("treated"),
        {"resumed": True, "data": jsontext.parse('{"value": 5.9}')},
        decided("repeat"),
        {"resumed": True, "data": jsontext.parse('{"value": 4.40}')},
    )
    assert jsontext.serialize(world.run()) == '{"alert":"resolved","first":6.10,"control":4.40}'
    assert world.snapshots[2]["pending"]["message"] == "Potassium 6.10 mmol/L high (first result)"


def test_an_abnormal_potassium_is_dismissed() -> None:
    world = sample("potassium-alert", '{"code": "K", "value": 2.1}', *remembered("2.9"), decided("dismissed"))
    assert world.run()["by"] == "dr-7"
    assert world.snapshots[2]["pending"]["message"] == "Potassium 2.1 mmol/L low (falling)"


def test_a_control_that_does_not_come_fails_the_alert() -> None:
    answers = (*remembered(None), decided("repeat"), {"resumed": False, "data": None})
    world = sample("potassium-alert", '{"code": "K", "value": 7}', *answers)
    assert world.failure().reason == "no control sample within four hours"


@pytest.mark.parametrize(
    ("data", "room", "precautions"),
    [
        ('{"ward": "cardiology"}', "any", ["standard"]),
        ('{"ward": "cardiology", "isolation": "contact"}', "single", ["standard", "contact"]),
    ],
)
def test_an_admission_fills_its_record(data: str, room: str, precautions: list[str]) -> None:
    record = sample("admission-record", data).run()
    assert (record["patient"], record["ward"]) == ("p-42", "cardiology")
    assert (record["room"], record["precautions"]) == (room, precautions)
