"""The table of leases: who may work, until when, and where the last one stopped."""

from meridian.database import Create, Schema

LEASE_SCHEMA = Schema(
    name="leases",
    steps=(
        Create(
            "table",
            "leases",
            """CREATE TABLE IF NOT EXISTS leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  position TEXT
)""",
        ),
    ),
)
