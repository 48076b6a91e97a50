"""Files that come into a project and leave it: final units of documents, and glossaries."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from docsegments import language_codes
from docsegments.document import Languages, bytes_of
from docsegments.document_formats import format_of, read_document
from docsegments.memory import plain_text
from docsegments.messages.tbx import ConceptTerm, write_tbx
from docsegments.parallel_text import languages_in
from transduce.apps.projects.project import Project
from transduce.apps.projects.project_store import ConfirmedSegment, FileUnit
from transduce.base.errors import InputError
from transduce.text.glossary import Entry, cells_of

KINDS = ("tmx", "po", "xliff")
"""Formats of the files whose final units are confirmed segments."""
GLOSSARIES = {
    "text/tab-separated-values": ".tsv",
    "text/csv": ".csv",
    "application/x-tbx": ".tbx",
    "application/x-tbx+xml": ".tbx",
    "application/tbx+xml": ".tbx",
    "application/xml": ".tbx",
    "text/xml": ".tbx",
}
"""Kinds of glossaries by what HTTP calls them, as endings of files."""


def learn_file(project: Project, path: str | Path) -> list[ConfirmedSegment]:
    """Confirms the units of a TMX, PO or XLIFF file that are final, and new or changed since the file was last given.

    A unit is known by the file's path, its own name and its source. Raises InputError for a file that cannot be read or
    is in other languages, and confirms nothing then.
    """
    path = Path(path).absolute()
    units, kind = final_units(path, Languages(project.source, project.target))
    added = project.store.confirm_units(str(path), units, kind)
    if added:
        project.store.log("file", {"file": path.name, "segments": len(added), "last": added[-1].id})
    return added


def final_units(path: Path, wanted: Languages) -> tuple[list[FileUnit], str]:
    """Returns the final units of a file and its format: neither drafts nor those that a person has still to look at.

    Raises InputError for a file that cannot be read, or is in other languages.
    """
    kind = format_of(str(path))
    if kind not in KINDS:
        raise InputError(f"{path}: translations are learned from files of the ending .tmx, .po, .xlf or .xliff")
    data = bytes_of(path)
    if kind != "tmx":
        actual = languages_in(data, str(path))
        language_codes.check(str(path), "source language", actual.source, wanted.source)
        language_codes.check(str(path), "target language", actual.target, wanted.target)
    read, units, seen = read_document(data, str(path), wanted, kind).units, [], Counter[str]()
    if kind == "tmx" and all(unit.target is None for unit in read):
        raise InputError(f"{path}: no translations from {wanted.source!r} to {wanted.target!r}")
    before = ""
    for unit in read:
        source, earlier = plain_text(unit.source, kind != "po").strip(), before
        before = source or before
        name = f"{unit.id}\n{source}"
        seen[name] += 1
        if unit.target is None or unit.is_draft or unit.needs_review:
            continue
        target = plain_text(unit.target, kind != "po").strip()
        if source and target:
            units.append(FileUnit(f"{name}\n{seen[name]}", source, target, unit.before if kind == "tmx" else earlier))
    return units, kind


def write_glossary(entries: Sequence[Entry], kind: str, wanted: Languages) -> bytes:
    """Writes a glossary in a kind of `GLOSSARIES`, as `Glossary.parse` reads it.

    Raises InputError for another kind, and for a term base of entries that apply to every sentence.
    """
    ending = glossary_ending(kind)
    if ending == ".tbx":
        if not all(entry.source for entry in entries):
            raise InputError("a term base cannot hold terms without a source; ask for text/csv")
        return write_tbx(map(_concept, entries), wanted)
    rows = list(map(cells_of, entries))
    if ending == ".tsv":
        return "".join("\t".join(row) + "\n" for row in rows).encode()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)  # other signs may be more frequent
    return text.getvalue().encode()


def _concept(entry: Entry) -> tuple[list[ConceptTerm], list[ConceptTerm]]:
    sources = [ConceptTerm(entry.source), *(ConceptTerm(form, is_variant=True) for form in entry.source_forms)]
    targets = [ConceptTerm(entry.target, is_banned=entry.is_banned)]
    targets += [ConceptTerm(form, is_banned=entry.is_banned, is_variant=True) for form in entry.target_forms]
    return sources, targets


def glossary_ending(kind: str) -> str:
    """Returns the ending of files of a kind of glossary; InputError for another kind."""
    if kind not in GLOSSARIES:
        raise InputError(f"{kind[:60]!r} is no kind of glossary; choose from {', '.join(GLOSSARIES)} (Content-Type)")
    return GLOSSARIES[kind]
