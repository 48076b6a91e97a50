"""The language of an Office document and the direction in which it is read, as its XML says them.

Prefixes of names are those that all Office programs write.
"""

import re
from functools import partial
from importlib.resources import files

from docsegments.document import Languages
from docsegments.language_codes import is_same, turn

LABELLED = re.compile(
    r"(?:word|ppt|docProps|xl/(?:worksheets|drawings|charts))/[\w/]+\.xml|(?:content|styles|meta)\.xml"
)
"""Names of the files that say it."""
_CODE = re.compile(
    r'(?P<before><dc:language>|<w:(?:lang|themeFontLang)\b[^<>]*?\sw:val="|<[^<>]*?\s(?:lang|xml:lang|fo:language)=")'
    r'(?P<code>[\w-]++)(?P<country>"\s++fo:country=")?(?(country)\w*+)'
)
_TABLE = files(__package__).joinpath("directions.tsv").read_text("utf-8").splitlines()[1:]
_DIRECTIONS = [line.split("\t") for line in _TABLE]
"""New directions, with patterns and what becomes of them, each in the text that the lines before have made."""


def labelled(text: str, languages: Languages) -> str:
    """Returns the XML of a file whose texts were translated, which says their language and direction."""
    source, target = languages.source, languages.target
    if not target:
        return text
    direction = turn(source, target)
    for _, pattern, replacement in (row for row in _DIRECTIONS if row[0] == direction):
        text = re.sub(pattern, replacement.replace("{target}", target), text)
    return _CODE.sub(partial(_renamed, source=source, target=target), text)


def _renamed(match: re.Match[str], source: str, target: str) -> str:
    """Returns the target language's code in place of the source language's; other codes stay."""
    if not is_same(match["code"], source):
        return match[0]
    language, _, country = target.partition("-")
    if match["country"]:
        return f"{match['before']}{language}{match['country']}{country or 'none'}"
    return match["before"] + (language if match["before"].endswith('fo:language="') else target)
