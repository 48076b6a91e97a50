"""Values in files of messages that are not text: identifiers, paths, colours, formats of dates and the like."""

import re

_RULES = {
    "an identifier": r"""
        :?[A-Za-z0-9]*_\w++                                        # snake_case, LOG_LEVEL, :a_symbol
        | :[a-z]\w*+                                               # :symbol
        | [a-z]++[0-9]*+[A-Z][A-Za-z0-9]*+                         # camelCase
        | \w++(?:::\w++)++                                         # Name::Space
        | [a-z][\w-]++(?:\.[\w-]++)++                              # home.title, com.example.Class, index.html
        | [0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}
        | (?=[0-9A-Fa-f]*[0-9])[0-9A-Fa-f]{16,}+
    """,
    "a path": r"""
        (?:\.{0,2}|~|[A-Za-z]:)[/\\](?:[\w.@%+-]++[/\\]?)*+
        | [\w@%+-]++/[\w@%+/-]++\.[A-Za-z0-9]{1,5}
    """,
    "an address": r"""
        (?:[a-z][a-z0-9+.-]++://|mailto:|tel:|data:)\S++ | www\.\S++ | [\w.+-]++@[\w-]++(?:\.[\w-]++)++
        | [a-z0-9-]++(?:\.[a-z0-9-]++){1,4}+/\S*+
    """,
    "a media type": r"(?:application|audio|font|image|multipart|text|video)/[\w.+-]++",
    "a colour or size": r"""
        \#[0-9A-Fa-f]{3,8} | (?:rgb|hsl)a?\([\d\s.,%/]++\) | -?[\d.]++(?:px|r?em|vh|vw|pt)
    """,
    "a code of a language": r"[a-z]{2,3}[-_](?:[A-Z]{2}|[A-Z][a-z]{3}|419)",
    "a value": r"true|false|null|v?\d++(?:\.\d++)++(?:[-+][\w.]++)?",
}
_PATTERNS = {kind: re.compile(rule, re.VERBOSE) for kind, rule in _RULES.items()}
_DATE = re.compile(r"(?:[GyYuMLdDEecahHKkmsSzZXxvVQqw\s.,:/()-]++|'[^'\s]*+'|T(?=HH))++")
_TWO_FIELDS = "|".join(rf"(?<!{sign}){sign}{{2,}}+\W*+(?!{sign})" for sign in "MdDHhmyY")
_FIELDS = re.compile(rf"yyyy|YYYY|MMM|LLL|EEE|ddd|[hH]:mm|(?:{_TWO_FIELDS})(?=MM|dd|DD|HH|hh|mm|yy|YY|ss)")
LONGEST = 1000
"""Most characters of a value that is not text, such as an identifier, a path, a colour or a format of dates."""


def kind_of_no_text(value: str) -> str | None:
    """Returns the kind of a value that people do not read, such as "an identifier"; None for a text."""
    value = value.strip()
    if len(value) > LONGEST and not value.startswith("data:"):
        return None
    for kind, pattern in _PATTERNS.items():
        if pattern.fullmatch(value):
            return kind
    if _DATE.fullmatch(value) and _FIELDS.search(value):
        return "a format of dates"
    return None
