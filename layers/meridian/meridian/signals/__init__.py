"""Signals: people decide validations and resume waits, and are told the truth about what came of it."""
