"""The decoders of the recurrent family, one for each way in which the source may enter the recurrence."""

from abc import abstractmethod
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.shapes import Hidden, Tokens
from transduce.models.interface import Decoder, Memory
from transduce.models.recurrent.encoder import RecurrentMemory
from transduce.nn.attention import KeysValues
from transduce.nn.initialization import RecurrentInitialization
from transduce.nn.layers import Dropout
from transduce.nn.masks import padding_mask
from transduce.nn.places import Places, within
from transduce.nn.recurrence import StackState, UnidirectionalStack, pack, unpack
from transduce.nn.source_attention import SourceAttention
from transduce.nn.state import RecurrentState


class RecurrentDecoder(Decoder[RecurrentState]):
    """A decoder of recurrent layers, and its first state."""

    layers: UnidirectionalStack

    @abstractmethod
    def start(self, memory: RecurrentMemory, first: StackState) -> RecurrentState:
        """Returns a state that has read nothing; `first` is what the layers remember."""


class Readout(nn.Module):
    """tanh(W [...]) of concatenated inputs, the last layer before the output layer: Luong's attentional vector (2015,
    eq. 5) of context and state; in place of Bahdanau's maxout layer."""

    def __init__(self, input_dim: int, dim: int, dropout: Dropout, initialization: RecurrentInitialization) -> None:
        super().__init__()
        self.linear = nn.Linear(input_dim, dim)
        self.dropout = dropout
        initialization.matrix(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, *parts: Float[Tensor, "*positions _"]) -> Float[Tensor, "*positions dim"]:
        """Returns one vector per position."""
        return self.dropout(self.linear(torch.cat(parts, -1)).tanh())


class NoAttentionDecoder(RecurrentDecoder):
    """Knows the source by its first state (Sutskever et al. 2014) and, unless `context_dim` is 0, by this many numbers
    of the encoder's last state, which are part of every step's input and of the readout (Cho et al. 2014)."""

    def __init__(
        self, embedding: nn.Module, layers: UnidirectionalStack, readout: Readout, output: nn.Linear, context_dim: int
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = layers
        self.readout = readout
        self.output = output
        self.context_dim = context_dim

    def start(self, memory: RecurrentMemory, first: StackState) -> RecurrentState:
        """See RecurrentDecoder."""
        thought = memory.final[:, -1:, :1, : self.context_dim]  # as if there were one source position
        only = Memory(thought[:, 0], memory.is_real[:, :1])
        return _started(only, KeysValues(thought, thought), first, fed_dim=0)

    def read(self, tokens: Tokens, state: RecurrentState) -> tuple[Hidden, RecurrentState]:
        """Reads all steps at once."""
        embedded = self.embedding(tokens)  # [rows, time, embedding_dim]
        # the same summary of the source is beside each token
        thought = state.source.values[:, 0].repeat_interleave(state.rows_per_sentence, 0)  # [rows, 1, context_dim]
        context = thought.expand(-1, tokens.shape[1], -1)  # [rows, time, context_dim]
        hidden, after = self.layers(torch.cat([embedded, context], -1), state.hidden)  # [rows, time, decoder_dim]
        read = self.readout(hidden, context, embedded) if self.context_dim else self.readout(hidden)
        return read, _moved(state, tokens, after, state.fed)


class AttentiveDecoder(RecurrentDecoder):
    """Parts and first state of a decoder that attends to the source; `fed_dim` numbers of each step enter the next."""

    def __init__(
        self,
        embedding: nn.Module,
        layers: UnidirectionalStack,
        attention: SourceAttention,
        readout: Readout,
        output: nn.Linear,
        fed_dim: int = 0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = layers
        self.attention = attention
        self.readout = readout
        self.output = output
        self.fed_dim = fed_dim

    def start(self, memory: RecurrentMemory, first: StackState) -> RecurrentState:
        """See RecurrentDecoder."""
        return _started(memory, self.attention.project(memory.hidden), first, self.fed_dim)

    def places(self) -> Places:
        """See Decoder; with the attention."""
        return {**super().places(), **within("attention", self.attention.places())}


class LuongDecoder(AttentiveDecoder):
    """Attends with the state after each step, which enters no later step (Luong et al. 2015): one run over all steps,
    one attention of all their states."""

    def read(self, tokens: Tokens, state: RecurrentState) -> tuple[Hidden, RecurrentState]:
        """Reads all steps at once."""
        # run the recurrence over all tokens
        hidden, after = self.layers(self.embedding(tokens), state.hidden)  # s_t  [rows, time, decoder_dim]
        # attend to the source with the state after each
        context, sampled = _attend(self.attention, hidden, state, 0)  # c_t  [rows, time, memory_dim]
        # predict from both
        read = self.readout(context, hidden)  # tanh(W [c_t; s_t])  [rows, time, dim]
        return read, replace(_moved(state, tokens, after, state.fed), sampled_log_probabilities=sampled)


class InputFeedingDecoder(AttentiveDecoder):
    """Attends with the state after each step, and makes the attentional vector part of the next step's input (Luong et
    al. 2015, section 3.3)."""

    def read(self, tokens: Tokens, state: RecurrentState) -> tuple[Hidden, RecurrentState]:
        """Reads step by step, from token inputs projected for all steps."""
        lowest = self.layers.layers[0]
        # what tokens put into the lowest layer's gates needs no step
        of_tokens, of_fed = lowest.input_weights(self.fed_dim, self.fed_dim)
        inputs = functional.linear(self.embedding(tokens), of_tokens, lowest.input_bias)  # [rows, time, gates]
        fed, states, read = state.fed, unpack(state.hidden), []
        for step, of_token in enumerate(inputs.unbind(1)):
            # the token and the last attentional vector move the state
            states = self.layers.step(torch.addmm(of_token, fed, of_fed.t()), states)
            hidden = self.layers.dropout(states[-1][0])  # s_t  [rows, decoder_dim]
            # attend with it
            context, _ = _attend(self.attention, hidden[:, None], state, step)  # c_t  [rows, 1, memory_dim]
            # make the attentional vector, which is read out and fed to the next step
            fed = self.readout(context[:, 0], hidden)  # tanh(W [c_t; s_t])  [rows, dim]
            read.append(fed)
        return torch.stack(read, 1), _moved(state, tokens, pack(states), fed)


class BahdanauDecoder(AttentiveDecoder):
    """Attends with the state before each step, and makes the context part of its input (Bahdanau et al. 2015)."""

    def read(self, tokens: Tokens, state: RecurrentState) -> tuple[Hidden, RecurrentState]:
        """Reads step by step, from token inputs projected for all steps; all that no step needs is computed at once."""
        lowest, embedded = self.layers.layers[0], self.embedding(tokens)
        # what tokens put into the lowest layer's gates needs no step
        of_tokens, of_context = lowest.input_weights(embedded.shape[-1], state.source.values.shape[-1])
        inputs = functional.linear(embedded, of_tokens, lowest.input_bias)  # [rows, time, gates]
        states, hidden, contexts = unpack(state.hidden), [], []
        for step, of_token in enumerate(inputs.unbind(1)):
            # attend with the state before the token
            context, _ = _attend(self.attention, states[-1][0][:, None], state, step)  # c_t  [rows, 1, memory_dim]
            # the token and what was found move the state
            states = self.layers.step(torch.addmm(of_token, context[:, 0], of_context.t()), states)  # s_t
            hidden.append(states[-1][0])
            contexts.append(context)
        # predict from the state, the context and the token of each step
        outputs = self.layers.dropout(torch.stack(hidden, 1))  # [rows, time, decoder_dim]
        read = self.readout(outputs, torch.cat(contexts, 1), embedded)  # [rows, time, dim]
        return read, _moved(state, tokens, pack(states), state.fed)


def _started(memory: Memory, source: KeysValues, first: StackState, fed_dim: int) -> RecurrentState:
    fed = memory.hidden.new_zeros(len(memory.hidden), fed_dim)
    return RecurrentState(source, padding_mask(memory.is_real), first, fed, position=0)


def _moved(state: RecurrentState, tokens: Tokens, hidden: StackState, fed: Tensor) -> RecurrentState:
    if state.place is not None:
        return replace(state, hidden=hidden, fed=fed, place=state.place + tokens.shape[1])
    return replace(state, hidden=hidden, fed=fed, position=state.position + tokens.shape[1])


def _attend(
    attention: SourceAttention, hidden: Hidden, state: RecurrentState, step: int
) -> tuple[Float[Tensor, "rows time memory_dim"], Float[Tensor, "rows time"] | None]:
    """Attends with each row's states, at positions from `step` after those that the state has read, all rows of a
    sentence together."""
    rows, time, _ = hidden.shape
    start = step if state.place is not None else state.position + step
    times = torch.arange(start, start + time, device=hidden.device).repeat(state.rows_per_sentence)
    if state.place is not None:
        times = times + state.place
    queries = hidden.reshape(len(state.source_may_attend), -1, hidden.shape[-1])  # [sentences, rows * time, dim]
    attended = attention(queries, state.source, state.source_may_attend, times)
    sampled = attended.sampled_log_probabilities
    return attended.context.reshape(rows, time, -1), None if sampled is None else sampled.reshape(rows, time)
