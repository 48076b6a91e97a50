"""Families x settings x precisions x verbs: see support.py."""
