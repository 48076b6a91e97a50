"""Looks at a model with one sentence or text: attention, search, confidence, and the sources of its output."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from docsegments.language_codes import is_from_right
from docsegments.orthography.words import word_texts, words, words_between
from transduce.analysis.alignment import (
    NO_WORDS,
    AlignmentHead,
    Links,
    choose_head,
    link_words,
    places_of,
    without_punctuation,
)
from transduce.analysis.attribution import integrated_gradients, occlusion, rank_correlation
from transduce.analysis.findings import (
    AttentionMap,
    Confidence,
    Direction,
    Findings,
    Occlusion,
    OcclusionAgreement,
    RunnerUp,
    SearchTree,
    TokenText,
    WordAlignment,
)
from transduce.analysis.pictures import Pictures
from transduce.analysis.recorded_attention import Recorded, RecordedAttention, record_pass
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import Batch
from transduce.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIT = (
    "const page = this.contentDocument; "
    "new ResizeObserver(() => this.style.height = page.documentElement.scrollHeight + 'px').observe(page.body)"
)
"""Makes the frame in a notebook as high as the page in it."""
RUNNERS_UP = 5


@dataclass(frozen=True)
class Look(Findings):
    """A record of a model's work on one sentence or text; shows itself as a page in a notebook."""

    def html(self) -> str:
        """Returns the page, which needs nothing else."""
        from transduce.analysis.page import render_look

        return render_look(self.facts())

    def pictures(self) -> Pictures:
        """Returns the same facts as a page, a figure or numbers."""

        def figure() -> "Figure":
            from transduce.analysis.figures import draw_look

            return draw_look(self)

        return Pictures(self.html, figure, self.to_dict)

    def save(self, path: str | Path) -> None:
        """Writes the page (.html), a figure (.png, .svg, .pdf) or the numbers (.json), by the file's ending.

        Raises InputError for another ending.
        """
        if lacking := self.pictures().save(path):
            warnings.warn(f"{path}: {lacking}", stacklevel=2)

    def _repr_html_(self) -> str:
        """Returns the page in a frame of its own, as notebooks show it."""
        from html import escape

        return (
            f'<iframe srcdoc="{escape(self.html())}" onload="{FIT}" style="width: 100%; height: 960px; border: 0">'
            "</iframe>"
        )


def look_at_pair(
    bundle: ModelBundle,
    model: str,
    source: Sequence[int],
    target: Sequence[int],
    texts: tuple[str, str],
    head: AlignmentHead | None,
    search: SearchTree | None,
    batch: Batch,
) -> Look:
    """Looks at a translation model that reads a source and writes, or is given, a target.

    Args:
        bundle: the model, in float32.
        model: its name.
        source: token ids without the end.
        target: likewise.
        texts: the texts of both.
        head: the attention that aligns; chosen on this pair where None.
        search: the search by which the target was found, if it was.
        batch: the pair, as the model reads it.
    """
    network = bundle.writer
    recorded = record_pass(network, batch)
    of_source, of_target = bundle.tokenizers.source, bundle.tokenizers.target
    source_tokens = of_source.pieces([*source, of_source.eos])
    target_tokens = of_target.pieces(batch.target_out[0].tolist())
    hidden = occlusion(network, batch).numpy()  # [target tokens, source tokens]
    gradient = integrated_gradients(network, batch)
    cross = recorded.cross()
    attended = torch.stack([layer.weights[0].mean((0, 1)) for layer in cross]).mean(0).cpu().numpy() if cross else None
    totals = hidden.sum(0)[:-1]  # fall of the whole output, [source tokens]
    config = bundle.config
    return Look(
        model=model,
        task=config.task,
        source=TokenText(texts[0], source_tokens, direction_of(config.source)),
        target=TokenText(texts[1], target_tokens, direction_of(config.target)),
        read=of_target.pieces(batch.target_in[0].tolist()),
        attention=maps_of(recorded.attention),
        confidence=confidence(recorded, batch, of_target),
        alignment=_alignment(bundle, recorded, source, target, head) if cross and target else None,
        occlusion=Occlusion(hidden),
        gradient=gradient,
        attended=attended,
        agreement=OcclusionAgreement(
            None if attended is None else rank_correlation(attended[:-1], totals),
            rank_correlation(gradient.attributions[:-1], totals),
        ),
        search=search,
    )


def look_at_text(bundle: ModelBundle, model: str, text: str, search: SearchTree | None, batch: Batch) -> Look:
    """Looks at a language model that reads a text and predicts each token but the first; see look_at_pair."""
    recorded = record_pass(bundle.writer, batch)
    tokenizer = bundle.tokenizers.target
    return Look(
        model=model,
        task=bundle.config.task,
        source=None,
        target=TokenText(text, tokenizer.pieces(batch.target_out[0].tolist()), direction_of(bundle.config.target)),
        read=tokenizer.pieces(batch.target_in[0].tolist()),
        attention=maps_of(recorded.attention),
        confidence=confidence(recorded, batch, tokenizer),
        search=search,
    )


def confidence(recorded: Recorded, batch: Batch, tokenizer: Tokenizer) -> list[Confidence]:
    """Returns, for each target token of a single row, its probability, its rank, and the likeliest others."""
    return confidence_in(
        recorded.log_probabilities[0], batch.target_out[0].tolist(), lambda t: tokenizer.pieces([t])[0]
    )


def confidence_in(
    log_probabilities: Float[Tensor, "choices classes"], chosen: Sequence[int], name: Callable[[int], str]
) -> list[Confidence]:
    """Returns the confidence of each choice among tokens, or classes, with these names."""
    of_chosen = log_probabilities.gather(1, log_probabilities.new_tensor(chosen, dtype=torch.long)[:, None])
    ranks = (log_probabilities > of_chosen).sum(1) + 1  # [choices]
    best, classes = log_probabilities.topk(min(RUNNERS_UP + 1, log_probabilities.shape[1]))
    result = []
    for i, token in enumerate(chosen):
        others = [(p, t) for p, t in zip(best[i].exp().tolist(), classes[i].tolist(), strict=True) if t != token]
        alternatives = [RunnerUp(name(t), p) for p, t in others[:RUNNERS_UP]]
        result.append(Confidence(name(token), float(of_chosen[i].exp()), int(ranks[i]), alternatives))
    return result


def maps_of(attention: Sequence[RecordedAttention]) -> list[AttentionMap]:
    """Returns the attention weights of a single row."""
    return [AttentionMap(recorded.part, recorded.layer, recorded.weights[0].cpu().numpy()) for recorded in attention]


def direction_of(language: str) -> Direction:
    """Returns the writing direction of a language, by its code: by the script in it if it names one (pa-Arab)."""
    return "rtl" if is_from_right(language) else "ltr"


def words_of_output(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[int]:
    """Returns, for each token of an output, the number of the word in which the text up to this token ends."""
    return [numbers.stop - 1 for numbers in _words_of_output(tokenizer, tokens)]


def _words_of_output(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[range]:
    texts = [tokenizer.decode(tokens[: index + 1]) for index in range(len(tokens))]
    starts = [start for start, _ in words(texts[-1])] if texts else []
    if len(starts) > len(texts[-1].split() if texts else ()):  # a script without spaces, whose texts only grow
        sizes = [0, *(len(text.rstrip()) for text in texts)]
        return [words_between(starts, min(start, max(stop - 1, 0)), stop) for start, stop in pairwise(sizes)]
    counts = [len(text.split()) for text in texts]
    # Half a character reads like a word, though the whole one may be a space.
    return [range(last, last + 1) for last in (max(min(count, counts[-1]) - 1, 0) for count in counts)]


def linked_words(tokenizer: Tokenizer, tokens: Sequence[int]) -> list[range]:
    """Returns the numbers of all words that each token of an output belongs to, for an alignment, in which punctuation
    does not count as the word that it is attached to; none for tokens of an output without words."""
    if len(own := tokenizer.without_context(tokens)) < len(tokens):
        return [NO_WORDS] * (len(tokens) - len(own)) + linked_words(tokenizer, own)
    if not tokenizer.decode(tokens).split():
        return [NO_WORDS] * len(tokens)
    of_tokens = without_punctuation(_words_of_output(tokenizer, tokens), tokenizer.pieces(tokens))
    languages = set(tokenizer.marks.values())
    return [NO_WORDS if token in languages else word for token, word in zip(tokens, of_tokens, strict=True)]


def _alignment(
    bundle: ModelBundle, recorded: Recorded, source: Sequence[int], target: Sequence[int], head: AlignmentHead | None
) -> WordAlignment:
    source, target = list(source), list(target)
    head = head or choose_head(bundle, [(source, target)])
    of_source, of_target = bundle.tokenizers.source, bundle.tokenizers.target
    positions = places_of(recorded.cross(), head, 0, len(source), len(target))
    links: Links = link_words(positions, linked_words(of_source, source), linked_words(of_target, target))
    both = (word_texts(of_source.decode(of_source.without_context(source))), word_texts(of_target.decode(target)))
    return WordAlignment(head.layer, head.head, head.shift, *both, sorted(links))
