"""Corpora in several files of the same kind, its shards: named by patterns or in a list."""

from collections.abc import Sequence
from pathlib import Path

from transduce.base.errors import DataError
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.formats import Columns, check_file_of_pairs, is_file_of_pairs, parallel_files
from transduce.corpora.languages import languages_of


def open_corpus(
    paths: Sequence[str | Path], columns: Columns | None = None, languages: tuple[str, str] = ("", "")
) -> ParallelCorpus:
    """Opens a corpus as `parallel_files` does, or one of several shards; patterns name several files.

    Raises DataError if the names of two files say that they are in the other order.
    """
    source, target = languages
    if len(paths) == 2 and source != target and languages_of([str(path) for path in paths]) == (target, source):
        raise DataError(
            f"{paths[0]} and {paths[-1]} are {target} and {source} by their names, but the source is {source} and the "
            f"target {target}; name them in the other order"
        )
    shards = shards_of(paths)
    corpora = [parallel_files(shard, columns, languages) for shard in shards]
    if len(corpora) == 1:
        return corpora[0]
    return ParallelCorpus.of_shards(" and ".join(str(path) for path in paths[:3]) + ", ..." * (len(paths) > 3), corpora)


def shards_of(paths: Sequence[str | Path]) -> list[list[Path]]:
    """Returns the files of each shard: one of pairs, or two that are aligned; all sources come before all targets.

    Raises DataError for a pattern that no file matches, and for numbers of sources and targets that differ.
    """
    files = [files_of(path) for path in paths]
    together = [file for each in files for file in each]
    if together and all(map(is_file_of_pairs, together)):
        return [[file] for file in together]
    if len(together) == 1:
        check_file_of_pairs(together[0])
    if len(together) <= 2:
        return [together]
    half = len(together) // 2
    if len(together) % 2 or (len(paths) == 2 and len(files[0]) != half):
        counts = f"{len(files[0])} and {len(files[1])}" if len(paths) == 2 else f"{len(together)}"
        raise DataError(
            f"{paths[0]} and {paths[-1]}: {counts} files; expected files of pairs, or sources and then as many targets"
        )
    return [list(pair) for pair in zip(together[:half], together[half:], strict=True)]


def files_of(path: str | Path) -> list[Path]:
    """Returns the files that match a pattern such as `part-*.tsv.gz`, by name; an existing file, or a path without `*`,
    `?` and `[`, by itself."""
    path = Path(path)
    if not is_pattern(path):
        return [path]
    folder = next(parent for parent in path.parents if parent.is_dir())
    matching = sorted(file for file in folder.glob(str(path.relative_to(folder))) if file.is_file())
    if not matching:
        raise DataError(f"{path}: no file matches this pattern")
    return matching


def is_pattern(path: str | Path) -> bool:
    """Returns True for a path with `*`, `?` or `[` that is not a file itself."""
    return not Path(path).exists() and bool(set("*?[").intersection(str(path)))
