"""English names of languages, as translation servers report them."""

_NAMES = """
ar:Arabic az:Azerbaijani bg:Bulgarian bn:Bengali ca:Catalan cs:Czech da:Danish de:German el:Greek en:English
eo:Esperanto es:Spanish et:Estonian eu:Basque fa:Persian fi:Finnish fr:French ga:Irish gl:Galician he:Hebrew
hi:Hindi hr:Croatian hu:Hungarian id:Indonesian it:Italian ja:Japanese ko:Korean lt:Lithuanian lv:Latvian
ms:Malay nb:Norwegian nl:Dutch pl:Polish pt:Portuguese ro:Romanian ru:Russian sk:Slovak sl:Slovenian
sq:Albanian sr:Serbian sv:Swedish sw:Swahili th:Thai tl:Tagalog tr:Turkish uk:Ukrainian ur:Urdu
vi:Vietnamese zh:Chinese
"""
NAMES = dict(entry.split(":") for entry in _NAMES.split())


def name_of(code: str) -> str:
    """Returns the name of a language, or its code where it is none of these."""
    return NAMES.get(code.partition("-")[0], code)
