"""Numbers that a model loses, with and without `keep_numbers`, what is told of them, and the time both take.

    python benchmarks/kept_numbers.py runs/multi30k multi30k/test_2016_flickr.de multi30k/test_2016_flickr.en

Into each of the first sentences one or two numbers, a date, an amount, an address or a part number is put: in place of
the first "ein", or at the end. All sentences are then translated with `keep_numbers` off and on by turns, in chunks, as
are the sentences as they are, for chrF and the usual time.
"""

import argparse
import random
import re
import time
from collections.abc import Callable, Sequence

import msgspec
import sacrebleu

from docsegments.text.written_numbers import changes
from transduce.corpora.lines import read_lines
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

CHUNK = 100
_ONE = re.compile(r"\b[Ee]in(?:e|en|em|er|es)?\b|\bun(?:e)?\b|\ban?\b", re.IGNORECASE)


def kinds(chance: random.Random) -> dict[str, Callable[[], str]]:
    """Returns makers of what is put into sentences, by name; decimal marks are German ones."""
    return {
        "two digits": lambda: str(chance.randrange(13, 100)),
        "a year": lambda: str(chance.randrange(1900, 2030)),
        "four or five digits": lambda: str(chance.randrange(2100, 99_999)),
        "an amount": lambda: f"{chance.randrange(1000, 99_999):,}".replace(",", ".") + f",{chance.randrange(10, 99)}",
        "two numbers": lambda: f"{chance.randrange(13, 100)} und {chance.randrange(13, 100)}",
        "a date": lambda: f"{chance.randrange(13, 29)}.{chance.randrange(1, 13):02}.{chance.randrange(1950, 2030)}",
        "a part number": lambda: f"{chance.choice('ABKTX')}{chance.choice('ABKTX')}-{chance.randrange(100, 9999)}",
        "an address": lambda: f"www.a{chance.randrange(10, 99)}.de",
    }


def with_number(sentence: str, number: str) -> str:
    """Returns a sentence with a number in place of its first article, or at its end."""
    changed, count = _ONE.subn(number, sentence, count=1)
    return changed if count else f"{sentence.rstrip(' .')} {number}."


def chunks_by_turns(
    translator: Translator, lines: Sequence[str], searches: Sequence[Beam]
) -> tuple[list[list[Translation]], list[float]]:
    """Returns the translations and the seconds of each search; chunks of lines are translated by all in turn."""
    found: list[list[Translation]] = [[] for _ in searches]
    seconds = [0.0] * len(searches)
    for number, start in enumerate(range(0, len(lines), CHUNK)):
        for i in sorted(range(len(searches)), reverse=number % 2 == 1):
            began = time.process_time()
            found[i] += translator.translate(lines[start : start + CHUNK], searches[i])
            seconds[i] += time.process_time() - began
    return found, seconds


def main() -> None:
    """Prints two tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("reference")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--precision", default="float32", choices=["float32", "int8"])
    options = parser.parse_args()
    translator = Translator.load(options.model, precision=options.precision, engine="pytorch")
    languages = translator.bundle.config.source, translator.bundle.config.target
    sources, references = (list(read_lines(path))[: options.sentences] for path in (options.source, options.reference))
    searches = [msgspec.structs.replace(Beam(), keep_numbers=keep) for keep in ("off", "on")]
    translator.translate(sources[:CHUNK], searches[0])

    makers = kinds(random.Random(1))
    named = [list(makers)[i % len(makers)] for i in range(len(sources))]
    lines = [with_number(source, makers[name]()) for source, name in zip(sources, named, strict=True)]
    found, seconds = chunks_by_turns(translator, lines, searches)
    print(
        "| put into sentences | sentences | changed, off | changed, on | told | silently |\n|---|---|---|---|---|---|"
    )
    for name in [*makers, "all"]:
        chosen = [i for i in range(len(lines)) if name in (named[i], "all")]
        off, on = ([i for i in chosen if changes(lines[i], each[i].text, languages).changed] for each in found)
        told = [i for i in on if each_told(found[1][i])]
        print(f"| {name} | {len(chosen)} | {len(off)} | {len(on)} | {len(told)} | {len(on) - len(told)} |")
    print(f"\nseconds of a processor: {seconds[0]:.1f} off, {seconds[1]:.1f} on ({seconds[1] / seconds[0] - 1:+.1%})\n")

    found, seconds = chunks_by_turns(translator, sources, searches)
    print("| sentences as they are | chrF | seconds |\n|---|---|---|")
    for name, outputs, spent in zip(("off", "on"), found, seconds, strict=True):
        score = sacrebleu.corpus_chrf([output.text for output in outputs], [references]).score
        print(f"| {name} | {score:.2f} | {spent:.1f} |")
    same = sum(one.text == other.text for one, other in zip(*found, strict=True))
    print(f"\n{same} of {len(sources)} translations are the same; {seconds[1] / seconds[0] - 1:+.2%} seconds")


def each_told(translation: Translation) -> bool:
    """Returns True if a translation tells of a changed number."""
    return bool(translation.changed_numbers)


if __name__ == "__main__":
    main()
