"""Trains a small model of every family, seconds each, and writes a page of `transduce look` for each.

python docs/site/gallery.py build/gallery [NAME ...]
"""

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

import transduce
from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated.grammar import derive_pairs
from transduce.corpora.generated.lexicon import NAMES, PAST_TIMES, PLACES, PRESENT_TIMES, VERBS

if TYPE_CHECKING:  # the pages need no PyTorch
    from transduce.analysis.look_at_text import Look

PAST = {"was", "were", "did", *(verb.past.split()[0] for verb in VERBS)}
PLACE = re.compile(rf"(?:{'|'.join(english for english, _ in PLACES)})\b")
TIME = re.compile("|".join(sorted({**dict(PRESENT_TIMES), **dict(PAST_TIMES)}, key=len, reverse=True)), re.IGNORECASE)

SMALL = {
    "tokenizer": {"kind": "words", "min_frequency": 1},
    "training": {"label_smoothing": 0.0},
    "optimizer": {"schedule": {"kind": "linear", "warmup": 40}},
}
TRANSLATION = {
    "data": {"source": "en", "target": "de"},
    "tokenizer": {"shared": False},
    "batching": {"target_tokens": 1000},
    "optimizer": {"learning_rate": 1e-2},
}
LANGUAGE = {"task": "language", "data": {"train": "sentences.txt", "language": "en"}}
STREAM = {"batching": {"window": 32, "target_tokens": 1000}, "optimizer": {"learning_rate": 6e-3}}
ENCODER = {
    "model": {"kind": "bert", "layers": 2, "dim": 64, "heads": 4, "max_positions": 64},
    "optimizer": {"kind": "adamw", "learning_rate": 3e-3},
}
READING = {
    "data": {"language": "en"},
    "tokenizer": {"kind": "bert", "lowercase": True, "size": 400, "min_frequency": None},
    "batching": {"tokens": 1000, "max_tokens": 48},
}
SIZE = {"layers": 2, "dim": 64, "heads": 4, "feed_forward_dim": 128}
WRITER = {"encoder_layers": 2, "decoder_layers": 2, "dim": 64, "heads": 4, "feed_forward_dim": 128}


@dataclass(frozen=True)
class Exhibit:
    """A page of the gallery, and the model that it shows."""

    name: str
    """Name of the page's file, without ending."""
    title: str
    text: str
    """Markdown that says what to look at."""
    settings: tuple[Mapping[str, Any], ...]
    """Settings of the model; later ones take precedence."""
    look: "Callable[[Any], Look]"
    """Looks with the trained model."""
    height: int = 760
    """Height of its frame, in pixels."""


EXHIBITS = [
    Exhibit(
        "transformer",
        "Transformer",
        "Encoder and decoder of two layers. Choose *Cross* and point at *gefolgt*: German puts the verb at the end, "
        "and the decoder looks back at *follow*. Under *Search* the beam is drawn as a tree.",
        (
            TRANSLATION,
            {"model": {"kind": "transformer", **WRITER, "positions": "rotary"}, "training": {"updates": 250}},
        ),
        lambda model: model.look("Did the small dogs follow the doctor?"),
    ),
    Exhibit(
        "bahdanau",
        "Recurrent, with Bahdanau's attention",
        "A GRU in both directions reads, another writes. There is one map of weights: where the decoder "
        "looked before it wrote "
        "each word.",
        (
            TRANSLATION,
            {
                "model": {
                    "kind": "recurrent",
                    "dim": 64,
                    "encoder_dim": 64,
                    "decoder_dim": 96,
                    "attention": {"kind": "bahdanau"},
                },
                "training": {"updates": 250},
            },
        ),
        lambda model: model.look("Did the small dogs follow the doctor?"),
    ),
    Exhibit(
        "luong",
        "Recurrent, with Luong's attention",
        "The same with attention after the recurrence, scored by a bilinear form; compare the two maps.",
        (
            TRANSLATION,
            {
                "model": {
                    "kind": "recurrent",
                    "dim": 64,
                    "encoder_dim": 64,
                    "decoder_dim": 96,
                    "attention": {"kind": "luong", "score": "general"},
                },
                "training": {"updates": 250},
            },
        ),
        lambda model: model.look("Did the small dogs follow the doctor?"),
    ),
    Exhibit(
        "causal",
        "Language model",
        "A Transformer that continues a text, token by token. Each token attends to those before it: the "
        "maps are triangles.",
        (LANGUAGE, STREAM, {"model": {"kind": "causal-transformer", **SIZE}, "training": {"updates": 250}}),
        lambda model: model.look("The small dogs followed"),
    ),
    Exhibit(
        "transformer-xl",
        "Transformer-XL",
        "Attention by distance, with a memory of earlier segments. In the first layer, look for heads that "
        "prefer one distance.",
        (LANGUAGE, STREAM, {"model": {"kind": "transformer-xl", **SIZE, "memory": 32}, "training": {"updates": 250}}),
        lambda model: model.look("The small dogs followed"),
    ),
    Exhibit(
        "xlnet",
        "XLNet",
        "Two streams of attention a layer: that of the content, which sees a token, and that of the query, "
        "which predicts it "
        "and must not. The continuation is given: a model of all orders, trained for seconds, writes a poor one.",
        (LANGUAGE, STREAM, {"model": {"kind": "xlnet", **SIZE, "memory": 32}, "training": {"updates": 300}}),
        lambda model: model.look("The small dogs followed", " the doctor."),
    ),
    Exhibit(
        "bert",
        "BERT: hidden words",
        "A text is read from both sides, and the guesses at its hidden words are shown. Point at a `[MASK]` "
        "for the runners-up.",
        (
            READING,
            ENCODER,
            {
                "task": "encoder",
                "data": {"train": "apart.txt"},
                "next_sentence": False,
                "tokenizer": {"size": None, "max_size": 900},
                "model": ENCODER["model"] | {"dropout": 0.0, "attention_dropout": 0.0},
                "optimizer": {"learning_rate": 2e-3},
                "training": {"updates": 600},
            },
        ),
        lambda model: model.look("The small [MASK] followed the [MASK] today."),
    ),
    Exhibit(
        "classes",
        "BERT: classes",
        "It tells whether a sentence is about the past. *Leaving tokens out* shows what that rests on.",
        (
            READING,
            ENCODER,
            {"task": "classification", "data": {"train": "tense.tsv"}, "training": {"updates": 150}},
        ),
        lambda model: model.look("Did we sleep at the school in the morning?"),
    ),
    Exhibit(
        "tags",
        "BERT: tags",
        "Names and places are tagged, word by word.",
        (READING, ENCODER, {"task": "tagging", "data": {"train": "tagged.conll"}, "training": {"updates": 150}}),
        lambda model: model.look("Did Martin sleep at the station?"),
    ),
    Exhibit(
        "answers",
        "BERT: answers",
        "Question and passage are read together; the answer is where a beginning and an end are likeliest. "
        "Ask *When?* and the "
        "same model points elsewhere.",
        (READING, ENCODER, {"task": "answering", "data": {"train": "asked.json"}, "training": {"updates": 400}}),
        lambda model: model.look("Where?", "The small colleague cooked my apple at the school in the morning."),
    ),
    Exhibit(
        "encoder",
        "Transformer encoder: scores",
        "An encoder as a translation model has it, with a head that counts the words of a sentence. A score "
        "has no probability.",
        (
            READING,
            {
                "task": "classification",
                "predict": "score",
                "pooling": "mean",
                "data": {"train": "words.tsv"},
                "model": {"kind": "transformer-encoder", **SIZE},
                "optimizer": {"kind": "adamw", "learning_rate": 3e-3},
                "training": {"updates": 200},
            },
        ),
        lambda model: model.look("The bird follows two small mothers at the lake."),
    ),
]


def words_of(text: str) -> list[str]:
    """Returns the words of an English sentence in small letters."""
    return re.findall(r"[\w']+", text.lower())


@cache
def derived() -> list[SentencePair]:
    """Returns sentences of the built-in grammar, English and German."""
    return derive_pairs(20_000, seed=1)


@cache
def pairs() -> list[SentencePair]:
    """Returns short sentences of frequent words: what a small model learns in seconds."""
    counts = Counter(word for pair in derived() for word in words_of(pair.source))
    frequent = {word for word, _ in counts.most_common(170)}
    return [pair for pair in derived() if len(words := words_of(pair.source)) < 9 and frequent.issuperset(words)]


def merged(*trees: Mapping[str, Any]) -> dict[str, Any]:
    """Returns nested tables merged, in which later values take precedence; None removes one."""
    result: dict[str, Any] = {}
    for tree in trees:
        for key, value in tree.items():
            is_table = isinstance(value, Mapping)
            result[key] = merged(result.get(key, {}), value) if is_table and key not in ("model", "schedule") else value
            if value is None:
                del result[key]
    return result


def write_texts(folder: Path) -> None:
    """Writes the files that the exhibits' models learn from, all made of sentences of the built-in grammar."""

    sentences = [pair.source for pair in pairs()]

    def write(name: str, lines: Iterable[str]) -> None:
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    write("sentences.txt", sentences)
    write("apart.txt", (f"{text}\n" for text in sentences))  # each a document of its own
    write("tense.tsv", (f"{text}\t{'past' if PAST & set(text.lower().split()) else 'present'}" for text in sentences))
    write("words.tsv", (f"{text}\t{len(text.split())}" for text in sentences))
    names, places = {name.english for name in NAMES}, {english.split()[-1] for english, _ in PLACES}
    write(
        "tagged.conll",
        (
            "".join(f"{word} {'B-name' if word in names else 'B-place' if word in places else 'O'}\n" for word in words)
            for words in (re.findall(r"\w+|[^\w\s]", text) for text in sentences)
        ),
    )
    asked = []
    for number, text in enumerate(pair.source for pair in derived()):
        found = {"Where?": PLACE.search(text), "When?": TIME.search(text)}
        questions = [
            {
                "id": f"{number} {question}",
                "question": question,
                "answers": [{"text": match[0], "answer_start": match.start()}],
            }
            for question, match in found.items()
            if match
        ]
        asked.append({"context": text, "qas": questions})
    asked = [passage for passage in asked if len(passage["qas"]) == 2]
    write("asked.json", [json.dumps({"data": [{"paragraphs": asked}]})])


def make(exhibit: Exhibit, texts: Path, page: Path) -> str:
    """Trains an exhibit's model, writes its page, and returns a line about both."""
    settings = merged(SMALL, *exhibit.settings, {"training": {"precision": "float32"}})
    page = page.resolve()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):  # a page has the name of its run
        if settings.get("task"):
            recipe = texts / f"{exhibit.name}.toml"
            recipe.write_text(tomli_w.dumps(settings), encoding="utf-8")
            result = transduce.train(recipe, exhibit.name)
        else:
            settings["data"]["validation"] = pairs()[:200]
            result = transduce.train(pairs()[200:], exhibit.name, overrides=settings)
        look = exhibit.look(transduce.load(exhibit.name))
        look.save(page)
        look.save(page.with_suffix(".json"))
    scores = ", ".join(f"{name} {score:.3g}" for name, score in result.validation.items())
    return f"{exhibit.name}: {result.seconds:.0f} s; {scores}; {look.target.text}"


def make_all(folder: Path, names: Iterable[str] = ()) -> None:
    """Makes the pages of a gallery that are older than this file, or those of some names."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as texts:
        write_texts(Path(texts))
        for exhibit in EXHIBITS:
            page = folder / f"{exhibit.name}.html"
            is_current = page.exists() and page.stat().st_mtime > Path(__file__).stat().st_mtime
            if exhibit.name in names or not (names or is_current):
                print(make(exhibit, Path(texts), page), flush=True)


def markdown() -> str:
    """Returns the gallery's page for the site, whose frames show the exhibits."""
    frames = (
        f"## {exhibit.title}\n\n{exhibit.text}\n\n"
        f'<iframe class="look" src="gallery/{exhibit.name}.html" title="{exhibit.title}" loading="lazy" '
        f'style="height: {exhibit.height}px"></iframe>\n\n[Open it alone](gallery/{exhibit.name}.html)\n'
        for exhibit in EXHIBITS
    )
    introduction = (
        "Each frame is a page of [`transduce look`](look.md): one file that needs no network, made when this "
        "site was built by a "
        "model that trained for some seconds on sentences of the built-in grammar. Point at tokens and "
        "cells, choose layers and heads.\n"
    )
    return "\n".join(["# Gallery\n", introduction, *frames])


if __name__ == "__main__":
    make_all(Path(sys.argv[1]), sys.argv[2:])
