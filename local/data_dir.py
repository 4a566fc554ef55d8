"""The data directory of a stack: one stack at a time, and where the others find its addresses."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local.settings import InvalidSetting


@contextmanager
def exclusive_data_dir(directory: Path) -> Iterator[None]:
    """Holds the directory, made when it is absent, against a second stack; a killed one lets go of it by itself.

    Raises `InvalidSetting` when it cannot be used, or another stack does.
    """
    try:
        if not directory.is_dir():  # one that is there may be somebody else's too
            directory.mkdir(parents=True)
            directory.chmod(0o700)  # it holds the data of subjects
        (directory / "logs").mkdir(exist_ok=True)
        lock = (directory / "stack.lock").open("w")
    except OSError as error:
        raise InvalidSetting(f"DATA_DIR cannot be used: {error.strerror}: {error.filename}.") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidSetting(
                f"Another stack is running on {directory}: stop it first, or give this one another DATA_DIR."
            ) from None
        yield


def write_atomically(file: Path, value: Mapping[str, str]) -> None:
    """Writes JSON so that a reader finds all of it or none, and only this user does."""
    unfinished = file.with_suffix(".unfinished")
    unfinished.touch(mode=0o600)
    unfinished.write_text(json.dumps(value, indent=2) + "\n")
    unfinished.replace(file)
