"""A missing or malformed setting stops the engine at its start, with a sentence that names it."""

from datetime import timedelta

import pytest

from meridian.engine.settings import EngineSettings
from meridian.errors import ConfigurationError

GIVEN = {"API_INTERNAL_URL": "https://internal.example/"}


def test_the_defaults_are_those_of_production() -> None:
    settings = EngineSettings.read(GIVEN)
    assert settings.retention == timedelta(days=1)
    assert settings.record_ports.kinds == []


def test_record_ports_are_kinds_with_or_without_an_address() -> None:
    settings = EngineSettings.read({**GIVEN, "RECORD_PORTS": "patient=https://records/p/, encounter ,"})
    assert settings.record_ports.kinds == ["encounter", "patient"]


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, "API_INTERNAL_URL"),
        ({"API_INTERNAL_URL": "internal.example"}, "API_INTERNAL_URL"),
        ({**GIVEN, "API_INTERNAL_AUTH": "basic"}, "API_INTERNAL_AUTH"),
        ({**GIVEN, "RECORD_PORTS": "patient=records"}, "RECORD_PORTS"),
        ({**GIVEN, "RECORD_PORTS": "=https://records"}, "RECORD_PORTS"),
        ({**GIVEN, "WORKFLOW_RETENTION_SECONDS": "a day"}, "WORKFLOW_RETENTION_SECONDS"),
    ],
)
def test_a_wrong_setting_is_named(environment: dict[str, str], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        EngineSettings.read(environment)
