"""Definitions of workflows: their form, their checks and the expressions in them."""
