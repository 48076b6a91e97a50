"""Imports a model of Firefox Translations as a bundle that can be trained, and reports what its bytes cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import torch

from transduce.apps.exchange.firefox.alphas import GREEDY
from transduce.apps.exchange.firefox.arithmetic import float_model, open_student
from transduce.apps.exchange.firefox.fxtranslate_engine import LONGEST
from transduce.apps.exchange.firefox.student_files import StudentFile, StudentPaths
from transduce.apps.exchange.firefox.student_files import read_tokenizers as read_vocabularies
from transduce.base.config import Settings
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import check_absent, sha256
from transduce.base.verification import read_json
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle, read_tokenizers
from transduce.corpora.languages import UNKNOWN, is_tag
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.shortlist.shortlist import FILE, Shortlist
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import TokenizerConfig

METADATA = "metadata.json"
ADVICE = "copy or download it again"
SAMPLES = 32
LONGEST_SAMPLE = 24
PROBES = ("To be, or not to be, that is the question:", "Der Äquator, 北京, здравствуйте, 12,345.67")


class StudentImport(Settings, frozen=True):
    """A record of what the weights of a model are worth in float32."""

    source: str
    target: str
    parameters: int
    sentences: int
    """The number of sentences that both translated: of the text given, else random tokens."""
    identical: int
    """The number of translations that are the same, token by token."""
    is_random: bool
    """True if the sentences were random tokens."""
    has_shortlist: bool

    def describe(self) -> str:
        """Returns lines for people."""
        what = "rows of random tokens" if self.is_random else "sentences"
        kept = "its shortlist is kept" if self.has_shortlist else "it has no shortlist"
        return (
            f"{self.source}-{self.target}, {self.parameters:,} parameters, in float32 from now on; {kept}\n"
            f"of {self.sentences} {what}, {self.identical} are translated as in 8 bits"
        )


@dataclass(frozen=True)
class FirefoxFiles:
    """The files of a folder, read and found to fit each other, except the shortlist."""

    paths: StudentPaths
    student: StudentFile
    config: BundleConfig
    """The settings of the bundle that they make."""
    tokenizers: Tokenizers

    @staticmethod
    def open(folder: Path) -> "FirefoxFiles":
        """Reads a folder; see `import_firefox` for what it holds and for errors."""
        paths = StudentPaths.find(folder)
        source, target = _languages(folder, paths)
        student = StudentFile(paths.model)
        if student.is_shared != paths.is_shared:
            raise CheckpointError(f"{paths.model} and the vocabularies of {folder} are of different models; {ADVICE}")
        config = BundleConfig(
            format=FORMAT,
            source=source,
            target=target,
            model=student.config,
            tokenizer=TokenizerConfig.of_files(paths.is_shared),
            longest_source=LONGEST - 1,
        )
        return FirefoxFiles(paths, student, config, read_vocabularies(folder))


def import_firefox(folder: Path, output: Path, texts: Sequence[str] | None = None) -> StudentImport:
    """Reads a folder, compares its model in float32 with its 8-bit arithmetic, and writes the bundle.

    Args:
        folder: with `model.*.bin`, `vocab.*.spm` (or `srcvocab` and `trgvocab`), and perhaps `lex.*.bin` and
            `metadata.json`: an export, or the uncompressed files of a released model.
        output: the bundle's folder; must not exist.
        texts: sentences to compare on (default: random tokens).

    Raises InputError for an unsupported model, with the setting in question, or if the bundle's folder exists;
    CheckpointError for a folder that is damaged or not whole.
    """
    check_absent(output)
    files = FirefoxFiles.open(folder)
    paths, student, config, tokenizers = files.paths, files.student, files.config, files.tokenizers
    bundle = ModelBundle(config, float_model(student, tokenizers), tokenizers)
    in_bytes, shortlist = open_student(paths, config, tokenizers)
    sentences = None if texts is None else [ids for ids in bundle.read([text.strip() for text in texts]) if ids]
    if sentences == []:
        raise InputError("there is no sentence to compare on: the text is blank")
    samples = sentences or _random_samples(tokenizers.source)
    floats, bytes_ = (_translate(of, samples, shortlist) for of in (bundle, in_bytes))
    result = StudentImport(
        source=config.source,
        target=config.target,
        parameters=sum(parameter.numel() for parameter in bundle.model.parameters()),
        sentences=len(samples),
        identical=sum(map(list.__eq__, floats, bytes_)),
        is_random=texts is None,
        has_shortlist=shortlist is not None,
    )
    origin = {"folder": folder.resolve().name, "architecture": "Firefox Translations"}
    bundle = bundle.with_history(imported=origin | msgspec.to_builtins(result))
    try:
        bundle.save(output, [(text, text) for text in PROBES])
    except FloatingPointError:
        raise CheckpointError(f"{folder}: the scores that its model gives texts are not finite") from None
    if shortlist is not None:
        _as_ours(shortlist, tokenizers).save(output / FILE, read_tokenizers(output, config))
    return result


def _languages(folder: Path, paths: StudentPaths) -> tuple[str, str]:
    """Returns both languages: those in metadata.json, which is checked, else those in the names of files."""
    pair = paths.model.name.split(".")[1]
    languages: tuple[Any, Any] = (pair[:2], pair[2:]) if len(pair) == 4 else UNKNOWN
    if (folder / METADATA).exists():
        facts = read_json(folder / METADATA, dict[str, Any], ADVICE)
        if (hash_ := facts.get("hash")) is not None and hash_ != sha256(paths.model):
            raise CheckpointError(f"{paths.model} is not the file that {METADATA} names (SHA-256 differs); {ADVICE}")
        languages = facts.get("sourceLanguage", languages[0]), facts.get("targetLanguage", languages[1])
    for code in languages:
        if not isinstance(code, str) or not (is_tag(code) or code in UNKNOWN):
            raise CheckpointError(f"{folder / METADATA}: {str(code)[:20]!r} is no language; {ADVICE}")
    return languages


def _random_samples(tokenizer: Tokenizer) -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    special = {tokenizer.pad, tokenizer.bos, tokenizer.eos, tokenizer.unknown}
    ordinary = torch.tensor([token for token in range(len(tokenizer)) if token not in special])
    lengths = torch.linspace(1, LONGEST_SAMPLE, SAMPLES).long().tolist()
    return [ordinary[torch.randint(len(ordinary), (length,), generator=generator)].tolist() for length in lengths]


def _translate(bundle: ModelBundle, sources: Sequence[list[int]], shortlist: Shortlist | None) -> list[list[int]]:
    engine = PyTorchEngine(bundle, shortlist=shortlist)
    pieces = [Piece(source[: LONGEST - 1], prefix=[], required=[], banned=[]) for source in sources]
    found = engine.search(pieces, Constraints(bundle.tokenizers.target), GREEDY)
    return [hypotheses[0].tokens for hypotheses in found]


def _as_ours(shortlist: Shortlist, tokenizers: Tokenizers) -> Shortlist:
    """Returns an engine's shortlist with the tokens of every sentence apart, as ours has them."""
    end, target = tokenizers.source.eos, tokenizers.target
    special = torch.tensor([target.pad, target.bos, target.eos, target.unknown])
    always = torch.cat([shortlist.lists[end], special]).unique()
    lists = shortlist.lists.clone()
    lists[end] = target.eos
    widths = (lists != lists[:, :1]).any(0).nonzero()
    return Shortlist(lists[:, : int(widths.max()) + 1 if len(widths) else 1], always, len(target))
