"""Options that are fields of settings have the defaults, ranges and meanings that the settings give them."""

import inspect
from typing import Annotated, Any, get_args

import msgspec
import pytest

from docsegments.document_formats import FORMATS
from transduce.apps.cli.commands import command_of
from transduce.apps.cli.fields import From, meanings_of, options_from
from transduce.apps.cli.file_options import Data
from transduce.apps.cli.main import app
from transduce.apps.cli.translate import Format
from transduce.apps.serving.server_settings import ServerSettings
from transduce.base.ranges import PositiveInt
from transduce.experiment.learn_shortlist import ShortlistSettings
from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling

TABLES = [Beam, DiverseBeam, Sampling, ShortlistSettings, ServerSettings]
VERBS: dict[str, Any] = app.all_commands()


@pytest.mark.parametrize("table", TABLES)
def test_all_fields_are_read_with_what_they_mean(table: type) -> None:
    assert set(inspect.signature(table).parameters) <= set(meanings_of(table))
    assert all(meanings_of(table)[name] for name in inspect.signature(table).parameters)


@pytest.mark.parametrize("verb", ["translate", "evaluate", "compare", "look", "generate"])
def test_defaults_of_verbs_are_those_of_the_settings(verb: str) -> None:
    defaults = {"beam_size": Beam().size} | msgspec.structs.asdict(Beam()) | msgspec.structs.asdict(Sampling())
    defaults |= {"diversity": DiverseBeam(size=2).diversity}
    options = {option.name: option.default for option in VERBS[verb].params}
    others = {"beam_size": 1} if verb == "generate" else {}  # text goes on greedily
    shared = defaults.keys() & options.keys()
    assert len(shared) >= 3
    assert {name: options[name] for name in shared} == {name: (defaults | others)[name] for name in shared}


def test_a_server_has_an_option_for_each_setting() -> None:
    settings = [value for value in inspect.signature(ServerSettings).parameters.values() if value.default != ()]
    defaults = {option.name: option.default for option in VERBS["serve"].params}
    for setting in settings:
        names = [name for name in defaults if setting.name == name or setting.name == f"{name}_bytes"]
        names = names or [{"max_header_bytes": "max_headers", "max_kept_bytes": "max_kept"}[setting.name]]
        assert defaults[names[0]] == setting.default


def test_a_verb_is_given_settings_for_its_options() -> None:
    given: list[ShortlistSettings] = []
    table = From("experiment.learn_shortlist.ShortlistSettings", "each=per_token frequent", when="With --more")

    def verb(settings: Annotated[ShortlistSettings, options_from(table)]) -> None:
        given.append(settings)

    command = command_of(verb, "verb")
    command.main(["--each", "3"], standalone_mode=False)
    assert given == [ShortlistSettings(per_token=3)]
    helps = {option.name: getattr(option, "help", None) for option in command.params}
    assert helps["each"] == "With --more: target tokens listed for each source token; at least 1."
    with pytest.raises(Exception, match="--frequent must be at least 0, but is -1"):
        command.main(["--frequent", "-1"], standalone_mode=False)


def test_options_are_described_by_docstrings() -> None:
    given: list[object] = []

    def verb(path: str, *, data: Data, rows: PositiveInt = 2, is_wide: bool = False, out: str = "-") -> None:
        """Do it.

        Args:
            path: What is read.
            rows: Number of rows.
            is_wide: Take much room, on
                several lines.
            out: Where it goes.
        """
        given.extend([path, data.test, rows, is_wide, out])

    command = command_of(verb, "verb")
    command.main(["--rows", "3", "in", "--is-wide", "-o", "there", "--test", "new"], standalone_mode=False)
    assert given == ["in", ["new"], 3, True, "there"]
    assert command.help == "Do it."
    helps = {one.name: getattr(one, "help", None) for one in command.params}
    assert helps["path"] == "What is read."
    assert helps["is_wide"] == "Take much room, on several lines."
    assert helps["rows"] == "Number of rows; at least 1."
    metavars = {one.name: one.metavar for one in command.params}
    assert (metavars["test"], metavars["out"]) == ("FILE [FILE]", None)
    assert helps["target_column"] == meanings_of(Data)["target_column"]


@pytest.mark.parametrize("verb", [name for name in VERBS if name not in ("data", "keys")])
def test_every_argument_and_option_has_help(verb: str) -> None:
    assert [one.name for one in VERBS[verb].params if len(getattr(one, "help", None) or "") < 2] == []


def test_formats_of_translate_are_those_of_documents() -> None:
    assert set(get_args(Format)) == {"lines", *FORMATS}
