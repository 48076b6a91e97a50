"""Interventions: values inside a model are recorded and changed in its own forward pass, to see what causes what.

    with transduce.intervene(model) as edit:
        clean = edit.record("decoder.layers.0.after")
        translator.translate(["The dog sleeps."])
    with transduce.intervene(model) as edit:
        edit.patch("decoder.layers.0.after", clean, at=2)
        translator.translate(["The cat sleeps."])

Values have the axes [rows, tokens, width], or [rows, tokens, heads, width] at places that have heads. Tokens are counted
from 0 in each text that is read, and from the decoder's first; in a search a row is a hypothesis, and each step reads a
token of those that are not finished.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.base.config import suggestion
from transduce.base.errors import InputError
from transduce.models.heads import EncoderModel
from transduce.models.interface import EncoderDecoder, Rearranges, TextEncoder
from transduce.nn.places import Place, Places
from transduce.nn.recording import plain_paths, swapped
from transduce.nn.state import Sampler

Value = Float[Tensor, "rows tokens *heads width"]
Chosen = int | Sequence[int] | None
"""Numbers of tokens, heads or rows, from 0; None for all."""


def places(model: Any) -> Places:
    """Returns the places of a model, or of a loaded translator, generator or reader, by their names."""
    return _module_of(model).places()


@dataclass(frozen=True)
class Visit:
    """One value of a place."""

    reading: int
    """Number of the text, or batch of texts, that was read while recording, from 0."""
    start: int
    """Number of the first token."""
    value: Value
    is_real: Tensor | None = None
    """True where a token of a source is real, [rows, tokens]; None where all are, as far as is known."""

    @property
    def stop(self) -> int:
        """Number of the token after the last."""
        return self.start + self.value.shape[1]


class Recording(Mapping[str, Value]):
    """Recorded values by the names of their places, all tokens of a text together."""

    def __init__(self) -> None:
        self.visits: dict[str, list[Visit]] = {}
        """Values in the order of their calls."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.visits)

    def __len__(self) -> int:
        return len(self.visits)

    def __getitem__(self, place: str) -> Value:
        """Returns the values of the only text, or batch of texts, that was read; raises InputError without one."""
        return self.joined(place).value

    def joined(self, place: str, reading: int | None = None) -> Visit:
        """Returns the values of one reading; raises InputError where there is none, or its calls do not fit together,
        as those of a search in which rows have finished."""
        visits = self.visits.get(place, [])
        readings = sorted({visit.reading for visit in visits})
        if not readings:
            raise InputError(f"{place} was not recorded; record it in a pass that computes it")
        if reading is None and len(readings) > 1:
            raise InputError(f"{place} was recorded in {len(readings)} readings: choose one, joined(place, reading)")
        chosen = [visit for visit in visits if visit.reading == (readings[0] if len(readings) == 1 else reading)]
        follow = all(first.stop == second.start for first, second in zip(chosen, chosen[1:], strict=False))
        if not follow or len({len(visit.value) for visit in chosen}) != 1:
            raise InputError(f"{place}: the calls of reading {reading or 0} do not fit together; see `visits`")
        return replace(chosen[0], value=torch.cat([visit.value for visit in chosen], 1))

    def mean(self, place: str, is_real: Tensor | None = None) -> Float[Tensor, "*heads width"]:
        """Returns the mean over all recorded rows and tokens.

        Padding of sources is left out; `is_real`, [rows, tokens], says of a single reading which tokens are real.
        """
        visits = [replace(self.joined(place), is_real=is_real)] if is_real is not None else self.visits.get(place)
        if not visits:
            raise InputError(f"{place} was not recorded; record it in a pass that computes it")
        real = [v.value.flatten(0, 1) if v.is_real is None else v.value[v.is_real] for v in visits]
        return torch.cat(real).mean(0)

    def at(self, place: str, visit: Visit) -> Value | None:
        """Returns the values for a visit of another pass; what was not recorded stays as it is, None if that is all."""
        visits = self.visits.get(place, [])
        is_single = len({other.reading for other in visits}) == 1
        for other in visits:  # of the same call, whatever rows others have
            is_same = is_single or other.reading == visit.reading
            if is_same and other.start == visit.start and other.value.shape == visit.value.shape:
                return other.value
        known = self.joined(place, visit.reading)
        first, last = max(known.start, visit.start), min(known.stop, visit.stop)
        if first >= last:
            return None
        value = visit.value.clone()
        value[:, first - visit.start : last - visit.start] = known.value[:, first - known.start : last - known.start]
        return value


Replacement = Callable[[Value, Visit], Tensor | None]
"""Returns what takes the place of a visit's values, in a shape that expands to theirs; None for nothing."""


@dataclass
class _Act:
    """A recording or a change at a place."""

    place: str
    act: Callable[[Value, Visit], Value | None]
    """Returns the new values; None where they stay."""
    is_change: bool = True
    has_acted: bool = False


@dataclass
class _Reading:
    """The tokens that an encoder or a decoder reads in one call."""

    number: int
    rows: int
    start: int
    is_real: Tensor | None = None
    encoder: nn.Module | None = None
    seen: Counter[str] = field(default_factory=Counter)
    """Tokens, or calls, of this reading that each place has seen."""

    def order_of(self, value: Tensor) -> Tensor | None:
        """Returns the number, from 1, of the vector that each token has in an encoder's own arrangement, [rows,
        tokens], 0 where it has none; None where tokens are where they were read."""
        if self.is_real is None or not isinstance(self.encoder, Rearranges):
            return None
        vectors = value.shape[:-1].numel()
        numbers = torch.arange(1.0, vectors + 1, dtype=torch.float64, device=value.device)
        return self.encoder.arranged_back(numbers.view(*value.shape[:-1], 1), self.is_real)[..., 0].long()


class Intervention:
    """What is recorded and changed in a model while `intervene` is open; at each place in the order it was asked for.

    Every change may choose tokens (`at`), heads and rows by their numbers from 0; by default it is of all.
    """

    def __init__(self, places: Places) -> None:
        self.places = places
        self.acts: list[_Act] = []
        self._readings: dict[str, _Reading] = {}
        self._begun: Counter[str] = Counter()
        self._read = 0
        self._is_starting = False

    def record(self, *places: str) -> Recording:
        """Returns what holds the values of these places, by default of all, once they are computed; no gradients."""
        recording = Recording()

        def write(place: str, value: Value, visit: Visit) -> None:
            if visit.reading >= 0:  # not a token that the decoder reads before each target
                recording.visits.setdefault(place, []).append(replace(visit, value=value.detach()))

        for place in places or self.places:
            self._find(place)
            self.acts.append(_Act(place, partial(write, place), is_change=False))
        return recording

    def change(
        self, place: str, new: Replacement, at: Chosen = None, heads: Chosen = None, rows: Chosen = None
    ) -> None:
        """Puts what a function makes of the values, and of the visit that they are of, in their place."""
        found = self._find(place)
        if heads is not None and (found.heads is None or max(_numbers(heads)) >= found.heads):
            raise InputError(f"{place} has {found.heads or 'no'} heads, from 0; choose one of them, or leave heads out")

        def act(value: Value, visit: Visit) -> Value | None:
            tokens = [number - visit.start for number in _numbers(at) if visit.start <= number < visit.stop]
            if at is not None and not tokens:
                return None
            made = new(value, visit)
            if made is None:
                return None
            chosen = (rows, None if at is None else tokens, *([heads] if found.heads else []), None)
            try:
                return torch.where(_mask(chosen, value), made.to(value.dtype), value)
            except (RuntimeError, IndexError):
                raise InputError(
                    f"{place}: {list(made.shape)} does not fit its values, {list(value.shape)}, in the rows chosen"
                ) from None

        self.acts.append(_Act(place, act))

    def replace(self, place: str, value: Tensor, at: Chosen = None, heads: Chosen = None, rows: Chosen = None) -> None:
        """Puts a value in place of others: [width], or with further axes before it, of 1 or as many as the place has;
        its axis of tokens is of those in `at`, or of all from the first."""
        self.change(place, partial(_of_tokens, value, at, place), at, heads, rows)

    def add(self, place: str, value: Tensor, at: Chosen = None, heads: Chosen = None, rows: Chosen = None) -> None:
        """Adds a value, of a shape as `replace` takes."""

        def sum_of(old: Value, visit: Visit) -> Tensor:
            return old + _of_tokens(value, at, place, old, visit)

        self.change(place, sum_of, at, heads, rows)

    def zero(self, place: str, at: Chosen = None, heads: Chosen = None, rows: Chosen = None) -> None:
        """Puts zeros in place of values."""
        self.change(place, lambda value, _: torch.zeros_like(value), at, heads, rows)

    def mean(
        self,
        place: str,
        recording: Recording,
        at: Chosen = None,
        heads: Chosen = None,
        rows: Chosen = None,
        is_real: Tensor | None = None,
    ) -> None:
        """Puts the mean of recorded values in place of each; see `Recording.mean`."""
        self.replace(place, recording.mean(place, is_real), at, heads, rows)

    def patch(
        self, place: str, recording: Recording, at: Chosen = None, heads: Chosen = None, rows: Chosen = None
    ) -> None:
        """Puts values of another pass in place of those of the same reading, tokens and rows; a recording of a single
        reading is for all of them, and one of a single row for all rows."""
        self.change(place, lambda value, visit: recording.at(place, replace(visit, value=value)), at, heads, rows)

    def _find(self, place: str) -> Place:
        if place not in self.places:
            raise InputError(
                f"there is no place {place!r} in the model{suggestion(place, list(self.places))}; see places"
            )
        return self.places[place]

    def _visit(self, name: str, given: Any) -> Any:
        """Returns what a method takes or gives, with the values of a place changed."""
        place, side = self.places[name], _side_of(name)
        reading, acts = self._readings.get(side), [act for act in self.acts if act.place == name]
        if reading is None or not acts:
            return given
        before = place.get(given)
        order = reading.order_of(before) if place.is_arranged and side == "encoder" else None
        seen = reading.seen[name]
        if not before.numel() or (place.stream is not None and seen != place.stream):
            reading.seen[name] += 1
            return given
        if order is None:
            value = before.reshape(reading.rows, -1, before.shape[-1])
        else:
            value = torch.cat([before.new_zeros(1, before.shape[-1]), before.flatten(0, -2)])[order]
        tokens = value.shape[1]
        if place.heads is not None:
            value = value.unflatten(-1, (place.heads, -1))
        start = reading.start
        if place.holds == "before":
            start -= tokens
        elif place.stream is None:
            start += seen
        reading.seen[name] += tokens if place.stream is None else 1
        new, is_real = value, reading.is_real
        if is_real is not None and is_real.shape != value.shape[:2]:
            is_real = None  # of one value a row
        for act in acts:
            changed = act.act(new, Visit(reading.number, start, new, is_real))
            act.has_acted |= changed is not None
            new = new if changed is None else changed
        if new is value:
            return given
        new = new.flatten(-2) if place.heads is not None else new
        if order is None:
            return place.put(given, new.reshape(before.shape))
        flat = before.flatten(0, -2).clone()
        flat[order[order > 0] - 1] = new[order > 0]
        return place.put(given, flat.view(before.shape))

    @contextmanager
    def _reading(self, side: str, tokens: Tensor, **more: Any) -> Iterator[_Reading]:
        """Opens the reading of some tokens, unless a method around this one has."""
        if side in self._readings:
            yield self._readings[side]
            return
        rows, time = tokens.shape
        if side == "encoder":
            start = 0
            self._begun[side] += 1
        else:
            start = -time if self._is_starting else self._read
            self._read = 0 if self._is_starting else start + time
        number = -1 if start < 0 else max(self._begun[side] - 1, 0)
        self._readings[side] = _Reading(number, rows, start, **more)
        try:
            yield self._readings[side]
        finally:
            del self._readings[side]

    def _entries(self, model: nn.Module) -> Iterator[tuple[nn.Module, str, Callable[..., Any]]]:
        """Yields methods that read tokens, or begin to, and what takes their places."""

        def encoding(plain: Callable[..., Any], encoder: nn.Module | None, real: int) -> Callable[..., Any]:
            def encode(*inputs: Any, **options: Any) -> Any:
                with self._reading("encoder", inputs[0], is_real=inputs[real], encoder=encoder):
                    return plain(*inputs, **options)

            return encode

        def decoding(plain: Callable[..., Any]) -> Callable[..., Any]:
            def read(tokens: Tensor, *others: Any) -> Any:
                with self._reading("decoder", tokens):
                    return plain(tokens, *others)

            return read

        def beginning(plain: Callable[..., Any]) -> Callable[..., Any]:
            def begin(memory: Any) -> Any:
                self._begun["decoder"] += 1
                self._is_starting, self._read = True, 0
                try:
                    return plain(memory)
                finally:
                    self._is_starting = False

            return begin

        if not isinstance(model, EncoderDecoder):
            encoder = model.encoder if isinstance(model, EncoderModel) else model
            for module in {model, encoder}:
                yield module, "forward", encoding(module.forward, encoder, 2)
            return
        encode = encoding(model.encode, getattr(model, "encoder", None), 1)
        yield model, "encode", encode
        if hasattr(model, "encode_rows"):
            yield model, "encode_rows", lambda source, is_real, rows: encode(source, is_real)
        for method in ("start", "resume"):
            if hasattr(model, method):
                yield model, method, beginning(getattr(model, method))
        for method in model.readers:
            yield model, method, decoding(getattr(model, method))
        yield model.decoder, "forward", decoding(model.decoder.forward)
        yield model.decoder, "read", decoding(partial(self._read_target, model.decoder.read))

    def _read_target(self, plain: Callable[..., Any], tokens: Tensor, state: Any) -> Any:
        """Reads tokens one by one where a place that holds the last token's value is asked for, else at once."""
        if not any(self.places[act.place].holds == "last" for act in self.acts):
            return plain(tokens, state)
        steps = []
        for token in tokens.split(1, 1):
            hidden, state = plain(token, state)
            steps.append(hidden)
        if len(steps) > 1 and isinstance(state, Sampler) and state.sampled_log_probabilities is not None:
            raise InputError(
                "states of a model that draws positions are seen in steps alone; read its tokens one by one"
            )
        return torch.cat(steps, 1), state


@contextmanager
def intervene(model: Any) -> Iterator[Intervention]:
    """Records and changes values in the passes of a model, or of a loaded tool's first model, while open.

    The model then takes its plain path: as PyTorch runs it in this process, neither compiled nor packed. Not
    thread-safe. Raises InputError at the end for a change of values that were never computed.
    """
    module = _module_of(model)
    edit = Intervention(module.places())
    named: dict[tuple[nn.Module, str], list[str]] = defaultdict(list)
    for name, place in edit.places.items():
        named[place.module, place.method].append(name)
    with ExitStack() as stack:
        stack.enter_context(plain_paths())
        for (part, method), names in named.items():
            stack.enter_context(swapped(part, method, _visited(edit, names, getattr(part, method))))
        for part, method, new in edit._entries(module):
            stack.enter_context(swapped(part, method, new))
        yield edit
    missed = [act.place for act in edit.acts if act.is_change and not act.has_acted]
    if missed:
        raise InputError(
            f"{missed[0]} was not changed: no pass computed it for such tokens; a loss makes no decoder.logits, and a "
            "shortlist makes others"
        )


def _visited(edit: Intervention, names: Sequence[str], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that shows the values of its places to an intervention."""

    def run(*given: Any, **options: Any) -> Any:
        inputs = list(given)
        for name in names:
            number = edit.places[name].argument
            if number is not None:
                inputs[number] = edit._visit(name, inputs[number])
        result = plain(*inputs, **options)
        for name in names:
            if edit.places[name].argument is None:
                result = edit._visit(name, result)
        return result

    return run


def _module_of(model: Any) -> Any:
    """Returns the module of a model, or of a tool that has one; raises InputError for what has none."""
    module = getattr(getattr(model, "bundle", model), "model", model)
    if not isinstance(module, EncoderDecoder | EncoderModel | TextEncoder):
        raise InputError(
            f"a {type(model).__name__} has no network here to look into; give a model of PyTorch, or what `load` returns"
        )
    return module


def _side_of(name: str) -> str:
    return "decoder" if name.startswith("decoder.") else "encoder"


def _numbers(chosen: Chosen) -> list[int]:
    return [] if chosen is None else [chosen] if isinstance(chosen, int) else list(chosen)


def _mask(chosen: Sequence[Chosen], value: Value) -> Tensor:
    """Returns True where a value is chosen, in a shape that expands to the value's."""
    mask = torch.ones((1,) * value.dim(), dtype=torch.bool, device=value.device)
    for axis, numbers in enumerate(chosen):
        if numbers is not None:
            of_axis = torch.zeros(value.shape[axis], dtype=torch.bool, device=value.device)
            of_axis[_numbers(numbers)] = True
            mask = mask & of_axis.view([-1 if other == axis else 1 for other in range(value.dim())])
    return mask


def _of_tokens(value: Tensor, at: Chosen, place: str, old: Value, visit: Visit) -> Tensor:
    """Returns a value for the tokens of a visit."""
    axis = value.dim() - old.dim() + 1
    value = value.to(old.device)
    if axis < 0 or value.shape[axis] == 1:
        return value
    numbers = _numbers(at)
    order = [numbers.index(i) if i in numbers else 0 for i in range(visit.start, visit.stop)]
    order = order if at is not None else list(range(max(visit.start, 0), visit.stop))
    if max(order) >= value.shape[axis]:
        raise InputError(f"{place}: a value for {value.shape[axis]} tokens, where there are more; choose some by `at`")
    return value.index_select(axis, torch.tensor(order, device=value.device))
