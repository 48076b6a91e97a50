"""Opens corpora of text in files: lines, pairs in two files or one, and pairs out of documents."""

import functools
import hashlib
import html
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from docsegments.document import Languages
from docsegments.messages.tables import (
    DELIMITERS,
    SOURCE_NAMES,
    TARGET_NAMES,
    find_column,
    known_column,
    rows_in_direction,
    rows_of,
)
from docsegments.parallel_text import languages_in, pairs_in, subtitle_pairs
from transduce.base.errors import DataError, InputError
from transduce.base.files import sha256
from transduce.base.plugins import Registry, check_takes
from transduce.corpora import parquet
from transduce.corpora.compression import bytes_in, name_without_compression, open_compressed
from transduce.corpora.corpus import ParallelCorpus, SentencePair, TextCorpus, as_pair
from transduce.corpora.lines import file_kind, open_bytes, read_lines, read_objects

TABLES = (".tsv", ".csv")
SUBTITLES = (".srt", ".vtt")
"""The endings of files of which two, in two languages, are aligned by time."""

Columns = Sequence[int | str]
"""The columns of source and target, and perhaps of the document that they are from: numbers from 1, names in a header
line, keys of JSON objects, or the two languages of a translation memory."""


def parallel_files(
    paths: Sequence[str | Path], columns: Columns | None = None, languages: tuple[str, str] = ("", "")
) -> ParallelCorpus:
    """Opens a corpus in two line-aligned files (.sgm: WMT's SGML), or in one file of pairs with a known ending.

    Args:
        paths: the files.
        columns: the sides' columns in a file of pairs whose first line does not name them.
        languages: source and target, by which the columns of a table may be called.
    """
    name = " and ".join(str(path) for path in paths)
    if any(Path(path).name == "-" for path in paths):
        raise DataError(f"{name}: a corpus is read several times, which standard input (-) cannot be")
    are_subtitles = len(paths) == 2 and all(file_kind(path).lower() in SUBTITLES for path in paths)
    is_own = len(paths) == 1 and is_file_of_pairs(paths[0])  # its reader knows what its ending means
    for path in paths:
        is_known = (is_own or are_subtitles) and not Path(path).is_dir()
        (open_compressed(Path(path)) if is_known else open_bytes(path)).close()
    if are_subtitles and columns is None:
        return ParallelCorpus(name, lambda: _subtitles(*paths), _fingerprint(paths))
    if len(paths) == 2:
        if columns is not None:
            raise DataError(f"{name}: columns are for one file of pairs, but there are two files")
        source, target = paths
        return ParallelCorpus(name, lambda: _two_files(source, target), _fingerprint(paths))
    if len(paths) != 1:
        raise DataError(f"{name or 'no files'}: expected two line-aligned files or one file of pairs")
    (path,) = paths
    reader = _reader(path)
    if reader is _table:
        reader = functools.partial(_table, languages=languages)
    if columns is None and (columns := names_of_columns(path, languages)) is not None:
        name += f" (columns {columns[0]} and {columns[1]})"
    return ParallelCorpus(name, lambda: reader(path, columns), _fingerprint(paths, f"{columns} {languages}"))


def table_file(path: str | Path, columns: Columns) -> ParallelCorpus:
    """Opens a published corpus in two columns of a file of any name, between tabs; its few lines with further tabs are
    left out."""
    open_bytes(path).close()
    return ParallelCorpus(str(path), lambda: _table(path, columns, skips_odd=True), _fingerprint([path], str(columns)))


def text_file(path: str | Path, start: int = 0, stop: int | None = None) -> TextCorpus:
    """Opens lines of one file, from the one numbered `start`, counted from 0, up to before `stop`."""
    open_bytes(path).close()
    return TextCorpus(
        str(path),
        lambda: itertools.islice(read_lines(path), start, stop),
        _fingerprint([path], f"{start} {stop}"),
    )


def is_file_of_pairs(path: str | Path) -> bool:
    """Returns True if a file's ending says that both sides are in it."""
    ending = file_kind(path).lower()
    return ending in PAIR_FORMATS or (ending not in LINES and ending in FORMATS.names())


def is_bilingual(path: str | Path) -> bool:
    """Returns True if a file's ending is that of a document which holds texts and their translations."""
    return PAIR_FORMATS.get(file_kind(path).lower()) is _document


def languages_in_file(path: str | Path) -> tuple[str, str] | None:
    """Returns the two languages that such a document is in; None if it does not name them, or has more."""
    with _as_data_errors():
        languages = languages_in(bytes_in(path), name_without_compression(path))
    return (languages.source, languages.target) if languages.source and languages.target else None


def check_file_of_pairs(path: str | Path) -> None:
    """Raises DataError if a file's ending is not that of a file of pairs."""
    if not is_file_of_pairs(path):
        known = ", ".join(FORMATS.names())
        raise DataError(f"{path}: one file of pairs must end in {known} (and .gz, .xz or .zst); else give two files")


def _reader(path: str | Path) -> "PairReader":
    check_file_of_pairs(path)
    with _as_data_errors():
        return FORMATS.find(file_kind(path).lower())


def _two_files(source: str | Path, target: str | Path) -> Iterator[SentencePair]:
    counts, document = [0, 0], 0
    for source_line, target_line in itertools.zip_longest(segments(source), segments(target)):
        counts[0] += source_line is not None
        counts[1] += target_line is not None
        if counts[0] == counts[1]:
            document += not source_line.strip() and not target_line.strip()  # a blank line divides documents
            yield SentencePair(source_line, target_line, str(document) if document else "")
    if counts[0] != counts[1]:
        raise DataError(
            f"{source} has {counts[0]:,} lines but {target} has {counts[1]:,}; they must be aligned line by line"
        )


def segments(path: str | Path) -> Iterator[str]:
    """Returns the lines of a file; of WMT's SGML (.sgm) the texts in <seg>, of several references the first."""
    return next(map(iter, references_in(path)), read_lines(path))


def references_in(path: str | Path) -> list[list[str]]:
    """Returns the references in WMT's SGML, one for each translator of its documents; none for other files.

    Raises DataError unless all translators have as many segments of each document.
    """
    if file_kind(path).lower() not in (".sgm", ".sgml"):
        return []
    documents: dict[str, dict[tuple[int, str], list[str]]] = {}
    sets, document, translator = 0, "", ""
    for number, line in enumerate(read_lines(path), 1):
        sets += re.search(r"<(?:ref|tst)set\b", line, re.IGNORECASE) is not None
        if re.search(r"<doc\b", line, re.IGNORECASE):
            named = {name.lower(): value.strip("\"'") for name, value in _ATTRIBUTES.findall(line)}
            document, translator = named.get("docid", document), named.get("sysid", "")
        if "<seg" not in line.lower():
            continue
        opening = re.search(r"<seg\b", line, re.IGNORECASE)
        begin = line.find(">", opening.end()) + 1 if opening else 0  # three searches, so that no line takes long
        closing = re.compile("</seg>", re.IGNORECASE).search(line, begin) if begin else None
        if closing is None:
            raise DataError(f"{path}: line {number}: <seg> without </seg>; expected <seg>...</seg> on one line")
        text = html.unescape(line[begin : closing.start()]).strip()
        documents.setdefault(document, {}).setdefault((sets, translator), []).append(text)
    most = max(map(len, documents.values()), default=1)
    for document, references in documents.items():
        counts = [len(texts) for texts in references.values()]
        if counts != [counts[0]] * most:
            raise DataError(
                f"{path}: the references of document '{document}' have {' and '.join(map(str, counts))} segments; "
                f"expected {most} references with as many segments each"
            )
    parts = zip(*(references.values() for references in documents.values()), strict=True)
    return [list(itertools.chain.from_iterable(texts)) for texts in parts] or [[]]


_ATTRIBUTES = re.compile(r"""\b(docid|sysid)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>]++)""", re.IGNORECASE)


def _table(
    path: str | Path, columns: Columns | None, languages: tuple[str, str] = ("", ""), skips_odd: bool = False
) -> Iterator[SentencePair]:
    numbers: list[int] = []
    width = wanted = 0
    signs, joins = _SIGNS[_delimiters(path)], _delimiters(path) != "\t"
    with _as_data_errors():
        for line, cells in _rows(path, languages) if columns is None else _rows_of(path):
            if not numbers:
                width = len(cells)
                if columns is None and width > 2:
                    raise DataError(
                        f"{path}: its lines have {width} columns; set data.columns to those of source and target, such "
                        f"as [{width - 1}, {width}], counted from 1, or by their names in the first line"
                    )
                numbers, has_names = _column_numbers(path, (1, 2) if columns is None else columns, cells)
                wanted = max(width, *numbers)
                if has_names:
                    continue
            if skips_odd and len(cells) != width:
                continue
            if len(cells) < wanted:
                raise DataError(f"{path}: line {line} has {len(cells)} of the {wanted} columns expected ({signs[0]})")
            if len(cells) > wanted:
                raise DataError(
                    f"{path}: line {line} has {len(cells)} columns where the first line has {wanted} ({signs[0]}); "
                    f"{signs[1]}"
                )
            texts = [cells[number - 1] for number in numbers]
            yield SentencePair(*(map(_on_one_line, texts) if joins else texts))


_SIGNS = {
    "\t": ("tabs separate them", "put a space in place of a tab within a text"),
    DELIMITERS: ("commas or the like separate them", "put a text that holds the sign in quotation marks"),
}
"""For each separator of a table's cells: its name, and the advice for a line with too many cells."""


def _on_one_line(text: str) -> str:
    """Joins the lines of a cell: one in quotation marks may have line ends, which a segment has not."""
    return " ".join(text.split("\n")) if "\n" in text else text


def _rows(path: str | Path, languages: tuple[str, str]) -> Iterator[tuple[int, list[str]]]:
    return rows_in_direction(_rows_of(path), str(path), *languages)


def _rows_of(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    return rows_of(read_lines(path), str(path), _delimiters(path))


def _delimiters(path: str | Path) -> str:
    """Returns the signs that may separate a file's cells: a tab; several for .csv, whose first line shows it."""
    return DELIMITERS if file_kind(path).lower() == ".csv" else "\t"


def names_of_columns(path: str | Path, languages: tuple[str, str]) -> tuple[str, ...] | None:
    """Returns the source's and the target's column of a table whose first line names them: by the languages, or by
    usual names of texts and translations; the third of them is `document` if there is one. None for another file, or
    one that names neither."""
    kind = file_kind(path).lower()
    if kind not in (*TABLES, parquet.ENDING):
        return None
    with _as_data_errors():
        if kind == parquet.ENDING:
            names = parquet.column_names(path)
        else:
            _, names = next(_rows(path, languages), (0, []))
    source, target = known_column(names, languages[0], SOURCE_NAMES), known_column(names, languages[1], TARGET_NAMES)
    if source is None or target is None or source == target:
        return None
    documents = [name for name in names if name.casefold() == "document"][:1]
    return names[source], names[target], *documents


def _column_numbers(path: str | Path, columns: Columns, first: list[str]) -> tuple[list[int], bool]:
    """Returns the numbers of two columns, and True if the first line has their names."""
    numbers, are_names = [], []
    for column in columns:
        match = find_column(first, str(column)) if isinstance(column, str) else (column - 1, True)
        if match is None:
            raise DataError(f"{path}: no column '{column}' in its header; it has {', '.join(first)}")
        numbers.append(match[0] + 1)
        are_names.append(not match[1])
    if len(numbers) not in (2, 3) or min(numbers) < 1:
        raise DataError(f"{path}: expected two columns, or three with a document's, from 1, found {list(columns)}")
    return numbers, any(are_names)


def _jsonl(path: str | Path, columns: Columns | None) -> Iterator[SentencePair]:
    keys = [str(column) for column in columns or ("source", "target")]
    if len(keys) not in (2, 3):
        raise DataError(f"{path}: expected two keys, source and target, found {keys} (set data.columns)")
    such = f" such as {{{keys[0]!r}: ..., {keys[1]!r}: ...}}"
    for number, row in read_objects(path, such, skips_blank=False):
        for key in keys:
            if not isinstance(row.get(key), str):
                named = ", ".join(row)
                raise DataError(f"{path}: line {number} has no text under '{key}'; it has {named} (set data.columns)")
        document = row.get("document") if columns is None else None
        yield SentencePair(*(row[key] for key in keys), *([str(document)] if isinstance(document, str | int) else []))


def _document(path: str | Path, columns: Columns | None) -> Iterator[SentencePair]:
    if columns is not None and (len(columns) != 2 or not all(isinstance(column, str) for column in columns)):
        raise DataError(f'{path}: its columns are its languages, such as ["en", "de"], but are {list(columns)}')
    wanted = Languages(*map(str, columns)) if columns is not None else Languages()
    with _as_data_errors():
        for source, target in pairs_in(bytes_in(path), name_without_compression(path), wanted):
            yield SentencePair(source, target)


def _subtitles(*paths: str | Path) -> Iterator[SentencePair]:
    first, second = ((bytes_in(path), name_without_compression(path)) for path in paths)
    with _as_data_errors():
        for source, target in subtitle_pairs(first, second):
            yield SentencePair(source, target)


@contextmanager
def _as_data_errors() -> Iterator[None]:
    """Turns InputError for a document into DataError."""
    try:
        yield
    except InputError as error:
        raise DataError(str(error)) from None


PairReader = Callable[[str | Path, Columns | None], Iterator[SentencePair]]
PAIR_FORMATS: dict[str, PairReader] = {
    ".tsv": _table,
    ".csv": _table,
    ".jsonl": _jsonl,
    parquet.ENDING: parquet.read_parquet,
    ".tmx": _document,
    ".xlf": _document,
    ".xliff": _document,
    ".po": _document,
}


def _reader_of_pairs(name: str, value: Any) -> PairReader:
    """Returns an object as a reader, which raises DataError for values that are not pairs."""
    if value in PAIR_FORMATS.values():
        return cast(PairReader, value)
    check_takes("file format", name, value, ("path", "columns"), "a function of a path and columns that gives pairs")

    def read(path: str | Path, columns: Columns | None) -> Iterator[SentencePair]:
        for number, pair in enumerate(value(path, columns), 1):
            try:
                yield as_pair(tuple(pair) if isinstance(pair, list) else pair)
            except InputError as error:
                raise DataError(f"{path}: pair {number:,}: {error}") from None

    return read


FORMATS: Registry[PairReader] = Registry("file format", "transduce.formats", _reader_of_pairs, PAIR_FORMATS)
"""Readers of files of pairs by ending, also those of installed packages (entry points such as `.xlsx`)."""
LINES = ("", ".txt", ".sgm", ".sgml")
"""Endings of files of lines, for which packages are not asked."""


def _fingerprint(paths: Sequence[str | Path], also: str = "") -> Callable[[], str]:
    """Returns a function that hashes files when first called, and not again: runs ask several times."""

    @functools.cache
    def fingerprint() -> str:
        digest = hashlib.sha256(also.encode())
        for path in paths:
            digest.update(bytes.fromhex(sha256(Path(path))))
        return digest.hexdigest()

    return fingerprint
