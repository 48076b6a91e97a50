"""Runs a model on one text and records everything for `transduce.analysis.look_at_text`."""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np

from transduce.analysis.alignment import AlignmentHead
from transduce.analysis.findings import SearchTree
from transduce.analysis.look_at_reading import ReadingResult, look_at_reading
from transduce.analysis.look_at_text import Look, look_at_pair, look_at_text
from transduce.analysis.search_tree import SearchTrace
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import make_batch
from transduce.data.text_batch import Ids, row_length
from transduce.data.windows import batch_of
from transduce.inference.constraints import Constraints, Piece, Vocabulary
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.search.beam import Beam
from transduce.search.loop import TakeStep
from transduce.text.tokenizer import Tokenizer


def look_at_translation(
    bundle: ModelBundle, constraints: Constraints, piece: Piece, target: str | None, search: Beam, text: str
) -> Look:
    """Translates a piece of text, or takes a given target, and shows how the model did it; see `watch_translation`."""
    tokens, tree = watch_translation(bundle, constraints, piece, target, search, text)
    batch = make_batch([piece.source], [tokens], bundle.special).to(bundle.device)
    texts = (text, bundle.tokenizers.target.decode(tokens) if target is None else target)
    return look_at_pair(bundle, name_of(bundle), piece.source, tokens, texts, _head(bundle), tree, batch)


def watch_translation(
    bundle: ModelBundle, constraints: Constraints, piece: Piece, target: str | None, search: Beam, text: str
) -> tuple[list[int], SearchTree | None]:
    """Returns the tokens of a translation of a piece of text, and the search; or those of a given target.

    Raises InputError for a target that is too long, or where the search finds nothing.
    """
    of_target, limit = bundle.tokenizers.target, bundle.writer.target_limit
    if target is not None:
        tokens = of_target.encode(target)
        if limit is not None and len(tokens) + 1 > limit:
            raise InputError(f"the target has {len(tokens) + 1:,} tokens, but the model writes at most {limit:,}")
        return tokens, None
    engine = PyTorchEngine(bundle)

    def find(beam: Beam, step: TakeStep) -> list[int]:
        (hypotheses,) = engine.search([piece], constraints, beam, step)
        if not hypotheses:
            raise InputError(f"{text[:60]!r}: no translation satisfies all constraints; drop some of them")
        return hypotheses[0].tokens

    return _searched(find, search, Vocabulary.of(of_target, lambda: constraints.edges), of_target)


def look_at_generation(
    bundle: ModelBundle,
    vocabulary: Vocabulary,
    context: Sequence[int],
    find: Callable[[Beam, TakeStep], list[int]],
    search: Beam,
    given: Sequence[int] | None,
    spell: Callable[[Sequence[int]], str],
) -> Look:
    """Continues a context by `find`, or takes the given next tokens, and shows how the model did it.

    `spell` gives the text of tokens.
    """
    tree = None
    if given is None:
        tokens, tree = _searched(find, search, vocabulary, bundle.tokenizers.target)
    else:
        tokens = list(given)
    ids = [*context, *tokens]
    batch = batch_of([np.array(ids)]).to(bundle.device)
    return look_at_text(bundle, name_of(bundle), spell(ids), tree, batch)


def look_at_texts(
    bundle: ModelBundle, texts: Sequence[str], row: tuple[Ids, Ids | None], result: ReadingResult
) -> Look:
    """Looks at a model's result for a text, or two, that it read as this row."""
    return look_at_reading(bundle, name_of(bundle), "\n".join(texts), row, result)


def whole_row(bundle: ModelBundle, first: str, second: str | None, longest: int) -> tuple[Ids, Ids | None]:
    """Returns the ids of one or two texts; InputError for a blank one, or for more tokens than are read at once."""
    texts = [first] if second is None else [first, second]
    check_not_blank(*texts)
    ids = bundle.tokenizers.target.encode_batch(texts)
    row = (ids[0], None if second is None else ids[1])
    check_length(row_length(*row), longest)
    return row


def check_not_blank(*texts: str) -> None:
    """Raises InputError for a text that is blank."""
    if not all(map(str.strip, texts)):
        raise InputError("there is no text to look at")


def check_length(tokens: int, longest: int) -> None:
    """Raises InputError for a text of more tokens than are read at once."""
    if tokens > longest:
        raise InputError(f"the text has {tokens:,} tokens, but the model reads at most {longest:,} at once; shorten it")


def _searched(
    find: Callable[[Beam, TakeStep], list[int]], search: Beam, vocabulary: Vocabulary, tokenizer: Tokenizer
) -> tuple[list[int], SearchTree]:
    """Returns a beam's output and the tree of its search, in which the path of greedy search is marked."""
    watched = SearchTrace(search, tokenizer.pieces, vocabulary.decode)
    tokens = find(search, watched.take_step)
    alone = msgspec.structs.replace(search, size=1, n_best=1)
    greedy = SearchTrace(alone, tokenizer.pieces, vocabulary.decode)
    find(alone, greedy.take_step)
    watched.mark_best([*tokens, vocabulary.end])
    watched.mark_greedy(greedy)
    return tokens, SearchTree(search.size, search.length_penalty, watched.finished_nodes())


def name_of(bundle: ModelBundle) -> str:
    """Returns the run's folder, or the model's own if it is in none."""
    folder = bundle.folder
    if folder is None:
        return f"{bundle.config.source}-{bundle.config.target}"
    depth = {"model": 1, "bundle": 3}.get(folder.name, 0)  # RUN/model, or RUN/checkpoints/NUMBER/bundle
    return str([folder, *folder.parents][depth]) if depth < len(folder.parents) else str(folder)


def _head(bundle: ModelBundle) -> AlignmentHead | None:
    return None if bundle.folder is None else AlignmentHead.load(bundle.folder)
