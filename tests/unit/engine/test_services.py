"""What the SDK logs of an error is its type: the message may hold a value of the run."""

import logging

import pytest

from meridian.engine.services import engine_services
from meridian.engine.settings import EngineSettings


def test_an_error_that_the_sdk_logs_is_named_by_its_type_alone(caplog: pytest.LogCaptureFixture) -> None:
    engine_services(EngineSettings.read({"API_INTERNAL_URL": "http://internal.example"}))
    error = KeyError("p-42")
    logging.getLogger("restate.server").error("Exception in Restate handler", exc_info=error)

    assert "Exception in Restate handler: KeyError" in caplog.text
    assert "p-42" not in caplog.text


def test_addresses_that_are_called_are_not_logged() -> None:
    engine_services(EngineSettings.read({"API_INTERNAL_URL": "http://internal.example"}))
    assert not logging.getLogger("httpx").isEnabledFor(logging.INFO)
