"""The verb that examines sentence pairs."""

from pathlib import Path
from typing import Annotated

import msgspec

from transduce.apps.cli.options import Json, Quiet
from transduce.apps.cli.printing import print_json, teller
from transduce.apps.cli.shard_options import ShardOptions
from transduce.base import ranges
from transduce.base.errors import InputError
from transduce.base.files import check_absent


def doctor(
    inputs: Annotated[list[str], "FILE..."],
    *,
    output: Path | None = None,
    clean: bool = False,
    repair: bool = False,
    mask: bool = False,
    scores: bool = False,
    page: Path | None = None,
    test: list[str] | None = None,
    like: str | None = None,
    best: ranges.PositiveInt | None = None,
    shards: ShardOptions,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Examine sentence pairs: what is faulty, what can be repaired, and whether cleaning will help.

    All is learned from the pairs themselves. Without --output nothing is written. With it, files of the same names have
    the repaired pairs without the faulty ones, which are in a folder left-out, with the reasons. All
    files are examined as one corpus, all cores at once; those that the folder has already are not made again.

    Examples: `transduce data doctor mine.de mine.en`, `transduce data doctor mine.de mine.en --clean -o clean`

    Args:
        inputs: Two line-aligned files, or all sources, then all targets; files of pairs; or patterns in quotation
            marks.
        output: The folder to write into.
        clean: Write repaired pairs without the faulty ones (default).
        repair: Write all pairs, repaired.
        mask: Write [e-mail], [IBAN] and [phone] in place of personal data.
        scores: Write into a folder scores a table of all pairs, their faults, and their scores by each test.
        page: File for a page with all that was found, and examples: .html.
        test: A file of test pairs, or twice one of lines: pairs with a side of theirs are left out.
        like: A file of text in the language of a side: each pair gets a score for how much it is like that.
        best: With --like: about how many pairs to keep, those most like it.
    """
    from transduce.apps.cluster.examining import Treatment, examine_shards

    if output is None and (clean or repair or mask or scores or best):
        raise InputError("--clean, --repair, --mask, --scores and --best say what is written; give --output too")
    if best is not None and like is None:
        raise InputError("--best chooses the pairs that are most like a text; give --like too")
    if page is not None:
        check_absent(page, "choose another file")
        if not page.absolute().parent.is_dir():
            raise InputError(f"{page}: there is no folder {page.parent}; make it first")
    treatment = Treatment(repair and not clean, mask, tuple(test or ()), like, best, scores)
    with shards.workers() as workers:
        found = examine_shards(inputs, output, workers, treatment, **shards.reading)
    if page is not None:
        from transduce.analysis.examination_page import render_examination
        from transduce.base.files import write_text

        write_text(page, render_examination(" and ".join(inputs), found))
    print_json(msgspec.to_builtins(found) | {"verdict": found.verdict}) if json else print(found.describe())
    if output is not None:
        teller(quiet)(f"what is left is in {output}")
