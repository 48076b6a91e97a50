"""Settings are read strictly, and each mistake is one line that names its place."""

from pathlib import Path
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.base.config import Settings, convert, flatten, override, read_changes, read_toml, to_toml, to_tree
from transduce.base.errors import ConfigError
from transduce.experiment import load_recipe, recipes
from transduce.training.schedules import InverseSquareRoot


class Cat(Settings, frozen=True, tag_field="kind", tag="cat"):
    lives: int = 9
    food: Literal["fish", "milk"] = "fish"


class Dog(Settings, frozen=True, tag_field="kind", tag="dog"):
    food: Literal["bone", "stick"] = "bone"
    retired: ClassVar = {"tail": 0.0}


class House(Settings, frozen=True):
    rooms: int = 3
    rent: float = 0.5
    name: str | None = None
    is_old: bool = False
    pet: Cat | Dog = Cat()
    pets: tuple[Cat | Dog, ...] = ()

    def __post_init__(self):
        if self.rooms < 1:
            raise ValueError("rooms must be at least 1")


class Street(Settings, frozen=True):
    house: House
    sizes: tuple[int, int] = (2, 5)


def mistake(tree):
    with pytest.raises(ConfigError) as caught:
        convert(tree, Street, "x.toml")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("x.toml: ")
    return message.removeprefix("x.toml: ")


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"house": {}, "hous": 2}, "unknown key 'hous' (did you mean 'house'?)"),
        ({"house": {"roomsize": 2}}, "house: unknown key 'roomsize' (did you mean 'rooms'?)"),
        ({"house": {"romms": 2}}, "house: unknown key 'romms' (did you mean 'rooms'?)"),
        ({"house": {"pet": {"kind": "cat", "livs": 2}}}, "house.pet: unknown key 'livs' (did you mean 'lives'?)"),
        (
            {"house": {"pets": [{"kind": "cat"}, {"kind": "cat", "livs": 2}]}},
            "house.pets[1]: unknown key 'livs' (did you mean 'lives'?)",
        ),
        ({"house": {"pet": {"kind": "dog", "qqq": 2}}}, "house.pet: unknown key 'qqq'; known are food"),
    ],
)
def test_an_unknown_key_is_named_at_any_depth_with_the_nearest_known_one(tree, expected):
    assert mistake(tree) == expected


@pytest.mark.parametrize(
    ("house", "expected"),
    [
        ({"rooms": "many"}, "house.rooms: expected int, got str, found 'many'"),
        ({"rooms": 2.5}, "house.rooms: expected int, got float, found 2.5"),
        ({"rooms": True}, "house.rooms: expected int, got true or false, found True"),
        ({"is_old": "no"}, "house.is_old: expected true or false, got str, found 'no'"),
        ({"name": 7}, "house.name: expected str, got int, found 7"),
        ({"pets": [{"kind": "cat"}, 7]}, "house.pets[1]: expected table, got int, found 7"),
        ({"pets": [{"kind": "cat", "lives": "x"}]}, "house.pets[0].lives: expected int, got str, found 'x'"),
        (7, "house: expected table, got int, found 7"),
    ],
)
def test_a_wrong_type_names_key_expected_and_found(house, expected):
    assert mistake({"house": house}) == expected


def test_a_retired_setting_that_did_nothing_is_left_out():
    tree = {"house": {"pet": {"kind": "dog", "tail": 0.0}}}
    assert convert(tree, Street, "x.toml") == Street(house=House(pet=Dog()))
    tree["house"]["pet"]["tail"] = 0.5
    assert mistake(tree) == "house.pet: the setting 'tail' has been removed; leave it out"
    assert convert(tree, Street, "x.toml", is_saved=True) == Street(house=House(pet=Dog()))
    assert (
        mistake({"house": {"pet": {"kind": "cat", "tail": 0.0}}})
        == "house.pet: unknown key 'tail'; known are lives, food"
    )


def test_a_missing_key_is_named():
    assert mistake({}) == "'house' is missing and has no default"


def test_a_list_of_the_wrong_length_is_named():
    assert mistake({"house": {}, "sizes": [2, 3, 5]}).startswith("sizes: expected array of length 2, got 3")


def test_an_unknown_kind_lists_the_kinds():
    assert mistake({"house": {"pet": {"kind": "dogg"}}}) == (
        "house.pet.kind: 'dogg' is not one of cat, dog (did you mean 'dog'?)"
    )


def test_a_missing_kind_lists_the_kinds():
    assert mistake({"house": {"pet": {}}}) == "house.pet: 'kind' is missing and has no default; choose from cat, dog"


def test_a_wrong_choice_lists_the_choices_of_its_own_kind():
    assert mistake({"house": {"pet": {"kind": "dog", "food": "stik"}}}) == (
        "house.pet.food: 'stik' is not one of bone, stick (did you mean 'stick'?)"
    )


def test_a_rule_between_settings_names_its_table():
    assert mistake({"house": {"rooms": 0}}) == "house: rooms must be at least 1"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("training.clip_norm=-1.0", "training.clip_norm: must be at least 0, found -1.0"),
        ("training.clip_norm=nan", "training.clip_norm: must be at least 0, found nan"),
        ("training.clip_norm=inf", "training.clip_norm: must be at most 1e+38, found inf"),
        ("training.updates=0", "training.updates: must be at least 1, found 0"),
        ("training.updates=1000000000000", "training.updates: must be at most 1,000,000,000, found 1000000000000"),
        ("optimizer.betas=[0.9, 1.5]", "optimizer.betas[1]: must be at least 0 and below 1, found 1.5"),
        ("optimizer.schedule={kind='linear', warmup=-3}", "optimizer.schedule.warmup: must be at least 0, found -3"),
        ("model.dim=100000000", "model.dim: must be from 1 to 131,072, found 100000000"),
        ("data.columns=[1, 0]", "data.columns[1]: must be at least 1, found 0"),
        (f"seed={10**60}", "seed: must be at least 0, found 100000000000000000000000000000... (61 characters)"),
        (f"search.max_ratio={10**400}", "(401 characters)"),
    ],
)
def test_a_number_beyond_its_range_names_place_range_and_value(change, expected):
    with pytest.raises(ConfigError) as caught:
        load_recipe("multi30k", [change])
    assert str(caught.value).startswith("multi30k: ")
    assert str(caught.value).endswith(expected)
    assert len(str(caught.value).splitlines()) == 1


def test_settings_cannot_be_changed():
    with pytest.raises(AttributeError):
        House().rooms = 5


pets = st.one_of(
    st.builds(Cat, lives=st.integers(-9, 9), food=st.sampled_from(["fish", "milk"])),
    st.builds(Dog, food=st.sampled_from(["bone", "stick"])),
)
houses = st.builds(
    House,
    rooms=st.integers(1, 2**40),
    rent=st.floats(allow_nan=False),
    name=st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    is_old=st.booleans(),
    pet=pets,
    pets=st.lists(pets, max_size=3).map(tuple),
)


@given(houses)
def test_settings_written_and_read_are_equal(tmp_path_factory, house):
    path = tmp_path_factory.mktemp("toml") / "x.toml"
    street = Street(house=house)
    path.write_bytes(to_toml(street).encode())
    assert convert(read_toml(path), Street, str(path)) == street


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("300", 300),
        ("-1.5e-3", -1.5e-3),
        ("true", True),
        ('"300"', "300"),
        ("[2, 3]", [2, 3]),
        ("{ a = 2 }", {"a": 2}),
        ("bpe", "bpe"),
        ("data/train.de", "data/train.de"),
        ("a = b", "a = b"),
        ("no", "no"),
        ("", ""),
    ],
)
def test_an_override_is_toml_or_else_a_string(text, value):
    assert override({}, read_changes([f"a.b={text}"])) == {"a": {"b": value}}


def test_overrides_change_a_copy_and_the_last_one_wins():
    tree = {"a": {"b": 2, "c": 3}, "d": 5}
    changes = read_changes(["a.b=7", "a.e.f=11", "a.b=13"])
    assert override(tree, changes) == {"a": {"b": 13, "c": 3, "e": {"f": 11}}, "d": 5}
    assert tree == {"a": {"b": 2, "c": 3}, "d": 5}


@pytest.mark.parametrize("assignment", ["updates", "=3", "a..b=3", ".a=3"])
def test_an_override_that_is_no_assignment_shows_one(assignment):
    with pytest.raises(ConfigError, match=r"expected key=value, such as training\.updates=300"):
        read_changes([assignment])


def test_an_override_below_a_value_is_refused():
    with pytest.raises(ConfigError, match=r"a\.b\.c: 'b' is a value, not a table"):
        override({"a": {"b": 2}}, read_changes(["a.b.c=3"]))


def test_changes_of_a_dict_are_those_of_texts():
    texts = read_changes(["house.rooms=7", "house.name=old"], Street)
    for changes in (
        {"house.rooms": 7, "house.name": "old"},
        {"house": {"rooms": 7, "name": "old"}},
        {"house": {"rooms": 7}, "house.name": Path("old")},
    ):
        assert read_changes(changes, Street) == texts
    tree = {"house": {"rooms": 2, "rent": 0.5, "name": "new"}}
    assert override(tree, texts) == {"house": {"rooms": 7, "rent": 0.5, "name": "old"}}
    assert override(tree, read_changes({"house.name": None}, Street)) == {"house": {"rooms": 2, "rent": 0.5}}


def test_a_nested_table_that_says_its_kind_is_a_new_table():
    tree = {"house": {"rooms": 2, "pet": {"kind": "cat", "lives": 7}}}

    def pet(changes):
        return override(tree, read_changes(changes, Street), Street)["house"]["pet"]

    assert pet({"house": {"pet": {"kind": "dog"}}}) == {"kind": "dog"}
    assert pet({"house": {"pet": Dog()}}) == {"kind": "dog", "food": "bone"}
    assert pet({"house": {"pet": {"lives": 3}}}) == {"kind": "cat", "lives": 3}


def test_a_change_that_toml_cannot_say_is_named():
    with pytest.raises(ConfigError, match=r"house\.rooms: .* not object"):
        read_changes({"house": {"rooms": object()}}, Street)


def test_a_change_in_a_table_without_a_kind_takes_the_default_one():
    tree = override({"house": {}}, read_changes(["house.pet.lives=3"]), Street)
    assert convert(tree, Street, "x.toml").house.pet == Cat(lives=3)
    assert override({}, read_changes(["house.rooms=5"]), Street) == {"house": {"rooms": 5}}


def test_the_warm_up_of_a_recipe_without_a_schedule_can_be_changed(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('data = { dataset = "multi30k" }\nmodel.kind = "transformer"\ntraining.updates = 7\n')
    schedule = load_recipe(str(file), ["optimizer.schedule.warmup=100"]).config.optimizer.schedule
    assert schedule == InverseSquareRoot(warmup=100)


def test_a_flattened_tree_has_one_level_of_dotted_keys():
    assert flatten({"a": {"b": 2, "c": {"d": 3}}, "e": [5]}) == {"a.b": 2, "a.c.d": 3, "e": [5]}


def test_none_is_left_out():
    assert "name" not in to_tree(House())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"gone\.toml: no such file"):
        read_toml(tmp_path / "gone.toml")


def test_a_file_that_is_not_text_or_a_folder_is_named(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"a = '\xff'")
    with pytest.raises(ConfigError, match=r"x\.toml: cannot be read as UTF-8"):
        read_toml(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_toml(tmp_path)


def test_toml_that_is_not_valid_names_file_and_line(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("a = 1\nb = = 2\n")
    with pytest.raises(ConfigError, match=r"x\.toml: not valid TOML: .*line 2"):
        read_toml(path)


@pytest.mark.parametrize("name", recipes())
def test_every_built_in_recipe_loads_and_survives_being_written(name, tmp_path):
    config = load_recipe(name).config
    (tmp_path / "x.toml").write_text(to_toml(config), encoding="utf-8")
    assert convert(read_toml(tmp_path / "x.toml"), type(config), "x.toml") == config


def test_a_mistake_in_an_override_names_the_recipe_and_the_key():
    with pytest.raises(ConfigError, match=r"quickstart: model: unknown key 'encoder_layer' .*'encoder_layers'"):
        load_recipe("quickstart", ["model.encoder_layer=3"])


def test_toml_without_end_of_nesting_is_one_line(tmp_path: Path) -> None:
    deep = "[" * 100_000
    (tmp_path / "deep.toml").write_text(f"x = {deep}")
    with pytest.raises(ConfigError, match=r"deep\.toml: not valid TOML: nested too deeply"):
        read_toml(tmp_path / "deep.toml")
    assert override({}, read_changes([f"a.b={deep}"])) == {"a": {"b": deep}}


class _Left(Settings, frozen=True, tag_field="kind", tag="left"):
    width: int = 3
    depth: int = 1
    shape: str = "round"


class _Right(Settings, frozen=True, tag_field="kind", tag="right"):
    width: int = 3
    shape: int = 5


class _Either(Settings, frozen=True):
    one: _Left | _Right = _Left()


@pytest.mark.parametrize("order", [1, -1])
def test_a_table_whose_kind_changes_keeps_what_both_kinds_have_and_all_that_is_asked_for(order: int) -> None:
    tree = {"one": {"kind": "left", "width": 7, "depth": 2, "shape": "square"}}
    changes = dict([("one.kind", "right"), ("one.shape", 9)][::order])
    assert convert(override(tree, changes, _Either), _Either, "here").one == _Right(width=7, shape=9)
    with pytest.raises(ConfigError, match="unknown key 'depth'"):
        convert(override(tree, changes | {"one.depth": 4}, _Either), _Either, "here")
    with pytest.raises(ConfigError, match="'none' is not one of left, right"):
        convert(override(tree, {"one.kind": "none"}, _Either), _Either, "here")
