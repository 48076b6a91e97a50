"""Messages of ICU: branches are translated apart, and what is about them stays, also where tags are within."""

import pytest

from docsegments.segment import Mark, Part
from docsegments.text.icu_messages import mark_messages
from docsegments.text.placeholders import hold


def written(parts: list[Part]) -> list[str]:
    return [part if isinstance(part, str) else f"[{part.raw}]" for part in parts]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("{n, plural, one {a # b} other {c}}", ["[{n, plural, one {]", "a ", "[#]", " b", "[} other {]", "c", "[}}]"]),
        ("x {w, select, f {her} other {it}} y", ["x ", "[{w, select, f {]", "her", "[} other {]", "it", "[}}]", " y"]),
        ("{n,plural,offset:1 =0{a}other{{x} b}}", ["[{n,plural,offset:1 =0{]", "a", "[}other{]", "{x} b", "[}}]"]),
        ("{0,choice,0#no|1#{0} one}", ["[{0,choice,0#]", "no", "[|1#]", "{0} one", "[}]"]),
        (
            "{a, select, x {{n, plural, one {b} other {c}}} other {d}}",
            ["[{a, select, x {{n, plural, one {]", "b", "[} other {]", "c", "[}}} other {]", "d", "[}}]"],
        ),
        ("{n, plural, one {a} other}", ["{n, plural, one {a} other}"]),
        ("{n, plural, one {a", ["{n, plural, one {a"]),
        ("{n, number} {name}", ["{n, number} {name}"]),
        ("{n, plural, one {a '{' b} other {c}}", ["[{n, plural, one {]", "a '{' b", "[} other {]", "c", "[}}]"]),
    ],
)
def test_what_is_about_the_branches_is_marked(text: str, marked: list[str]) -> None:
    assert written(mark_messages([text])) == marked


def test_tags_may_divide_a_message() -> None:
    tag = Mark("<x/>")
    parts = mark_messages(["{n, plural, one {", tag, "a} other {", tag, " b} }"])
    assert written(parts) == ["[{n, plural, one {]", "[<x/>]", "a", "[} other {]", "[<x/>]", " b", "[} }]"]
    assert all(part.breaks for part in parts if isinstance(part, Mark) and part != tag)


def test_placeholders_in_branches_are_held() -> None:
    parts = hold(["{n, plural, one {%s # {x}} other {c}}"], lambda text: text.replace("{", "("))
    assert written(parts) == [
        "[(n, plural, one (]", "[%s]", " ", "[#]", " ", "[(x}]", "[} other (]", "c", "[}}]",
    ]  # fmt: skip
