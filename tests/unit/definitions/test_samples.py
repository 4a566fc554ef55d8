"""The sample workflows are valid and do as their descriptions say."""

from pathlib import Path
from typing import Any

import pytest

from meridian import jsontext
from meridian.definitions.expressions import selects
from meridian.definitions.model import Definition
from meridian.definitions.validation import problems

SAMPLES = sorted((Path(__file__).resolve().parents[3] / "workflows").glob("*.json"))


def sample(slug: str) -> Definition:
    [path] = [path for path in SAMPLES if path.stem == slug]
    return Definition.parse(jsontext.parse(path.read_bytes()))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_can_be_published(path: Path) -> None:
    assert problems(jsontext.parse(path.read_bytes())) == []


@pytest.mark.parametrize(
    ("data", "selected"),
    [
        ('{"code": "K", "value": 6.1}', True),
        ('{"code": "K", "value": 6.0}', True),
        ('{"code": "K", "value": 2.4}', True),
        ('{"code": "K", "value": 4.2}', True),
        ('{"code": "Na", "value": 150}', False),
        ('{"code": "K", "value": "haemolysed"}', False),
    ],
)
def test_the_potassium_alert_takes_potassium_that_was_measured(data: str, selected: bool) -> None:
    event: dict[str, Any] = {"type": "observation.created", "data": jsontext.parse(data)}
    assert selects(sample("potassium-alert").entries[0].selector, event) is selected
