"""The language of an Office document and the direction in which it is read, as its XML says them.

Prefixes of names are those that all Office programs write.
"""

import re
from functools import partial

from transduce.documents.document import Languages
from transduce.documents.languages import is_same, turn

LABELLED = re.compile(
    r"(?:word|ppt|docProps|xl/(?:worksheets|drawings|charts))/[\w/]+\.xml|(?:content|styles|meta)\.xml"
)
"""Names of the files that say it."""
_CODE = re.compile(
    r'(?P<before><dc:language>|<w:(?:lang|themeFontLang)\b[^<>]*?\sw:val="|<[^<>]*?\s(?:lang|xml:lang|fo:language)=")'
    r'(?P<code>[\w-]++)(?P<country>"\s++fo:country=")?(?(country)\w*+)'
)
_AFTER_BIDI = (
    "adjustRightInd|snapToGrid|spacing|ind|contextualSpacing|mirrorIndents|suppressOverlap|jc|textDirection|"
    "textAlignment|textboxTightWrap|outlineLvl|divId|cnfStyle|rPr|sectPr|pPrChange"
)
_AFTER_RTL = "cs|em|lang|eastAsianLayout|specVanish|oMath|rPrChange"
_LETTERS = "<w:t(?:\\s[^<>]*+)?>[^<]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
_PROPERTIES = r"<a:(?:pPr|lvl\dpPr|tblPr)\b"
_DEFAULT_STYLE = (
    r'\1><style:default-style xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" style:family="paragraph">'
    r'<style:paragraph-properties style:writing-mode="rl-tb"/></style:default-style>'
)
_TO_RTL = (
    (r"<w:(?:bidi|rtl|bidiVisual)\b[^<>]*>", ""),
    (r"<w:(pPr|tblPr)\s*+/>", r"<w:\1></w:\1>"),
    (r"(<w:p(?:\s[^<>]*+)?(?<!/)>)(?!\s*+<w:pPr>)", r"\1<w:pPr></w:pPr>"),
    (rf"(<w:pPr>(?:(?!<w:(?:{_AFTER_BIDI})\b|</w:pPr>)<[^<>]*+>\s*+)*+)", r"\1<w:bidi/>"),
    (rf"(<w:r(?:\s[^<>]*+)?>)(?={_LETTERS})", r"\1<w:rPr></w:rPr>"),
    (
        rf"(<w:rPr>(?:(?!<w:(?:{_AFTER_RTL})\b|</w:rPr>)<[^<>]*+>\s*+)*+)"
        rf"(?=(?:(?!</w:rPr>)<[^<>]*+>\s*+)*+</w:rPr>{_LETTERS})",
        r"\1<w:rtl/>",
    ),
    (r"(?<=<w:rtl/>)(?=</w:rPr>)", "<w:lang/>"),
    (r"<w:(b|i|sz)(\s[^<>]*)?/>(?!\s*+<w:\1Cs)", r"\g<0><w:\1Cs\2/>"),  # of letters from right to left
    (r"(<w:tblPr>(?:<w:(?:tblStyle|tblpPr|tblOverlap)\b[^<>]*+>\s*+)*+)", r"\1<w:bidiVisual/>"),
    (r'(<w:(?:lang|themeFontLang)\b[^<>]*?)\sw:bidi="[^"]*+"', r"\1"),
    (r"<w:(?:lang|themeFontLang)\b", r'\g<0> w:bidi="{target}"'),
    (r"(<a:p>)(?!\s*+<a:pPr)", r"\1<a:pPr/>"),
    (rf'({_PROPERTIES}[^<>]*?)\srtl="\w++"', r"\1"),
    (_PROPERTIES, r'\g<0> rtl="1"'),
    (rf'({_PROPERTIES}[^<>]*?\salgn=")l"', r'\1r"'),
    (r'(<(?:\w++:)?sheetView\b[^<>]*?)\srightToLeft="\w++"', r"\1"),
    (r"<(?:\w++:)?sheetView\b", r'\g<0> rightToLeft="1"'),
    (r'(<[^<>]*?\sstyle:writing-mode=")(?:lr-tb|lr|page)"', r'\1rl-tb"'),
    (r"<office:styles\s*+/>", "<office:styles></office:styles>"),
    (r'(?s)(<office:styles)>(?!.*(?:writing-mode=|default-style style:family="paragraph"))', _DEFAULT_STYLE),
    (r'(<[^<>]*?\sstyle:language-complex=")[^"]*+"', r'\1{target}"'),
)
"""Patterns, and what they become in a text from right to left, each in the text that the ones before have made."""
_TO_LTR = (
    (r"(<w:(?:bidi|rtl|bidiVisual))\b[^<>]*>", r'\1 w:val="0"/>'),
    (rf'({_PROPERTIES}[^<>]*?\srtl=")(?:1|true)"', r'\g<1>0"'),
    (rf'({_PROPERTIES}[^<>]*?\salgn=")r"', r'\1l"'),
    (r'(<(?:\w++:)?sheetView\b[^<>]*?\srightToLeft=")(?:1|true)"', r'\g<1>0"'),
    (r'(<[^<>]*?\sstyle:writing-mode=")(?:rl-tb|rl)"', r'\1lr-tb"'),
)


def labelled(text: str, languages: Languages) -> str:
    """Returns the XML of a file whose texts were translated, which says their language and direction."""
    source, target = languages.source, languages.target
    if not target:
        return text
    for pattern, replacement in {"rtl": _TO_RTL, "ltr": _TO_LTR, "": ()}[turn(source, target)]:
        text = re.sub(pattern, replacement.replace("{target}", target), text)
    return _CODE.sub(partial(_renamed, source=source, target=target), text)


def _renamed(match: re.Match[str], source: str, target: str) -> str:
    """Returns a code of the source language as that of the target language, which has no country if none is named."""
    if not is_same(match["code"], source):
        return match[0]
    language, _, country = target.partition("-")
    if match["country"]:
        return f"{match['before']}{language}{match['country']}{country or 'none'}"
    return match["before"] + (language if match["before"].endswith('fo:language="') else target)
