"""The PostgreSQL server of the local stack."""

from pathlib import Path

import psycopg
import pytest

from local.ports import free_port
from local.postgres import PostgresServer
from tests.services.postgres import running_postgres


def test_a_database_is_utf8_and_compares_by_code_point(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        encoding = connection.execute("show server_encoding").fetchone()
        ordered = connection.execute("select a from (values ('é'), ('z'), ('Z')) v(a) order by a").fetchall()
        lowered = connection.execute("select lower('É')").fetchone()

    assert encoding == ("UTF8",)
    assert ordered == [("Z",), ("z",), ("é",)]
    assert lowered == ("é",)


def test_what_was_committed_before_a_kill_is_there_after_the_next_start(tmp_path: Path) -> None:
    with running_postgres(tmp_path) as server:
        with psycopg.connect(server.url()) as connection:
            connection.execute("create table kept (a text)")
            connection.execute("insert into kept values ('x')")

        server.kill()
        server.start()

        with psycopg.connect(server.url()) as connection:
            assert connection.execute("select a from kept").fetchall() == [("x",)]


def test_a_server_left_by_a_killed_stack_is_ended_and_replaced(tmp_path: Path) -> None:
    with running_postgres(tmp_path) as leftover:
        successor = PostgresServer(leftover.directory, tmp_path / "successor.log", free_port())

        successor.start()

        assert not leftover.is_running()
        with psycopg.connect(successor.url()) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
        successor.stop()


def test_a_pid_file_that_names_a_stranger_does_not_hinder_the_start(tmp_path: Path) -> None:
    with running_postgres(tmp_path) as server:
        server.kill()
        pid_file = server.directory / "postmaster.pid"
        pid_file.write_text("1\n" + pid_file.read_text().split("\n", 1)[1])

        server.start()

        assert server.is_running()


def test_no_statement_of_a_failed_query_is_in_the_log(tmp_path: Path) -> None:
    with running_postgres(tmp_path) as server, psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("create table subjects (id text primary key)")
        connection.execute("insert into subjects values ('p-4711')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("insert into subjects values ('p-4711')")

        log = (tmp_path / "postgres.log").read_text()

    assert "duplicate key" in log
    assert "p-4711" not in log
