"""What workflow memory keeps, and what its operations answer."""

from datetime import datetime, timedelta
from typing import Literal, NamedTuple

Scope = Literal["workflow", "subject", "workflow-global"]

NO_ITEM = 0  # the version of an address that holds nothing: never written, forgotten, or expired

DEFAULT_RETENTION = timedelta(days=30)
MAX_RETENTION = timedelta(days=36_525)  # 100 years


class Address(NamedTuple):
    """Where one item is kept, as the table's primary key has it. Compared exactly, never by prefix or pattern."""

    subject_kind: str  # context kind, e.g. `patient`; "" for scope workflow-global
    subject_id: str  # "" for scope workflow-global
    scope: Scope
    workflow: str  # slug; "" for scope subject
    key: str


class WrittenBy(NamedTuple):
    """The visit of a node that wrote an item."""

    workflow: str
    run: str
    node: str  # node path; a node that is visited again has another one


class Write(NamedTuple):
    """A value to be kept."""

    address: Address
    type: str  # JSON text of the TypeRef that the writing node declares
    type_name: str  # the same type, readable: Observation, Decimal[]…
    value: str  # JSON text
    written_by: WrittenBy
    expected_version: int | None = None  # None: whatever is there; 0: only where nothing is
    retention: timedelta = DEFAULT_RETENTION


class Item(NamedTuple):
    """A value that is kept, and has not expired. Nothing here looks into the JSON texts."""

    address: Address
    type: str  # JSON text, as are `value` and `written_by`
    type_name: str
    value: str
    version: int
    written_at: datetime
    expires_at: datetime | None  # every write sets it; null only in rows that something else wrote
    written_by: str


class Written(NamedTuple):
    """The item is there, with this version."""

    version: int
    expires_at: datetime | None


class Forgotten(NamedTuple):
    """Nothing is at the address."""

    forgotten: bool  # whether this call removed an item


class Conflicted(NamedTuple):
    """The condition did not hold, and nothing was changed."""

    current_version: int  # NO_ITEM where nothing is


class Current(NamedTuple):
    """What a refused operation met at its address."""

    version: int
    expires_at: datetime | None
    run: str | None  # that wrote it
    node: str | None


class Chosen(NamedTuple):
    """Which items a list shows: those of one subject, or the workflow-global ones, where the subject is empty."""

    subject_kind: str
    subject_id: str
    scope: Scope | None = None
    workflow: str | None = None


class Position(NamedTuple):
    """A place in the order of a list, which is that of the addresses of one subject."""

    scope: str
    workflow: str
    key: str


class Page(NamedTuple):
    """Items in the order of their addresses, and where the next page starts."""

    items: list[Item]
    next: Position | None
