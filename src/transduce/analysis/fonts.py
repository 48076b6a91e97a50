"""Finds fonts of the machine that have the letters of a figure."""

import unicodedata
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

PACKAGES = {
    "CJK": "fonts-noto-cjk",
    "HIRAGANA": "fonts-noto-cjk",
    "KATAKANA": "fonts-noto-cjk",
    "HANGUL": "fonts-noto-cjk",
    "IDEOGRAPHIC": "fonts-noto-cjk",
    "FULLWIDTH": "fonts-noto-cjk",
}
"""Debian's packages of fonts by how the names of letters begin; fonts-noto-core has the other scripts."""
EMOJI = "fonts-symbola"
SHOWN = 10


def save_figure(make: Callable[[], Figure], path: Path, **options: Any) -> str:
    """Saves a figure with fonts that have its letters, if the machine has some; options are those of `savefig`.

    Returns:
        A line that names letters without a font and a package with one; "" where nothing is missing.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")  # a box is drawn in its place
        figure = make()
        figure.savefig(path, **options)
        lacking = _lacking(figure, [])
        if not lacking:
            return ""
        fonts = _fonts_for(lacking)
        if fonts:
            with mpl.rc_context({"font.family": [*mpl.rcParams["font.family"], *(name for name, _ in fonts)]}):
                figure = make()
                figure.savefig(path, **options)
        return _advice(_lacking(figure, [file for _, file in fonts]))


def _lacking(figure: Figure, fonts: list[str]) -> set[str]:
    """Returns the letters of a figure that neither its own font nor the others have."""
    texts = (text.get_text() for text in figure.findobj(Text) if isinstance(text, Text))
    wanted = {letter for text in texts for letter in text if _is_drawn(letter)}
    usual = font_manager.findfont(font_manager.FontProperties())
    for file in (usual, *fonts):
        if wanted:
            wanted = {letter for letter in wanted if ord(letter) not in _characters_of(file)}
    return wanted


def _is_drawn(letter: str) -> bool:
    return not letter.isascii() and unicodedata.category(letter) not in ("Cf", "Cc", "Cn", "Co", "Zs", "Mn")


def _fonts_for(letters: set[str]) -> list[tuple[str, str]]:
    """Returns names and files of fonts that together have most of the letters, the one with most first."""
    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    for file in font_manager.findSystemFonts():
        if file not in known:  # it was installed after matplotlib made its list
            try:
                font_manager.fontManager.addfont(file)
            except Exception:  # a font that matplotlib cannot read
                continue
    usual = [
        entry
        for entry in font_manager.fontManager.ttflist
        if "Last Resort" not in entry.name  # which has a box for each script
        and entry.style == "normal"
        and entry.weight in (400, "normal", "regular", "book")
    ]
    candidates: list[tuple[bool, str, str, set[str]]] = []
    for entry in usual:
        if covered := {letter for letter in letters if ord(letter) in _characters_of(entry.fname)}:
            candidates.append(("Sans" not in entry.name, entry.name, entry.fname, covered))
    chosen = []
    rest = set(letters)
    while rest and candidates:
        best = min(candidates, key=lambda candidate: (-len(candidate[3] & rest), candidate[0], candidate[1]))
        if not best[3] & rest:
            break
        chosen.append((best[1], best[2]))
        rest -= best[3]
    return chosen


@lru_cache(1024)
def _characters_of(file: str) -> frozenset[int]:
    try:
        return frozenset(FT2Font(file).get_charmap())
    except (OSError, RuntimeError):
        return frozenset()


def _advice(letters: set[str]) -> str:
    if not letters:
        return ""
    names = {letter: unicodedata.name(letter, "").partition(" ")[0] for letter in letters}
    packages = {
        EMOJI if unicodedata.category(letter) == "So" else PACKAGES.get(name.partition("-")[0], "fonts-noto-core")
        for letter, name in names.items()
    }
    shown = "".join(sorted(letters)[:SHOWN]) + (" …" if len(letters) > SHOWN else "")
    return (
        f"no font of this machine has {shown}, so that boxes are drawn; install one, such as Debian's "
        f"{' and '.join(sorted(packages))}"
    )
