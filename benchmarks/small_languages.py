"""Small languages, two files and some minutes each: which model is kept, its scores, and a published score.

    TRANSDUCE_DATA=data python benchmarks/small_languages.py --minutes 4 --out runs/bench/small-languages

For each language `train` on two files with `--minutes`, on one thread: the model is phrase-based or neural, whichever
is better on held-out pairs. Scores are those of the test pairs (whole documents of a Sámi language, `dev` elsewhere),
1,000 at most; beside AmericasNLP's baseline, all of them. `--phrases` trains no neural model, whatever the time. What
is finished is not done again.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import torch

import transduce
from peers.corpora import write_set
from peers.report import describe_machine, table
from transduce.evaluation.metric import Score
from transduce.evaluation.translations import score_bleu, score_chrf

BASELINES = {
    **{"aymara": 28.3, "bribri": 16.5, "ashaninka": 25.8, "guarani": 33.6, "wixarika": 30.4, "nahuatl": 26.6},
    **{"otomi": 14.7, "shipibo": 32.9, "raramuri": 18.4},
}
"""chrF of the baseline of AmericasNLP 2023, a multilingual Transformer with Bibles and back-translation."""
LANGUAGES = ["north-sami", "south-sami", "lule-sami", "inari-sami", "skolt-sami", "swahili", "yoruba", "zulu", "wolof"]
TESTED = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/small-languages"))
    parser.add_argument("--sets", nargs="+", default=[*LANGUAGES, *BASELINES], help="names")
    parser.add_argument("--minutes", type=float, default=4.0, help="for each language")
    parser.add_argument("--phrases", action="store_true", help="train no neural model")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [["set", "pairs", "minutes", "kept", "chrF", "BLEU", "published chrF"]]
    for name in options.sets:
        found = measure(name, options)
        published = BASELINES.get(name)
        rows.append([name, *found, f"{published:.1f}" if published else ""])
        print(rows[-1], flush=True)
    print(describe_machine(1), table(rows), sep="\n\n")


def measure(name: str, options: argparse.Namespace) -> list[str]:
    """Trains a model for a language; returns what stands in its row."""
    result = options.out / f"{name}-{'phrases' if options.phrases else f'{options.minutes:g}'}.json"
    if not result.exists():
        tested = None if name in BASELINES else TESTED
        files, test = write_set(name, None, tested, Path(os.environ["TRANSDUCE_DATA"]), options.out)
        asked: dict[str, Any] = {"model.kind": "phrases"} if options.phrases else {"training.minutes": options.minutes}
        started = time.monotonic()
        told: list[str] = []
        run = transduce.train(
            files,
            result.with_suffix(""),
            overwrite=True,
            overrides={"data.test_share": 0.0, **asked},
            tell=told.append,
        )
        minutes = (time.monotonic() - started) / 60
        sources, references = (Path(file).read_text("utf-8").splitlines() for file in test)
        outputs = [each.text for each in transduce.Translator.load(run.model).translate(sources)]
        scores = [written(score(outputs, references)) for score in (score_chrf, score_bleu)]
        pairs = f"{len(Path(files[0]).read_text('utf-8').splitlines()):,}"
        kept = next((line for line in told if "kept the" in line), "phrases alone")
        result.write_text(json.dumps([pairs, f"{minutes:.1f}", kept, *scores]), encoding="utf-8")
    row: list[str] = json.loads(result.read_text("utf-8"))
    return row


def written(score: Score) -> str:
    """Returns a score with its interval."""
    low, high = score.interval
    return f"{score.score:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    main()
