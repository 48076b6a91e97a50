"""Packages for Argos Translate and LibreTranslate, out of a bundle and in, with the same tokens."""

import shutil
import tempfile
import zipfile
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec

from docsegments.language_codes import english_name
from transduce.apps.exchange.ctranslate2.ctranslate2_model import adds_source_end, require_ctranslate2
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import load_exportable, samples_of, write_ctranslate2
from transduce.apps.exchange.ctranslate2.package import ENDING, write_package
from transduce.base.config import Settings
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import check_absent, made_parents, new_file
from transduce.base.verification import CARD
from transduce.bundle.model_bundle import ModelBundle, card_of
from transduce.corpora.languages import UNKNOWN, is_tag
from transduce.inference.engines.exported import ExportedModel, Parity, Quantization
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.text.sentencepiece_writing import require_sentencepiece, what_cannot_be_written, write_sentencepiece
from transduce.text.tokenizer import SPACE, Tokenizer

ARGOS_VERSION = "1.9.0"
"""The first version that reads such packages with any later one."""
SAMPLES = ("Hello, world!", "Der Äquator, 12,345.67", "  two  spaces ", "北京, здравствуйте")
"""Texts whose tokens are compared."""
SEARCH = Beam(size=4, length_penalty=0.2, normalization="power")
"""The search of Argos Translate."""


class ArgosCertificate(Settings, frozen=True):
    """A record of the comparison made when a package was exported."""

    sentences: int
    """The number of sentences translated by the model, and by the package as Argos Translate does."""
    identical: int
    """The number of identical translations, by the beam search of each; all sources have the same tokens."""
    identical_by_default: int
    """The number of identical ones when Argos Translate chooses its computing type, 8-bit integers on most processors,
    as it does unless ARGOS_COMPUTE_TYPE says otherwise."""
    parity: Parity
    """The agreement of greedy outputs, token by token."""
    quantization: Quantization
    """The type in which weights are stored."""
    compared_with: str
    """The libraries and their versions."""

    def describe(self) -> str:
        """Returns one line for people."""
        return (
            f"compared with {self.compared_with}: the same tokens of {self.sentences} sentences; of their translations "
            f"{self.identical} are the model's, {self.identical_by_default} where Argos Translate chooses what it "
            f"computes in; {self.parity.identical} of {self.parity.sentences} greedy outputs are the model's"
        )


class ArgosImport(Settings, frozen=True):
    """A record of a package that was read."""

    source: str
    target: str
    quantization: str
    """The type in which weights are stored."""
    sentences: int
    """The number of texts that SentencePiece and the tokenizer divided; 0 where SentencePiece is not installed."""
    identical: int
    """The number of these texts that SentencePiece and the tokenizer split identically."""

    def describe(self) -> str:
        """Returns one line for people."""
        same = f"SentencePiece divides {self.identical} of {self.sentences} texts alike"
        compared = same if self.sentences else "not compared with SentencePiece, which is not installed"
        return f"{self.source}-{self.target}, weights in {self.quantization}, run by CTranslate2; {compared}"


def import_argos(package: Path, output: Path) -> ArgosImport:
    """Writes the folder of an exported model with a package's weights as they are, and compares its tokens.

    Args:
        package: a file .argosmodel, or the folder of one that is installed.
        output: the folder to write; must not exist.

    Raises InputError for a package with what is not supported, or if the folder exists; CheckpointError for a damaged
    one.
    """
    check_absent(output)
    model = ExportedModel.load(write_package(package, output))
    texts: Sequence[str] = ()
    identical = 0
    if find_spec("sentencepiece") is not None:
        texts = SAMPLES
        tokenizer, processor = model.tokenizers.source, require_sentencepiece().SentencePieceProcessor()
        processor.LoadFromSerializedProto(tokenizer.sentencepiece)
        numbers = {piece: number for number, piece in enumerate(tokenizer.pieces(range(len(tokenizer))))}
        for text in texts:
            ids = [numbers.get(piece, tokenizer.unknown) for piece in processor.encode(text, out_type=str)]
            identical += ids == tokenizer.encode(text)
    return ArgosImport(model.config.source, model.config.target, model.export.quantization, len(texts), identical)


def export_argos(
    model: Path,
    file: Path,
    quantization: Quantization = "float32",
    texts: Sequence[str] | None = None,
    splitter: Path | None = None,
) -> ArgosCertificate:
    """Writes the package, and compares its translations of sample sentences with the model's.

    Args:
        model: the folder of a model or a run.
        file: the file to write; ends in .argosmodel, and must not exist.
        quantization: the type in which weights are stored.
        texts: sentences to compare on (default: the model's own probes and random tokens).
        splitter: a sentence splitter to pack: a model of MiniSBD (.onnx), or the folder of one of Stanza. Without it
            Argos Translate downloads one when it first translates.

    Raises:
        InputError: if CTranslate2 or SentencePiece is not installed, or does not support the model or its tokenizers
            (all reasons are listed), if the model's languages are unknown, or if the file exists.
        CheckpointError: if the model is damaged, or the package tokenizes or writes text differently.
    """
    libraries = [require_ctranslate2(), require_sentencepiece()]
    if file.suffix != ENDING:
        raise InputError(f"{file}: Argos Translate's packages end in {ENDING}; name it {file.stem}{ENDING}")
    check_absent(file, "choose another name")
    if splitter is not None:
        _check_splitter(splitter)
    bundle = load_exportable(model, "Argos Translate")
    _check_exportable(model, bundle)
    samples = samples_of(bundle, model, texts)
    if texts is None:
        texts = [_known_text(bundle.tokenizers.source, ids) for ids in samples]
    lines = [text.strip() for text in texts if text.strip()]
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / f"translate-{bundle.config.source}_{bundle.config.target}"
        (package / "model").mkdir(parents=True)
        (package / "sentencepiece.model").write_bytes(write_sentencepiece(bundle.tokenizers.source))
        _, parity = write_ctranslate2(bundle, quantization, samples, package / "model", file)
        (package / "metadata.json").write_bytes(msgspec.json.format(msgspec.json.encode(_metadata(bundle))))
        (package / CARD).write_text(card_of(bundle), encoding="utf-8")
        if splitter is not None and splitter.is_dir():
            shutil.copytree(splitter, package / "stanza")
        elif splitter is not None:
            (package / "minisbd").mkdir()
            shutil.copyfile(splitter, package / "minisbd" / splitter.name)
        ours = _check_same(bundle, package, lines, file)
        stored, chosen = (_translate(package, lines, compute_type) for compute_type in ("default", "auto"))
        certificate = ArgosCertificate(
            sentences=len(lines),
            identical=sum(map(str.__eq__, ours, stored)),
            identical_by_default=sum(map(str.__eq__, ours, chosen)),
            parity=parity,
            quantization=quantization,
            compared_with=" and ".join(f"{library.__name__} {library.__version__}" for library in libraries),
        )
        (package / "certificate.json").write_bytes(msgspec.json.format(msgspec.json.encode(certificate)))
        with made_parents(file), new_file(file) as new:
            _pack(package, new)
    return certificate


def _check_splitter(splitter: Path) -> None:
    """Raises InputError for a file that is not a model of MiniSBD, or a folder that is not one of Stanza."""
    is_stanza = splitter.is_dir() and (splitter / "resources.json").is_file()
    if not is_stanza and not (splitter.suffix == ".onnx" and splitter.is_file()):
        raise InputError(
            f"{splitter} is no sentence splitter; expected a model of MiniSBD (a file .onnx), or a folder of Stanza "
            "(with resources.json)"
        )


def _check_exportable(model: Path, bundle: ModelBundle) -> None:
    """Raises InputError, with all reasons, for a model that Argos Translate does not support."""
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    problems = [f"its source tokenizer: {problem}" for problem in what_cannot_be_written(source)]
    if source is not target and not {SPACE} & {piece[:1] for piece in target.pieces(range(len(target)))}:
        problems.append(f"its target tokenizer: it does not mark the beginning of words by {SPACE!r}")
    if not adds_source_end(bundle.tokenizers):
        problems.append("its tokenizers call the end of a text by different names")
    if bundle.config.context is not None:
        problems.append("it reads the sentences before, and a package translates each alone")
    if bundle.config.languages is not None:
        problems.append("it translates in several directions, and a package is for one")
    elif unnamed := [code for code in (bundle.config.source, bundle.config.target) if code in UNKNOWN]:
        problems.append(f"its languages are not known ({unnamed[0]!r}); train it with data.source and data.target set")
    elif odd := [code for code in (bundle.config.source, bundle.config.target) if not is_tag(code)]:
        problems.append(f"{odd[0]!r} is not spelled as languages are, such as de or pt_BR")
    if problems:
        raise InputError(f"{model} cannot be exported to Argos Translate: {'; '.join(problems)}")


def _metadata(bundle: ModelBundle) -> dict[str, Any]:
    source, target = bundle.config.source, bundle.config.target
    return {
        "package_version": "1.0",
        "argos_version": ARGOS_VERSION,
        "from_code": source,
        "from_name": english_name(source),
        "to_code": target,
        "to_name": english_name(target),
    }


def _check_same(bundle: ModelBundle, package: Path, lines: Sequence[str], file: Path) -> list[str]:
    """Returns the model's translations of lines, as Argos Translate shows such text.

    Raises CheckpointError if the package tokenizes a line or decodes a translation's tokens differently.
    """
    processor = _processor(package)
    source, target = bundle.tokenizers.source, bundle.tokenizers.target
    ids = {piece: number for number, piece in enumerate(source.pieces(range(len(source))))}
    divided = processor.encode(list(lines), out_type=str)
    for line, pieces, expected in zip(lines, divided, source.encode_batch(lines), strict=True):
        their_ids = [ids.get(piece, source.unknown) for piece in pieces]
        if their_ids != expected:
            theirs, ours = _where_they_differ(source.pieces(their_ids), source.pieces(expected))
            raise CheckpointError(
                f"{file} is not written: SentencePiece divides {line[:80]!r} into {theirs}, the model's tokenizer into "
                f"{ours}; other sentences may be given to compare on"
            )
    texts = [translation.text for translation in Translator(bundle).translate(lines, SEARCH)]
    for tokens in target.encode_batch(texts):
        written, expected_text = _write(processor, target.pieces(tokens)), _as_shown(target.decode(tokens))
        if written != expected_text:
            raise CheckpointError(
                f"{file} is not written: Argos Translate would write {expected_text[:80]!r} as {written[:80]!r}"
            )
    return [_as_shown(text) for text in texts]


def _known_text(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """Returns the text of tokens without unknown ones, whose names some tokenizers would read as the token itself."""
    return tokenizer.decode(token for token in ids if token != tokenizer.unknown)


def _where_they_differ(theirs: Sequence[str], ours: Sequence[str]) -> tuple[str, str]:
    """Returns a few tokens of two tokenizations of a text, from shortly before the first that differs."""
    first = next(index for index, (a, b) in enumerate(zip_longest(theirs, ours)) if a != b)
    shown = slice(max(first - 2, 0), first + 6)
    return " ".join(theirs[shown]), " ".join(ours[shown])


def _translate(package: Path, lines: Sequence[str], compute_type: str) -> list[str]:
    """Translates lines as Argos Translate does with each sentence."""
    processor = _processor(package)
    translator = require_ctranslate2().Translator(str(package / "model"), compute_type=compute_type)
    results = translator.translate_batch(
        processor.encode(list(lines), out_type=str),
        replace_unknowns=True,
        max_batch_size=32,
        batch_type="tokens",
        beam_size=SEARCH.size,
        length_penalty=SEARCH.length_penalty,
    )
    return [_write(processor, result.hypotheses[0]) for result in results]


def _processor(package: Path) -> Any:
    return require_sentencepiece().SentencePieceProcessor(model_file=str(package / "sentencepiece.model"))


def _write(processor: Any, pieces: Sequence[str]) -> str:
    return _as_shown(processor.decode_pieces(list(pieces))).removeprefix(" ")


def _as_shown(text: str) -> str:
    """Returns text as Argos Translate shows it: spaces in place of marks of spaces and underscores."""
    return text.replace(SPACE, " ").replace("_", " ")


def _pack(package: Path, file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(package.rglob("*")):
            archive.write(path, path.relative_to(package.parent))
