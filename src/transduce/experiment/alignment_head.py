"""Choosing the attention head that aligns a model's words: the one saved with it, or one chosen now and saved."""

from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any, cast, get_args

from transduce.analysis.alignment import SAMPLE, AlignmentHead, Symmetrization, choose_head
from transduce.base.devices import find_device
from transduce.base.errors import InputError
from transduce.base.task_table import check_tool
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import ModelBundle, find_bundle
from transduce.corpora.corpus import Pair, ParallelCorpus, SentencePair, as_pair
from transduce.corpora.directions import Direction
from transduce.corpora.splits import open_splits
from transduce.experiment.recipe import Recipe, recipe_of
from transduce.inference.aligner import Aligner
from transduce.inference.engines.exported import ExportedModel
from transduce.inference.engines.phrase_engine import PhraseEngine
from transduce.models.families import PhrasesConfig


def open_aligner(
    model: str,
    reverse: str | None,
    method: Symmetrization,
    pairs: ParallelCorpus,
    device: str,
    tell: Callable[[str], None],
    to: str | None = None,
    from_: str | None = None,
) -> Aligner | PhraseEngine:
    """Returns an aligner from the folder of a model or run, and of one of the other direction.

    Languages are for models of several directions, and swapped for the other direction's model. A head that is not
    known yet is chosen on the validation data of the model's run, else on the pairs to align. Raises InputError for a
    model without attention to a source, or two models that are not of opposite directions.
    """
    back = None
    folder = find_bundle(Path(model))
    if reverse is None and isinstance(read_config(folder).model, PhrasesConfig):
        return PhraseEngine(folder, ExportedModel.load(folder).tokenizers)
    if reverse is not None:
        turned = ((pair.target, pair.source) for pair in map(as_pair, pairs))
        back = _aligner(reverse, turned, device, tell, from_, to)
    aligner = _aligner(model, pairs, device, tell, to, from_)
    if back is not None:
        config, other = aligner.bundle.config, back.bundle.config
        if (config.source, config.target) != (other.target, other.source):
            raise InputError(
                f"{model} translates {config.source}-{config.target}, but {reverse} {other.source}-{other.target}; "
                "the second must be of the other direction"
            )
    return Aligner(aligner.bundle, aligner.head, back, method)


def validation_pairs(
    recipe: Recipe[Any] | None, bundle: ModelBundle, most: int, otherwise: Iterable[Pair] = ()
) -> list[SentencePair]:
    """Returns the first validation pairs of a run with text on both sides, in its model's direction.

    They are the first of `otherwise` for a model without a run, or one that was not trained in this direction.
    """
    pairs = otherwise
    if recipe is not None:
        splits = open_splits(recipe.config.data, recipe.folder)
        direction = Direction(bundle.config.source, bundle.config.target)
        directed = splits.directions.get(direction) if splits.directions else splits
        pairs = otherwise if directed is None else directed.validation
    return list(islice((pair for pair in map(as_pair, pairs) if pair.source.strip() and pair.target.strip()), most))


def check_symmetrization(name: str) -> Symmetrization:
    """Returns a valid name of a symmetrization; InputError for any other."""
    if name not in get_args(Symmetrization):
        raise InputError(f"symmetrize: no method '{name}'; expected one of {', '.join(get_args(Symmetrization))}")
    return cast(Symmetrization, name)


def _aligner(
    model: str, pairs: Iterable[Pair], device: str, tell: Callable[[str], None], to: str | None, from_: str | None
) -> Aligner:
    bundle = ModelBundle.load(Path(model), find_device(device))
    check_tool(model, bundle.config.task, "translator")
    bundle = bundle.directed(bundle.config.find_direction(to, from_))
    folder = find_bundle(Path(model))
    if (head := AlignmentHead.load(folder)) is not None:
        return Aligner(bundle, head)
    texts = validation_pairs(recipe_of(Path(model)), bundle, SAMPLE, pairs)
    sources = bundle.read([pair.source for pair in texts])
    targets = bundle.tokenizers.target.encode_batch([pair.target for pair in texts])
    head = choose_head(bundle, zip(sources, targets, strict=True))
    try:
        head.save(folder)
        kept = "kept with the model"
    except OSError:
        kept = "not kept, since the model's folder cannot be written to"
    tell(
        f"{model}: head {head.head + 1} of layer {head.layer + 1} aligns; it agrees with hiding source tokens for "
        f"{head.agreement:.0%} of the target tokens of {len(texts)} pairs ({kept})"
    )
    return Aligner(bundle, head)
