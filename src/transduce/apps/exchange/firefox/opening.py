"""Opens the files of a model of Firefox Translations as a model of ours, which computes as engines do."""

from transduce.apps.exchange.firefox.arithmetic import engine_model
from transduce.apps.exchange.firefox.files import Paths, StudentFile
from transduce.apps.exchange.firefox.lexicon import read_lexicon
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.text.tokenizer import Tokenizers


def open_student(paths: Paths, config: BundleConfig, tokenizers: Tokenizers) -> tuple[ModelBundle, Shortlist | None]:
    """Returns the model of a folder in 8-bit arithmetic, with its shortlist if it has one.

    Raises CheckpointError for a file that is damaged or does not fit the others, InputError for another kind of
    model.
    """
    student = StudentFile(paths.model)
    model = engine_model(student, tokenizers, is_reduced=paths.shortlist.exists())
    sizes = (len(student.source_table.values), len(student.target_table.values))
    shortlist = read_lexicon(paths.shortlist, tokenizers, sizes) if paths.shortlist.exists() else None
    return ModelBundle(config, model, tokenizers, folder=paths.model.parent), shortlist
