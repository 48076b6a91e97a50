"""Parallel text out of documents, to learn from: units with their translations, and subtitles aligned by time."""

from collections.abc import Iterator, Sequence

from docsegments import language_codes
from docsegments.document import Languages
from docsegments.document_formats import format_of, read_document
from docsegments.messages import po, tmx, xliff
from docsegments.subtitles import Cue, cues_of

SHARED = 0.5  # of the shorter of two cues that say the same
LARGEST = 3  # cues on a side that are one pair: more are joined by chance


def pairs_in(data: bytes, name: str, wanted: Languages) -> Iterator[tuple[str, str]]:
    """Yields texts and their translations in a TMX, XLIFF or PO file, without tags, drafts and blank ones.

    The languages choose those of a TMX, and turn a file about that is from the target to the source language. Raises
    InputError for a file that cannot be read, or has not these languages.
    """
    kind, turned = format_of(name), False
    if kind != "tmx":
        actual = languages_in(data, name)
        turned = bool(actual.target and wanted.source) and _is_turned(actual, wanted)
        if turned:
            wanted = Languages(wanted.target, wanted.source)
    for unit in read_document(data, name, wanted, kind).units:
        if unit.target is None or unit.is_draft:
            continue
        source, target = unit.source.one_line, unit.target.one_line
        if source and target:
            yield (target, source) if turned else (source, target)


def languages_in(data: bytes, name: str) -> Languages:
    """Returns the languages of a TMX, XLIFF or PO file, "" for one that the file does not name."""
    kind = format_of(name)
    if kind == "po":
        return Languages("", po.language_of_po(data, name))
    codes = tmx.languages_of_tmx(data, name) if kind == "tmx" else xliff.languages_of_xliff(data, name)
    if len(codes) != 2:
        return Languages()
    first, second = map(language_codes.primary, codes)
    return Languages(first, second) if first != second else Languages(*codes)


def subtitle_pairs(first: tuple[bytes, str], second: tuple[bytes, str]) -> Iterator[tuple[str, str]]:
    """Yields pairs of texts that two files of subtitles, given by bytes and name, show at once: cues that overlap by
    half or more of the shorter one. InputError for files that cannot be read."""
    files = [cues_of(data, name, format_of(name) or "") for data, name in (first, second)]
    for of_first, of_second in _groups(*(sorted(cues, key=lambda cue: (cue.start, cue.end)) for cues in files)):
        if max(len(of_first), len(of_second)) > LARGEST:
            continue
        source, target = (
            " ".join(filter(None, (cue.segment.one_line for cue in group))) for group in (of_first, of_second)
        )
        if source and target:
            yield source, target


def _is_turned(actual: Languages, wanted: Languages) -> bool:
    target = actual.target
    return language_codes.is_same(target, wanted.source) and not language_codes.is_same(target, wanted.target)


def _groups(first: Sequence[Cue], second: Sequence[Cue]) -> Iterator[tuple[list[Cue], list[Cue]]]:
    """Yields cues that belong together, directly or by one between them, in the order of time."""
    groups: list[tuple[list[Cue], list[Cue]]] = []
    group_of: dict[int, int] = {}  # of cues of the second file
    begin = 0
    for cue in first:
        while begin < len(second) and second[begin].end <= cue.start:
            begin += 1
        joined = []
        for index in range(begin, len(second)):
            if second[index].start >= cue.end:
                break
            if _share(cue, second[index]) >= SHARED:
                joined.append(index)
        known = sorted({group_of[index] for index in joined if index in group_of})
        if not known:
            groups.append(([], []))
        number = known[0] if known else len(groups) - 1
        groups[number][0].append(cue)
        for index in joined:
            if index not in group_of:
                groups[number][1].append(second[index])
                group_of[index] = number
    yield from (group for group in groups if group[1])


def _share(first: Cue, second: Cue) -> float:
    """Returns the share of the shorter cue's time that both have, 0 to 1."""
    shared = min(first.end, second.end) - max(first.start, second.start)
    return shared / max(1, min(first.end - first.start, second.end - second.start))
