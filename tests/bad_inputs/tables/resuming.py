"""Translations that were interrupted, and what is left of them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from bad_inputs.damages import edit_json, folder, garbage, remove
from bad_inputs.row import Damage, Row, row

GO_ON = "translate run test.en -o out -q --resume"


def _begun(command: str = "translate run test.en -o out -q") -> Damage:
    """What an interruption after three of seven lines leaves."""

    def do() -> None:
        from transduce.apps.cli.main import app
        from transduce.apps.cli.resuming import task_of

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


def _resume(words: str | tuple[str, ...], *damages: Damage, command: str = GO_ON, **options: Any) -> Row:
    return row(command, words, _begun(), *damages, **options)


ROWS = [
    row("translate run test.en --resume", "--resume needs an input file"),
    _resume(("out.partial holds 3 finished lines", "--resume"), command="translate run test.en -o out -q"),
    _resume("started with a different --beam-size", command=f"{GO_ON} --beam-size 2"),
    _resume("out.partial.json is damaged", garbage("out.partial.json")),
    row(GO_ON, "out.partial.json", _begun(), folder("out.partial.json"), status=(1, 2)),
    _resume("out.partial has changed", edit_json("out.partial.json", lambda tree: tree | {"bytes": 10**6})),
    _resume("out.partial is left from an earlier command", remove("out.partial.json")),
]
