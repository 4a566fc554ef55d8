"""Connecting to the database, and bringing its schema up to date."""

from meridian.database.database import Database, Row
from meridian.database.opening import open_database
from meridian.database.schema import AddColumn, Create, Schema, ensure_schema

__all__ = ["AddColumn", "Create", "Database", "Row", "Schema", "ensure_schema", "open_database"]
