"""Every option that takes a number has a range, and refuses what is beyond it before anything is opened."""

from collections.abc import Callable
from typing import Any

import click
import pytest

from transduce.apps.cli.main import app

Command = Callable[..., tuple[int, str, str]]


def test_an_option_beyond_its_range_is_refused(transduce: Command) -> None:
    tried = set()
    for verb, command in app.all_commands().items():
        for option in (each for each in command.params if each.type in (click.INT, click.FLOAT)):
            values = ("nan", "inf", "-inf", "1e39") if option.type is click.FLOAT else (10**20, -(10**20))
            for value in values:
                status, output, errors = transduce(verb, f"{option.opts[0]}={value}")
                assert (status, output) == (2, "")
                assert errors.startswith(f"transduce: {option.opts[0]} must be ") and errors.count("\n") == 1
                assert ", but is " in errors
            tried.add((verb, option.opts[0]))
    assert {("translate", "--max-ratio"), ("train", "--processes")} <= tried and len(tried) > 20


@pytest.mark.parametrize("value", ["inf", "nan", "1e30", "-1"])
def test_a_ratio_beyond_its_range_writes_no_blank_lines(
    transduce: Command, tiny_run: Any, value: str, tmp_path: Any
) -> None:
    (tmp_path / "in.en").write_text("The dog sleeps.\n")
    status, output, errors = transduce("translate", tiny_run, tmp_path / "in.en", f"--max-ratio={value}")
    assert (status, output) == (2, "")
    assert errors.startswith("transduce: --max-ratio must be from 0 to 1,000, but is ")
