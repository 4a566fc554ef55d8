"""What docs/operations.md tells an operator to do, done: backup, restore, a lost index, an upgrade."""

from __future__ import annotations

import subprocess
from pathlib import Path

from local.postgres import binary, environment
from meridian.runs.model import RunFilter
from meridian.runs.reading import RunReader
from meridian.runs.store import open_run_store
from tests.services.stage import ASK, END, VISIT, WAIT, Stage


def run_program(name: str, *arguments: str) -> None:
    done = subprocess.run([binary(name), *arguments], check=False, capture_output=True, env=environment(), text=True)
    assert done.returncode == 0, done.stderr


def test_an_index_restored_from_a_backup_goes_on(stage: Stage, new_postgres_url, tmp_path: Path):
    frozen, live, killed = stage.start(VISIT, END), stage.start(WAIT, END), stage.start(ASK, END, subjects={})
    stage.until_ended(frozen)
    stage.until(live, "waiting")
    stage.until(killed, "suspended")
    stage.sweep()
    dump, restored_url = str(tmp_path / "meridian.dump"), new_postgres_url()

    run_program("pg_dump", "--format=custom", "--no-owner", f"--file={dump}", stage.database_url)
    stage.kill(killed)  # after the backup
    later = stage.start(VISIT, END)
    stage.until_ended(later)
    run_program("pg_restore", "--no-owner", "--exit-on-error", "--single-transaction", f"--dbname={restored_url}", dump)

    restored = Stage(stage.server, restored_url, stage.closures)
    reader = RunReader(restored.store, restored.ingress, lambda *_: None, count=restored.counted)
    assert [row.id for row in restored.store.find(RunFilter(), None, 10)] == [killed, live, frozen]
    assert reader.detail(frozen).snapshot == stage.store.get_snapshot(frozen)
    assert [row.id for row in restored.store.find(RunFilter(subject=("patient", "p-42")), None, 10)] == [
        live,
        frozen,
    ]
    assert restored.store.get(later) is None  # its event, sent again, writes its row: see the ingestion's tests
    assert restored.sweep()["frozen"] == 1
    assert restored.counted.take() == {("killed", "sweep"): 1}
    restored.close()


def test_a_sqlite_index_is_backed_up_while_it_is_used(stage: Stage, tmp_path: Path):
    import sqlite3

    source, copy = tmp_path / "runs.sqlite", tmp_path / "copy.sqlite"
    used = Stage(stage.server, f"sqlite:{source}", [])
    run_id = used.start(VISIT, END)

    with sqlite3.connect(source) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))

    restored = open_run_store(f"sqlite:{copy}")
    assert restored.get(run_id) is not None
    restored.close()
    used.close()


def test_a_lost_index_loses_the_list_and_no_run(stage: Stage, new_postgres_url):
    run_id = stage.start(ASK, END)
    stage.until(run_id, "suspended")
    empty = Stage(stage.server, new_postgres_url(), stage.closures)

    assert empty.store.find(RunFilter(), None, 10) == []
    assert sum(empty.sweep().rows.values()) == 0
    assert stage.snapshot(run_id)["status"] == "suspended"  # Restate has it as before
    # the event is delivered again: Restate starts nothing, and the row is written again
    assert stage.ingress.send_run(run_id, {"steps": []}) is False
    empty.index(run_id)
    assert empty.sweep()["live"] == 1
    empty.close()


def test_rows_of_the_release_before_restate_url_are_adopted_or_left(stage: Stage):
    """An upgrade needs no step: rows without a Restate of origin are adopted by the one that knows them."""
    known, unknown = stage.start(WAIT, END, restate_url=None), stage.index(restate_url=None)
    stage.until(known, "waiting")

    stage.sweep()

    assert stage.row(known).restate_url == stage.ingress.url
    assert stage.row(unknown).final_status is None
    # the sentence of docs/operations.md that ends them by hand
    stage.store.database.execute(
        "UPDATE runs SET final_status = 'failed' WHERE restate_url IS NULL AND final_status IS NULL"
    )
    assert stage.row(unknown).final_status == "failed"
    assert stage.row(known).final_status is None
