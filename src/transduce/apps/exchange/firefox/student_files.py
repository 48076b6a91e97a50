"""The files of a model for Firefox Translations: their names, its settings in Marian's words, and its matrices."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transduce.apps.exchange.firefox.marian_binary import BYTES, FLOATS, TEXT, Item, QuantizedMatrix, read_items
from transduce.base.errors import CheckpointError, InputError
from transduce.models.transformer import TransformerConfig
from transduce.text.sentencepiece import read_model
from transduce.text.tokenizer import Tokenizers

SETTINGS = "special:model.yml"
MULTIPLIER = "_QuantMultA"
"""The ending of the name of a number by which the inputs of a matrix are multiplied to be bytes."""
OUTPUT_MULTIPLIERS = ("none_QuantMultA", "Wemb_QuantMultA", "decoder_Wemb_QuantMultA")
"""Names of that number for the output layer, by which engines find it with a shortlist and without one."""
SUFFIX = ".intgemm.alphas.bin"
SHARED, SOURCE, TARGET = "Wemb", "encoder_Wemb", "decoder_Wemb"
OUTPUT_BIAS = "decoder_ff_logit_out_b"
OUTPUT = "decoder.output"

KINDS = {
    "type": "transformer",
    "transformer-decoder-autoreg": "rnn",
    "dec-cell": "ssru",
    "transformer-postprocess": "dan",
    "transformer-preprocess": "",
    "transformer-postprocess-top": "",
    "transformer-ffn-activation": "relu",
    "transformer-ffn-depth": "2",
    "transformer-train-position-embeddings": "false",
    "transformer-no-projection": "false",
    "transformer-no-bias": "false",
    "lemma-dim-emb": "0",
}
"""Settings that every model of Firefox Translations has, and all engines rely on."""


@dataclass(frozen=True)
class StudentPaths:
    """The files of a model in its folder."""

    model: Path
    source_vocabulary: Path
    target_vocabulary: Path
    """The file of the target's vocabulary, or of the one that both sides have."""
    shortlist: Path

    @property
    def is_shared(self) -> bool:
        """True if both sides have one vocabulary."""
        return self.source_vocabulary == self.target_vocabulary

    @staticmethod
    def of(folder: Path, pair: str, is_shared: bool) -> "StudentPaths":
        """Returns the names of a model's files; the pair is both languages, such as deen."""
        names = ("vocab", "vocab") if is_shared else ("srcvocab", "trgvocab")
        source, target = (folder / f"{name}.{pair}.spm" for name in names)
        return StudentPaths(folder / f"model.{pair}{SUFFIX}", source, target, folder / f"lex.50.50.{pair}.s2t.bin")

    @staticmethod
    def find(folder: Path) -> "StudentPaths":
        """Finds the files of a folder; CheckpointError unless it has one model and its vocabulary."""
        models = sorted(folder.glob("model.*.bin"))
        if len(models) != 1:
            raise CheckpointError(
                f"{folder} has {len(models)} files model.*.bin; expected that of one model of Firefox Translations, "
                "uncompressed"
            )
        pair = models[0].name.split(".")[1]
        paths = StudentPaths.of(folder, pair, is_shared=not (folder / f"srcvocab.{pair}.spm").exists())
        return StudentPaths(models[0], paths.source_vocabulary, paths.target_vocabulary, paths.shortlist)


def read_tokenizers(folder: Path) -> Tokenizers:
    """Reads the tokenizers from the vocabularies of a folder; CheckpointError for a damaged file."""
    paths = StudentPaths.find(folder)
    source = read_model(paths.source_vocabulary)
    return Tokenizers(source, source if paths.is_shared else read_model(paths.target_vocabulary))


@dataclass(frozen=True)
class LinearLayer:
    """A linear layer of our model, and Marian's names of its weights and biases: several where ours joins theirs."""

    name: str
    parts: tuple[tuple[str, str | None], ...]


def linear_layers(config: TransformerConfig) -> Iterator[LinearLayer]:
    """Yields the linear layers of a model, except the output layer."""
    for number in range(config.encoder_layers):
        ours, theirs = f"encoder.layers.{number}", f"encoder_l{number + 1}"
        yield from _attention(f"{ours}.attention.attention", f"{theirs}_self")
        yield from _feed_forward(ours, theirs)
    for number in range(config.decoder_layers):
        ours, theirs = f"decoder.layers.{number}", f"decoder_l{number + 1}"
        yield LinearLayer(f"{ours}.recurrence.candidate", ((f"{theirs}_rnn_W", None),))
        yield LinearLayer(f"{ours}.recurrence.forget", ((f"{theirs}_rnn_Wf", f"{theirs}_rnn_bf"),))
        yield from _attention(f"{ours}.cross_attention", f"{theirs}_context")
        yield from _feed_forward(ours, theirs)


def norms(config: TransformerConfig) -> Iterator[tuple[str, str]]:
    """Yields our names of layer norms, and Marian's, to which `_ln_scale` and `_ln_bias` are added."""
    for number in range(config.encoder_layers):
        yield f"encoder.layers.{number}.around_attention.norm", f"encoder_l{number + 1}_self_Wo"
        yield f"encoder.layers.{number}.around_feed_forward.norm", f"encoder_l{number + 1}_ffn_ffn"
    for number in range(config.decoder_layers):
        yield f"decoder.layers.{number}.around_recurrence.norm", f"decoder_l{number + 1}_rnn_ffn"
        yield f"decoder.layers.{number}.around_cross_attention.norm", f"decoder_l{number + 1}_context_Wo"
        yield f"decoder.layers.{number}.around_feed_forward.norm", f"decoder_l{number + 1}_ffn_ffn"


def _attention(ours: str, theirs: str) -> Iterator[LinearLayer]:
    yield LinearLayer(f"{ours}.query", ((f"{theirs}_Wq", f"{theirs}_bq"),))
    yield LinearLayer(f"{ours}.key_value", ((f"{theirs}_Wk", f"{theirs}_bk"), (f"{theirs}_Wv", f"{theirs}_bv")))
    yield LinearLayer(f"{ours}.output", ((f"{theirs}_Wo", f"{theirs}_bo"),))


def _feed_forward(ours: str, theirs: str) -> Iterator[LinearLayer]:
    yield LinearLayer(f"{ours}.feed_forward.inner", ((f"{theirs}_ffn_W1", f"{theirs}_ffn_b1"),))
    yield LinearLayer(f"{ours}.feed_forward.output", ((f"{theirs}_ffn_W2", f"{theirs}_ffn_b2"),))


@dataclass(frozen=True)
class Matrix:
    """A matrix of bytes with the number by which its inputs are multiplied, and the bias of its outputs, if any."""

    weight: QuantizedMatrix
    input_multiplier: float
    bias: NDArray[np.float32] | None


class StudentFile:
    """The tensors of a model's file, by the names of our model's layers.

    Making it raises CheckpointError for a file that is damaged or not whole, InputError for a model with other settings
    than those of Firefox Translations.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._items = read_items(path)
        self._read: set[str] = {SETTINGS}
        self.settings = _settings_of(self._item(SETTINGS, TEXT).text())
        self.is_shared = SHARED in self._items
        self.config = self._config()
        self.target_table = self._table(SHARED if self.is_shared else TARGET)
        self.source_table = self.target_table if self.is_shared else self._table(SOURCE)
        self.output_multiplier = self._output_multiplier()
        self.output_bias = self._output_bias()
        self.layers = {
            layer.name: [self._matrix(weight, bias) for weight, bias in layer.parts]
            for layer in linear_layers(self.config)
        }
        dim = self.config.dim
        self.norms = {
            ours: (self._vector(f"{theirs}_ln_scale", dim), self._vector(f"{theirs}_ln_bias", dim))
            for ours, theirs in norms(self.config)
        }
        self._check_shapes()
        others = [name for name in self._items if name not in self._read and not name.endswith(MULTIPLIER)]
        if others:
            raise InputError(f"{path} has tensors of another kind of model, such as {others[0]}")

    def _item(self, name: str, kind: int) -> Item:
        item = self._items.get(name)
        if item is None:
            raise CheckpointError(f"{self.path} lacks {name}; copy or download it again")
        if item.kind != kind:
            raise InputError(f"{self.path}: {name} is of another type than in 8-bit models of Firefox Translations")
        self._read.add(name)
        return item

    def _table(self, name: str) -> QuantizedMatrix:
        return self._item(name, BYTES).matrix(is_embedding=True)

    def _vector(self, name: str, length: int) -> NDArray[np.float32]:
        values = self._item(name, FLOATS).floats()
        if len(values) != length:
            raise CheckpointError(f"{self.path}: {name} has {len(values):,} numbers; expected {length:,}")
        return values

    def _multiplier(self, name: str) -> float:
        item = self._items.get(name)
        if item is None:
            raise CheckpointError(f"{self.path} lacks {name}, the scale of a matrix's inputs; use a model with alphas")
        value = item.matrix().floats() if item.kind == BYTES else item.floats()
        if value.size != 1 or not 0 < float(value.flat[0]) < np.inf:
            raise CheckpointError(f"{self.path}: {name} is no scale; copy or download it again")
        return float(value.flat[0])

    def _output_multiplier(self) -> float:
        return self._multiplier(
            next((name for name in OUTPUT_MULTIPLIERS if name in self._items), OUTPUT_MULTIPLIERS[0])
        )

    def _output_bias(self) -> NDArray[np.float32]:
        rows = len(self.target_table.values)
        return self._vector(OUTPUT_BIAS, rows) if OUTPUT_BIAS in self._items else np.zeros(rows, np.float32)

    def _matrix(self, name: str, bias: str | None) -> Matrix:
        weight = self._item(name, BYTES).matrix()
        outputs = len(weight.values)
        return Matrix(
            weight, self._multiplier(name + MULTIPLIER), None if bias is None else self._vector(bias, outputs)
        )

    def _number(self, name: str) -> int:
        value = self.settings.get(name, "")
        if not value.isascii() or not value.isdigit() or len(value) > 6 or not int(value):
            raise CheckpointError(f"{self.path}: its setting {name} is {value[:20]!r}; expected a number from 1 on")
        return int(value)

    def _config(self) -> TransformerConfig:
        for name, expected in KINDS.items():
            if (value := self.settings.get(name, expected)) != expected:
                raise InputError(f"{self.path}: its setting {name} is {value[:40]!r}; only {expected!r} is supported")
        try:
            return student_config(
                dim=self._number("dim-emb"),
                heads=self._number("transformer-heads"),
                feed_forward_dim=self._number("transformer-dim-ffn"),
                encoder_layers=self._number("enc-depth"),
                decoder_layers=self._number("dec-depth"),
                is_shared=self.is_shared,
            )
        except ValueError as error:
            raise CheckpointError(f"{self.path}: its settings do not fit together: {error}") from None

    def _check_shapes(self) -> None:
        """Raises CheckpointError unless each matrix has the shape that the settings say."""
        dim, inner = self.config.dim, self.config.feed_forward_dim
        for name, parts in self.layers.items():
            expected = {"inner": (inner, dim)}.get(name.rpartition(".")[2], (dim, dim))
            if name.endswith("feed_forward.output"):
                expected = (dim, inner)
            for part in parts:
                if part.weight.values.shape != expected:
                    shape = "x".join(map(str, part.weight.values.shape))
                    raise CheckpointError(
                        f"{self.path}: a matrix of {name} is {shape}; its settings say {'x'.join(map(str, expected))}"
                    )
        for table in (self.source_table, self.target_table):
            if table.values.shape[1:] != (dim,):
                raise CheckpointError(f"{self.path}: its embeddings are not {dim} wide, as its settings say")


def student_config(
    dim: int, heads: int, feed_forward_dim: int, encoder_layers: int, decoder_layers: int, is_shared: bool
) -> TransformerConfig:
    """Returns the settings of a model of Firefox Translations with these sizes; ValueError for impossible ones."""
    return TransformerConfig(
        dim=dim,
        heads=heads,
        feed_forward_dim=feed_forward_dim,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        norm="post",
        positions="marian",
        tie="all" if is_shared else "target",
        output_bias=True,
        decoder_recurrence="ssru",
        decoder_start="zeros",
    )


def _settings_of(text: str) -> dict[str, str]:
    """Returns the settings of YAML's lines `name: value`, as texts without quotes; lists are left out."""
    settings = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name and not name[0].isspace() and name[0] not in "-#":
            settings[name] = value.strip().strip("\"'")
    return settings
