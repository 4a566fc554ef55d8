"""Speaking with Restate."""
