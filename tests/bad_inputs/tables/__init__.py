"""All rows, a file a topic."""

from itertools import chain

from bad_inputs.row import Row
from bad_inputs.tables import (
    adaptation,
    bundles,
    commands,
    corpora,
    datasets,
    documents,
    encoders,
    exports,
    from_files,
    huggingface,
    language,
    looking,
    many_languages,
    marian,
    recipes,
    resuming,
    runs,
    serving,
    settings,
    shards,
    streams,
    sweeps,
    texts,
    tokenizers,
)

TABLES: dict[str, list[Row]] = {
    "commands": commands.ROWS,
    "recipes": recipes.ROWS,
    "settings": settings.ROWS,
    "corpora": corpora.ROWS,
    "from_files": from_files.ROWS,
    "tokenizers": tokenizers.ROWS,
    "texts": texts.ROWS,
    "documents": documents.ROWS,
    "adaptation": adaptation.ROWS,
    "resuming": resuming.ROWS,
    "bundles": bundles.ROWS,
    "runs": runs.ROWS,
    "sweeps": sweeps.ROWS,
    "language": language.ROWS,
    "encoders": encoders.ROWS,
    "looking": looking.ROWS,
    "serving": serving.ROWS,
    "exports": exports.ROWS,
    "huggingface": huggingface.ROWS,
    "marian": marian.ROWS,
    "many_languages": many_languages.ROWS,
    "datasets": datasets.ROWS,
    "streams": streams.ROWS,
    "shards": shards.ROWS,
}
ROWS = list(chain.from_iterable(TABLES.values()))
