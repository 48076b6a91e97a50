"""What takes a stranger's text, a line of data or a request, takes time and memory that are at most linear in it.

    python tests/test_linear_texts.py [NAME ...]

tries them with texts of 100,000 characters, and prints the slowest.
"""

import contextlib
import itertools
import sys
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

import pytest

from docsegments.sentences import ends_sentence, split_sentences
from docsegments.text.written_numbers import changes, numbers_in
from growth import CHARACTER, NUMBER, Attack, Rule, growths
from transduce.apps.serving.detection import Detector
from transduce.base.errors import TransduceError
from transduce.corpora.cleaning import Length, Prefix, Ratio, Script, cleaning_filters
from transduce.corpora.corpus import SentencePair
from transduce.corpora.formats import parallel_files, references_in
from transduce.corpora.labelled_text import LabelColumns, labelled_file
from transduce.corpora.questions import question_corpus
from transduce.corpora.splitting import letters_of
from transduce.corpora.tagged_sentences import TagColumns, tagged_corpus
from transduce.evaluation.labels import word_f1
from transduce.evaluation.translations import count_bleu, count_chrf
from transduce.inference.tagger import WORD
from transduce.text.chrf import pairwise_chrf
from transduce.text.detokenization import detokenize
from transduce.text.glossary import Entry, Glossary
from transduce.text.long_texts import split_text
from transduce.text.phrase_encoder import ends_with, holds
from transduce.text.running_text import encode_running
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import TokenizerConfig, TokenizerKind
from transduce.text.tokenizer_training import train_tokenizer

pytestmark = pytest.mark.slow

KINDS = [kind for kind in get_args(TokenizerKind) if kind != "file"]
TEXTS = ["The dog sees 2 cats, e.g. a man's.", "Der Hund schläft. Ein Mann (alt) singt!", "狗看见猫。"] * 3
UNITS = (
    *"a1.,!?'\"’“( -_@%&\t\n\r\0…。！」あ漢\u0301\u0327\u0345\u200d\u3000\u2028\U0001f600\ufdd0▁ß",
    *(
        "e\u0301",
        "\u0301\u0327",
        "Mr. ",
        "1. ",
        "a. ",
        ". ",
        ".. ",
        '! "',
        "?” ",
        "a.b.",
        "e.g. ",
        "。 ",
        "a ",
        "ab",
        "1,0",
    ),
    *(
        "1.000",
        "<pad>",
        "[MASK] ",
        "<0x41>",
        "don't ",
        "l'a ",
        "a-b-",
        "x\n",
        "\n\n",
        "B-a ",
        "a\tO\n",
        "abcdefghi",
        "dog",
    ),
    *(
        '{"a": ',
        "[",
        '{"text": "a", "label": "b"}\n',
        '"',
        "\\u0301",
        "<seg ",
        "<seg>a</seg>",
        "<doc docid='",
        "\r\n",
        " \u0301",
        "\ud800",
    ),
    *(CHARACTER, f"{NUMBER} ", f"a{NUMBER}\n", f'"{NUMBER}": 1, '),
    *("dog ", "The dog", "the the ", "q", "ﬁ", "Å", "각", "½", "İ", "१", "🇩🇪", "👩‍👩‍👧"),
)
QUICK = Rule(screened=(100, 400), lengths=(1_000, 4_000, 16_000), slowest=2)


@cache
def tokenizer(kind: str) -> Tokenizer:
    """A small one of a kind."""
    return train_tokenizer(_config(kind, size=None), TEXTS)


def _encodes(kind: str) -> Callable[[str], object]:
    made = tokenizer(kind)

    def run(text: str) -> object:
        ((ids, places),) = made.encode_with_places([text])
        assert len(ids) == len(places)
        return made.decode(ids), made.words_of(text), encode_running(made, text)

    return run


def _learns(kind: str) -> Callable[[str], object]:
    config = _config(kind)
    return lambda text: train_tokenizer(config, [*TEXTS, text])


def _config(kind: str, **choices: Any) -> TokenizerConfig:
    if kind == "sentencepiece":
        choices["normalize"] = "NFKC"
    return TokenizerConfig(kind=kind, min_frequency=1, **choices)  # type: ignore[arg-type]


def _reads(name: str, read: Callable[[Path], object]) -> Callable[[str], object]:
    path = Path(tempfile.mkdtemp()) / name

    def run(text: str) -> object:
        path.write_bytes(text.encode(errors="surrogatepass"))
        return read(path)

    return run


def _filters() -> Callable[[str], object]:
    steps = [
        Length(max_words=10),
        Ratio(),
        Script(side="source", scripts=["Latin"]),
        Prefix(side="source", prefixes=["a "]),
    ]
    return lambda text: [
        keeps(SentencePair(text, text)) for one in cleaning_filters(steps, []) for keeps in [one.start()]
    ]


def _glossary() -> Callable[[str], object]:
    glossary = Glossary([Entry("dog", "Hund"), Entry("a b", "c", is_banned=True), Entry("", "x")])
    return lambda text: glossary.applying(text)


FUNCTIONS: dict[str, Callable[[], Callable[[str], object]]] = {
    **{f"tokenizer {kind}": lambda kind=kind: _encodes(kind) for kind in KINDS},  # type: ignore[misc]
    **{f"training {kind}": lambda kind=kind: _learns(kind) for kind in KINDS},  # type: ignore[misc]
    "sentences": lambda: lambda text: ([*split_sentences(text)], ends_sentence(text)),
    "long texts": lambda: lambda text: split_text(text, tokenizer("bpe"), 20),
    "phrases": lambda: lambda text: [(holds(text, one), ends_with(text, one)) for one in ("a", "dog a", "a" * 9, "(")],
    "a phrase": lambda: lambda text: (holds("the dog sees a cat " * 9, text), ends_with("the dog", text)),
    "glossary": _glossary,
    "words": lambda: lambda text: (detokenize(text.split()), detokenize(list(text))),
    "letters": lambda: letters_of,
    "detection": lambda: partial(Detector().detect, served=["de", "en"]),
    "chrF of outputs": lambda: lambda text: pairwise_chrf([text, text[::2], "a dog"]),
    "BLEU": lambda: lambda text: count_bleu([text], [text[::2]]),
    "chrF": lambda: lambda text: count_chrf([text], [text[::2]]),
    "numbers": lambda: numbers_in,
    "changed numbers": lambda: lambda text: changes(text, text[::2], ("de", "en")),
    "answers": lambda: lambda text: word_f1(text, text[::2]),
    "words to tag": lambda: lambda text: [*WORD.finditer(text)],
    "filters": _filters,
    "lines": lambda: _reads("a.tsv", lambda path: [*parallel_files([path, path.with_name("a.tsv")]).read()]),
    ".tsv": lambda: _reads("a.tsv", lambda path: [*parallel_files([path]).read()]),
    ".jsonl": lambda: _reads("a.jsonl", lambda path: [*parallel_files([path]).read()]),
    ".sgm": lambda: _reads("a.sgm", lambda path: [*parallel_files([path, path]).read()]),
    ".sgm of references": lambda: _reads("a.sgm", references_in),
    "labelled .tsv": lambda: _reads("a.tsv", lambda path: [*labelled_file(path, LabelColumns())]),
    "labelled .jsonl": lambda: _reads("a.jsonl", lambda path: [*labelled_file(path, LabelColumns())]),
    "tagged": lambda: _reads("a.conll", lambda path: [*tagged_corpus(path, TagColumns()).read()]),
    "tagged .jsonl": lambda: _reads("a.jsonl", lambda path: [*tagged_corpus(path, TagColumns()).read()]),
    "questions": lambda: _reads("a.json", lambda path: [*question_corpus(path).read()]),
}
"""What makes each function."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_texts_take_linear_time_and_memory(name: str) -> None:
    wrong = [str(growth) for _, growth in growths(make, [name], rule=QUICK) if not growth.is_linear]
    assert not wrong, f"{name}: {wrong}"


def make(name: str) -> tuple[Callable[[str], object], list[Attack]]:
    """A function of the table, and the texts that it is tried with."""
    function = FUNCTIONS[name]()

    def run(text: str) -> None:
        with contextlib.suppress(TransduceError, UnicodeEncodeError):
            function(text)

    attacks = [Attack((unit,), head, tail) for unit in UNITS for head, tail in (("", ""), ("The dog", "."))]
    attacks += [Attack((one + other,)) for one, other in itertools.permutations(UNITS[::9], 2)]
    attacks += [Attack((one, other)) for one, other in itertools.permutations(UNITS[5::13], 2)]
    return run, attacks[:: 3 if name.startswith("training") else 1]  # to learn from a text takes longer than to read it


if __name__ == "__main__":
    for chosen, growth in growths(make, sys.argv[1:] or list(FUNCTIONS), rule=Rule(slowest=3)):
        print(f"{chosen}: {'' if growth.is_linear else 'NOT LINEAR '}{growth}", flush=True)
