"""Exports a student for Firefox Translations, translateLocally and Bergamot; an engine must give what we compute."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from docsegments.orthography.words import has_words
from transduce.apps.exchange.firefox.alphas import GREEDY, collect_multipliers
from transduce.apps.exchange.firefox.arithmetic import open_student
from transduce.apps.exchange.firefox.fxtranslate_engine import LONGEST, Student, require_fxtranslate, version
from transduce.apps.exchange.firefox.student_files import StudentPaths, student_config
from transduce.apps.exchange.firefox.write_student import is_shared, write_student
from transduce.base.config import Settings
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import check_absent, new_folder
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import ModelBundle, find_bundle
from transduce.corpora.languages import UNKNOWN, is_tag
from transduce.inference.engines.exported import Export, Parity
from transduce.inference.shortlist.shortlist import FILE, Shortlist
from transduce.inference.translator import Translator
from transduce.models.transformer import TransformerConfig
from transduce.text.sentencepiece import parse_sentencepiece
from transduce.text.tokenizer import Tokenizer

MEASURED = 500
"""The most sentences by which activations are measured."""
COMPARED = 100
"""The most of these by which the engine is compared with what we compute."""
LEAST_EQUAL = 0.8
"""The share of equal translations below which something else than rounding is wrong."""
SHOWN = 3
WIDTH = 64
"""Engines want matrices whose rows are a multiple of this."""


class EngineDifference(Settings, frozen=True):
    """A sentence that the engine translates differently than what we compute."""

    source: str
    ours: str
    engine: str


class StudentExport(Settings, frozen=True):
    """The facts of an exported folder, with the comparison made when it was written."""

    export: Export
    differences: list[EngineDifference]
    """A few of the sentences that the engine translates differently."""
    as_float: int
    """The number of translations, of those compared, that are also the model's in float32."""
    measured: int
    """The number of sentences by which activations were measured."""
    has_shortlist: bool
    size: int
    """Bytes of the folder."""

    def describe(self) -> str:
        """Returns lines for people."""
        parity = self.export.parity
        lines = [
            f"scales of activations were collected on {self.measured:,} sentences",
            f"{parity.identical} of {parity.sentences} translations by fxtranslate {self.export.version} are those of "
            f"our own 8-bit arithmetic, which gives {self.as_float} that are the model's in float32",
        ]
        for each in self.differences:
            lines.append(f"  {each.source}\n    ours:   {each.ours}\n    engine: {each.engine}")
        if not self.has_shortlist:
            lines.append("the model has no shortlist, with which engines are faster: transduce shortlist learns one")
        lines.append(f"the folder has {self.size / 1e6:.1f} MB")
        return "\n".join(lines)


def export_firefox(model: Path, folder: Path, texts: Sequence[str]) -> StudentExport:
    """Writes the folder, and compares fxtranslate's translations of sentences with our own 8-bit arithmetic.

    Args:
        model: the folder of a model or a run.
        folder: the folder to write; must not exist.
        texts: sentences like those to be translated, by which the scales of activations are chosen, such as validation
            data.

    Raises:
        InputError: if fxtranslate is not installed, the form cannot hold the model (all reasons are listed, with the
            settings to change), there is no text, or the folder exists.
        CheckpointError: if the model is damaged, or the engine translates otherwise than its arithmetic says.
    """
    check_absent(folder)
    bundle = ModelBundle.load(model)
    check_tool(model, bundle.config.task, "translator")
    if problems := what_cannot_be_exported(bundle):
        raise InputError(
            f"{model} cannot be exported to Firefox's form, which holds students: "
            f"`transduce distill` by the recipe student-base trains one on its translations; {'; '.join(problems)}"
        )
    require_fxtranslate()
    lines = list(islice(_usable(bundle, texts), MEASURED))
    if not lines:
        raise InputError("there is no sentence to measure activations by: the text is blank, or its lines are too long")
    kept = find_bundle(model) / FILE
    shortlist = Shortlist.load(kept, bundle.tokenizers) if kept.exists() else None
    multipliers = collect_multipliers(bundle, bundle.tokenizers.source.encode_batch(lines))
    with new_folder(folder) as new:
        bundle.describe(new)
        paths = StudentPaths.of(new, f"{bundle.config.source}{bundle.config.target}", is_shared(bundle))
        write_student(bundle, multipliers, shortlist, paths)
        translations = _compare(bundle, paths, lines[:COMPARED])
        differences = [
            EngineDifference(source=each[0], ours=each[1], engine=each[2])
            for each in translations
            if each[1] != each[2]
        ]
        parity = Parity(
            sentences=len(translations), identical=len(translations) - len(differences), largest_difference=0.0
        )
        if parity.identical < LEAST_EQUAL * parity.sentences:
            raise CheckpointError(
                f"{folder} is not written: fxtranslate gave {parity.identical} of {parity.sentences} translations as "
                f"its arithmetic does; of {differences[0].source!r} {differences[0].engine!r}, "
                f"not {differences[0].ours!r}"
            )
        export = Export.write(new, "fxtranslate", version(), "int8", LONGEST, parity)
        size = sum(file.stat().st_size for file in new.iterdir())
    as_float = sum(ours == in_float for _, ours, _, in_float in translations)
    return StudentExport(
        export=export,
        differences=differences[:SHOWN],
        as_float=as_float,
        measured=len(lines),
        has_shortlist=shortlist is not None,
        size=size,
    )


def what_cannot_be_exported(bundle: ModelBundle) -> list[str]:
    """Lists what Firefox's form cannot hold of a model, with the settings to change; none for a student."""
    config = bundle.config
    if not isinstance(config.model, TransformerConfig):
        return [f'model.kind is "{config.model.__struct_config__.tag}"; it must be "transformer"']
    model = config.model
    problems = []
    expected = student_config(WIDTH, 1, WIDTH, 1, 1, is_shared(bundle))
    for name in FIXED:
        if (value := getattr(model, name)) != (wanted := getattr(expected, name)):
            problems.append(f"model.{name} is {_toml(value)}; it must be {_toml(wanted)}")
    problems += [
        f"model.{name} is {value}; it must be a multiple of {WIDTH}"
        for name, value in (("dim", model.dim), ("feed_forward_dim", model.feed_forward_dim))
        if value % WIDTH
    ]
    if model.dim % model.heads:
        problems.append(f"model.heads is {model.heads}; model.dim must be a multiple of it")
    if {model.size_of_key, model.size_of_value} != {model.dim // model.heads} or model.kv_heads not in (
        None, model.heads
    ):  # fmt: skip
        problems.append("model.key_dim, value_dim or kv_heads is set; leave them out")
    for side, tokenizer in (("source", bundle.tokenizers.source), ("target", bundle.tokenizers.target)):
        if not _is_of_engines(tokenizer):
            problems.append(f'the {side} tokenizer is not of the engines\' kind; set tokenizer.kind = "sentencepiece"')
    if config.context is not None:
        problems.append("it reads the sentences before, and Firefox translates each alone; leave data.context out")
    if config.languages is not None:
        problems.append("it translates in several directions, and a model of Firefox in one")
    elif odd := [code for code in (config.source, config.target) if code in UNKNOWN or not is_tag(code)]:
        problems.append(f"its language {odd[0]!r} is not one that is known; set data.source and data.target")
    return problems


FIXED = (
    "activation", "norm", "norm_kind", "scale_embeddings", "positions", "tie", "output_bias", "first_token",
    "decoder_start", "decoder_recurrence",
)  # fmt: skip
"""Settings that all students share."""


def _toml(value: object) -> str:
    return {True: "true", False: "false", None: "unset"}.get(value, f'"{value}"')  # type: ignore[call-overload]


def _is_of_engines(tokenizer: Tokenizer) -> bool:
    """Returns True if a tokenizer divides texts and numbers tokens as engines do: by a unigram model."""
    if tokenizer.sentencepiece is None:
        return False
    model = parse_sentencepiece(tokenizer.sentencepiece)
    names = [piece.text for piece in model.pieces]
    special = tokenizer.pieces([tokenizer.eos, tokenizer.unknown])
    return model.kind == "unigram" and special == ["</s>", "<unk>"] and tokenizer.pieces(range(len(names))) == names


def _usable(bundle: ModelBundle, texts: Iterable[str]) -> Iterator[str]:
    """Yields lines with words that the model and engines translate as one sentence."""
    longest = min(bundle.config.longest_source, LONGEST - 1)
    for text in texts:
        line = text.strip()
        if has_words(line) and len(bundle.tokenizers.source.encode(line)) <= longest:
            yield line


def _compare(bundle: ModelBundle, paths: StudentPaths, lines: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Returns sentences, each with its translation by our arithmetic, by the engine, and by the model in float32."""
    student, shortlist = open_student(paths, bundle.config, bundle.tokenizers)
    ours = Translator(student, shortlist=shortlist).translate(lines, GREEDY)
    in_float = Translator(bundle).translate(lines, GREEDY)
    engine = Student(paths)
    return [
        (line, by_us.text.strip(), engine.translate(line).strip(), by_float.text.strip())
        for line, by_us, by_float in zip(lines, ours, in_float, strict=True)
    ]
