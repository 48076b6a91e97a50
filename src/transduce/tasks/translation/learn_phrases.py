"""Learning a phrase-based model of a run's pairs, which takes seconds and no updates; see transduce/phrases."""

import math
import time
from itertools import chain, islice
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec

from transduce.base.config import to_toml
from transduce.base.files import new_folder, remove
from transduce.base.verification import CARD
from transduce.base.version import VERSION
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle, save_tokenizers
from transduce.bundle.model_card import PARTS, model_card
from transduce.evaluation.translations import score_bleu, score_chrf
from transduce.inference.engines.exported import Export, ExportedModel
from transduce.inference.request import in_context
from transduce.inference.translator import Translator
from transduce.models.families import PhrasesConfig
from transduce.phrases.phrase_model import PhraseModel
from transduce.tasks.task import Tell
from transduce.tasks.translation.preparation import own_languages, sample_of
from transduce.tasks.translation.translation_task import TranslationExperiment
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_training import train_tokenizers
from transduce.training.distributed import Processes

LONGEST_SOURCE = 200
"""Tokens of a sentence that is translated at once; the time to translate one grows with the square of its length."""


MOST_TEXTS = 100_000
"""Lines of text of the target language that are learned from; each is read again whenever the model is opened."""


TUNED_SHARE = 0.2
"""The share of a run's time within which phrases are learned, after which no further round of tuning begins."""


Scores = dict[str, float]
Test = dict[str, Any] | None


def learn_phrases(
    experiment: TranslationExperiment, folder: Path, facts: dict[str, Any], tell: Tell, ends: float | None = None
) -> Scores:
    """Learns a phrase-based model from a run's pairs, writes it to a folder, and returns its scores on the validation
    data.

    Args:
        experiment: the run's texts and settings.
        folder: the model's folder, which is replaced.
        facts: what the model's history has besides.
        tell: receives lines on the progress.
        ends: when a run must have ended in which a neural model is trained next, by `time.monotonic`.

    Raises DataError if no pair can be learned from.
    """
    config, splits = experiment.config, experiment.splits
    pairs: list[tuple[str, str]] = []
    for entry in splits.train:
        before = len(pairs)
        pairs += [(pair.source, pair.target) for pair in entry.corpus]
        tell(f"training data: {len(pairs) - before:,} pairs from {entry.corpus.name}")
    texts = list(islice(chain.from_iterable(experiment.monolingual), MOST_TEXTS))
    if texts:
        tell(f"language model: of the translations and {len(texts):,} lines of {config.data.target}")
    now = time.monotonic()
    model = PhraseModel.learn(pairs, texts, math.inf if ends is None else now + TUNED_SHARE * (ends - now))
    tokenizers = train_tokenizers(config.tokenizer, *sample_of(splits, config.tokenizer, tell), experiment.folder)
    own = own_languages(splits, config.data, {})
    history = facts | {"trained_on": f"{len(pairs):,} sentence pairs"} | own
    _write(folder, experiment, model, tokenizers, history)
    validation = _validated(Translator(ExportedModel.load(folder)), experiment)
    _write(folder, experiment, model, tokenizers, history | {"validation": validation})
    tell(
        f"phrases: {_count(model):,} were learned; on the validation data they reach {validation['chrf']:.1f} chrF and "
        f"{validation['bleu']:.1f} BLEU"
    )
    return validation


def score_on_test(experiment: TranslationExperiment, folder: Path) -> Test:
    """Returns the scores of a folder's phrase-based model on the test data, if there are any, which its history has
    then."""
    written = ExportedModel.load(folder)
    known: Test = written.history.get("test")
    if known is not None or (test := experiment.test(written, Processes())) is None:
        return known
    parts = test.pop(PARTS, None)
    history = written.history | {"test": test} | ({} if parts is None else {PARTS: parts})
    _write(folder, experiment, PhraseModel.load(folder), written.tokenizers, history)
    return test


def kept_phrases(run: Path) -> bool:
    """Returns True if a run that goes on has a phrase-based model in `phrases`, where one that became its model is
    copied to."""
    phrases = run / "phrases"
    if not phrases.exists() and (run / "neural").exists() and (run / "model").exists():
        with new_folder(phrases) as new:
            copytree(run / "model", new, dirs_exist_ok=True)
    return phrases.exists()


def are_better(experiment: TranslationExperiment, phrases: Path, neural: ModelBundle, tell: Tell) -> bool:
    """Returns True if a phrase-based model, in its folder, is better than a neural one by chrF on the validation
    data."""
    scores = ExportedModel.load(phrases).history["validation"]
    others = _validated(Translator(neural), experiment)
    is_better: bool = scores["chrf"] > others["chrf"]
    kept = "phrases" if is_better else "neural model"
    tell(
        f"on the validation data phrases reach {scores['chrf']:.1f} chrF and {scores['bleu']:.1f} BLEU, the neural "
        f"model {others['chrf']:.1f} and {others['bleu']:.1f}: kept the {kept}"
    )
    return is_better


def keep_phrases(experiment: TranslationExperiment, run: Path) -> tuple[Scores, Test]:
    """Makes a run's phrase-based model, in `phrases`, its model, and returns its scores; the neural one, in `model`,
    moves to `neural`."""
    remove(run / "neural")
    (run / "model").rename(run / "neural")
    (run / "phrases").rename(run / "model")
    return ExportedModel.load(run / "model").history["validation"], score_on_test(experiment, run / "model")


def _count(model: PhraseModel) -> int:
    return sum(map(len, model.table.values()))


def _validated(translator: Translator, experiment: TranslationExperiment) -> Scores:
    pairs = list(experiment.splits.validation)
    requests = in_context(pairs, experiment.config.data.context)
    translations = translator.translate(requests, experiment.config.search)
    outputs, references = [each.text for each in translations], [pair.target for pair in pairs]
    return {"bleu": score_bleu(outputs, references).score, "chrf": score_chrf(outputs, references).score}


def _write(
    folder: Path,
    experiment: TranslationExperiment,
    model: PhraseModel,
    tokenizers: Tokenizers,
    history: dict[str, Any],
) -> None:
    """Writes a model as other engines' models are written: a bundle's description beside the engine's own files."""
    data, tokenizer = experiment.config.data, experiment.config.tokenizer
    config = BundleConfig(
        format=FORMAT,
        source=data.source,
        target=data.target,
        model=PhrasesConfig(),
        tokenizer=tokenizer,
        longest_source=LONGEST_SOURCE,
    )
    with new_folder(folder) as new:
        (new / "config.toml").write_text(to_toml(config), encoding="utf-8")
        (new / "history.json").write_bytes(msgspec.json.format(msgspec.json.encode(history)))
        sizes = len(tokenizers.source), len(tokenizers.target)
        use = "    echo 'a sentence' | transduce translate ."
        (new / CARD).write_text(model_card(config, sizes, _count(model), history, use), encoding="utf-8")
        save_tokenizers(tokenizers, tokenizer, new)
        model.save(new)
        Export.write(new, "phrases", VERSION)
