"""How trainings of translation models are compared: by a metric of their translations of the test set."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import torch

from transduce.bundle import ModelBundle, find_bundle
from transduce.corpora.corpus import ParallelCorpus
from transduce.evaluation.metrics import Scoring, SentenceCounts, Texts, find_metric
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.tasks.task import Measure
from transduce.tasks.translation.settings import TranslationConfig

OUTPUTS = "outputs.json"


def measure_translations(config: TranslationConfig, test: ParallelCorpus, metric: str) -> Measure:
    """A metric on a test set, translated as the settings say."""
    found, pairs = find_metric(metric), list(test)
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    folds_case = (config.tokenizer.target or config.tokenizer).folds_case

    def count(run: Path, device: torch.device, lowercase: bool) -> SentenceCounts:
        outputs = _translations(run, sources, config.search, device)
        return found.count(Texts(outputs, references, sources), Scoring(lowercase))

    return Measure(
        metric, found.title, found.digits, test.name, test.content(), len(pairs), "sentences", folds_case, count
    )


def _translations(run: Path, sources: Sequence[str], search: Beam, device: torch.device) -> list[str]:
    """Translations of the test set by the run's model, kept beside it until another model stands there."""
    file, model = run / OUTPUTS, find_bundle(run)
    key = f"{(model / 'probe.json').stat().st_mtime_ns} {len(sources)}"
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=dict[str, list[str]])
        return kept[key]
    except (OSError, KeyError, RecursionError, UnicodeDecodeError, msgspec.DecodeError):
        translations = Translator(ModelBundle.load(run, device)).translate(sources, search)
        outputs = [translation.text for translation in translations]
        file.write_bytes(msgspec.json.encode({key: outputs}))
        return outputs
