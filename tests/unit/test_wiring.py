"""A function with a wrong setting does not start; nothing connects before it is needed."""

import pytest

from meridian.config import Settings
from meridian.errors import ConfigurationError
from meridian.wiring import Wiring

COMPLETE = {
    "RUN_DB_URL": "postgresql://nobody@database.invalid/meridian",
    "RESTATE_URL": "http://restate.invalid:8080",
    "RESTATE_ADMIN_URL": "http://restate.invalid:9070",
    "SETTLE_QUEUE_URL": "https://queue.invalid/follow-ups",
}


def test_complete_settings_are_taken_without_connecting() -> None:
    wiring = Wiring(Settings(COMPLETE))

    assert (wiring.restate_url, wiring.ingress.url) == ("http://restate.invalid:8080", "http://restate.invalid:8080")
    assert wiring.admin is not None
    assert wiring.admin.url == "http://restate.invalid:9070"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("RUN_DB_URL", "mysql://database.invalid/meridian"),
        ("RESTATE_URL", ""),
        ("RESTATE_URL", "restate.invalid:8080"),
        ("RESTATE_ADMIN_URL", "restate.invalid:9070"),
        ("SETTLE_QUEUE_URL", "follow-ups"),
        ("DEFINITION_STORE_URL", "sqlite:definitions"),
    ],
)
def test_a_wrong_setting_stops_the_start_and_is_named(setting: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=setting):
        Wiring(Settings({**COMPLETE, setting: value}))


def test_a_function_without_calls_to_restate_needs_no_address_of_it() -> None:
    wiring = Wiring(Settings({"RUN_DB_URL": COMPLETE["RUN_DB_URL"]}), needs_restate=False)

    assert wiring.admin is None


def test_with_a_run_index_in_sqlite_the_definitions_have_to_be_somewhere() -> None:
    settings = {**COMPLETE, "RUN_DB_URL": "sqlite:runs.sqlite"}

    with pytest.raises(ConfigurationError, match="WORKFLOWS_DIR"):
        Wiring(Settings(settings))
    Wiring(Settings({**settings, "WORKFLOWS_DIR": "workflows"}))
    Wiring(Settings(settings), needs_definitions=False)
