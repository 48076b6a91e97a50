"""Linear probes: what can be read off the vectors of words at each place of a model.

A probe is a softmax regression from the vector of a word's first token to the word's label. A probe may also learn
words by heart, so a second one learns a control task: a random label for each word, whatever its context. Selectivity
is how much more accurate the first is (Hewitt and Liang 2019).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from docsegments.orthography.words import words
from transduce.analysis.interventions import intervene, places
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle

Label = Literal["position", "length", "next"]
"""The number of a word in its text, its letters, or the word after it."""
MOST_LABELS = 50
"""Labels of a probe, the most frequent ones; all others are one more."""
TOKENS_AT_ONCE = 2048
TESTED = 5
"""One of so many texts is not learned from, but tested on."""
DECAY = 1e-3
"""Weight of half the squared weights of a probe, beside its mean cross-entropy in nats."""


@dataclass(frozen=True)
class Probe:
    """The accuracy of a probe on words of texts that it did not learn from, 0 to 1."""

    place: str
    accuracy: float
    control: float
    """Accuracy on the control task."""
    majority: float
    """Accuracy of the most frequent label."""
    tested: int
    """Number of words."""

    @property
    def selectivity(self) -> float:
        """Accuracy of the probe less that on the control task."""
        return self.accuracy - self.control


def probe(
    model: Any,
    texts: Sequence[str],
    label: Label | Sequence[str],
    targets: Sequence[str] | None = None,
    at: Sequence[str] | None = None,
    seed: int = 1,
) -> list[Probe]:
    """Returns a probe of each place of a model that translates: by default of embeddings and of each layer's output.

    Args:
        model: a Translator or a ModelBundle.
        texts: sources; five or more.
        label: a label that is known of each word, or a line of tags for each text, with a tag for each of its words.
        targets: translations, whose words are probed in the decoder in place of the sources' in the encoder.
        at: names of places, see `places`.
        seed: of the control's labels.

    Raises InputError for a model that does not translate, unknown places, and tags that do not fit.
    """
    bundle = getattr(model, "bundle", model)
    if not isinstance(bundle, ModelBundle) or bundle.config.task != "translation":
        raise InputError("probes are for models that translate, as PyTorch runs them; give one that is not exported")
    side, read = ("encoder", texts) if targets is None else ("decoder", targets)
    spelled = [[text[start:stop] for start, stop in words(text)] for text in read]
    labels = _labels(spelled, label)
    usual = ("embedding", "after") if side == "encoder" else ("embedding", "after", "state")
    names = at or [name for name in places(model) if name.startswith(side) and name.endswith(usual)]
    # a vector, a label and a control label for each word of each text
    vectors, kept = _vectors(bundle, texts, targets, names)
    _, true = np.unique([labels[text][word] for text, word in kept], return_inverse=True)
    types, type_of = np.unique([spelled[text][word] for text, word in kept], return_inverse=True)
    control = np.random.default_rng(seed).choice(true, len(types))[type_of]  # drawn as often as labels are
    tested = torch.tensor([text % TESTED == 0 for text, _ in kept])
    if tested.all() or not tested.any():
        raise InputError(f"a probe needs {TESTED} texts or more, with words in them; there are {len(texts)}")
    majority = float((true[tested] == np.bincount(true[~tested]).argmax()).mean())
    count = int(tested.sum())
    return [
        Probe(name, _accuracy(of_place, true, tested), _accuracy(of_place, control, tested), majority, count)
        for name, of_place in vectors.items()
    ]


def _labels(spelled: Sequence[Sequence[str]], label: Label | Sequence[str]) -> list[list[str]]:
    """Returns a label for each word of each text."""
    match label:
        case "position":
            labels = [[str(number) for number in range(len(text))] for text in spelled]
        case "length":
            labels = [[str(len(word)) for word in text] for text in spelled]
        case "next":
            labels = [[*text[1:], ""] for text in spelled]
        case _:
            labels = [tags.split() for tags in label]
    for number, (text, of_text) in enumerate(zip(spelled, labels, strict=False), 1):
        if len(text) != len(of_text):
            raise InputError(f"text {number} has {len(text)} words, but {len(of_text)} tags; write one for each word")
    if len(labels) != len(spelled):
        raise InputError(f"there are {len(spelled):,} texts, but {len(labels):,} lines of tags; give as many")
    usual = {each for each, _ in Counter(each for text in labels for each in text).most_common(MOST_LABELS)}
    return [[each if each in usual else "other" for each in text] for text in labels]


def _vectors(
    bundle: ModelBundle, texts: Sequence[str], targets: Sequence[str] | None, names: Sequence[str]
) -> tuple[dict[str, Float[Tensor, "words _"]], list[tuple[int, int]]]:
    """Returns vectors at each place, and the numbers of each one's text and word."""
    model, tokenizers = bundle.writer, bundle.tokenizers
    sources = bundle.read(texts)
    outputs = [[] for _ in texts] if targets is None else tokenizers.target.encode_batch(targets)
    tokenizer, read = (tokenizers.source, texts) if targets is None else (tokenizers.target, targets)
    before = len(bundle.marks.source) if targets is None else 1  # tokens before the first word's
    vectors: dict[str, list[Tensor]] = {name: [] for name in names}
    kept: list[tuple[int, int]] = []
    for rows, batch in bundle.batches(sources, outputs, TOKENS_AT_ONCE):
        with torch.no_grad(), intervene(bundle) as edit:
            recording = edit.record(*names)
            memory = model.encode(batch.source, batch.source_is_real)
            if targets is not None:
                model.decoder(batch.target_in, model.start(memory))
        first_tokens = [_first_tokens(tokenizer.words_of(read[i]), len(words(read[i]))) for i in rows]
        kept += [(i, word) for i, firsts in zip(rows, first_tokens, strict=True) for word in firsts]
        for name in names:
            value = recording[name].flatten(2)  # [rows, tokens, width]
            for row, firsts in zip(value, first_tokens, strict=True):
                vectors[name].append(row[[before + token for token in firsts.values()]].float())
    return {name: torch.cat(of_place) for name, of_place in vectors.items()}, kept


def _first_tokens(words_of_tokens: Sequence[range], most: int) -> dict[int, int]:
    """Returns the first token of each of the first `most` words."""
    firsts: dict[int, int] = {}
    for token, of_token in enumerate(words_of_tokens):
        for word in of_token:
            if word < most:
                firsts.setdefault(word, token)
    return firsts


def _accuracy(vectors: Float[Tensor, "words _"], labels: Int[np.ndarray, " words"], tested: Tensor) -> float:
    """Returns the accuracy on the words tested of a softmax regression that was trained on the others."""
    learned = ~tested
    centred = (vectors - vectors[learned].mean(0)) / vectors[learned].std(0).clamp(min=1e-6)
    targets = torch.from_numpy(labels).to(vectors.device)
    weight = torch.zeros(vectors.shape[1] + 1, int(labels.max()) + 1, device=vectors.device, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        of_labels = functional.cross_entropy(centred[learned] @ weight[1:] + weight[0], targets[learned])
        total = of_labels + DECAY / 2 * weight[1:].square().sum()
        total.backward()
        return total

    with torch.enable_grad():
        optimizer.step(loss)
    predicted = (centred[tested] @ weight[1:] + weight[0]).argmax(1)
    return float((predicted == targets[tested]).float().mean())
