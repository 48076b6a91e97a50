"""How often required words are satisfied, and at what price: `python benchmarks/required_phrases.py MODEL`.

Each of 500 sentences of Multi30k (test_2016_flickr) demands one word of its reference, drawn by seed from those that
the model's plain translation lacks, or from all where it lacks none; with `--demand held` from those that it has, with
`--demand any` from all.
"""

import argparse
import random
import re
import time
from collections.abc import Sequence

import torch

import transduce
from transduce.corpora.splits import open_split
from transduce.evaluation.translations import score_bleu
from transduce.inference.request import Request
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.text.phrase_encoder import holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a model's or a run's folder")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[4, 10])
    parser.add_argument("--demand", choices=["lacking", "held", "any"], default="lacking")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    translator = transduce.Translator.load(arguments.model)
    config = translator.bundle.config
    pairs = list(open_split("multi30k", "test_2016_flickr", config.source, config.target))[: arguments.sentences]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    choice = random.Random(arguments.seed)
    plain = translator.translate(sources)
    demanded = [
        demanded_word(reference, translation.text, choice, arguments.demand)
        for reference, translation in zip(references, plain, strict=True)
    ]
    new = sum(not holds(translation.text, word) for translation, word in zip(plain, demanded, strict=True))
    print(f"{len(pairs)} sentences; the plain translation of {new} lacks the word they demand")
    requests = [Request(source, required=(word,)) for source, word in zip(sources, demanded, strict=True)]
    for size in arguments.beam_sizes:
        report(f"beam {size}, plain", references, *timed(translator, sources, size))
        translations, seconds = timed(translator, requests, size)
        report(f"beam {size}, required", references, translations, seconds)
        satisfied = sum(holds(t.text, word) for t, word in zip(translations, demanded, strict=True))
        print(f"beam {size}: {satisfied} of {len(requests)} satisfied, {satisfied / len(requests):.1%}")


def demanded_word(reference: str, plain: str, choice: random.Random, demand: str) -> str:
    """A word of the reference, if possible one that the plain translation lacks, or has."""
    words = list(dict.fromkeys(re.findall(r"\w+", reference)))
    wanted = [word for word in words if demand == "any" or holds(plain, word) == (demand == "held")]
    return choice.choice(wanted or words)


def timed(translator: Translator, texts: Sequence[str | Request], size: int) -> tuple[list[Translation], float]:
    started = time.perf_counter()
    return translator.translate(texts, Beam(size=size)), time.perf_counter() - started


def report(name: str, references: list[str], translations: list[Translation], seconds: float) -> None:
    bleu = score_bleu([translation.text for translation in translations], references)
    low, high = bleu.interval
    rate = len(references) / seconds
    score = sum(translation.n_best[0].score for translation in translations) / len(translations)
    print(
        f"{name}: BLEU {bleu.score:.2f} [{low:.2f}, {high:.2f}] {bleu.signature}, mean score {score:.4f}, "
        f"{rate:.1f} sentences a second"
    )


if __name__ == "__main__":
    main()
