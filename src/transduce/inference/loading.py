"""Loads the tool that a model is for, from its folder."""

from pathlib import Path

from transduce.base.errors import InputError
from transduce.base.task_table import TASKS
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import find_bundle
from transduce.inference.answerer import Answerer
from transduce.inference.classifier import Classifier
from transduce.inference.engines.choice import EngineName
from transduce.inference.engines.engine_table import packages
from transduce.inference.engines.inference_precision import InferencePrecision
from transduce.inference.generator import Generator
from transduce.inference.tagger import Tagger
from transduce.inference.text_encoder import Encoder
from transduce.inference.translator import Translator

Reader = Classifier | Tagger | Answerer | Encoder

READERS: dict[str, type[Reader]] = {
    "classifier": Classifier,
    "tagger": Tagger,
    "answerer": Answerer,
    "encoder": Encoder,
}
"""Tools of models that read texts."""


def load(
    path: str | Path,
    *others: str | Path,
    device: str = "auto",
    precision: InferencePrecision = "float32",
    shortlist: bool | str | Path = False,
    compile: bool = False,
    engine: EngineName = "auto",
    tokens_at_once: int | None = None,
) -> Translator | Generator | Reader:
    """Loads a folder's model as a Translator, or a Generator for a language model; several models make an ensemble.

    For models that read texts: a Classifier, a Tagger, an Answerer, or an Encoder for one without such a head.

    The folder is that of a model, a run, or an exported model; a package of Argos Translate will do, too.
    `Translator.load` and `Generator.load` do the same for a known kind. The device `auto` is a GPU if there is one, but
    the cpu for int8 and exported models; others are cpu, cuda, cuda:1 and so on, and mps. With a shortlist (a file, or
    True for the one in the first model's folder), only
    likely tokens are searched. Compiling takes a minute or two; single sentences then take a third of the time with a
    plain `Beam()`; for another search see `Translator.warm_up`. On a GPU, steps of plain beams become CUDA graphs
    instead, of batches too. On Linux the whole process keeps more free memory from then on, see `keep_free_memory`.

    The engine `auto` is CTranslate2 for plain beams on the cpu in float32, where its outputs are the same, and PyTorch
    for the rest; `translator.engine.describe(search)` says which. CTranslate2's form of the model is made at the first
    search and kept beside the model. The engine `pytorch` is PyTorch alone.

    A translator works on `tokens_at_once` padded source tokens times hypotheses; by default on 6,144, on a GPU on as
    many as fit into its free memory.

    Raises CheckpointError for a damaged model or shortlist; InputError for models that do not go together, a missing
    shortlist or another model's, an exported model with a precision, a shortlist or compiling, or an ensemble with
    compiling; ConfigError for a precision that the device lacks, or if nothing can be compiled.
    """
    tool = "translator" if packages().is_package(path) else TASKS[read_config(find_bundle(Path(path))).task].tool
    if tool != "translator" and (shortlist or compile or tokens_at_once):
        raise InputError("shortlist, compile and tokens_at_once are for translation models; leave them out")
    if tool == "generator":
        return Generator.load(path, *others, device=device, precision=precision)
    if tool in READERS:
        if others:
            raise InputError(f"{path} reads texts, of which there are no ensembles; give one model")
        return READERS[tool].load(path, device, precision)
    return Translator.load(
        path,
        *others,
        device=device,
        precision=precision,
        shortlist=shortlist,
        compile=compile,
        engine=engine,
        tokens_at_once=tokens_at_once,
    )
