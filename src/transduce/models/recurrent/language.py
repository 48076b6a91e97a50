"""A recurrent network that continues a text (Mikolov et al. 2010; with LSTM units, Zaremba et al. 2014)."""

from torch import nn

from transduce.base.config import Settings
from transduce.base.ranges import Layers, PositiveFloat, ShareBelowOne, Width
from transduce.base.shapes import Hidden, Tokens
from transduce.models.interface import Decoder, Memory, SegmentRecurrence
from transduce.models.recurrent.model import UNIFORM_BOUND
from transduce.models.stack import TextEmbedding
from transduce.nn.initialization import RecurrentInitialization, RecurrentInitializationKind
from transduce.nn.layers import Dropout, VariationalDropout, WordDropout
from transduce.nn.recurrence import CellKind, UnidirectionalEncoder, UnidirectionalStack, parts_of
from transduce.nn.state import Carried, RecurrentTextState


class RecurrentLanguageConfig(Settings, frozen=True, tag_field="kind", tag="recurrent-language"):
    """Sizes and choices of a recurrent language model."""

    cell: CellKind = "lstm"
    """The unit: gru (Cho et al. 2014) or lstm (Hochreiter and Schmidhuber 1997)."""
    layers: Layers = 2
    """Recurrent layers."""
    dim: Width = 512
    """Width of embeddings and layers."""
    tie: bool = True
    """Share one matrix between embeddings and the output layer (Press and Wolf 2017)."""
    dropout: ShareBelowOne = 0.1
    """Dropout rate; the next two override it."""
    embedding_dropout: ShareBelowOne | None = None
    """Dropout rate of the embedded input."""
    layer_dropout: ShareBelowOne | None = None
    """Dropout rate of each layer's outputs, on the way to what reads them."""
    word_dropout: ShareBelowOne = 0.0
    """Share of the vocabulary whose embeddings are zero in an update (Gal and Ghahramani 2016)."""
    variational_dropout: bool = False
    """Draw dropout once a row, the same for all its positions (Gal and Ghahramani 2016)."""
    initialization: RecurrentInitializationKind = "uniform"
    """All weights uniform, or matrices from state to state orthogonal and others Xavier."""
    uniform_bound: PositiveFloat | None = None
    """The largest weight that the uniform initialisation draws (default: 0.08)."""

    def _check_together(self) -> None:
        if self.uniform_bound is not None and self.initialization != "uniform":
            raise ValueError("uniform_bound is for initialization = uniform alone")


def build_recurrent_language(config: RecurrentLanguageConfig, vocabulary: int) -> "RecurrentLanguageModel":
    """Returns a recurrent language model with fresh weights from torch's global generator, for a number of tokens."""
    initialization = RecurrentInitialization(config.initialization, config.uniform_bound or UNIFORM_BOUND)
    table = nn.Embedding(vocabulary, config.dim)
    initialization.embedding(table.weight)
    output = nn.Linear(config.dim, vocabulary)
    nn.init.zeros_(output.bias)
    if config.tie:
        output.weight = table.weight
    else:
        initialization.matrix(output.weight)
    layers = [UnidirectionalEncoder(config.cell, config.dim, config.dim, initialization) for _ in range(config.layers)]
    embedding = TextEmbedding(
        table, 1.0, WordDropout(config.word_dropout, vocabulary), _dropout(config, config.embedding_dropout)
    )
    stack = UnidirectionalStack(layers, _dropout(config, config.layer_dropout))
    return RecurrentLanguageModel(RecurrentTextDecoder(embedding, stack, output), parts_of(config.cell))


def _dropout(config: RecurrentLanguageConfig, special: float | None) -> Dropout | VariationalDropout:
    rate = config.dropout if special is None else special
    return VariationalDropout(rate) if config.variational_dropout else Dropout(rate)


class RecurrentLanguageModel(SegmentRecurrence[RecurrentTextState]):
    """A decoder without a source; see models/interface.py for its contract."""

    decoder: "RecurrentTextDecoder"

    def __init__(self, decoder: "RecurrentTextDecoder", parts: int) -> None:
        super().__init__(decoder)
        self._parts = parts

    @property
    def carried_shape(self) -> tuple[int, int, int]:
        """See SegmentRecurrence."""
        return len(self.decoder.layers.layers), self._parts, self.decoder.embedding.table.embedding_dim

    def start(self, memory: Memory) -> RecurrentTextState:
        """Returns a state of zeros."""
        return RecurrentTextState(memory.hidden.new_zeros(len(memory.hidden), *self.carried_shape))

    def resume(self, carried: Carried) -> RecurrentTextState:
        """See SegmentRecurrence."""
        return RecurrentTextState(carried.transpose(0, 1))


class RecurrentTextDecoder(Decoder[RecurrentTextState]):
    """Recurrent layers, and the output layer."""

    embedding: TextEmbedding
    layers: UnidirectionalStack

    def __init__(self, embedding: TextEmbedding, layers: UnidirectionalStack, output: nn.Linear) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = layers
        self.output = output

    def read(self, tokens: Tokens, state: RecurrentTextState) -> tuple[Hidden, RecurrentTextState]:
        """See Decoder."""
        hidden, after = self.layers(self.embedding(tokens), state.hidden)
        return hidden, RecurrentTextState(after, state.rows_per_sentence)
