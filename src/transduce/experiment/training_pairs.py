"""Opens the training pairs of a model's run, with an index that is kept in the run's folder."""

from collections.abc import Callable
from pathlib import Path

from transduce.analysis.teaching_pairs import PairSearch
from transduce.base.errors import InputError
from transduce.base.task_table import find_task
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.directions import Direction
from transduce.data.context import in_context
from transduce.data.pair_index import open_index
from transduce.data.store import open_stores
from transduce.experiment.inputs import check_inputs
from transduce.experiment.recipe import recipe_known_of

FOLDER = "pairs"  # of a run


def open_training_pairs(
    model: str | Path, bundle: ModelBundle, tell: Callable[[str], None] = lambda line: None, is_kept: bool = False
) -> PairSearch:
    """Returns a search of the pairs that a model was trained on, in its chosen direction.

    Args:
        model: the folder of the model or of its run.
        bundle: the model.
        tell: receives a line where the index is made, which is so once for each run.
        is_kept: raises InputError instead of making the index.

    Raises InputError for a model that is in no run's folder, and DataError where the data are gone or have changed.
    """
    recipe = recipe_known_of(Path(model), "training pairs", "name its run's folder")
    assert recipe.run is not None
    config, tokenizers, folder = recipe.config, bundle.tokenizers, recipe.run / FOLDER
    experiment = find_task(config.task).open(config, recipe.folder)
    check_inputs(recipe.run, experiment.inputs)
    direction = Direction(bundle.config.source, bundle.config.target)
    entries = [entry for entry in experiment.splits.train if entry.direction in (None, direction)]
    parts = [part for entry in entries for part in entry.corpus.parts]
    stores = [store for store in open_stores(parts, tokenizers, config.data.max_tokens, cache_folder()) if len(store)]
    if not all((folder / store.content).exists() for store in stores):
        if is_kept:
            raise InputError(f"{recipe.run} has no index of its training pairs; ask why on the command line once")
        tell(f"indexing {sum(map(len, stores)):,} training pairs in {folder}")
    sizes = (len(tokenizers.source), len(tokenizers.target))
    read = [in_context(store, bundle.config.context, tokenizers) for store in stores]
    return PairSearch(bundle, [open_index(*both, sizes, folder) for both in zip(stores, read, strict=True)])
