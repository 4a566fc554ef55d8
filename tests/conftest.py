"""The services that tests run against, all real, and the ears that listen to every test; see tests/services."""

from tests.services.listening import (
    no_subject_data_in_log_files,
    pytest_runtest_makereport,
    pytest_runtest_protocol,
)
from tests.services.postgres import module_postgres_url, new_postgres_url, postgres_server, postgres_url
from tests.services.restate import restate
from tests.services.stack import stack

__all__ = [
    "module_postgres_url",
    "new_postgres_url",
    "no_subject_data_in_log_files",
    "postgres_server",
    "postgres_url",
    "pytest_runtest_makereport",
    "pytest_runtest_protocol",
    "restate",
    "stack",
]
