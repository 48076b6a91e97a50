"""Gives a model a language that it has not learned: a token for it, subwords, and embeddings to begin with."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from docsegments.orthography.words import count_words
from transduce.base.errors import InputError
from transduce.base.files import check_absent
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import ModelBundle, find_bundle
from transduce.bundle.probe import read_probe
from transduce.corpora.directions import MANY, Direction, LanguageTokens, token_of
from transduce.corpora.languages import UNKNOWN
from transduce.models.larger_vocabulary import with_new_tokens
from transduce.tasks.origin import with_new_language
from transduce.tasks.task import Tell
from transduce.text.new_subwords import extend, learn_subwords
from transduce.text.tokenizer import Tokenizer, Tokenizers

CODE = re.compile(r"\w{1,32}")
MOST_TEXTS = 1_000_000
"""The most lines of text that subwords are learned from."""
MEASURED = 2_000
"""Lines of the text that are counted before and after."""


def add_language(
    model: Path,
    out: Path,
    language: str,
    texts: Iterable[str],
    pieces: int = 2000,
    like: str | None = None,
    keep: Iterable[str] = (),
    tell: Tell = lambda line: None,
) -> ModelBundle:
    """Writes a model with one language more, which it then has to learn: `training.start_from`.

    A new subword begins with the mean of the embeddings (and rows and biases of the output layer) of the pieces that
    its text was divided into. The language's token begins as that of `like`, or as the mean of all languages' tokens,
    or in a model of one direction, which had none, of all tokens. All else stays as it is.

    Args:
        model: the folder of a translation model or a run.
        out: the new model's folder; must not exist.
        language: the code of the language, as the model spells languages.
        texts: lines of the language.
        pieces: the most subwords to add to each tokenizer; 0 for none.
        like: a language of the model that is related to the new one.
        keep: lines of languages that the model knows, whose words stay divided as they are.
        tell: receives lines for people.

    Raises InputError for a language that the model has, or that is spelled in another way, a model that does not
    translate, or a tokenizer to which nothing can be added; CheckpointError for a damaged model.
    """
    check_absent(out, "choose another folder (out)")
    folder = find_bundle(model)
    bundle = ModelBundle.load(folder)
    check_tool(model, bundle.config.task, "translator")
    languages = _with_language(model, bundle, language, like)
    sample, known = ([text for text in islice(lines, MOST_TEXTS) if text.strip()] for lines in (texts, keep))
    if not sample:
        raise InputError("there is no text to learn subwords from; give lines of the new language (texts)")
    before = bundle.tokenizers
    source = learn_subwords(before.source, sample, pieces, known)
    target = source if before.target is before.source else learn_subwords(before.target, sample, pieces, known)
    config = msgspec.structs.replace(bundle.config, languages=languages)
    extended = extend(before, (source, target), config.marks)
    former = [
        [*of_pieces, *_of_languages(side, extended.tokenizers, languages, bundle, like)]
        for side, of_pieces in (("source", extended.source), ("target", extended.target))
    ]
    sizes = (len(before.source), len(before.target))
    larger = with_new_tokens(bundle.config.model, bundle.model, sizes, former[0], former[1])
    config = msgspec.structs.replace(bundle.config, languages=languages, source=MANY, target=MANY)
    counts = [len(side) for side in former]
    history = with_new_language(bundle.history, language, counts)
    result = ModelBundle(config, larger.eval(), extended.tokenizers, history)
    probe = read_probe(folder)
    result.save(out, [(text, before.target.decode(ids)) for text, ids in zip(probe.text, probe.target, strict=True)])
    measured = sample[:MEASURED]
    rates = [_tokens_a_word(side.source, measured) for side in (before, extended.tokenizers)]
    added = " and ".join(f"{count:,}" for count in dict.fromkeys(counts))
    tell(f"{language}: {added} new tokens; its words take {rates[1]:.2f} tokens each, and took {rates[0]:.2f}")
    tell("words of old languages that are in no text to keep may be divided otherwise: 1 to 3 lines of captions in 100")
    if bundle.config.languages is None:
        former_direction = Direction(bundle.config.source, bundle.config.target)
        tell(
            f"until it is trained, {former_direction} is worse than before: its sources now begin with a new token; "
            f"train with pairs of {former_direction} beside the new ones (data.directions)"
        )
    return result


def _with_language(model: Path, bundle: ModelBundle, language: str, like: str | None) -> LanguageTokens:
    """Returns the model's languages with the new one; InputError for one that cannot be added."""
    known = bundle.config.languages
    if known is None:
        source, target = bundle.config.source, bundle.config.target
        if (source, target) == UNKNOWN:
            raise InputError(f"{model} does not say which languages it translates, so none can be told from them")
        if like is not None:
            raise InputError(f"{model} translates in one direction, without tokens of languages; leave like out")
        known = LanguageTokens.of([Direction(source, target)], "source")
    if language in {*known.sources, *known.targets, *known.tokens}:
        raise InputError(f"{model} has the language {language!r} already; train it further as it is")
    if like is not None and like not in known.tokens:
        raise InputError(f"{model} has no token of {like[:20]!r}; it has those of {', '.join(list(known.tokens)[:12])}")
    if CODE.fullmatch(language) is None:
        raise InputError(f"{language[:20]!r} is no code of a language: letters, digits and underscores")
    is_bare = all(token == name for name, token in known.tokens.items())  # as NLLB spells them
    token = language if is_bare else token_of(language, known.place)
    return msgspec.structs.replace(known, tokens={**known.tokens, language: token})


def _of_languages(
    side: str, after: Tokenizers, languages: LanguageTokens, bundle: ModelBundle, like: str | None
) -> Sequence[Sequence[int]]:
    """Returns, for each token of a language that is new on a side, the tokens whose mean it begins as."""
    before: Tokenizer = getattr(bundle.tokenizers, side)
    known = [before.marks[each] for each in languages.tokens if each in before.marks]
    first: Sequence[int] = (known if like is None else [before.marks[like]]) or range(len(before))
    return [first] * (len(languages.tokens) - len(known))


def _tokens_a_word(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    tokens = sum(map(len, tokenizer.encode_batch(texts)))
    return tokens / max(sum(map(count_words, texts)), 1)
