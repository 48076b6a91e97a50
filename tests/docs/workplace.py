"""A folder in which documented examples run: small files and runs under the names that the pages use."""

import argparse
import gzip
import io
import re
import runpy
import shlex
import shutil
import sys
import tomllib
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sentencepiece
import tomli_w
import transformers
from pages import ROOT, Example

from bert_folder import write_bert
from gpt2_folder import write_gpt2
from m2m100_folder import write_nllb
from marian_folder import write_marian
from transduce.apps.cli.main import app, run
from transduce.apps.exchange.ctranslate2 import ctranslate2_engine
from transduce.base.task_table import find_task
from transduce.corpora import splits as datasets
from transduce.corpora.catalogue.registry import DATASETS
from transduce.corpora.corpus import SentencePair
from transduce.corpora.generated.grammar import derive_pairs, split_pairs
from transduce.experiment import Recipe, from_words, load_recipe
from transduce.experiment import run as running
from transduce.experiment.machine import Machine
from transduce.experiment.recipe import find_recipe
from transduce.experiment.training_plan import plan
from transduce.inference.engines import pytorch as decoding
from transduce.search.search_settings import limits_for
from transduce.training.memory_check import MemoryCheck
from xlnet_folder import write_xlnet

SIZES = {"train": 40, "dev": 3, "test": 5}  # sentence pairs
MINE = 120  # pairs of the files that a user is taken to have
SMALL_DIM = 16
MAX_TOKENS = 9  # of an output: such models do not know where one ends

LANGUAGE_MODELS = {"shakespeare", "novels", "novel"}
"""Names of runs that pages use for language models."""

NOT_RUN = {
    r"^git clone": "needs the network",
    r"^pip (install|wheel)": "needs the network",
    r"^transduce data get": "needs the network",
    r"--metric comet": "needs the network",
    r"^make (?!\w+$)|^make": "makes what other examples show; its targets are looked up",
    r"^torchrun": "needs several machines",
    r"training\.observers": "needs a tracker's package, as tests/training/test_trackers.py does",
    r"^ray |--ray": "starts a cluster, as tests/cluster/test_jobs.py does",
    r"--why (?!\w+ssss)": "asks about a word that the stand-in does not write; tests/analysis/test_why.py does",
    r"--processes": "starts processes, as tests/training/test_distributed.py does",
    r"--compile": "compiles for minutes, as tests/inference/test_compiled.py does",
    r"^transduce import \w+-NLP/": "needs the network",
    r"^transduce extend": "needs text of another language, as tests/experiment/test_new_language.py has",
    r"--then|--through": "needs models of several languages, as tests/inference/test_pivot.py has",
    r"\.argosmodel (input|-o models)": "needs a package, as tests/exchange/test_argos.py has",
    r"^transduce quickstart": "trains for minutes",
    r"^transduce data forecast": "needs more pairs, as tests/cli/test_data.py has",
    r"^transduce serve": "runs until it is told to end, as tests/serving/ do",
    r"\bende\b": "needs a student that ends its sentences, as tests/exchange/test_firefox.py has",
    r"--to page": "needs the engine of pages, as tests/exchange/test_translator_page.py does",
    r"^transduce push .*--yes": "uploads, as tests/exchange/test_pushing.py does",
    r"^transduce (distill|backtranslate)": "needs a model that has learned, as tests/experiment/test_distill.py has",
    r"--reverse": "needs a model of the other direction, as tests/cli/test_looking.py has",
    r"^python benchmarks/": "takes minutes; its options are read",
    r"^python tests/documents/survey": "takes minutes",
}
"""Commands that are only read: what they match, and why."""


class _Read(Exception):  # noqa: N818 - no failure
    """The options of a script were read."""


@dataclass
class Workplace:
    """Runs examples in a folder, each after those before it."""

    folder: Path
    stand_in: Path
    """A run to copy where an example needs one."""
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    """What the page's Python code has defined."""

    def do(self, example: Example) -> None:
        """Run an example; whatever fails is an error of the test."""
        if example.kind == "python":
            self._python(example)
        elif example.kind == "toml":
            self._recipe(example.text)
        elif example.kind == "tsv":
            (self.folder / "terms.tsv").write_text(example.text, encoding="utf-8")
            self._command("transduce translate runs/captions input.de --glossary terms.tsv")
        elif example.kind != "command":
            return
        elif any(re.search(pattern, example.text) for pattern in NOT_RUN):
            check(example.text)
        else:
            self._command(example.text)

    def _python(self, example: Example) -> None:
        self._provide(re.findall(r"(?<!out=)\"(runs/[^\"]+)\"", example.text))
        self._clear(re.findall(r"out=\"([^\"]+)\"", example.text))
        if "resume=True" not in example.text:
            trained = re.findall(r"transduce\.train\(\[?\"([\w-]+)", example.text)
            self._clear([f"runs/{name}" for name in trained])
        exec(compile(example.text, example.where, "exec"), self.names)

    def _recipe(self, text: str) -> None:
        """Train by a recipe, or by a part of one in place of what another says there; other TOML is only read."""
        tree = tomllib.loads(text)
        started = tree.get("training", {}).get("start_from")
        self._provide([started] if started and started.startswith("runs/") else [])
        if not tree.keys() <= set(find_task(tree.get("task", "translation")).config.__struct_fields__):
            return
        base: dict[str, Any] = {
            "data": {"train": ["train.de", "train.en"], "validation": ["dev.de", "dev.en"], "source": "de"},
            "model": {"kind": "transformer"},
            "training": {"updates": 10},
        }
        if "task" in tree or {"data", "model", "training"} <= tree.keys():
            base = {}
        if started and started.startswith("runs/"):
            base.pop("model", None)
        for table, values in tree.items():
            is_new = table == "model" or not isinstance(values, dict)
            base[table] = values if is_new else base.get(table, {}) | values
        (self.folder / "mine.toml").write_text(tomli_w.dumps(base), encoding="utf-8")
        self._command("transduce train mine.toml")

    def _command(self, command: str) -> None:
        text = b""
        for words in _pipeline(command):
            for sign, name in [(sign, name) for sign, name in pairwise(words) if sign in ("<", ">")]:
                place = words.index(sign)
                words[place : place + 2] = []
                if sign == "<":
                    text = (self.folder / name).read_bytes()
            if words[0] == "echo":
                text = " ".join(words[1:]).encode() + b"\n"
            elif words[0] == "cat":
                text = (self.folder / words[1]).read_bytes()
            else:
                assert words[0] == "transduce", f"how to run {words[0]}?"
                text = self._transduce(words[1:], text)

    def _transduce(self, words: list[str], text: bytes) -> bytes:
        outputs = [word for option, word in pairwise(words) if option in ("--out", "-o")]
        self._provide([word for word in words if word.startswith("runs/") and word not in outputs])
        if words[0] == "train" and not outputs:
            outputs = [str(from_words(_read_options(words)["recipe"]).default_run)]
        if words[0] == "train" and "--resume" in words:
            self._provide(outputs)
        else:
            self._clear(outputs)
        streams = sys.stdin, sys.stdout, sys.stderr
        sys.stdin, sys.stdout, sys.stderr = (io.TextIOWrapper(io.BytesIO(told)) for told in (text, b"", b""))
        try:
            status = run(lambda: app(words))
            found, errors = sys.stdout, sys.stderr
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
        found.flush()
        errors.flush()
        assert status == 0, errors.buffer.getvalue().decode()  # type: ignore[attr-defined]
        return found.buffer.getvalue()  # type: ignore[attr-defined, no-any-return]

    def _provide(self, runs: list[str]) -> None:
        """Put the stand-in where a run is not there yet."""
        for name in runs:
            run_name = name.removesuffix("/average").removesuffix("/model")
            if not (self.folder / run_name).exists():
                ending = "-language" if Path(run_name).name in LANGUAGE_MODELS else ""
                shutil.copytree(f"{self.stand_in}{ending}", self.folder / run_name)

    def _clear(self, outputs: list[str]) -> None:
        """Remove what another example has written, where a page shows several ways to make one thing."""
        for name in outputs:
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)


def check(command: str) -> None:
    """Read a command: its options and their values must be such as there are, and so must a recipe's settings."""
    for words in _pipeline(command):
        if words[0] == "make":
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            assert all(
                re.search(rf"^{target}:", makefile, re.MULTILINE) for target in words[1:] if "=" not in target
            ), command
        if words[0] == "python":
            _read_script(words[1:])
        if words[0] in ("transduce", "torchrun"):
            verb, *_ = words = words[words.index("transduce") + 1 :]
            options = _read_options(words)
            if verb == "train":
                from_words(options["recipe"])


def _read_options(words: list[str]) -> dict[str, Any]:
    """Let a verb read its options."""
    with app.make_context("transduce", words[:1]) as context:
        verb = app.get_command(context, words[0])
        with verb.make_context(words[0], words[1:], parent=context) as found:
            return dict(found.params)


def _read_script(words: list[str]) -> None:
    """Let a script read its options, and stop it there."""
    assert (ROOT / words[0]).is_file(), words[0]
    if "argparse" not in (ROOT / words[0]).read_text(encoding="utf-8"):
        return
    parsing = {name: getattr(argparse.ArgumentParser, name) for name in ("parse_args", "parse_intermixed_args")}

    def reader(whole: Callable[[argparse.ArgumentParser], object]) -> Callable[[argparse.ArgumentParser], None]:
        def read(parser: argparse.ArgumentParser) -> None:
            whole(parser)
            raise _Read

        return read

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
        for name, whole in parsing.items():
            patch.setattr(argparse.ArgumentParser, name, reader(whole))
        with pytest.raises(_Read):
            runpy.run_path(str(ROOT / words[0]), run_name="__main__")


def _pipeline(command: str) -> list[list[str]]:
    """The words of each command of a pipeline, or of several commands."""
    words = shlex.shlex(command, posix=True, punctuation_chars="|&<>")
    words.whitespace_split = True
    words.commenters = ""
    found: list[list[str]] = [[]]
    for word in words:
        if word in ("|", "&&"):
            found.append([])
        else:
            found[-1].append(word)
    return [_without_device(words) for words in found]


def _without_device(words: list[str]) -> list[str]:
    place = words.index("--device") if "--device" in words else len(words)
    return words[:place] + words[place + 2 :]


def shrink(recipe: Recipe) -> Recipe:
    """The same experiment, over in a second: its sizes are small, and it ends when it has all checkpoints it keeps."""
    config = recipe.config
    updates = max(config.checkpoint.keep_last, 2)
    changes: dict[str, Any] = {"training.updates": updates, "checkpoint.every_updates": 1}
    changes["validation.every_updates"] = updates
    if config.model is None or config.training.start_from is not None:  # the model is that to start from
        return find_recipe(recipe, changes)
    for name in ("dim", "feed_forward_dim", "encoder_dim", "decoder_dim", "key_dim", "value_dim"):
        size = getattr(config.model, name, None)
        if size is not None and config.model.dim > SMALL_DIM:  # else it is small already, as a run's own settings are
            changes[f"model.{name}"] = max(size // 16, 4)
    for name in ("encoder_layers", "decoder_layers", "layers"):
        if hasattr(config.model, name):
            changes[f"model.{name}"] = 1
    if hasattr(config.model, "heads"):
        changes |= {"model.heads": 2, "model.dim": SMALL_DIM}
    if config.tokenizer.kind in ("bpe", "wordpiece", "unigram"):
        changes |= {"tokenizer.size": 320, "tokenizer.max_size": None}
    if config.tokenizer.kind == "bert":
        changes |= {"tokenizer.size": None, "data.document_lines": 3}
    if hasattr(config.batching, "target_tokens") and getattr(config.batching, "sentences", None) is None:
        changes["batching.target_tokens"] = 256
    if config.data.dataset in ("copy", "reverse"):
        changes |= {f"data.sequences.{part}": 40 for part in ("train", "validation", "test")}
    return find_recipe(recipe, changes)


def make_small(patch: pytest.MonkeyPatch, data: Path) -> None:
    """Let all trainings be small, and data sets be those of a folder."""
    train = running._train
    parts = dict(zip(("train", "validation", "test"), split_pairs(derive_pairs(400, seed=5), 7, 11), strict=True))
    patch.setattr(running, "_train", lambda recipe, *others: train(shrink(recipe), *others))
    patch.setattr(running, "plot_training_curves", lambda *_: None)  # takes longer than the training
    patch.setattr(MemoryCheck, "run", lambda *_: None)  # nothing here needs much
    patch.setattr(running, "measure_machine", lambda device, *_: Machine(device.type, 1e10))
    patch.setitem(plan.__globals__, "ATTEMPTS", 0)  # at larger batches, which are most of a plan's work
    find = plan.__globals__["find_recipe"]
    patch.setitem(plan.__globals__, "find_recipe", lambda *of: shrink(find(*of)))
    for module in (decoding, ctranslate2_engine):
        patch.setattr(module, "limits_for", lambda settings, lengths, _: limits_for(settings, lengths, MAX_TOKENS))
    patch.setattr(webbrowser, "open", lambda page: True)
    patch.setattr(datasets, "_grammar_parts", lambda: parts)
    for name, dataset in DATASETS.items():
        patch.setitem(DATASETS, name, replace(dataset, sha256={}))
    patch.setenv("TRANSDUCE_DATA", str(data))


def write_files(folder: Path) -> None:
    """Write the files that examples read."""
    pairs = derive_pairs(sum(SIZES.values()), seed=7)
    ends = iter(split_pairs(pairs, SIZES["dev"], SIZES["test"]))
    for name, part in zip(SIZES, ends, strict=True):
        english, german = [pair.source for pair in part], [pair.target for pair in part]
        for language, lines in (("en", english), ("de", german)):
            text = "".join(f"{line}\n" for line in lines)
            (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
            (folder / f"{name}.{language}.gz").write_bytes(gzip.compress(text.encode()))
        tsv = "".join(f"{source}\t{target}\n" for source, target in zip(german, english, strict=True))
        (folder / f"{name}.tsv").write_text(tsv, encoding="utf-8")
    for number, pair in enumerate(derive_pairs(MINE, seed=11)):
        for language, line in (("en", pair.source), ("de", pair.target)):
            with (folder / f"mine.{language}").open("a" if number else "w", encoding="utf-8") as file:
                file.write(f"{line}\n")
    shutil.copy(folder / "mine.de", folder / "mine.fr")
    shutil.copy(folder / "mine.en", folder / "novel.txt")
    shutil.copy(folder / "train.tsv", folder / "pairs.en-fr.tsv")
    (folder / "part-1.tsv.gz").write_bytes(gzip.compress((folder / "train.tsv").read_bytes()))
    table = (folder / "train.tsv").read_text(encoding="utf-8").replace("\t", '","').replace("\n", '"\n7,"')
    (folder / "pairs.csv").write_text(
        f'id,german,english\n7,"{table.removesuffix(chr(10) + "7," + chr(34))}\n', "utf-8"
    )
    shutil.copy(folder / "test.de.gz", folder / "input.de.gz")
    for stem in ("input", "captions"):
        shutil.copy(folder / "test.de", folder / f"{stem}.de")
    for stem in ("output", "outputs", "baseline"):
        shutil.copy(folder / "test.en", folder / f"{stem}.en")
    shutil.copy(folder / "test.en.gz", folder / "other.en.gz")
    shutil.copy(folder / "test.tsv", folder / "pairs.tsv")
    shutil.copy(folder / "train.tsv", folder / "captions.tsv")
    for language in ("de", "en"):
        for stem, copied in (("train", "news"), ("train", "general"), ("dev", "general-dev"), ("test", "general-test")):
            shutil.copy(folder / f"{stem}.{language}", folder / f"{copied}.{language}")
    (folder / "terms.txt").write_text("Tachykardie\ntachycardia\n", encoding="utf-8")
    for stem in ("first", "second", "third", "other", "lines"):
        shutil.copy(folder / "train.en", folder / f"{stem}.txt")
    (folder / "prompts.txt").write_text("The dog\nA cat\n", encoding="utf-8")
    (folder / "begun.en").write_text("The\n" + "\n" * (SIZES["test"] - 1), encoding="utf-8")
    write_gpt2(folder / "gpt2")
    sides = [[pair.target for pair in pairs], [pair.source for pair in pairs]]
    write_marian(transformers, sentencepiece, folder / "opus-mt-de-en", sides)
    shutil.copy(folder / "opus-mt-de-en" / "source.spm", folder / "mine.model")
    write_nllb(transformers, sentencepiece, folder / "nllb", [*sides[0], *sides[1]], size=80)
    write_bert(folder / "minilm")
    write_xlnet(folder / "xlnet")
    write_labelled(folder)
    write_documents(folder, pairs)
    edits = "".join(f"{pair.target}\tThe {pair.source}\t{pair.source}\n" for pair in pairs)
    (folder / "edits.tsv").write_text(edits, encoding="utf-8")
    (folder / "terms.tsv").write_text("Hund\thound\nFahrrad\tbicycle\n\tugly\tban\n", encoding="utf-8")


def write_labelled(folder: Path) -> None:
    """Write the labelled files that examples read."""
    texts = ["a moving film", "a boring film", "what a story", "dull and long"]
    rows = [f"{text}\t{'good' if i % 2 == 0 else 'bad'}\n" for i, text in enumerate(texts)]
    (folder / "reviews.tsv").write_text("".join(rows * 10), encoding="utf-8")
    for name in ("reviews", "texts", "questions"):
        (folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    (folder / "tagged.conll").write_text("Ada\tB-person\nlives\tO\n\nin\tO\nLondon\tB-place\n\n" * 10)
    (folder / "asked.json").write_text(msgspec.json.encode(squad()).decode(), encoding="utf-8")
    (folder / "passage.txt").write_text("Ada lives in London.\n", encoding="utf-8")
    for name in ("book.txt", "wikitext.txt"):
        (folder / name).write_text(("the dog sees the cat\n" * 4 + "\n") * 60, encoding="utf-8")


def squad() -> dict[str, Any]:
    """A file in the form of SQuAD's."""
    answer = {"text": "London", "answer_start": 13}
    asked = [{"id": str(i), "question": "Where does Ada live?", "answers": [answer]} for i in range(20)]
    passages = [
        {"context": "Ada lives in London.", "qas": asked},
        {"context": "Ada lives in London again.", "qas": asked},
    ]
    return {"data": [{"paragraphs": passages}]}


def write_documents(folder: Path, pairs: list[SentencePair]) -> None:
    """Write documents from German, and translation memories and subtitles of both languages."""
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    (folder / "strings.po").write_text(f'{header}msgid "Der %s schläft."\nmsgstr ""\n', encoding="utf-8")
    (folder / "page.html").write_text("<p>Der <b>Hund</b> schläft.</p>\n", encoding="utf-8")
    unit = "<trans-unit id='1'><source>Der Hund</source></trans-unit>"
    xliff = f"<xliff version='1.2'><file source-language='de' target-language='en'><body>{unit}</body></file></xliff>"
    (folder / "strings.xlf").write_text(xliff, encoding="utf-8")
    (folder / "table.csv").write_text("id,text,english\n1,Der Hund schläft.,\n", encoding="utf-8")
    units = "".join(
        f'<tu><tuv xml:lang="de"><seg>{pair.target}</seg></tuv><tuv xml:lang="en"><seg>{pair.source}</seg></tuv></tu>'
        for pair in pairs
    )
    (folder / "memory.tmx").write_text(f'<tmx version="1.4"><body>{units}</body></tmx>', encoding="utf-8")
    for name, texts in (
        ("film.srt", [pair.target for pair in pairs[:2]]),
        ("movie.de.srt", [pair.target for pair in pairs]),
        ("movie.en.srt", [pair.source for pair in pairs]),
    ):
        cues = (f"{i}\n00:{i:02}:00,000 --> 00:{i:02}:30,000\n{text}\n\n" for i, text in enumerate(texts))
        (folder / name).write_text("".join(cues), encoding="utf-8")


def write_data(folder: Path, texts: Path) -> None:
    """Write small data sets of the layouts of those that examples name, made of the files in another folder."""

    def lines_of(name: str, language: str) -> list[str]:
        lines = (texts / f"train.{'en' if language == 'en' else 'de'}").read_text(encoding="utf-8").splitlines()
        return lines[: SIZES["test"]] if re.match("val|test|newstest", name) else 2 * lines

    for dataset in (DATASETS["multi30k"], DATASETS["newstest"], DATASETS["wmt14-en-de"]):
        (folder / dataset.name).mkdir(parents=True)
        for pattern in {file for files in dataset.splits.values() for file in files}:
            for language in dataset.languages:
                name = pattern.format(language=language)
                lines = lines_of(name, language)
                if name.endswith(".sgm"):
                    lines = [f'<seg id="{number}"> {line} </seg>' for number, line in enumerate(lines, 1)]
                text = "".join(f"{line}\n" for line in lines).encode()
                (folder / dataset.name / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    tatoeba = [f"I am {number}.\tJ'ai {number} ans.\n" for number in ("one", "two", "three", "four", "five", "six")]
    tatoeba += [line.replace("I am", "He is").replace("J'ai", "Il a") for line in tatoeba]
    (folder / "tatoeba-eng-fra").mkdir()
    lines = DATASETS["tinyshakespeare"].lines["train"][1]
    assert lines is not None
    (folder / "tinyshakespeare").mkdir()
    (folder / "tinyshakespeare" / "input.txt.gz").write_bytes(gzip.compress(b"To be\n" * (lines + 30)))
    for name, parts in {"sst2": "train dev test", "ptb": "ptb.train ptb.valid ptb.test"}.items():
        (folder / name).mkdir()
        for part in parts.split():
            ending, line = ("tsv", "a moving film\t1\na dull one\t0\n") if name == "sst2" else ("txt", "the dog sees\n")
            (folder / name / f"{part}.{ending}.gz").write_bytes(gzip.compress((line * 300).encode()))
    for language in ("de", "en"):
        (folder / "bible-en-de").mkdir(exist_ok=True)
        lines = [f"{line} {number}" for number in range(9) for line in lines_of("train", language)]
        name = f"bible-uedin-v1.{language}.gz"
        (folder / "bible-en-de" / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    (folder / "sick").mkdir()
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    rows = "1\ta dog runs\tan animal runs\t4.5\tENTAILMENT\n2\ta dog runs\ta cat\t1.2\tNEUTRAL\n" * 20
    for file in ("SICK_train", "SICK_trial", "SICK_test_annotated"):
        (folder / "sick" / f"{file}.txt.gz").write_bytes(gzip.compress((header + rows).encode()))
    (folder / "wnut17").mkdir()
    for file in ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated"):
        (folder / "wnut17" / f"{file}.gz").write_bytes(gzip.compress(b"Ada\tB-person\nlives\tO\n\n" * 30))
    (folder / "squad").mkdir()
    for file in ("train-v1.1.part", "xquad.en", "xquad.de"):
        (folder / "squad" / f"{file}.json.gz").write_bytes(gzip.compress(msgspec.json.encode(squad())))
    (folder / "tatoeba-eng-fra" / "eng-fra.txt.gz").write_bytes(gzip.compress("".join(tatoeba * 4).encode()))


def train_stand_in(folder: Path) -> Path:
    """Train the runs that others are copies of: of a translation model, and of a language model."""
    running.train(load_recipe("shakespeare"), folder / "stand-in-language")
    recipe = load_recipe("multi30k")
    return running.train(replace(recipe, folder=folder), folder / "stand-in").run
