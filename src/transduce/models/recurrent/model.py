"""The recurrent encoder-decoder (Cho et al. 2014; Sutskever et al. 2014), with the attentions that came before the
Transformer (Bahdanau et al. 2015; Luong et al. 2015; Xu et al. 2015)."""

from functools import partial

from torch import nn

from transduce.base.shapes import Mask, Tokens
from transduce.models.interface import EncoderDecoder, Memory
from transduce.models.recurrent.decoder import (
    BahdanauDecoder,
    InputFeedingDecoder,
    LuongDecoder,
    NoAttentionDecoder,
    Readout,
    RecurrentDecoder,
)
from transduce.models.recurrent.encoder import CopyBridge, LinearBridge, RecurrentEncoder, RecurrentMemory, ZeroBridge
from transduce.models.recurrent.recurrent_attention import (
    BahdanauAttentionConfig,
    HardAttentionConfig,
    LocalAttentionConfig,
    LuongAttentionConfig,
    NoAttentionConfig,
    ScoredConfig,
    score_kind,
)
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.tying import token_tables
from transduce.nn.focus import Focus, GlobalAttention, HardAttention, LocalMonotonic, LocalPredictive
from transduce.nn.initialization import RecurrentInitialization
from transduce.nn.layers import Dropout
from transduce.nn.ragged import Ragged
from transduce.nn.recurrence import BidirectionalEncoder, UnidirectionalEncoder, UnidirectionalStack, parts_of
from transduce.nn.scores import build_score
from transduce.nn.source_attention import SourceAttention
from transduce.nn.state import RecurrentState

UNIFORM_BOUND = 0.08  # as Sutskever et al. 2014 chose it


class Recurrent(EncoderDecoder[RecurrentState]):
    """An encoder, a bridge and a decoder; see models/interface.py for their contracts."""

    decoder: RecurrentDecoder

    def __init__(self, encoder: RecurrentEncoder, bridge: nn.Module, decoder: RecurrentDecoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.bridge = bridge
        self.decoder = decoder

    def encode(self, source: Tokens, is_real: Mask) -> RecurrentMemory:
        """Reads the source sentences."""
        return self.encoder(source, is_real)

    def encode_rows(self, source: Tokens, is_real: Mask, rows: Ragged) -> RecurrentMemory:
        """See ReadsLengths."""
        return self.encoder(source, is_real, rows.lengths)

    def start(self, memory: Memory) -> RecurrentState:
        """Makes the first state, and projects the memory once for all steps to come."""
        assert isinstance(memory, RecurrentMemory), "a recurrent encoder's"
        return self.decoder.start(memory, self.bridge(memory.final))


def build_recurrent(config: RecurrentConfig, source_vocabulary: int, target_vocabulary: int) -> Recurrent:
    """Returns a recurrent model with fresh weights from torch's global generator; vocabularies are counts of tokens."""
    make_table = partial(_token_table, config)
    source_table, target_table = token_tables(config.tie, source_vocabulary, target_vocabulary, make_table)
    output = nn.Linear(config.dim, target_vocabulary)
    nn.init.zeros_(output.bias)
    if config.tie == "none":
        _initialization(config).matrix(output.weight)
    else:
        output.weight = target_table.weight
    return Recurrent(_encoder(config, source_table), _bridge(config), _decoder(config, target_table, output))


def _encoder(config: RecurrentConfig, table: nn.Embedding) -> RecurrentEncoder:
    layers = [
        BidirectionalEncoder(
            config.cell,
            config.memory_dim if layer else config.dim,
            config.encoder_dim,
            config.bidirectional,
            _initialization(config),
        )
        for layer in range(config.encoder_layers)
    ]
    return RecurrentEncoder(_embedding(config, table), layers, _layer_dropout(config), config.reverse_source)


def _bridge(config: RecurrentConfig) -> nn.Module:
    match config.bridge:
        case "linear":
            return LinearBridge(
                parts_of(config.cell),
                config.memory_dim,
                config.decoder_layers,
                config.decoder_dim,
                _initialization(config),
            )
        case "copy":
            return CopyBridge()
        case "zero":
            return ZeroBridge(config.decoder_layers, config.decoder_dim)


def _decoder(config: RecurrentConfig, table: nn.Embedding, output: nn.Linear) -> RecurrentDecoder:
    embedding = _embedding(config, table)
    dim, memory_dim, decoder_dim = config.dim, config.memory_dim, config.decoder_dim
    match config.attention:
        case NoAttentionConfig(thought="start"):
            return NoAttentionDecoder(embedding, _layers(config, dim), _readout(config, decoder_dim), output, 0)
        case NoAttentionConfig():
            layers, readout = _layers(config, dim + memory_dim), _readout(config, decoder_dim + memory_dim + dim)
            return NoAttentionDecoder(embedding, layers, readout, output, memory_dim)
        case BahdanauAttentionConfig() as attention:
            layers, readout = _layers(config, dim + memory_dim), _readout(config, decoder_dim + memory_dim + dim)
            return BahdanauDecoder(embedding, layers, _attention(config, attention), readout, output)
        case LuongAttentionConfig(input_feeding=True) | LocalAttentionConfig(input_feeding=True) as attention:
            layers, readout = _layers(config, dim + dim), _readout(config, memory_dim + decoder_dim)
            return InputFeedingDecoder(embedding, layers, _attention(config, attention), readout, output, dim)
        case attention:
            layers, readout = _layers(config, dim), _readout(config, memory_dim + decoder_dim)
            return LuongDecoder(embedding, layers, _attention(config, attention), readout, output)


def _attention(config: RecurrentConfig, attention: ScoredConfig) -> SourceAttention:
    width = attention.score_dim or config.decoder_dim
    score = build_score(score_kind(attention), config.decoder_dim, config.memory_dim, width, _initialization(config))
    return SourceAttention(score, _focus(config, attention))


def _focus(config: RecurrentConfig, attention: ScoredConfig) -> Focus:
    match attention:
        case LocalAttentionConfig(position="monotonic"):
            return LocalMonotonic(attention.window)
        case LocalAttentionConfig():
            return LocalPredictive(attention.window, config.decoder_dim, _initialization(config))
        case HardAttentionConfig():
            return HardAttention(attention.gradient)
        case _:
            return GlobalAttention()


def _layers(config: RecurrentConfig, input_dim: int) -> UnidirectionalStack:
    layers = [
        UnidirectionalEncoder(
            config.cell, config.decoder_dim if layer else input_dim, config.decoder_dim, _initialization(config)
        )
        for layer in range(config.decoder_layers)
    ]
    return UnidirectionalStack(layers, _layer_dropout(config))


def _readout(config: RecurrentConfig, input_dim: int) -> Readout:
    return Readout(input_dim, config.dim, _dropout(config.readout_dropout, config), _initialization(config))


def _token_table(config: RecurrentConfig, vocabulary: int) -> nn.Embedding:
    table = nn.Embedding(vocabulary, config.dim)
    _initialization(config).embedding(table.weight)
    return table


def _embedding(config: RecurrentConfig, table: nn.Embedding) -> nn.Module:
    return nn.Sequential(table, _dropout(config.embedding_dropout, config))


def _initialization(config: RecurrentConfig) -> RecurrentInitialization:
    return RecurrentInitialization(config.initialization, config.uniform_bound or UNIFORM_BOUND)


def _layer_dropout(config: RecurrentConfig) -> Dropout:
    return _dropout(config.layer_dropout, config)


def _dropout(special: float | None, config: RecurrentConfig) -> Dropout:
    return Dropout(config.dropout if special is None else special)
