"""Completions while one types: `python benchmarks/keystrokes.py MODEL`, for references typed character by character.

Measured are the milliseconds of a keystroke, beside those of translating the source, and what completions spare a
person: keystrokes to characters (KSMR without the mouse), where one keystroke takes the next word of the completion as
soon as it is right, and word prediction accuracy, the share of words that are foretold from the right words before them
(Barrachina et al. 2009; Knowles and Koehn 2016).
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TypeVar

from transduce.corpora.splits import open_split
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

Result = TypeVar("Result")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--dataset", default="multi30k")
    parser.add_argument("--split", default="test_2016_flickr")
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--most-words", type=int, help="the most words of a completion; default: all of the sentence")
    arguments = parser.parse_args()
    translator = Translator.load(arguments.model, device="cpu", engine="pytorch")
    config, search = translator.bundle.config, Beam(size=arguments.beam_size)
    split = open_split(arguments.dataset, arguments.split, config.source, config.target)
    first, *pairs = islice(split, arguments.sentences + 1)
    translator.complete(first.source, first.target[:3], search)  # the first makes tables of the vocabulary
    keystrokes, translations = [], []
    characters = pressed = words = foretold = 0
    for pair in pairs:
        translations.append(milliseconds(partial(translator.translate, pair.source, search))[0])
        completions = []
        for end in range(len(pair.target)):
            work = partial(translator.complete, pair.source, pair.target[:end], search, most_words=arguments.most_words)
            taken, completion = milliseconds(work)
            keystrokes.append(taken)
            completions.append(completion.text)
        of_pair = spared(pair.target, completions)
        pressed, foretold, words = pressed + of_pair[0], foretold + of_pair[1], words + len(pair.target.split())
        characters += len(pair.target)
    median, translation = statistics.median(keystrokes), statistics.median(translations)
    print(f"{len(pairs)} references, {characters:,} characters, beam of {arguments.beam_size}")
    print(f"a keystroke: median {median:.1f} ms, 95 % within {statistics.quantiles(keystrokes, n=20)[-1]:.1f} ms")
    print(f"translating the source: median {translation:.1f} ms; a keystroke takes {median / translation:.2f} of it")
    print(f"keystrokes: {pressed / characters:.3f} of the characters")
    print(f"words foretold: {foretold / words:.1%} of {words}")


def spared(target: str, completions: list[str]) -> tuple[int, int]:
    """Returns the keystrokes for a reference, one to confirm it included, and the number of words that are foretold.

    Args:
        target: the reference.
        completions: the completion of each beginning of it, the empty one first.
    """
    pressed, foretold, done = 1, 0, 0
    for word in target.split():
        end = target.index(word, done) + len(word)
        for typed in range(done, end):
            pressed += 1
            completion = completions[typed]
            if completion.startswith(target[typed:end]) and completion[end - typed : end - typed + 1] in ("", " "):
                foretold += typed == done
                break
        done = end
    return pressed, foretold


def milliseconds(work: Callable[[], Result]) -> tuple[float, Result]:
    """Returns the time of a call, and its result."""
    started = time.perf_counter()
    result = work()
    return 1000 * (time.perf_counter() - started), result


if __name__ == "__main__":
    main()
