"""Servers and their keys."""

from bad_inputs.row import row

MISTAKEN = (
    ("serve run run", "both translate en-de"),
    ("serve run --keys nowhere", "no such file of keys"),
    ("serve run --glossaries test.en", "test.en is no file of glossaries"),
    ("serve run --glossaries nowhere/glossaries.sqlite", "no such file or directory"),
    ("serve run --trusted-proxy nowhere", "neither an address nor a network"),
    ("keys revoke nowhere a", "no such file of keys"),
    ("keys add keys.sqlite ''", "a key's name"),
    ("keys list test.en", "test.en is no file of keys"),
)
ROWS = [
    *(row(command, words) for command, words in MISTAKEN),
]
