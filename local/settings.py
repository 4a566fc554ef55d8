"""What `make run` and `make sam-local` take from their environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT_PORT = 3000

PASSED_ON = frozenset(
    {
        "DEFINITION_STORE_URL",
        "RECORD_PORTS",
        "RUN_SETTLE_INTERVAL_MS",
        "WORKFLOWS_DIR",
        "WORKFLOW_RETENTION_SECONDS",
    }
)
"""Settings that reach the functions declaring them as the caller of the stack set them."""

PASSED_ON_TO_ALL = ("LOG_LEVEL", "POWERTOOLS_")


class InvalidSetting(Exception):
    """A setting cannot be used; the message is one sentence naming it."""


@dataclass(frozen=True)
class Settings:
    """The settings of one stack."""

    port: int  # of the public API; 0 takes a free one
    data_dir: Path
    demo: bool  # whether the samples are published and a sample event is sent
    run_db_url: str | None  # None: a PostgreSQL of the stack's own
    template: Path
    python: Path  # the interpreter of what the functions can import
    environment: Mapping[str, str]  # what else the functions are passed

    @property
    def log_dir(self) -> Path:
        return self.data_dir / "logs"

    @property
    def stack_file(self) -> Path:
        """Where the addresses are written while the stack serves."""
        return self.data_dir / "stack.json"


def read_settings(
    environment: Mapping[str, str], template: Path, python: Path | None, *, in_containers: bool = False
) -> Settings:
    """The settings in an environment. Raises `InvalidSetting`.

    `python` is given for a built template, whose layers hold their libraries; else it is the environment that
    holds those of the layer and of the engine. Functions `in_containers` bring theirs along.
    """
    port = environment.get("PORT") or str(DEFAULT_PORT)
    if not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise InvalidSetting(f"PORT must be a port number from 0 to 65535, not {port!r}.")
    default_python = ROOT / ".venvs" / f"lambda-{sys.version_info.major}.{sys.version_info.minor}" / "bin" / "python"
    python = python or default_python
    if not in_containers and not python.is_file():
        raise InvalidSetting(f"There is no Python for the functions at {python}: start the stack with make run.")
    if not template.is_file():
        raise InvalidSetting(f"There is no template at {template}.")
    # Apart from each other: a run's row names the ingress that took it, which containers call by another name.
    data_dir = environment.get("DATA_DIR") or ("~/.meridian/sam-local" if in_containers else "~/.meridian/stack")
    run_db_url = environment.get("RUN_DB_URL") or None
    if in_containers and run_db_url is not None and run_db_url.startswith("sqlite:"):
        raise InvalidSetting("RUN_DB_URL must be a postgresql:// URL: a container has no file of this machine.")
    return Settings(
        port=int(port),
        data_dir=Path(os.path.abspath(Path(data_dir).expanduser())),
        demo=environment.get("DEMO", "1") != "0",
        run_db_url=run_db_url,
        template=template.resolve(),
        python=Path(os.path.abspath(python)),  # not resolved: a virtual environment's is a link out of it
        environment={
            name: value for name, value in environment.items() if name in PASSED_ON or name.startswith(PASSED_ON_TO_ALL)
        },
    )
