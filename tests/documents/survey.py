"""Tries the promise of documents (theorem.py) on the files of a folder, on mutations of them, or on made documents.

    python tests/documents/survey.py FOLDER --mutations 10
    python tests/documents/survey.py --made 20 --examples 3

Prints a row for each format: how many files hold the promise, how many are refused in one line, and how many break it;
and a line for each of these. Where what shows breaks but the structure holds, it is `text`. For documents made by
chance (made_documents.py) it prints how many of each format deviate, and how, with the shortest examples of each.
"""

import argparse
import io
import random
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from docsegments.document_formats import format_of
from documents.made_documents import MAKERS, made_document
from documents.theorem import CHANGES, Deviation, Shown, Skeleton, check_theorem, deviations, readers_of
from transduce.base.errors import TransduceError

SECONDS = 60
"""What a file may take."""
VERDICTS = ("right", "refused", "text", "structure", "crashed", "unreadable", "no answer")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--made", type=int, default=0, help="documents made by chance of each format, instead")
    parser.add_argument("--first", type=int, default=0, help="seed of the first of them")
    parser.add_argument("--kinds", nargs="*", default=list(MAKERS), help="their formats")
    parser.add_argument("--examples", type=int, default=0, help="of each kind of deviation of theirs")
    parser.add_argument("--mutations", type=int, default=0, help="of each file, instead of the files themselves")
    parser.add_argument("--longest", type=int, default=1_000_000, help="bytes of a file that is tried")
    options = parser.parse_args()
    if options.made:
        for kind in options.kinds:
            try_made(kind, range(options.first, options.first + options.made), options.examples)
        return
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    pool = get_context("spawn").Pool(1)
    for path in sorted(options.folder.rglob("*")):
        if not path.is_file() or not format_of(path.name) or path.stat().st_size > options.longest:
            continue
        for number, data in enumerate(_variants(path.read_bytes(), options.mutations)):
            try:
                verdict, why = pool.apply_async(verdict_on, (data, path.name)).get(SECONDS)
            except Exception as error:
                verdict, why = "no answer", type(error).__name__
                pool.terminate()
                pool = get_context("spawn").Pool(1)
            counts[str(format_of(path.name))][verdict] += 1
            if verdict not in ("right", "refused", "unreadable"):
                print(f"{verdict}: {path} {number}: {why}", flush=True)
    print(f"| format | files | {' | '.join(VERDICTS)} |")
    for kind, found in sorted(counts.items()):
        print(f"| {kind} | {sum(found.values())} | {' | '.join(str(found[one]) for one in VERDICTS)} |")


def try_made(kind: str, seeds: range, examples: int) -> None:
    """Prints the deviations of made documents of a format: a line, and the shortest examples of each kind."""
    found: defaultdict[str, list[tuple[int, Deviation]]] = defaultdict(list)
    bad = set()
    for seed in seeds:
        made = made_document(kind, seed)
        for one in (one for name in CHANGES for one in deviations(made, kind, name)):
            found[
                one.kind if one.translator not in ("identity", "nothing") else f"{one.kind} ({one.translator})"
            ].append((seed, one))
            bad.add(seed)
    counts = (f"{len({seed for seed, _ in ones})} {what}" for what, ones in sorted(found.items()))
    print(f"{kind}: {len(bad)} of {len(seeds)} documents deviate: {', '.join(counts)}", flush=True)
    for what, ones in sorted(found.items()):
        seen: set[int] = set()
        for seed, one in sorted(ones, key=lambda pair: len(pair[1].detail)):
            if seed not in seen and len(seen) < examples:
                seen.add(seed)
                print(f"    {what}, {one.translator}, {kind} {seed}: {one.detail!r}")


def verdict_on(data: bytes, name: str) -> tuple[str, str]:
    """How a file does for one of the readers of its format, and why; `unreadable` where none reads it."""
    readers = readers_of(str(format_of(name)))
    verdicts = [_verdict(data, name, *one) for one in readers]
    return min(verdicts, key=lambda one: VERDICTS.index(one[0]))


def _verdict(data: bytes, name: str, shown: Shown, skeleton: Skeleton) -> tuple[str, str]:
    try:
        shown(data), skeleton(data)
    except Exception as error:
        return "unreadable", str(error)
    try:
        check_theorem(data, name, shown, skeleton, retranslate=True)
    except TransduceError as error:
        return "refused" if "\n" not in str(error) else "crashed", str(error)
    except AssertionError as error:
        return "structure" if "skeleton" in _line_of(error) else "text", str(error)[:500]
    except Exception as error:
        return "crashed", f"{type(error).__name__}: {error}"[:500]
    return "right", ""


def _line_of(error: BaseException) -> str:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    assert trace is not None
    path, line = trace.tb_frame.f_code.co_filename, trace.tb_lineno
    return Path(path).read_text().splitlines()[line - 1]


def _variants(data: bytes, mutations: int) -> Iterator[bytes]:
    if not mutations:
        yield data
    for seed in range(mutations):
        chance = random.Random(seed)
        if data[:2] != b"PK":
            yield _mutated(data, chance)
            continue
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = chance.choice([name for name in members if name.endswith(".xml")])
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w") as archive:
            for one, content in members.items():
                archive.writestr(one, _mutated(content, chance) if one == name else content)
        yield written.getvalue()


def _mutated(data: bytes, chance: random.Random) -> bytes:
    """The same with some of its pieces taken out, doubled, or put elsewhere."""
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(data) + 1)
        end = min(start + chance.choice((1, 1, 2, 5, 20, 100)), len(data))
        place, piece = chance.randrange(len(data) + 1), data[start:end]
        change = chance.choice(("out", "doubled", "elsewhere"))
        if change == "out":
            data = data[:start] + data[end:]
        elif change == "doubled":
            data = data[:end] + piece + data[end:]
        else:
            data = data[:place] + piece + data[place:]
    return data


if __name__ == "__main__":
    main()
