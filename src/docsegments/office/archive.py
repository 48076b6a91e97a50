"""ZIP archives of files (DOCX, PPTX, XLSX, ODT): unpacked within limits, and packed again with some of them changed.

Relations (ISO/IEC 29500-2) name the files of DOCX, PPTX and XLSX that belong together, and their roles.
"""

import io
import posixpath
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from urllib.parse import unquote

from docsegments.document import Edit, Languages, TextFile
from docsegments.office.office_language import LABELLED, labelled
from docsegments.user_errors import InputError
from docsegments.xml import read_xml, tokens_of

LARGEST = 256 * 2**20
"""Most bytes of an archive's files together, unpacked."""
DENSEST = 500
"""Most bytes unpacked per byte packed; XML that programs write has ten to twenty."""
SMALL = 2**20
"""Bytes below which the density does not matter."""
MOST_FILES = 50_000
"""Most files of an archive."""


@dataclass(frozen=True)
class Relation:
    """A file that another one refers to."""

    id: str
    """Name that the other file uses, such as `rId3`."""
    kind: str
    """The last word of its type, such as `header`, `slide` or `officeDocument`; transitional and strict alike."""
    path: str
    """Name of the file in the archive."""


class Archive:
    """The files of a ZIP archive. Files are unpacked when they are read; edits name the file that they change."""

    def __init__(self, data: bytes, name: str, kind: str, languages: Languages) -> None:
        """Reads the list of files.

        Args:
            data: the archive's bytes.
            name: its name, for messages.
            kind: the kind of document that it should be, for messages: "Word document".
            languages: those of the document and its translation.

        Raises InputError for what is damaged, encrypted, or would be too large when it is unpacked.
        """
        self.data, self.name, self.kind, self._languages = data, name, kind, languages
        self._texts: dict[str, TextFile] = {}
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except Exception as error:  # zipfile raises errors of many kinds
            raise InputError(f"{name}: is no {kind}, or damaged ({str(error)[:80]})") from None
        entries = self._archive.infolist()
        total = sum(entry.file_size for entry in entries)
        if total > LARGEST or (total > SMALL and total > DENSEST * len(data)):
            raise InputError(f"{name}: would be {total:,} bytes when unpacked, which is more than is read")
        if len(entries) > MOST_FILES:
            raise InputError(f"{name}: holds {len(entries):,} files, which is more than is read")
        if any(entry.flag_bits & 1 for entry in entries):
            raise InputError(f"{name}: is encrypted; save it without a password")
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) < len(entries):
            raise InputError(f"{name}: damaged: two files in it have one name")

    @property
    def paths(self) -> list[str]:
        """The names of all files, in their order."""
        return list(self._entries)

    def __contains__(self, path: str) -> bool:
        """Returns True if there is a file of this name."""
        return path in self._entries

    def read(self, path: str) -> bytes:
        """Unpacks a file, never more of it than its stated size; InputError if it is damaged, or larger."""
        entry = self._entries[path]
        try:
            with self._archive.open(entry) as stream:
                content = stream.read(entry.file_size + 1)
        except Exception as error:  # zlib's and others', of a library that names none of its own
            raise InputError(f"{self.name}: {path} in it is damaged ({str(error)[:80]})") from None
        if len(content) != entry.file_size:
            raise InputError(f"{self.name}: {path} in it is not as large as it says")
        return content

    def xml(self, path: str) -> TextFile:
        """Returns the characters of an XML file, which `pack` edits; InputError if it is damaged or wrongly encoded."""
        if path not in self._texts:
            self._texts[path] = replace(read_xml(self.read(path), f"{self.name}: {path}"), part=path)
        return self._texts[path]

    @property
    def main_part(self) -> str:
        """The file that an Office document begins with; InputError where there is none."""
        for relation in self.relations_of(""):
            if relation.kind == "officeDocument":
                return relation.path
        raise InputError(f"{self.name}: is no {self.kind}; nothing in it says which of its files the text is in")

    def relations_of(self, path: str) -> list[Relation]:
        """Returns the files that a file of the archive, or for "" the archive itself, refers to, in order."""
        folder, name = posixpath.split(path)
        rels = self._by_small_letters.get(posixpath.join(folder, "_rels", f"{name}.rels").lower())
        relations = []
        for token in [] if rels is None else tokens_of(self.xml(rels)):
            attributes = token.attributes
            if token.kind != "start" or token.name != "Relationship" or attributes.get("TargetMode") == "External":
                continue
            target = posixpath.normpath(posixpath.join("/", folder, unquote(attributes.get("Target", ""))))
            if (file_name := self._by_small_letters.get(target.lstrip("/").lower())) is not None:
                kind = attributes.get("Type", "").rpartition("/")[2]
                relations.append(Relation(attributes.get("Id", ""), kind, file_name))
        return relations

    @cached_property
    def _by_small_letters(self) -> dict[str, str]:
        """The names of all files by their names in small letters, by which packages compare them."""
        return {path.lower(): path for path in self._entries}

    def pack(self, edits: Sequence[Edit]) -> bytes:
        """Returns the archive with edits made in its XML files, which say the language of the translation.

        All other files, and their order, stay.
        """
        if not edits:
            return self.data
        by_path: defaultdict[str, list[Edit]] = defaultdict(list)
        for edit in edits:
            by_path[edit.part].append(edit)
        finish = partial(labelled, languages=self._languages)
        changed = {
            path: self.xml(path).save(by_path[path], finish if LABELLED.fullmatch(path) else str)
            for path in {*by_path, *filter(LABELLED.fullmatch, self.paths)}
        }
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as new:
            for entry in self._archive.infolist():
                content = changed.get(entry.filename)
                new.writestr(entry, self.read(entry.filename) if content is None else content, entry.compress_type)
        return packed.getvalue()
