"""Interventions: values in a model's own forward pass are recorded and changed, to see what causes what.

    with transduce.intervene(model) as edit:
        clean = edit.record("decoder.layers.0.after")
        translator.translate(["The dog sleeps."])
    with transduce.intervene(model) as edit:
        edit.patch("decoder.layers.0.after", clean, at=2)
        translator.translate(["The cat sleeps."])

Values have the axes [rows, tokens, width], or [rows, tokens, heads, width] where a place has heads. Tokens are counted
from 0 in each text, a decoder's from its first input on. In a search each step reads one token of the hypotheses that
are not finished, which are its rows.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.base.config import suggestion
from transduce.base.errors import InputError
from transduce.models.heads import EncoderModel
from transduce.models.interface import EncoderDecoder, ReadsLengths, Rearranges, TextEncoder
from transduce.nn.places import Place, Places
from transduce.nn.recording import plain_paths, swapped
from transduce.nn.state import Sampler

Value = Float[Tensor, "rows tokens *heads width"]
Numbers = int | Sequence[int] | None
"""Numbers of tokens (`at`), heads or rows, from 0; None for all."""


@dataclass(frozen=True)
class Visit:
    """One value of a place."""

    reading: int
    """Number of the text, or of the batch of texts, since recording began, from 0."""
    start: int
    """Number of the first token."""
    value: Value
    is_real: Tensor | None
    """True where a token of a source is real, [rows, tokens]; None where all are, as far as is known."""

    @property
    def stop(self) -> int:
        """Number of the token after the last."""
        return self.start + self.value.shape[1]


class Recording:
    """Recorded values; `recording[place]` joins those of all tokens of a text."""

    def __init__(self) -> None:
        self.visits: dict[str, list[Visit]] = {}
        """Values by the names of their places, in the order of their calls."""

    def __getitem__(self, place: str) -> Value:
        """Returns the values of the only text, or batch of texts, that was read."""
        return self.joined(place, 0).value

    def __iter__(self) -> Iterator[str]:
        return iter(self.visits)

    def joined(self, place: str, reading: int) -> Visit:
        """Returns the values of one reading; raises InputError where there are none, or where its calls do not follow
        one another with the same rows, as in a search in which some have finished."""
        visits = [visit for visit in self.visits.get(place, []) if visit.reading == reading]
        fit = all(a.stop == b.start and len(a.value) == len(b.value) for a, b in pairwise(visits))
        if not visits or not fit:
            what = "has calls that do not fit together, see `visits`" if visits else "was not recorded"
            raise InputError(f"{place} {what} in reading {reading}")
        return replace(visits[0], value=torch.cat([visit.value for visit in visits], 1))

    def mean(self, place: str) -> Float[Tensor, "*heads width"]:
        """Returns the mean over all rows and tokens, without the padding of sources."""
        visits = self.visits.get(place) or [self.joined(place, 0)]  # which tells that nothing was recorded
        real = [v.value.flatten(0, 1) if v.is_real is None else v.value[v.is_real] for v in visits]
        return torch.cat(real).mean(0)

    def match(self, place: str, visit: Visit) -> Value | None:
        """Returns the values for another pass's visit; None if its tokens were not recorded. The first reading is for
        all, if it is the only one."""
        visits = self.visits.get(place, [])
        reading = visit.reading if any(other.reading for other in visits) else 0
        for other in visits:  # of the same call, however many rows others have
            if other.reading == reading and (other.start, other.stop) == (visit.start, visit.stop):
                return other.value
        known = self.joined(place, reading)
        if visit.start < known.start or visit.stop > known.stop:
            return None
        return known.value[:, visit.start - known.start : visit.stop - known.start]


Act = Callable[[Visit], Value | None]
"""A recording or a change at a place: returns the new values of a visit; None where they stay."""


@dataclass
class _Reading:
    """Tokens that an encoder or a decoder reads in one call."""

    number: int
    rows: int
    start: int
    is_real: Tensor | None = None
    seen: Counter[str] = field(default_factory=Counter)
    """Tokens, or calls, of this reading that each place has seen."""


class Intervention:
    """Recordings and changes of values while `intervene` is open, at each place in the order of these calls.

    Changes take `at`, `heads` and `rows`, numbers of tokens, heads and rows from 0; by default they are of all. A value
    may be [width], or any shape that expands to that of the values of a call.
    """

    def __init__(self, model: Any) -> None:
        self.places: Places = model.places()
        self._encoder = getattr(model, "encoder", model)
        self._acts: dict[str, list[Act]] = defaultdict(list)
        self._waiting: dict[Act, str] = {}  # changes that were not made yet, with their places
        self._readings: dict[str, _Reading] = {}
        self._begun: Counter[str] = Counter()
        self._position = 0

    def record(self, *places: str) -> Recording:
        """Returns what will hold the values of these places, by default of all, without gradients."""
        recording = Recording()

        def write(place: str, visit: Visit) -> None:
            recording.visits.setdefault(place, []).append(replace(visit, value=visit.value.detach()))

        for place in places or self.places:
            self._find(place)
            self._acts[place].append(partial(write, place))
        return recording

    def change(
        self,
        place: str,
        make: Callable[[Visit], Tensor | None],
        at: Numbers = None,
        heads: Numbers = None,
        rows: Numbers = None,
    ) -> None:
        """Puts what a function makes of each visit in place of its values; None leaves them."""
        has = self._find(place).heads
        if heads is not None and (has is None or max(_listed(heads)) >= has):
            raise InputError(f"{place} has {has or 'no'} heads; leave `heads` out, or choose from 0 on")

        def act(visit: Visit) -> Value | None:
            tokens = None if at is None else [i - visit.start for i in _listed(at) if visit.start <= i < visit.stop]
            made = None if tokens == [] else make(visit)
            if made is None:
                return None
            try:
                mask = _mask([rows, tokens, *([] if has is None else [heads])], visit.value)
                return torch.where(mask, made.to(visit.value), visit.value)
            except (RuntimeError, IndexError):
                found, expected = list(made.shape), list(visit.value.shape)
                raise InputError(
                    f"{place}: {found} does not fit values {expected}, or these have no such row"
                ) from None

        self._acts[place].append(act)
        self._waiting[act] = place

    def replace(self, place: str, value: Tensor, **chosen: Numbers) -> None:
        """Puts a value in place of others."""
        self.change(place, lambda _: value, **chosen)

    def add(self, place: str, value: Tensor, **chosen: Numbers) -> None:
        """Adds a value."""
        self.change(place, lambda visit: visit.value + value.to(visit.value), **chosen)

    def zero(self, place: str, **chosen: Numbers) -> None:
        """Puts zeros in place of values."""
        self.change(place, lambda visit: torch.zeros_like(visit.value), **chosen)

    def mean(self, place: str, recording: Recording, **chosen: Numbers) -> None:
        """Puts the mean of recorded values in place of each; see `Recording.mean`."""
        self.replace(place, recording.mean(place), **chosen)

    def patch(self, place: str, recording: Recording, **chosen: Numbers) -> None:
        """Puts the values that another pass had for the same reading, rows and tokens in place of this one's."""
        self.change(place, partial(recording.match, place), **chosen)

    def check(self) -> None:
        """Raises InputError for a change that no pass has come by."""
        if self._waiting:
            place = next(iter(self._waiting.values()))
            raise InputError(
                f"{place} was not changed: nothing computed it for such tokens (a loss makes no decoder.logits)"
            )

    def _find(self, place: str) -> Place:
        if place not in self.places:
            raise InputError(f"there is no place {place!r} in the model{suggestion(place, list(self.places))}")
        return self.places[place]

    def visit(self, name: str, given: Any) -> Any:
        """Returns what a method takes or gives, with the values of a place changed."""
        place, side = self.places[name], "decoder" if name.startswith("decoder.") else "encoder"
        reading, acts = self._readings.get(side), self._acts.get(name)
        if reading is None or not acts:
            return given
        seen, before = reading.seen[name], place.get(given)  # [..., width]
        is_other = place.stream is not None and seen != place.stream
        if is_other or not before.numel():
            reading.seen[name] += is_other
            return given
        # give each row its tokens, and each head its part
        flat, order = before.flatten(0, -2), self._order_of(before, reading.is_real) if place.is_arranged else None
        if order is None:
            tokens = flat.view(reading.rows, -1, flat.shape[-1])
        else:
            tokens = torch.cat([torch.zeros_like(flat[:1]), flat])[order]
        reading.seen[name] += 1 if place.stream is not None else tokens.shape[1]
        value = tokens if place.heads is None else tokens.unflatten(-1, (place.heads, -1))
        # say which tokens they are
        within = -tokens.shape[1] if place.holds == "before" else 0 if place.stream is not None else seen
        of_tokens = reading.is_real is not None and reading.is_real.shape == tokens.shape[:2]
        visit = Visit(reading.number, reading.start + within, value, reading.is_real if of_tokens else None)
        # record and change them in turn
        for act in acts:
            made = act(visit)
            if made is not None:
                self._waiting.pop(act, None)
                visit = replace(visit, value=made)
        if visit.value is value:
            return given
        new = visit.value.reshape(tokens.shape)
        if order is not None:
            new = flat.index_copy(0, order[order > 0] - 1, new[order > 0])
        return place.put(given, new.reshape(before.shape))

    def _order_of(self, value: Tensor, is_real: Tensor | None) -> Tensor | None:
        """Returns each token's number, from 1, among the vectors of an encoder that rearranges them, [rows, tokens]; 0
        where it has none."""
        if is_real is None or not isinstance(self._encoder, Rearranges):
            return None
        numbers = torch.arange(1, value.shape[:-1].numel() + 1, dtype=torch.float64, device=value.device)
        return self._encoder.arranged_back(numbers.view(*value.shape[:-1], 1), is_real)[..., 0].long()

    def reads(self, plain: Callable[..., Any], side: str, mask: int | None = None) -> Callable[..., Any]:
        """Returns a method that reads tokens; `mask` is the number of the argument after them that says which are
        real."""

        def read(tokens: Tensor, *others: Any, **options: Any) -> Any:
            if side in self._readings:  # opened by a method around this one
                return plain(tokens, *others, **options)
            if side == "encoder":
                self._begun[side], start = self._begun[side] + 1, 0
            else:
                start, self._position = self._position, self._position + tokens.shape[1]
            is_real = None if mask is None else others[mask]
            number = max(self._begun[side] - 1, 0)
            self._readings[side] = _Reading(number, len(tokens), start, is_real)
            try:
                return plain(tokens, *others, **options)
            finally:
                del self._readings[side]

        return read

    def starts(self, plain: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Returns a method that makes a decoder's state, after which tokens are counted from 0."""

        def start(memory: Any) -> Any:
            self._begun["decoder"] += 1
            self._position = 0
            return plain(memory)

        return start

    def one_by_one(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a decoder's method `read`, which sees each token alone where a place holds the last one's value."""

        def read(tokens: Tensor, state: Any) -> Any:
            if tokens.shape[1] == 1 or not any(self.places[place].holds == "last" for place in self._acts):
                return plain(tokens, state)
            steps = []
            for token in tokens.split(1, 1):
                hidden, state = plain(token, state)
                steps.append(hidden)
            if isinstance(state, Sampler) and state.sampled_log_probabilities is not None:
                raise InputError("states between draws of positions are not seen at once; read the tokens one by one")
            return torch.cat(steps, 1), state

        return read


@contextmanager
def intervene(model: Any) -> Iterator[Intervention]:
    """Records and changes values in the passes of a model, or of a loaded tool's first model, while open.

    The model takes its plain path meanwhile: PyTorch in this process, neither compiled nor packed. Not thread-safe.
    Raises InputError at the end for a change of values that were never computed.
    """
    module = _module_of(model)
    edit = Intervention(module)
    at_method: dict[tuple[nn.Module, str], list[str]] = defaultdict(list)
    for name, place in edit.places.items():
        for method in place.methods:
            at_method[place.module, method].append(name)
    with ExitStack() as stack:
        stack.enter_context(plain_paths())
        for (part, method), names in at_method.items():
            stack.enter_context(swapped(part, method, _visited(edit, names, getattr(part, method))))
        for part, method, new in _entries(module, edit):
            stack.enter_context(swapped(part, method, new))
        yield edit
    edit.check()


def places(model: Any) -> Places:
    """Returns the places of a model, or of a loaded tool's first model, by their names."""
    return _module_of(model).places()


def _module_of(model: Any) -> Any:
    """Returns a model, or that of a tool; raises InputError where there is none of PyTorch."""
    module = getattr(getattr(model, "bundle", model), "model", model)
    if not isinstance(module, EncoderDecoder | EncoderModel | TextEncoder):
        raise InputError(f"a {type(model).__name__} has no network to look into; give a model of PyTorch, or its tool")
    return module


def _entries(model: Any, edit: Intervention) -> Iterator[tuple[nn.Module, str, Callable[..., Any]]]:
    """Yields methods of a model that begin to read tokens, each with what takes its place."""
    if not isinstance(model, EncoderDecoder):
        for module in dict.fromkeys((getattr(model, "encoder", model), model)):
            yield module, "forward", edit.reads(module.forward, "encoder", mask=1)
        return
    yield model, "encode", edit.reads(model.encode, "encoder", mask=0)
    if isinstance(model, ReadsLengths):
        yield model, "encode_rows", lambda source, is_real, rows: model.encode(source, is_real)
    for method in ("start", "resume"):
        if hasattr(model, method):
            yield model, method, edit.starts(getattr(model, method))
    for method in model.readers:
        yield model, method, edit.reads(getattr(model, method), "decoder")
    yield model.decoder, "read", edit.reads(edit.one_by_one(model.decoder.read), "decoder")
    yield model.decoder, "forward", edit.reads(model.decoder.forward, "decoder")


def _visited(edit: Intervention, names: Sequence[str], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method that shows the values of its places."""
    taken = [(name, edit.places[name].argument) for name in names]

    def run(*given: Any, **options: Any) -> Any:
        inputs = list(given)
        for name, number in taken:
            if number is not None:
                inputs[number] = edit.visit(name, inputs[number])
        result = plain(*inputs, **options)
        for name, number in taken:
            result = edit.visit(name, result) if number is None else result
        return result

    return run


def _listed(numbers: Numbers) -> list[int]:
    return [numbers] if isinstance(numbers, int) else list(numbers or ())


def _mask(chosen: Sequence[Numbers], value: Value) -> Tensor:
    """Returns True where numbers are chosen along each of the first axes, in a shape that expands to the value's."""
    mask = torch.ones((1,) * value.dim(), dtype=torch.bool, device=value.device)
    for axis, numbers in enumerate(chosen):
        if numbers is not None:
            along = torch.zeros(value.shape[axis], dtype=torch.bool, device=value.device)
            along[_listed(numbers)] = True
            mask = mask & along.view([-1 if other == axis else 1 for other in range(value.dim())])
    return mask
