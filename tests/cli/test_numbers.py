"""Every option that takes a number has a range, and refuses what is beyond it before anything is opened."""

import inspect
from collections.abc import Callable
from typing import Any, get_args

import pytest

from transduce.cli import main
from transduce.cli.fields import with_options

Command = Callable[..., tuple[int, str, str]]


def number_options() -> list[tuple[str, str, type]]:
    """Verb, option and kind of number."""
    found = []
    for verb in main.VERBS.split():
        for name, parameter in inspect.signature(with_options(main._defined(verb))).parameters.items():
            type_ = (get_args(parameter.annotation) or (parameter.annotation,))[0]
            kinds = {float, int} & ({type_} | set(get_args(type_)))
            found += [(verb, f"--{name.replace('_', '-')}", kind) for kind in kinds]
    return found


def test_the_walk_finds_the_options() -> None:
    assert {("translate", "--max-ratio", float), ("train", "--processes", int)} <= set(number_options())
    assert len(number_options()) > 20


@pytest.mark.parametrize(("verb", "option", "kind"), number_options())
def test_an_option_beyond_its_range_is_refused(transduce: Command, verb: str, option: str, kind: type) -> None:
    for value in ("nan", "inf", "-inf", "1e39") if kind is float else (10**20, -(10**20)):
        status, output, errors = transduce(verb, f"{option}={value}")
        assert (status, output) == (2, "")
        assert errors.startswith(f"transduce: {option} must be ")
        assert ", but is " in errors
        assert errors.count("\n") == 1


@pytest.mark.parametrize("value", ["inf", "nan", "1e30", "-1"])
def test_a_ratio_beyond_its_range_writes_no_blank_lines(
    transduce: Command, tiny_run: Any, value: str, tmp_path: Any
) -> None:
    (tmp_path / "in.en").write_text("The dog sleeps.\n")
    status, output, errors = transduce("translate", tiny_run, tmp_path / "in.en", f"--max-ratio={value}")
    assert (status, output) == (2, "")
    assert errors.startswith("transduce: --max-ratio must be from 0 to 1,000, but is ")
