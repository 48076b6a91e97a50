"""How trainings of translation models are compared: by a metric of their translations of the test set."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import msgspec
import torch

from transduce.bundle import ModelBundle, find_bundle
from transduce.corpora.corpus import SentencePair
from transduce.corpora.directions import Direction
from transduce.corpora.splits import Splits
from transduce.evaluation.metrics import Scoring, SentenceCounts, Texts, find_metric, metric_key
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.tasks.task import Measure
from transduce.tasks.translation.sampling import in_own_direction
from transduce.tasks.translation.settings import TranslationConfig

OUTPUTS = "outputs.json"


def measure_translations(config: TranslationConfig, splits: Splits, metric: str) -> Measure:
    """A metric on a test set, else the validation data, translated as the settings say; those of several directions
    together."""
    found, test = find_metric(metric), splits.test or splits.validation
    each: dict[Direction | None, list[SentencePair]] = {} if splits.directions else {None: list(test)}
    for direction, own in splits.directions.items():
        each[direction] = list((own.test if splits.test else own.validation) or ())
    pairs = [pair for of_direction in each.values() for pair in of_direction]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    folds_case = config.tokenizer.of_target.folds_case

    def count(run: Path, device: torch.device, lowercase: bool) -> SentenceCounts:
        outputs = _translations(run, each, config.search, device, partial(in_own_direction, config, splits))
        return found.count(Texts(outputs, references, sources), Scoring(lowercase))

    return Measure(
        metric_key(metric),
        found.title,
        found.digits,
        test.name,
        test.content(),
        len(pairs),
        "sentences",
        folds_case,
        count,
    )


def _translations(
    run: Path,
    each: Mapping[Direction | None, Sequence[SentencePair]],
    search: Beam,
    device: torch.device,
    directed: Callable[[ModelBundle], ModelBundle],
) -> list[str]:
    """Translations of the test set by the run's model, kept beside it until another model stands there."""
    file, model = run / OUTPUTS, find_bundle(run)
    key = f"{(model / 'probe.json').stat().st_mtime_ns} {sum(map(len, each.values()))}"
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=dict[str, list[str]])
        return kept[key]
    except (OSError, KeyError, RecursionError, UnicodeDecodeError, msgspec.DecodeError):
        translator, outputs = Translator(directed(ModelBundle.load(run, device))), []
        for direction, pairs in each.items():
            own = translator if direction is None else translator.directed(direction.target, direction.source)
            outputs += [found.text for found in own.translate([pair.source for pair in pairs], search)]
        file.write_bytes(msgspec.json.encode({key: outputs}))
        return outputs
