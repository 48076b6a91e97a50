"""Documents of every format by chance: each word is translated once, or named, and all else stays."""

import pytest

from documents.made_documents import MAKERS, made_document
from documents.theorem import CHANGES, deviations

SEEDS = {"pptx": 2, "xlsx": 2, "docx": 6}
"""Numbers of documents of formats that take longer to read."""


@pytest.mark.parametrize("kind", MAKERS)
def test_no_made_document_loses_or_doubles_a_word_a_placeholder_or_a_tag(kind: str) -> None:
    for seed in range(SEEDS.get(kind, 12)):
        made = made_document(kind, seed)
        for translator in CHANGES:
            assert not deviations(made, kind, translator), f"made_document({kind!r}, {seed})"
