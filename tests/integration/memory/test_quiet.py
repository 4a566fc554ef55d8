"""Nothing of a subject is answered when things go wrong, and what is logged then is heard as in every test."""

import pytest

from meridian.database import Database
from tests.integration.memory.test_routes import CONTENT, FORGET, ITEM, OF_SUBJECT, READ, WRITE
from tests.services.functions import Answer, Api, load_function
from tests.services.quiet import all_log_lines, leaks

REFUSE_ALL = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql SET log_min_messages TO panic AS $$
BEGIN RAISE EXCEPTION 'refused: %', NEW; END $$;
CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON workflow_memory FOR EACH ROW EXECUTE FUNCTION refuse()
"""
# The server tells of such an error with the whole row: "Failing row contains (patient, …)".
CHECK_ALL = "ALTER TABLE workflow_memory ADD CONSTRAINT never CHECK (subject_id = 'nobody') NOT VALID"
DROP = "DROP TABLE workflow_memory"
CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def call_everything(api: Api) -> list[Answer]:
    return [
        api.call("POST", WRITE, {**ITEM, **CONTENT}),
        api.call("POST", READ, ITEM),
        api.call("GET", "/api/memory", query=OF_SUBJECT),
        api.call("DELETE", "/api/memory", query=ITEM),
        api.call("POST", FORGET, ITEM),
    ]


@pytest.mark.parametrize(
    ("fault", "statuses"),
    [
        (REFUSE_ALL, [500, 200, 200, 200, 200]),
        (CHECK_ALL, [500, 200, 200, 200, 200]),
        (DROP, [500] * 5),
        (CUT, [200] * 5),
    ],
)
def test_what_the_database_says_of_a_fault_stays_there(
    database: Database, monkeypatch: pytest.MonkeyPatch, fault: str, statuses: list[int]
) -> None:
    api = Api(load_function("memory", monkeypatch, RUN_DB_URL=database.url))
    api.call("POST", READ, ITEM)
    database.execute(fault)

    with all_log_lines() as lines:
        answers = call_everything(api)

    assert [answer.status for answer in answers] == statuses
    assert leaks(answer.text for answer in answers if answer.status == 500) == []
    assert any("refused a statement" in line for line in lines) == (500 in statuses)


def test_an_error_that_nobody_expected_keeps_what_it_carries(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = load_function("memory", monkeypatch, RUN_DB_URL=database.url)

    def fail() -> None:
        raise RuntimeError("no place for key-zq7 of sub-zq7") from ValueError("val-zq7")

    monkeypatch.setattr(function, "memory", fail)
    with all_log_lines() as lines:
        answers = call_everything(Api(function))

    assert [answer.status for answer in answers] == [500] * 5
    assert leaks(answer.text for answer in answers) == []
    assert len([line for line in lines if "unexpected error" in line]) == 5
