"""Servers and their keys."""

from bad_inputs.row import row

MISTAKEN = (
    ("serve", "model"),
    ("serve nowhere", "nowhere: no such model"),
    ("serve run run", "both translate en-de"),
    ("serve run --port 0", "--port"),
    ("serve run --keys nowhere", "no such file of keys"),
    ("serve run --glossaries test.en", "test.en is no file of glossaries"),
    ("serve run --glossaries nowhere/glossaries.sqlite", "no such file or directory"),
    ("serve run --max-waiting 0", "--max-waiting"),
    ("serve run --max-sentences 0", "--max-sentences"),
    ("serve run --document-workers 0", "--document-workers"),
    ("serve run --document-memory 8", "--document-memory"),
    ("serve run --max-upload -1", "--max-upload"),
    ("serve run --max-connections 0", "--max-connections"),
    ("serve run --max-headers 0", "--max-headers"),
    ("serve run --max-kept 0", "--max-kept"),
    ("serve run --header-timeout 0", "--header-timeout"),
    ("serve run --body-timeout 0", "--body-timeout"),
    ("serve run --idle-timeout 0", "--idle-timeout"),
    ("serve run --grace 0", "--grace"),
    ("serve run --trusted-proxy nowhere", "neither an address nor a network"),
    ("serve run --max-document-characters 0", "--max-document-characters"),
    ("keys list nowhere", "no such file of keys"),
    ("keys revoke nowhere a", "no such file of keys"),
    ("keys add keys.sqlite ''", "a key's name"),
    ("keys list test.en", "test.en is no file of keys"),
)
ROWS = [row(f"serving: {command}", command, 2, words) for command, words in MISTAKEN]
