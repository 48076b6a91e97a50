"""Messages made by chance of placeholders of a family, words and whatever may be between them."""

from hypothesis import strategies as st

from docsegments.text.placeholder_families import FAMILIES, GENERAL

WORDS = [
    "The", "dog", "sees", "small", "cat", "it's", "(now)", "who?", "end.", "100", "-", "über", "犬", '"quoted"',
    "a",
]  # fmt: skip
GLUE = [" "] * 8 + ["", "", "/", "-", ": ", ", ", "(", ") ", "“", " – ", "x", "=", "."]
MIXED = [
    "%s", "{name}", "{{ x }}", "%(name)s", "@count", "!link", "%title%", "https://a.b/c_(d)", "<b>", "</b>", "$HOME",
    ":name", "&amp;", "a@b.de", "%1", "%@", "%qs", "<file>", "{n, plural, one {# file} other {# {x} files}}",
    "{% if x %}", "{0}", '<a href="x">', "</a>", "%#@dogs@", "%<", "%d%%", "{a}{b}", "%s/%s", "<br/>", "\t", "\n",
]  # fmt: skip
"""Of many families, for texts without flags."""

_NUMBERED = ("%1$s", "%1$d", "%1$@", "%1$tY", "%[1]d", "%0:d", "%<s", "%{name}", "%(name)s", "%(n) d", "%|1$+5|", "%1%")
"""Not to be mixed with those for the next argument."""


def examples_of(family: str) -> list[str]:
    """Placeholders of a family, without those that cannot be together in a message."""
    if not family:
        return MIXED
    if family in ("gcc-internal-format", "gfc-internal-format"):
        return ["%s", "%qs", "%d", "%<foo%>", "%%"]
    return [one for one in FAMILIES[family].examples if one not in _NUMBERED] or list(FAMILIES[family].examples)


FLAGS = ["", *(name for name in FAMILIES if name not in GENERAL)]
"""Flags of messages; "" for none."""


@st.composite
def messages(draw: st.DrawFn, flag: str) -> str:
    """A text with some placeholders of a flag's family."""
    parts = []
    for _ in range(draw(st.integers(2, 7))):
        parts.append(draw(st.sampled_from([*examples_of(flag), *WORDS])))
        parts.append(draw(st.sampled_from(GLUE)))
    return "".join(parts).strip(" ") + draw(st.sampled_from(["", "", "", "\n"])) or "dog"


@st.composite
def flagged_messages(draw: st.DrawFn) -> tuple[str, str]:
    """A flag, and a text."""
    flag = draw(st.sampled_from(FLAGS))
    return flag, draw(messages(flag))
