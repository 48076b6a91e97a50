"""Translations that were interrupted, and what is left of them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from bad_inputs.damages import append, cut, edit_json, empty, flip, folder, garbage, remove, write
from bad_inputs.row import Damage, Row, row

GO_ON = "translate run test.en -o out -q --resume"


def _begun(command: str = "translate run test.en -o out -q") -> Damage:
    """What an interruption after three of seven lines leaves."""

    def do() -> None:
        from transduce.cli.main import app
        from transduce.cli.resuming import task_of

        text = "Eins.\nZwei.\nDrei.\n"
        Path("out.partial").write_text(text, encoding="utf-8")
        verb, *arguments = command.split()
        journal = {
            "task": task_of(app.all_commands()[verb].make_context(verb, arguments).params),
            "bytes": len(text),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "report": {"lines": 3},
        }
        Path("out.partial.json").write_text(json.dumps(journal), encoding="utf-8")

    return Damage("out.partial.json", do)


def _resume(name: str, words: str | tuple[str, ...], *damages: Damage, command: str = GO_ON, **options: Any) -> Row:
    return row(f"going on translating: {name}", command, 2, words, _begun(), *damages, **options)


ROWS = [
    row("going on translating: as it was left", GO_ON, 0, "", _begun(), harmless=True, leaves=("out*",)),
    row("going on translating: nothing was begun", GO_ON, 0, "", harmless=True, leaves=("out*",)),
    row(
        "going on translating: to standard output",
        "translate run test.en --resume",
        2,
        "--resume needs an input file",
    ),
    row(
        "going on translating: from standard input",
        "translate run -o out --resume",
        2,
        "--resume needs an input file",
    ),
    row("going on translating: what is finished", GO_ON, 2, "out exists", write("out", "mine")),
    _resume(
        "without --resume",
        ("out.partial holds 3 finished lines", "--resume"),
        command="translate run test.en -o out -q",
    ),
    _resume("another beam", "started with a different --beam-size", command=f"{GO_ON} --beam-size 2"),
    _resume("another model", "started with a different model", command="translate mean test.en -o out -q --resume"),
    _resume("another text", "started with a different input", append("test.en", "More.\n")),
    _resume("no such text", "--resume needs an input file", command="translate run no -o out -q --resume"),
    _resume("a damaged journal", "out.partial.json is damaged", garbage("out.partial.json")),
    _resume("an empty journal", "out.partial.json is damaged", empty("out.partial.json")),
    _resume("a journal that was cut off", "out.partial.json is damaged", cut("out.partial.json")),
    row(
        "going on translating: a journal that is a folder",
        GO_ON,
        (1, 2),
        "out.partial.json",
        _begun(),
        folder("out.partial.json"),
    ),
    _resume("a journal that is a list", "out.partial.json is damaged", write("out.partial.json", "[]")),
    _resume("a journal in Latin-1", "out.partial.json is damaged", write("out.partial.json", b'{"task":{"a":"\xe4"}}')),
    _resume(
        "a journal nested 100,000 times", "out.partial.json", write("out.partial.json", '{"task":' + '{"a":' * 100_000)
    ),
    _resume(
        "a journal of another task",
        "out.partial was started with a different ",
        edit_json("out.partial.json", lambda tree: tree | {"task": {}}),
    ),
    _resume(
        "a journal of bytes below 0", "out.partial", edit_json("out.partial.json", lambda tree: tree | {"bytes": -5})
    ),
    _resume(
        "a journal of more bytes than there are",
        "out.partial has changed",
        edit_json("out.partial.json", lambda tree: tree | {"bytes": 10**6}),
    ),
    _resume("no journal", "out.partial is left from an earlier command", remove("out.partial.json")),
    _resume("one bit changed", "out.partial has changed", flip("out.partial")),
    _resume("less than was written", "out.partial has changed", cut("out.partial")),
    row(
        "going on translating: an empty part",
        GO_ON,
        0,
        "",
        _begun(),
        empty("out.partial"),
        harmless=True,
        leaves=("out*",),
    ),
    _resume("a part that is a folder", "out: cannot be written", folder("out.partial")),
]
