"""What verbs of several tasks do with a language model."""

from pathlib import Path

from transduce.bundle import find_bundle, read_config
from transduce.cli.model import open_bundle
from transduce.corpora.catalogue.files import cache_folder
from transduce.corpora.corpus import TextCorpus
from transduce.corpora.formats import text_file
from transduce.corpora.splits import open_text
from transduce.data.text_store import open_text_store
from transduce.data.windows import WindowsConfig
from transduce.errors import InputError
from transduce.experiment.recipe import recipe_of
from transduce.inference.engines.precision import InferencePrecision
from transduce.tasks.language.data import open_texts
from transduce.tasks.language.validation import measure_text


def is_language_model(path: str) -> bool:
    """Whether a folder holds a language model."""
    return Path(path).is_dir() and read_config(find_bundle(Path(path))).task == "language"


def evaluate_text(
    model: str,
    file: str | None,
    dataset: str | None,
    split: str | None,
    device: str,
    precision: InferencePrecision,
) -> tuple[str, dict[str, float]]:
    """The name of a text and a language model's scores on it: a file, a built-in text, or the run's own test set.

    Raises InputError where there is none.
    """
    bundle = open_bundle(model, device, precision)
    text = _text(model, file, dataset, split)
    store = open_text_store(text, bundle.tokenizers.target, cache_folder())
    return text.name, measure_text(bundle.model, store, WindowsConfig(window=bundle.config.longest_source))


def _text(model: str, file: str | None, dataset: str | None, split: str | None) -> TextCorpus:
    if file is not None and dataset is not None:
        raise InputError("--dataset and --reference exclude each other; leave one of them out")
    if file is not None:
        return text_file(file)
    if dataset is not None:
        return open_text(dataset, split or "test")
    recipe = recipe_of(Path(model))
    if recipe is None:
        raise InputError(f"{model} stands in no run, whose test set could be taken; give --dataset or --reference")
    texts = open_texts(recipe.config.data, recipe.folder)
    return texts.test or texts.validation
