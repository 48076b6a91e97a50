"""Every number of every setting has a range, and a value beyond it is refused wherever it comes from."""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest

from transduce.base.config import Settings, convert, to_tree
from transduce.base.errors import ConfigError
from transduce.base.ranges import NonNegativeFloat, Number, PositiveInt, number_of
from transduce.corpora.cleaning import Language, Prefix, Script
from transduce.corpora.data_settings import CorpusConfig, DataConfig, FilesConfig
from transduce.experiment import TranslationConfig, load_recipe
from transduce.experiment.learn_shortlist import ShortlistSettings
from transduce.models.recurrent.recurrent_attention import LuongAttentionConfig
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.search.beam import Beam
from transduce.search.diverse import DiverseBeam
from transduce.search.sampling import Sampling
from transduce.text.new_words import NewWordsConfig
from transduce.training.schedules import Noam
from transduce.training.training_settings import TrainingConfig

ROOTS = (TranslationConfig, Beam, DiverseBeam, Sampling, ShortlistSettings)
RECIPE = load_recipe("quickstart").config
REQUIRED: dict[type[Settings], dict[str, Any]] = {
    CorpusConfig: {"files": "pairs.tsv"},
    DataConfig: {"dataset": "copy"},
    FilesConfig: {"files": "pairs.tsv"},
    NewWordsConfig: {"file": "words.txt"},
    TranslationConfig: {"data": RECIPE.data, "model": RECIPE.model, "training": RECIPE.training},
    Noam: {"dim": 5},
    Prefix: {"side": "source", "prefixes": ["i"]},
    Script: {"side": "source", "scripts": ["Latin"]},
    Language: {"side": "source", "language": "de"},
    TrainingConfig: {"updates": 3},
}


def leaves(type_: Any) -> Iterator[Any]:
    """The types in unions and lists, ranges kept."""
    if get_origin(type_) is None or get_origin(type_) is Annotated:
        yield type_
    else:
        for argument in get_args(type_):
            yield from leaves(argument)


def tables() -> list[type[Settings]]:
    found: list[type[Settings]] = []
    waiting: list[type[Settings]] = [*ROOTS]
    while waiting:
        table = waiting.pop()
        if table not in found:
            found.append(table)
            types = [leaf for field in msgspec.structs.fields(table) for leaf in leaves(field.type)]
            waiting += [leaf for leaf in types if isinstance(leaf, type) and issubclass(leaf, Settings)]
    return sorted(found, key=lambda table: table.__name__)


def numbers() -> list[tuple[type[Settings], str, Number]]:
    return [
        (table, field.name, number)
        for table in tables()
        for field in msgspec.structs.fields(table)
        if (number := number_of(field.type))
    ]


def beyond(number: Number) -> list[Any]:
    limits, step = number.limits, 1 if number.kind is int else 1e-3
    below = [limits.ge - step] if limits.ge is not None else [limits.gt, limits.gt - step]
    above = [limits.le * 2 + 1] if limits.le is not None else [limits.lt, limits.lt + step]
    odd = [float("nan"), float("inf"), -float("inf")] if number.kind is float else [10**30, -(10**30)]
    return [*below, *above, *odd]


def test_the_walk_meets_all_kinds_of_tables() -> None:
    assert {Sampling, RecurrentConfig, LuongAttentionConfig, Noam, Script, CorpusConfig} <= set(tables())
    assert len(numbers()) > 90


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.__name__)
def test_every_number_of_every_table_has_a_range_with_two_ends(table: type[Settings]) -> None:
    assert table.__post_init__ is Settings.__post_init__, "it would leave the ranges out: write _check_together"
    for field in msgspec.structs.fields(table):
        for leaf in leaves(field.type):
            assert leaf not in (int, float), f"{table.__name__}.{field.name} has no range"
            if get_origin(leaf) is Annotated:
                limits = get_args(leaf)[1]
                ends = (limits.ge is not None or limits.gt is not None, limits.le is not None or limits.lt is not None)
                assert ends == (True, True), f"{table.__name__}.{field.name}"


@pytest.mark.parametrize(
    ("table", "name", "number"), numbers(), ids=[f"{table.__name__}.{name}" for table, name, _ in numbers()]
)
def test_a_value_beyond_its_range_is_refused_in_a_file_and_in_python(
    table: type[Settings], name: str, number: Number
) -> None:
    required = REQUIRED.get(table, {})
    field = next(field for field in msgspec.structs.fields(table) if field.name == name)
    is_list = any(get_origin(member) in (list, tuple) for member in (field.type, *get_args(field.type)))
    for value in beyond(number):
        given = [value, 1] if is_list else value
        where = f"{name}[0]" if is_list else name
        with pytest.raises(ValueError) as caught:
            table(**required | {name: tuple(given) if is_list else given})
        assert str(caught.value).startswith(f"{where} must be ")
        assert ", but is " in str(caught.value)
        with pytest.raises(ConfigError) as in_file:
            convert(to_tree(table(**required)) | {name: given}, table, "x.toml")
        assert str(in_file.value).startswith(f"x.toml: {where}: must be ")
        assert ", found " in str(in_file.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "size must be from 1 to 1,000, but is 0"),
        ({"size": 2.5}, "size must be a whole number, but is 2.5"),
        ({"size": True}, "size must be a whole number, but is True"),
        ({"size": "4"}, "size must be a whole number, but is '4'"),
        ({"size": None}, "size must be a whole number, but is None"),
        ({"length_penalty": "high"}, "length_penalty must be a number, but is 'high'"),
    ],
)
def test_settings_made_in_python_name_what_is_wrong(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as caught:
        Beam(**settings)
    assert str(caught.value) == message


def test_a_changed_copy_is_checked_too() -> None:
    with pytest.raises(ValueError, match="clip_norm must be at least 0, but is -1"):
        msgspec.structs.replace(RECIPE.training, clip_norm=-1.0)


def test_the_ends_of_a_range_belong_to_it_where_it_says_so() -> None:
    class Ends(Settings, frozen=True):
        least: PositiveInt = 1
        above: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.5
        weight: NonNegativeFloat = 0.0

    Ends(least=10**9, above=0.999, weight=1e38)
    Ends(above=1e-300, weight=3)
    for above in (0.0, 1.0):
        with pytest.raises(ValueError, match="above must be above 0 and below 1"):
            Ends(above=above)


def test_whether_settings_fit_each_other_is_asked_after_the_ranges() -> None:
    with pytest.raises(ValueError, match="size must be from 1"):
        Beam(size=0, n_best=3)
    with pytest.raises(ValueError, match="n_best must be from 1 to the beam's size, 2"):
        Beam(size=2, n_best=3)


def test_a_number_may_have_words_beside_it_which_alone_are_taken() -> None:
    assert TrainingConfig(updates=1, accumulate="auto").accumulate == "auto"
    for wrong in ("many", 0):
        with pytest.raises(ValueError, match=r"accumulate must be .* or 'auto', but is"):
            TrainingConfig(updates=1, accumulate=wrong)
