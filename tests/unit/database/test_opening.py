"""From a database URL to a database."""

import subprocess
import sys
from pathlib import Path

import pytest

from meridian.database import open_database
from meridian.errors import ConfigurationError


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("postgresql://u:p@host/db", "postgresql"),
        ("postgres://u:p@host/db", "postgresql"),
        ("sqlite:runs.sqlite", "sqlite"),
        ("sqlite:/data/runs.sqlite", "sqlite"),
        ("sqlite::memory:", "sqlite"),
    ],
)
def test_the_scheme_chooses_the_backend_and_nothing_connects_yet(url: str, dialect: str) -> None:
    assert open_database(url).dialect == dialect


@pytest.mark.parametrize("url", ["", "sqlite:", "mysql://host/db", "runs.sqlite", "POSTGRESQL://host/db"])
def test_another_url_is_refused_naming_the_setting_and_not_the_url(url: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        open_database(url, setting="DEFINITION_STORE_URL")
    assert str(refusal.value) == "DEFINITION_STORE_URL must start with postgresql:// or sqlite:"


@pytest.mark.parametrize(("url", "spared"), [("sqlite::memory:", "psycopg"), ("postgresql://u@host/db", "sqlite3")])
def test_only_the_backend_that_is_asked_for_is_imported(url: str, spared: str) -> None:
    program = (
        "import sys; from meridian.runs.store import open_database; "
        f"open_database({url!r}); sys.exit({spared!r} in sys.modules)"
    )
    layer = Path(open_database.__code__.co_filename).parents[2]
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(layer)}, check=False).returncode == 0
