"""Open Packaging Conventions (ISO/IEC 29500-2): which files of a DOCX, PPTX or XLSX belong together, and as what."""

import posixpath
from dataclasses import dataclass
from urllib.parse import unquote

from transduce.documents.archive import Archive
from transduce.documents.xml import tokens_of
from transduce.errors import InputError


@dataclass(frozen=True)
class Relation:
    """A file that another one refers to."""

    id: str
    """By which the other one names it, such as `rId3`."""
    kind: str
    """The last word of its type, such as `header`, `slide` or `officeDocument`; transitional and strict alike."""
    path: str
    """Its name in the archive."""


def main_part(archive: Archive) -> str:
    """The file of an archive that the document begins with; InputError where there is none."""
    for relation in relations_of(archive, ""):
        if relation.kind == "officeDocument":
            return relation.path
    raise InputError(f"{archive.name}: is no {archive.what}; nothing in it says which of its files the text is in")


def relations_of(archive: Archive, path: str) -> list[Relation]:
    """The files within the archive that one of its files refers to, in their order; of the archive itself for ""."""
    folder, name = posixpath.split(path)
    listed = archive.paths_in_small_letters
    rels = listed.get(posixpath.join(folder, "_rels", f"{name}.rels").lower())
    if rels is None:
        return []
    relations = []
    for token in tokens_of(archive.xml(rels)):
        attributes = token.attributes
        if token.kind != "start" or token.name != "Relationship" or attributes.get("TargetMode") == "External":
            continue
        target = posixpath.normpath(posixpath.join("/", folder, unquote(attributes.get("Target", ""))))
        if (found := listed.get(target.lstrip("/").lower())) is not None:
            kind = attributes.get("Type", "").rpartition("/")[2]
            relations.append(Relation(attributes.get("Id", ""), kind, found))
    return relations
