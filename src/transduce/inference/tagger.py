"""A trained tagger as a tool: texts in; the tag of each word, and the entities, out."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.analysis.look_at_reading import ReadingResult
from transduce.analysis.look_at_text import Look, confidence_in
from transduce.base.reprs import shown_by
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import ModelBundle, bundle_facts
from transduce.corpora.tagged_sentences import entities_of
from transduce.data.batch import SpecialIds
from transduce.data.word_rows import WordRows, encode_words
from transduce.inference.batched_texts import read_texts, softmax
from transduce.inference.engines.inference_precision import InferencePrecision, load_bundle
from transduce.inference.looking import check_length, check_not_blank, look_at_texts
from transduce.models.heads import TagHeadConfig

ZERO_WIDTH_JOINER = "\u200d"
MARKS = "".join(
    character
    for character in map(chr, (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)))
    if unicodedata.category(character).startswith("M")
)
"""Accents, vowel signs and the like, which are written on the character before them."""
WITH_IT = f"[{MARKS}{ZERO_WIDTH_JOINER}\u200c\U0001f3fb-\U0001f3ff]"  # joiners, and skin tones of emoji
WORD = re.compile(rf"[@#]?(?:\w{WITH_IT}*)+(?:[-.'’](?:\w{WITH_IT}*)+)*|\S(?:{WITH_IT}|(?<={ZERO_WIDTH_JOINER})\S)*")
"""A word of a text: letters and digits, joined or not, or a single other character; each with its marks."""


@dataclass(frozen=True)
class TaggedWord:
    """A word and its tag."""

    text: str
    start: int
    """The start of the word, in characters of the text, from 0."""
    end: int
    """The end of the word, after its last character."""
    tag: str
    probability: float
    """The probability of the tag, 0 to 1."""


@dataclass(frozen=True)
class Entity:
    """Words that name something."""

    text: str
    kind: str
    start: int
    """The start of the entity, in characters of the text, from 0."""
    end: int
    """The end of the entity, after its last character."""
    probability: float
    """The lowest probability of its tags."""


@dataclass(frozen=True)
class TaggedText:
    """A text with the tags and entities that a model found in it."""

    text: str
    words: list[TaggedWord]
    entities: list[Entity]


@shown_by(lambda tool: bundle_facts(tool.bundle))
class Tagger:
    """Tags the words of texts by a bundle's model, on its device and at its precision.

    Raises InputError for a model that is not a tagger.
    """

    def __init__(self, bundle: ModelBundle) -> None:
        check_tool("the model", bundle.config.task, "tagger")
        self.bundle = bundle
        assert isinstance(bundle.config.head, TagHeadConfig)
        self.labels = bundle.config.head.labels

    @staticmethod
    def load(path: str | Path, device: str = "auto", precision: InferencePrecision = "float32") -> "Tagger":
        """Loads a tagger from the folder of a model or a run: see `transduce.load`."""
        return Tagger(load_bundle(path, device, precision))

    @overload
    def tag(  # type: ignore[overload-overlap] # a text is an iterable of texts, too
        self, texts: str
    ) -> TaggedText: ...

    @overload
    def tag(self, texts: Iterable[str]) -> list[TaggedText]: ...

    def tag(self, texts: str | Iterable[str]) -> TaggedText | list[TaggedText]:
        """Tags the words of one text, or of several; a long text is read in parts."""
        return self._tag([texts])[0] if isinstance(texts, str) else self._tag(list(texts))

    def look(self, text: str) -> Look:
        """Shows how the model reads a text: attention, and which tokens the tag of each word rests on.

        Raises InputError for one that is blank, or longer than the model reads at once.
        """
        check_not_blank(text)
        longest, words = self.bundle.config.longest_source, WORD.findall(text)
        rows = encode_words([words], self.bundle.tokenizers.target, longest)
        check_length(sum(len(ids) for ids in rows.ids) + 2, longest)
        probabilities = torch.from_numpy(find_tag_probabilities(self.bundle.model, rows, self.bundle.special)[0])
        best, begins = probabilities.argmax(1).tolist(), [index + 1 for index in rows.first_pieces[0]]
        entities = [f"{entity.text} ({entity.kind})" for entity in self.tag(text).entities]
        result = ReadingResult(
            ", ".join(entities) or "no entities",
            [f"{word}/{self.labels[tag]}" for word, tag in zip(words, best, strict=True)],
            confidence_in(probabilities.log(), best, self.labels.__getitem__),
            lambda logits: logits.float().log_softmax(-1)[:, begins, best],
        )
        return look_at_texts(self.bundle, [text], (rows.ids[0], None), result)

    def _tag(self, texts: Sequence[str]) -> list[TaggedText]:
        words = [list(WORD.finditer(text)) for text in texts]
        tokenizer, longest = self.bundle.tokenizers.target, self.bundle.config.longest_source
        rows = encode_words([[word[0] for word in of_text] for of_text in words], tokenizer, longest)
        probabilities = find_tag_probabilities(self.bundle.model, rows, self.bundle.special)
        return [self._tagged(*each) for each in zip(texts, words, probabilities, strict=True)]

    def _tagged(self, text: str, words: Sequence[re.Match[str]], probabilities: NDArray[np.float64]) -> TaggedText:
        best = probabilities.argmax(1) if len(words) else np.zeros(0, dtype=np.int64)
        tagged = [
            TaggedWord(word[0], word.start(), word.end(), self.labels[tag], float(row[tag]))
            for word, tag, row in zip(words, best.tolist(), probabilities, strict=True)
        ]
        entities = []
        for first, stop, kind in entities_of([word.tag for word in tagged]):
            start, end = tagged[first].start, tagged[stop - 1].end
            least = min(word.probability for word in tagged[first:stop])
            entities.append(Entity(text[start:end], kind, start, end, least))
        return TaggedText(text, tagged, entities)


def find_tag_probabilities(model: nn.Module, rows: WordRows, special: SpecialIds) -> list[NDArray[np.float64]]:
    """Returns the probability of each tag of each word of each sentence: [words, tags]."""
    outputs = read_texts(model, [(ids, None) for ids in rows.ids], special)
    of_sentences: dict[int, list[NDArray[np.float64]]] = {}
    for (sentence, _, _), begins, logits in zip(rows.words, rows.first_pieces, outputs, strict=True):
        chosen = logits[np.array(begins, dtype=np.int64) + 1]  # the first token is [CLS]
        of_sentences.setdefault(sentence, []).append(softmax(chosen))
    return [np.concatenate(parts) for _, parts in sorted(of_sentences.items())]
