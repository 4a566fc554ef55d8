"""A lease in the database: one holder at a time, and one that dies loses it by itself.

An advisory lock would be held by a connection, and a connection proxy takes that away between two statements.
"""

import uuid
from collections.abc import Mapping

from meridian.database import Database
from meridian.settlement.position import WalkPosition

LEASE_SECONDS = 60

# Milliseconds of the database's own clock, so that the clocks of many environments need not agree.
_NOW: Mapping[str, str] = {
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
}

# The row lock lets one statement at a time judge the lease:
#
#   A takes it            the row is new or has expired: A is the holder until expires_at
#   B takes it            not expired, another's: no row is changed, B does not work
#   A renews              its own, even if it has expired meanwhile, as long as nobody took it: it is extended
#   A dies                nothing is written; once expires_at has passed, B's statement finds it expired
#   A wakes after that    B's: no row is changed, A learns that it has lost it and stops
_TAKE = """
INSERT INTO leases (name, holder, expires_at) VALUES (:name, :holder, {now} + :milliseconds)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
WHERE leases.holder = excluded.holder OR leases.expires_at <= {now}
"""

# Only the holder says where it stopped: one that has lost the lease does not move the position of its successor.
_SAVE_POSITION = "UPDATE leases SET position = :position WHERE name = :name AND holder = :holder"
_POSITION = "SELECT position FROM leases WHERE name = :name"
_RELEASE = "UPDATE leases SET expires_at = 0 WHERE name = :name AND holder = :holder"


class Lease:
    """The right to do the work called `name`, as one holder. Raises `DatabaseUnavailable`."""

    def __init__(self, database: Database, name: str, seconds: float = LEASE_SECONDS) -> None:
        self.seconds = seconds
        self._database = database
        self._holder = str(uuid.uuid4())
        self._parameters = {"name": name, "holder": self._holder}

    def take(self) -> bool:
        """Takes or renews it; false while another holds it."""
        statement = _TAKE.format(now=_NOW[self._database.dialect])
        parameters = {**self._parameters, "milliseconds": int(self.seconds * 1000)}
        return bool(self._database.count(statement, parameters))

    def position(self) -> WalkPosition | None:
        """Where the last holder stopped; None when it came to the end."""
        rows = self._database.execute(_POSITION, {"name": self._parameters["name"]})
        return WalkPosition.parse(rows[0][0]) if rows else None

    def save_position(self, position: WalkPosition | None) -> None:
        """Says where this holder stopped; without effect when it has lost the lease."""
        text = position.serialize() if position else None
        self._database.execute(_SAVE_POSITION, {**self._parameters, "position": text})

    def release(self) -> None:
        """Lets the next one take it at once."""
        self._database.execute(_RELEASE, self._parameters)
