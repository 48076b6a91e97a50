"""Asks why a translation has a word and not another, for `transduce.analysis.why`."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from docsegments.orthography.words import word_texts
from transduce.analysis.carriers import Carrier, carriers
from transduce.analysis.contrast import Decision, InputWord, Side, main_cause, text_after
from transduce.analysis.findings import SearchTree
from transduce.analysis.interventions import intervene
from transduce.analysis.look_at_text import linked_words
from transduce.analysis.teaching_pairs import PairSearch, bare
from transduce.analysis.why import SHOWN, Change, Choice, Why, strongest
from transduce.base.errors import InputError, TransduceError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.constraints import Piece, Vocabulary
from transduce.inference.engines.phrase_engine import PhraseEngine
from transduce.inference.looking import name_of, watch_translation
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import BREAK

RIVALS = 5
"""The likeliest tokens at each step of a word among which the next most probable word is sought."""


@torch.no_grad()
def why(
    translator: Translator,
    text: str | Request,
    word: str,
    instead: str | None = None,
    target: str | None = None,
    search: Beam | None = None,
    pairs: Callable[[], PairSearch] | None = None,
    brief: bool = False,
) -> Why:
    """Tells why a model writes a word in the translation of one line, and not another.

    Args:
        translator: has the model, a single one of PyTorch.
        text: the line.
        word: a word of the translation; the first such one is meant.
        instead: the word that might have been in its place (default: the next most probable one).
        target: the translation that is asked about (default: the one that the search finds).
        search: the search (default: a plain beam).
        pairs: opens the training pairs, once the question has an answer; see `open_training_pairs`.
        brief: leaves out gradients, layers and heads, which take most of the time.

    Raises InputError as `Translator.look` does, for a phrase-based model, for a word that is not in the translation, or
    one that the model cannot write.
    """
    if isinstance(translator.engine, PhraseEngine):
        raise InputError("a phrase-based model has no layers to ask; a plain look shows the phrases and their rivals")
    request = Request(text) if isinstance(text, str) else text
    bundle, piece = translator.whole_piece(request)
    constraints, line = translator.constraints, request.text.strip()
    tokens, tree = watch_translation(bundle, constraints, piece, target, search or Beam(), line)
    return _answer(bundle, request, piece, tokens, tree, (word, instead), pairs, brief)


def _answer(
    bundle: ModelBundle,
    request: Request,
    piece: Piece,
    tokens: Sequence[int],
    tree: SearchTree | None,
    asked: tuple[str, str | None],
    pairs: Callable[[], PairSearch] | None,
    brief: bool,
) -> Why:
    target = bundle.tokenizers.target
    start, stop = _find_word(target, tokens, asked[0])
    source = torch.tensor([[*piece.source, bundle.special.source_eos]], device=bundle.device)
    written = Decision(bundle, source, tokens[:start], tokens[start], tokens[start])
    if asked[1] is None:
        decision, other = _next_word(written, tokens[start:stop])
    else:
        decision, other = _other_word(written, [*tokens, target.eos], stop, asked[1]), asked[1]
    word = bare(text_after(target, tokens[:start], tokens[start:stop]))
    inputs = [*_words_read(bundle.tokenizers.source, piece.source), *_words_of(target, tokens[:start], 0, "output")]
    words, error = decision.measure(inputs, brief)
    cause, known = main_cause(words), {each.text for each in words if each.side != "output"}
    taught, no_pairs = None, ""
    if pairs is not None:
        try:
            taught = pairs().teach(decision, word, other, len(decision.so_far) - start, cause, known)
        except TransduceError as missing:
            no_pairs = f"There are no training pairs to show: {missing}."
    through = [] if cause is None or brief else carriers(decision, cause)
    tried = ([] if cause is None else [cause]) if brief else strongest(words, cause)
    instead = None if taught is None or cause is None else taught.instead
    heads = [part for part in through[:SHOWN] if part.head is not None]
    chosen, refused = _choices(decision, (word, other), tree)
    return Why(
        model=name_of(bundle),
        source=request.text.strip(),
        context=request.before,
        target=target.decode(tokens),
        word=chosen,
        other=refused,
        difference=float(decision.difference(decision.without())),
        words=words,
        cause=cause,
        gradient_error=error,
        parts=through,
        changes=_changes(decision, start, tried, heads, instead),
        taught=taught,
        no_pairs=no_pairs,
    )


def _find_word(tokenizer: Tokenizer, tokens: Sequence[int], word: str) -> tuple[int, int]:
    """Returns the first token of a word of an output, and the one after its last."""
    text, sought = tokenizer.decode(tokens), bare(word.strip())
    words = [bare(each) for each in word_texts(text)]
    for fold in (str, str.casefold):
        for number, each in enumerate(words):
            if fold(each) == fold(sought):
                places = [place for place, of in enumerate(linked_words(tokenizer, tokens)) if number in of]
                return places[0], places[-1] + 1
    raise InputError(f"“{word}” is not a word of the translation “{text}”; ask about one of its words")


def _other_word(written: Decision, tokens: Sequence[int], stop: int, other: str) -> Decision:
    """Returns the step at which an output would have gone on otherwise with another word in place of one."""
    tokenizer, start = written.bundle.tokenizers.target, len(written.so_far)
    if len(word_texts(other)) != 1:
        raise InputError(f"“{other}” is not one word; name one word that might have stood there")
    rival = _in_place(tokenizer, tokens, start, stop, other)
    if tokenizer.unknown in rival[start:]:
        raise InputError(f"the model's vocabulary cannot write “{other}”; name another word")
    for step, (token, another) in enumerate(zip(tokens, rival, strict=False)):
        if token != another:
            return replace(written, so_far=tokens[:step], token=token, other=another)
    raise InputError(f"“{other}” is the word that stands there; name another one")


def _next_word(written: Decision, of_word: Sequence[int]) -> tuple[Decision, str]:
    """Returns the step at which the next most probable word parts from one that was written, and that word."""
    tokenizer, start, before = written.bundle.tokenizers.target, len(written.so_far), 0.0
    never = [*Vocabulary.of(tokenizer, tuple).never, tokenizer.eos, tokenizer.unknown]  # type: ignore[arg-type]
    rivals = []
    for number, token in enumerate(of_word):
        step = replace(written, so_far=[*written.so_far, *of_word[:number]], token=token)
        scores = step.logits(step.without())[0].log_softmax(-1)
        best, found = scores.topk(min(RIVALS + len(never) + 1, len(scores)))
        likely = [pair for pair in zip(best.tolist(), found.tolist(), strict=True) if pair[1] not in (token, *never)]
        rivals += [(before + score, replace(step, other=other)) for score, other in likely]
        before += float(scores[token])
    word = bare(text_after(tokenizer, written.so_far, of_word))
    rivals.sort(key=lambda rival: -rival[0])
    for _, step in rivals[:RIVALS]:
        begun = [*step.so_far[start:], step.other]
        other = bare(step.write_word(step.without(), start, begun))
        if len(word_texts(other)) == 1 and any(map(str.isalnum, other)) and other.casefold() != word.casefold():
            return step, other
    raise InputError("no other word was likely there; name one that might have stood there")


def _in_place(tokenizer: Tokenizer, tokens: Sequence[int], start: int, stop: int, word: str) -> list[int]:
    """Returns tokens with another word in place of some."""
    before = tokenizer.decode(tokens[:start])
    space = " " if tokenizer.decode(tokens[: start + 1])[len(before) :].startswith(" ") else ""
    both = tokenizer.encode(f"{before}{space}{word}")
    new = both[start:] if both[:start] == list(tokens[:start]) else tokenizer.encode(word)
    return [*tokens[:start], *new, *tokens[stop:]]


def _words_read(tokenizer: Tokenizer, source: Sequence[int]) -> list[InputWord]:
    """Returns the words of a source, and of the sentences before it."""
    end, words = len(source) - len(tokenizer.without_context(source)), []
    start = 0
    while start < end:
        stop = list(source).index(tokenizer.marks[BREAK], start)
        words += _words_of(tokenizer, source[start:stop], start, "context")
        start = stop + 1
    return [*words, *_words_of(tokenizer, source[end:], end, "source")]


def _words_of(tokenizer: Tokenizer, tokens: Sequence[int], first: int, side: Side) -> list[InputWord]:
    links, words = linked_words(tokenizer, tokens), []
    for number, text in enumerate(word_texts(tokenizer.decode(tokens))):
        if places := tuple(first + place for place, of in enumerate(links) if number in of):
            words.append(InputWord(bare(text), side, places))
    return words


def _choices(decision: Decision, texts: tuple[str, str], tree: SearchTree | None) -> list[Choice]:
    """Returns both words at the step."""
    tokenizer, choices = decision.bundle.tokenizers.target, []
    scores = decision.logits(decision.without())[0].log_softmax(-1)
    for text, token in zip(texts, (decision.token, decision.other), strict=True):
        rank = int((scores > scores[token]).sum()) + 1
        path = tokenizer.pieces([*decision.so_far, token])
        state = None if tree is None else tree.state_of(path)
        choices.append(Choice(text, path[-1], float(scores[token].exp()), rank, state))
    return choices


def _changes(
    decision: Decision, start: int, words: Sequence[InputWord], through: Sequence[Carrier], instead: str | None
) -> list[Change]:
    """Returns what the model writes without each of some words, without each of some heads, and with another word in
    place of the first."""
    changes = [_change(decision, start, f"without “{word.text}”", decision.without(word)) for word in words]
    for part in through:
        with intervene(decision.bundle.writer) as edit:
            edit.zero(part.place, heads=part.head)
            changes.append(_change(decision, start, f"without {part}", decision.without()))
    if instead is not None and words[0].side == "source":
        tokenizer, first, stop = decision.bundle.tokenizers.source, words[0].tokens[0], words[0].tokens[-1] + 1
        ids = _in_place(tokenizer, decision.source[0].tolist(), first, stop, instead)
        changed = replace(decision, source=decision.source.new_tensor([ids]))
        what = f"with “{instead}” in place of “{words[0].text}”"
        changes.append(_change(changed, start, what, changed.without()))
    return changes


def _change(decision: Decision, start: int, what: str, keep: Tensor) -> Change:
    return Change(what, bare(decision.write_word(keep, start)), float(decision.difference(keep)))
