"""Finds the languages of files of sentence pairs, by the endings and parts of their names."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from docsegments.language_codes import TWO_LETTERS

UNKNOWN = ("source", "target")
PACKED = {".gz", ".xz", ".zst"}
OTHER_ENDINGS = "txt tok bpe raw low src trg tgt ref hyp out dat csv sgm tsv bak old new all dev"
NO_LANGUAGES = frozenset(OTHER_ENDINGS.split())
"""Endings of three letters that name no language; others do, as those of ISO 639-3."""


def languages_of(files: Sequence[str]) -> tuple[str, str]:
    """Returns source and target language of two aligned files (mine.de and mine.en) or of one file of pairs
    (mine.de-en.tsv); "source" and "target" if the names do not say."""
    names = [_without_packing(file) for file in files]
    if len(names) == 1:
        return _of_one(names[0]) or UNKNOWN
    return (
        _of_two([name.split(".") for name in names], is_language)
        or _of_two([re.split("[._-]+", name) for name in names], TWO_LETTERS.__contains__)
        or UNKNOWN
    )


def language_of(file: str) -> str | None:
    """Returns the language of a file of one language (more.en.gz), None if its name does not say."""
    return next((part for part in reversed(_without_packing(file).split(".")[1:]) if is_language(part)), None)


def name_of(files: Sequence[str]) -> str:
    """Returns the name of a run on these files: what their names have in common, without endings."""
    first, *others = [Path(file).name for file in files]
    stem = re.split(r"\.(?=(?:tsv|csv|jsonl)\b)", first)[0] if not others else first
    tokens = re.split(r"([._-])", stem)
    for other in others:
        theirs = re.split(r"([._-])", other)
        tokens = tokens[
            : next((i for i, (a, b) in enumerate(zip(tokens, theirs, strict=False)) if a != b), len(tokens))
        ]
    name = "".join(tokens).strip("._-")
    return name or "-".join(languages_of(files))


def is_language(part: str) -> bool:
    """Returns True if a part of a file's name looks like a language code, with or without a region: de, deu, pt_BR."""
    code, _, region = part.replace("_", "-").partition("-")
    if region and not re.fullmatch(r"[A-Z]{2}|[A-Z][a-z]{3}", region):
        return False
    return code in TWO_LETTERS or (re.fullmatch("[a-z]{3}", code) is not None and code not in NO_LANGUAGES)


def is_tag(text: str) -> bool:
    """Returns True if a text is spelled as language tags are (de, pt-BR, deu_Latn), known or not."""
    return re.fullmatch("[A-Za-z0-9]+([-_][A-Za-z0-9]+)*", text) is not None


def _without_packing(file: str) -> str:
    path = Path(file)
    return path.stem if path.suffix in PACKED else path.name


def _of_two(parts: list[list[str]], is_code: Callable[[str], bool]) -> tuple[str, str] | None:
    """Returns the one part in which two names differ, else the last part of each that is a code."""
    source, target = parts
    differing = [(a, b) for a, b in zip(source, target, strict=False) if a != b]
    if len(source) == len(target) and len(differing) == 1 and all(map(is_code, differing[0])):
        return differing[0]
    last = [next((part for part in reversed(name) if is_code(part)), "") for name in parts]
    return (last[0], last[1]) if all(last) and last[0] != last[1] else None


def _of_one(name: str) -> tuple[str, str] | None:
    for part in reversed(name.split(".")):
        source, _, target = part.partition("-")
        if source != target and {source, target} <= TWO_LETTERS:
            return source, target
    return None
