"""Importable by the sample's functions only through their layer."""

WORD = "layered"
