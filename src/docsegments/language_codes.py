"""Codes of languages, in documents and in requests for a translation, and their names."""

import re
from collections.abc import Sequence
from typing import Literal, TypeVar

from docsegments.user_errors import InputError

T = TypeVar("T")

ISO_639_1 = (
    "aa ab af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cs cv cy da de dv dz ee el en eo es et eu "
    "fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ik io is it iu ja jv ka kg ki kj kk "
    "kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr "
    "nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te "
    "tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
TWO_LETTERS = frozenset(ISO_639_1.split())
"""Codes of ISO 639-1."""
_FROM_RIGHT = (
    "adlm ar arab arc arz azb bal ckb dv fa glk he hebr iw khw ks lrc mand mzn nkoo nqo pnb ps rohg sd sdh syr syrc "
    "thaa ug ur yi"
)
FROM_RIGHT = frozenset(_FROM_RIGHT.split())
"""Codes of languages, and of scripts, that are written from right to left."""
_NAMES = """
ar:Arabic az:Azerbaijani bg:Bulgarian bn:Bengali ca:Catalan cs:Czech da:Danish de:German el:Greek en:English
eo:Esperanto es:Spanish et:Estonian eu:Basque fa:Persian fi:Finnish fr:French ga:Irish gl:Galician he:Hebrew
hi:Hindi hr:Croatian hu:Hungarian id:Indonesian it:Italian ja:Japanese ko:Korean lt:Lithuanian lv:Latvian
ms:Malay nb:Norwegian nl:Dutch pl:Polish pt:Portuguese ro:Romanian ru:Russian sk:Slovak sl:Slovenian
sq:Albanian sr:Serbian sv:Swedish sw:Swahili th:Thai tl:Tagalog tr:Turkish uk:Ukrainian ur:Urdu
vi:Vietnamese zh:Chinese
"""
ENGLISH_NAMES = dict(entry.split(":") for entry in _NAMES.split())
_CODE = re.compile(r"([a-z]{2})(?:[-_][A-Za-z]{4})?(?:[-_](?:[A-Z]{2}|\d{3}))?")


def is_same(code: str, other: str) -> bool:
    """Returns True if two codes are of one language in any region: en-US and en."""
    return primary(code) == primary(other)


def primary(code: str) -> str:
    """Returns the language without script and region of a code such as pt_BR."""
    return code.strip().replace("_", "-").partition("-")[0].casefold()


def is_from_right(code: str) -> bool:
    """Returns True for a language that is written from right to left, by the script in its code if it names one."""
    scripts = [part for part in _normal(code).split("-")[1:] if len(part) == 4 and part.isalpha()]
    return (scripts or [primary(code)])[0] in FROM_RIGHT


def turn(source: str, target: str) -> Literal["rtl", "ltr", ""]:
    """Returns the direction of a translation if it is another one than that of its source; "" if they are the same."""
    before, after = is_from_right(source), is_from_right(target)
    return "" if before == after or not target else "rtl" if after else "ltr"


def find(coded: Sequence[tuple[str, T]], wanted: str) -> T | None:
    """Returns the value with a language's code, else the first with another region; None for neither."""
    exact = [value for code, value in coded if _normal(code) == _normal(wanted)]
    close = [value for code, value in coded if is_same(code, wanted)]
    return next(iter([*exact, *close]), None)


def is_code(text: str) -> bool:
    """Returns True for a two-letter code of a language, with or without script and region: pt, pt-BR, zh_Hant."""
    match = _CODE.fullmatch(text)
    return match is not None and match[1] in TWO_LETTERS


def check(name: str, label: str, code: str, wanted: str) -> None:
    """Raises InputError for a document in another language than is to be translated; "" is unknown and fits."""
    both = primary(code), primary(wanted)
    if all(both) and len(both[0]) == len(both[1]) and both[0] != both[1]:
        raise InputError(f"{name}: its {label} is {code!r}, not {wanted!r}")


def _normal(code: str) -> str:
    return code.strip().replace("_", "-").casefold()


def english_name(code: str) -> str:
    """Returns the English name of a language, as translation servers report it; its code if it has none here."""
    return ENGLISH_NAMES.get(code.partition("-")[0], code)
