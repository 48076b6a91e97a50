"""Rows that fail still, and why: each goes from here when it is mended."""

AWAITED: dict[str, str] = {}
