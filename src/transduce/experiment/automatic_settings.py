"""Choosing settings from the contents of files, with a reason for each choice."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from transduce.corpora.facts import CorpusFacts
from transduce.corpora.splitting import default_share
from transduce.experiment.machine import Machine, weights_of
from transduce.models.transformer import TransformerConfig
from transduce.text.tokenizer_training import FIRST
from transduce.training.estimate import describe_duration

KNOWN_PAIRS, KNOWN_WORDS, KNOWN_TOKENS = 29_000, 700_000, 410_000  # those of the set that the recipe was tuned on
TOKENS_OF_A_WORD = 1.2  # subwords, punctuation counted
MINUTES, MAX_MINUTES, MINUTES_FOR = 25.0, 90.0, 200_000  # minutes for this many pairs; more for more
SHARE_OF_TRAINING = 0.85  # of the minutes given for all
VALIDATIONS, PATIENCE = 12, 4
HEADS, HEADS_ON_GPU, GROUPS, SMALL_DIM = 4, 8, 4, 128
LAYERS = ((4e13, 2), (4e14, 3), (4e15, 4), (math.inf, 6))  # of a side, for so many operations of training
WIDTHS, WIDTHS_ON_GPU = range(48, 513, 8), range(96, 513, 16)
NARROW = 64  # a width below which the rate does not rise
TOKENS_OF_A_WEIGHT = 5.0  # that a model should see
WIDE = 300.0  # the width that the known set fills
MORE_PASSES = 3.0  # of those that are enough, before a wider model is taken
DROPOUT, PASSES_OF_DROPOUT = 0.2, 20.0  # of the known set; less with fewer passes
UPDATES = 2_500  # of batches of the usual sizes
MIN_PASSES = 3  # fewer leave a model unfinished, so that training may take longer than it should for them
FEW_PASSES = 6  # in which a language model memorises little, so that dropout costs more than it saves
SUBWORDS_OF_A_CHARACTER = 2  # of a little text without spaces: half of them or fewer are single characters
ADAPTING_PASSES, ADAPTING_RATE = 10, 0.1  # more of either, and a model forgets more than it learns

PHRASES_BELOW = 30_000  # pairs, from which on neural models were better in all trials
SECONDS_OF_A_WORD, SHARE_OF_PHRASES = 2e-4, 0.7  # to learn phrases, of all words; the most of the time for it

Tables = dict[str, Any]


@dataclass(frozen=True)
class Choice:
    """Chosen settings, as TOML tables, and a line for each choice."""

    tables: Tables
    reasons: list[str] = field(default_factory=list)


def choose(kept: CorpusFacts, most_subwords: int | None, machine: Machine, wanted: Mapping[str, Any]) -> Choice:
    """Chooses how to split, tokenize and learn a cleaned corpus.

    Args:
        kept: facts about it.
        most_subwords: how many its text yields; None if it is long enough for any vocabulary.
        machine: the hardware that trains.
        wanted: tables of the user's settings, which the chosen ones suit.
    """
    parts = _choose_parts(kept, wanted.get("data", {}))
    tokenizer = _choose_tokenizer(kept, most_subwords, machine, wanted)
    asked_size = tokenizer.tables["tokenizer"].get("size")
    vocabulary = asked_size or tokenizer.tables["tokenizer"].get("max_size", most_subwords or 8000)
    if wanted.get("model", {}).get("kind") == "phrases":
        reason = "model: phrases, learned from one pass over the data"
        tables = {**parts.tables, **tokenizer.tables, "model": {"kind": "phrases"}, "training": {"epochs": 1}}
        return Choice(tables, [*parts.reasons, reason])
    is_shared, minutes = tokenizer.tables["tokenizer"]["shared"], wanted.get("training", {}).get("minutes")
    model = _choose_model(kept, machine, vocabulary, is_shared, wanted.get("model", {}), minutes)
    schedule = _choose_schedule(kept, machine, _measured(model.tables["model"]), vocabulary, wanted)
    choices = [parts, tokenizer, model]
    share = SECONDS_OF_A_WORD * kept.words / 60 / (minutes or MINUTES)  # of the time, to learn phrases
    is_quick = kept.pairs < PHRASES_BELOW and share < SHARE_OF_PHRASES
    if is_quick and not wanted.get("model") and wanted.get("phrases", True):  # no model is asked for
        if wanted.get("data", {}).get("context") is None:
            choices.append(Choice({"phrases": True}, ["phrases: learned first, and kept if they are better"]))
        else:
            choices.append(Choice({}, ["phrases: not learned, since they read no sentences before"]))
    choices.append(schedule)
    return Choice(
        {name: table for choice in choices for name, table in choice.tables.items()},
        [reason for choice in choices for reason in choice.reasons],
    )


def choose_language_model(words: int, machine: Machine) -> Choice:
    """Chooses how to learn a language model from so many running words: a causal Transformer over subwords."""
    tokens = TOKENS_OF_A_WORD * words
    is_large = machine.kind != "cpu" and words >= 2_000_000
    layers, dim, window = (8, 512, 256) if is_large else (4, 256, 128) if words >= 100_000 else (3, SMALL_DIM, 64)
    size = min(max(100 * round(0.08 * words**0.5), 300), 10_000 if machine.kind == "cpu" else 32_000)
    measured = TransformerConfig(decoder_layers=layers, dim=dim, feed_forward_dim=4 * dim)
    affordable = 60 * MINUTES / machine.seconds(measured, size, 1, 0.0)
    passes = max(min(60 * (100_000 / words) ** 0.5, 60.0, affordable / tokens), 1.0)
    batch = _choose_batch(passes * tokens, machine, UPDATES)
    updates = max(round(passes * tokens / batch), 1)
    rates: Tables = {"learning_rate": 1e-3, "schedule": {"kind": "cosine", "warmup": min(updates // 10, 1000)}}
    dropout = 0.2 if passes > FEW_PASSES else 0.0
    validation = _choose_validation(updates, {})
    tables: Tables = {
        "tokenizer": {"kind": "bpe", "max_size": size},
        "model": {
            "kind": "causal-transformer",
            "layers": layers,
            "dim": dim,
            "feed_forward_dim": 4 * dim,
            "heads": dim // 32,
            "dropout": dropout,
        },
        "batching": {"window": window, "target_tokens": batch},
        "training": {"updates": updates, "label_smoothing": 0.0},
        "optimizer": {"kind": "adamw", **rates},
        **validation.tables,
        "checkpoint": {"every_minutes": 10},
    }
    reasons = [
        f"vocabulary: at most {size:,} subwords, for {words:,} running words",
        f"model: a causal Transformer of {layers} layers, {dim} wide, that reads windows of {window} tokens",
        f"training: at most {updates:,} updates of {batch:,} tokens, {passes:,.0f} passes over the text",
    ]
    return Choice(tables, [*reasons, *validation.reasons])


def choose_adaptation(
    kept: CorpusFacts, start: str, vocabulary: int, machine: Machine, wanted: Mapping[str, Any]
) -> Choice:
    """Chooses how to split a cleaned corpus and train a model of other text on it.

    Args:
        kept: facts about the corpus.
        start: the model's folder.
        vocabulary: the number of its target tokens.
        machine: the hardware that trains.
        wanted: tables of the user's settings, and those of the model.
    """
    parts = _choose_parts(kept, wanted.get("data", {}))
    schedule = _choose_schedule(kept, machine, _measured(wanted["model"]), vocabulary, wanted)
    by_adapters = " by low-rank adapters" if _trains_adapters(wanted) else ""
    model = f"model: that of {start} with its vocabulary of {vocabulary:,} tokens, adapted to this text{by_adapters}"
    return Choice({**parts.tables, **schedule.tables}, [*parts.reasons, model, *schedule.reasons])


def _choose_parts(kept: CorpusFacts, wanted: Mapping[str, Any]) -> Choice:
    if "validation" in wanted:
        return Choice({"data": {}})
    share = default_share(kept.pairs)
    shares = {"validation_share": wanted.get("validation_share", share)}
    if "test" not in wanted:
        shares["test_share"] = wanted.get("test_share", share)
    to_validate, *to_test = (f"{round(part * kept.pairs):,} pairs" for part in shares.values())
    and_test = f" and {to_test[0]} to test on" if to_test else ""
    return Choice({"data": shares}, [f"held out: about {to_validate} for validation{and_test}, not used for training"])


def _choose_tokenizer(
    kept: CorpusFacts, most_subwords: int | None, machine: Machine, wanted: Mapping[str, Any]
) -> Choice:
    asked = wanted.get("tokenizer", {})
    if "source" in asked:
        return Choice({"tokenizer": {**asked, "shared": False}})
    have_a_script_in_common = not {*kept.source.scripts}.isdisjoint(kept.target.scripts) or not kept.source.scripts
    reads_both = wanted.get("data", {}).get("context", {}).get("side") == "both"
    shared_is_asked = asked.get("shared", wanted.get("model", {}).get("tie") == "all" or reads_both)
    shared = asked.get("shared", have_a_script_in_common or shared_is_asked)
    has_spaces = {kept.source.has_spaces, kept.target.has_spaces}
    table: Tables = {"kind": "bpe", "shared": shared}
    if {"kind", "size", "max_size", "file"} & asked.keys():
        return Choice({"tokenizer": {**table, **asked}})
    exponent = 0.45 if kept.words < KNOWN_WORDS else 0.15
    most = 10_000 if machine.kind == "cpu" else 32_000
    size = min(int(_rounded(8000 * (kept.words / KNOWN_WORDS) ** exponent)), most)
    if most_subwords is not None and size > 0.85 * most_subwords:
        reasons = [f"vocabulary: all subwords that {kept.words:,} running words yield, fewer than {size:,}"]
        if has_spaces == {True} or shared_is_asked:
            return Choice({"tokenizer": table}, reasons)
        sides: dict[str, Any] = {}
        for name, side in (("source", kept.source), ("target", kept.target)):
            sides[name] = {"kind": "bpe"}
            if not side.has_spaces:  # all merges would join whole clauses, which no other sentence has
                sides[name]["max_size"] = FIRST + SUBWORDS_OF_A_CHARACTER * side.characters
                reasons.append(f"{name} vocabulary: at most {sides[name]['max_size']:,} subwords: it has no spaces")
        return Choice({"tokenizer": {**table, "shared": False, **sides}}, reasons)
    each = "" if shared else " a side"
    return Choice(
        {"tokenizer": {**table, "max_size": size}},
        [f"vocabulary: at most {size:,} subwords{each}, for {kept.words:,} running words"],
    )


def _choose_model(
    kept: CorpusFacts,
    machine: Machine,
    vocabulary: int,
    is_shared: bool,
    wanted: Mapping[str, Any],
    minutes: float | None,
) -> Choice:
    if wanted.get("kind", "transformer") != "transformer":
        return Choice({"model": dict(wanted)})

    operations = 60 * (minutes or MINUTES) * machine.operations
    layers = next(number for most, number in LAYERS if operations < most)

    def sized(dim: int) -> Tables:
        width = choose_width(wanted, dim, HEADS if machine.kind == "cpu" else HEADS_ON_GPU)
        feed_forward = {"feed_forward_dim": min(max(512, 2 * dim), 4 * dim)}
        return {"kind": "transformer", "encoder_layers": layers, "decoder_layers": layers, **width, **feed_forward}

    def passes(dim: int) -> float:
        model = _measured({**sized(dim), **wanted})
        return _affordable(kept, machine, model, vocabulary, minutes) / _tokens(kept)

    widths = WIDTHS if machine.kind == "cpu" else WIDTHS_ON_GPU
    dim = _choose_dim(widths, kept, passes, lambda dim: weights_of(_measured(sized(dim))), minutes)
    sizes = {**sized(dim), "tie": "all" if is_shared else "target"}
    made = min(passes(dim), _enough_passes(_tokens(kept)))
    share = min(made / PASSES_OF_DROPOUT, 1.0) ** 1.5
    most = (DROPOUT if machine.kind == "cpu" else 2 * DROPOUT) * (dim / 256 * KNOWN_PAIRS / kept.pairs) ** 0.25
    rates = {"dropout": _rounded(max(share * min(most, 0.4), 0.01))}
    rates |= dict.fromkeys(("attention_dropout", "activation_dropout"), _rounded(max(0.1 * share, 0.01)))
    table = {**sizes, **rates, **wanted}
    return Choice(
        {"model": table},
        [
            f"model: a Transformer of {table['encoder_layers']}+{table['decoder_layers']} layers, {table['dim']} wide, "
            f"dropout {table['dropout']}, for {kept.pairs:,} pairs"
        ],
    )


def _choose_dim(
    widths: Sequence[int],
    kept: CorpusFacts,
    passes: Callable[[int], float],
    weights: Callable[[int], float],
    minutes: float | None,
) -> int:
    """Chooses the width of a Transformer among some.

    The time allows so many passes over the data for each width. A model should see some tokens for each of its weights
    (Hoffmann et al. 2022); where the time allows all passes that the data can use, a wider one makes use of the rest,
    but little text does not fill a wide model.
    """
    tokens = _tokens(kept)
    enough, filled = _enough_passes(tokens), WIDE * (tokens / KNOWN_TOKENS) ** 0.25

    def widest(fits: Callable[[int], bool]) -> int:
        return max((dim for dim in widths if fits(dim)), default=widths[0])

    by_time = widest(lambda dim: passes(dim) * tokens >= TOKENS_OF_A_WEIGHT * weights(dim))
    by_data = widest(lambda dim: passes(dim) >= enough)
    dim = min(max(by_time, by_data), widest(lambda dim: dim <= filled))
    if minutes is not None:  # which are to be used
        dim = max(dim, widest(lambda dim: passes(dim) >= MORE_PASSES * enough))
    return dim


def _enough_passes(tokens: float) -> float:
    """Returns the passes over so many target tokens after which a model learns little more."""
    return min(24 * (KNOWN_TOKENS / tokens) ** (0.75 if tokens < KNOWN_TOKENS else 0.15), 130.0)


def choose_width(wanted: Mapping[str, Any], dim: int = 512, most_heads: int = HEADS) -> Tables:
    """Chooses the width of a Transformer near `dim`, heads that divide it, and positions that fit heads of their
    size."""
    named = {name: wanted.get(name) for name in ("dim", "heads", "key_dim")}
    asked = {name: value for name, value in named.items() if isinstance(value, int) and value > 0}
    if "heads" in asked:
        dim = 2 * asked["heads"] * max(round(dim / (2 * asked["heads"])), 1)
    dim = asked.get("dim", dim)
    fitting = [heads for heads in range(1, most_heads + 1) if dim % heads == 0]
    even = [heads for heads in fitting if dim // heads % 2 == 0]
    heads = asked.get("heads", max(even or fitting))
    key_dim = asked.get("key_dim", dim // heads)
    return {"dim": dim, "heads": heads, "positions": "sinusoidal" if key_dim % 2 else "rotary"}


def _choose_schedule(
    kept: CorpusFacts, machine: Machine, model: TransformerConfig, vocabulary: int, wanted: Mapping[str, Any]
) -> Choice:
    training, asked_schedule = wanted.get("training", {}), wanted.get("optimizer", {}).get("schedule", {})
    asked_schedule = asked_schedule if isinstance(asked_schedule, dict) else {}  # a name alone has no settings
    tokens = _tokens(kept)
    given = training.get("minutes")
    affordable = _affordable(kept, machine, model, vocabulary, given)
    is_adapted = "start_from" in training
    passes = min(_enough_passes(tokens), ADAPTING_PASSES if is_adapted else math.inf)
    all_tokens = affordable if given else min(passes * tokens, affordable)
    batching = wanted.get("batching", {})
    if (sentences := batching.get("sentences")) is not None:
        batch = max(round(sentences * tokens / kept.pairs), 1)  # target tokens of pairs of usual length
        size, of_a_batch = {"sentences": sentences, "groups": min(GROUPS, sentences)}, f"{sentences:,} sentence pairs"
    else:
        batch = batching.get("target_tokens") or _choose_batch(all_tokens, machine, UPDATES)
        size, of_a_batch = {"target_tokens": batch, "groups": GROUPS}, f"{batch:,} target tokens"
    updates = max(round(all_tokens / batch), 1)
    minutes = all_tokens / _tokens_a_minute(kept, machine, model, vocabulary)
    why = "as many as a corpus of this size can use"
    if all_tokens == affordable:
        why = f"what this machine can do in about {minutes:.0f} minutes"
    more = []
    if all_tokens < MIN_PASSES * tokens and not given:
        enough, spent = round(MIN_PASSES * tokens / batch), 60 * minutes * MIN_PASSES * tokens / all_tokens
        more = [
            f"fewer than {MIN_PASSES} passes leave the model unfinished: training.updates={enough} makes {MIN_PASSES}, "
            f"in about {describe_duration(spent)}; a GPU, a machine without other work, fewer pairs or a smaller model "
            "(model.dim, model.encoder_layers, model.decoder_layers) take less"
        ]
    if "updates" in training or "epochs" in training:
        updates, why = training.get("updates") or max(round(training["epochs"] * tokens / batch), 1), "as asked"
        more = []
    elif updates >= 100:
        updates = round(updates, -1)
    is_steady = (given is not None or not is_adapted) and "updates" not in asked_schedule  # which the decay ends
    validation = _choose_validation(updates, wanted.get("validation", {}), is_steady)
    rate = 3e-3 * (256 / max(model.dim, NARROW)) ** (1 if model.dim < 256 else 1.5) * min(batch / 4096, 1.0) ** 0.25
    if is_adapted and not _trains_adapters(wanted):
        rate *= ADAPTING_RATE
    span = min(asked_schedule.get("updates", updates), updates)
    linear: Tables = {"kind": "linear", "warmup": min(max(round(0.25 * span), 1), 4000)}
    optimizer: Tables = {"schedule": {"kind": "wsd"} if is_steady else linear}
    if asked_schedule.get("kind") != "noam":  # which sets the rate itself
        optimizer["learning_rate"] = _rounded(rate)
    passes, most = updates * batch / tokens, "about" if given else "at most"
    tables: Tables = {
        "batching": size,
        "training": {
            **({"minutes": given} if given else {"updates": updates}),
            "accumulate": max(batch // 1024, 1) if machine.kind == "cpu" else "auto",
        },
        "optimizer": optimizer,
        **validation.tables,
        "checkpoint": {"every_minutes": 10},
    }
    return Choice(
        tables,
        [
            f"training: {most} {updates:,} updates of {of_a_batch}, {passes:,.{1 if passes < 10 else 0}f} passes "
            f"over the data, {why}",
            *more,
            *validation.reasons,
        ],
    )


def _tokens(kept: CorpusFacts) -> float:
    """Returns the target tokens of a pass over the data, sentence ends included."""
    return TOKENS_OF_A_WORD * kept.target.words + kept.pairs


def _affordable(
    kept: CorpusFacts, machine: Machine, model: TransformerConfig, vocabulary: int, given: float | None
) -> float:
    """Returns the target tokens that training can process in the minutes given for all; else in its usual time, or for
    the fewest passes, in at most `MAX_MINUTES`."""
    rate = _tokens_a_minute(kept, machine, model, vocabulary)
    if given is not None:
        return SHARE_OF_TRAINING * given * rate
    minutes = min(MINUTES * max(kept.pairs / MINUTES_FOR, 1) ** 0.5, MAX_MINUTES)  # that training may take
    return max(minutes * rate, min(MIN_PASSES * _tokens(kept), MAX_MINUTES * rate))


def _tokens_a_minute(kept: CorpusFacts, machine: Machine, model: TransformerConfig, vocabulary: int) -> float:
    """Returns the target tokens that training processes per minute."""
    source_tokens = (TOKENS_OF_A_WORD * kept.source.words + kept.pairs) / _tokens(kept)
    return 60 / machine.seconds(model, vocabulary, 1, source_tokens)


def _trains_adapters(wanted: Mapping[str, Any]) -> bool:
    return wanted.get("training", {}).get("adapters") is not None


def _choose_validation(updates: int, wanted: Mapping[str, Any], by_chrf: bool = False) -> Choice:
    table: Tables = {"metrics": ["bleu"], "best_by": "chrf"} if by_chrf else {"patience": PATIENCE}
    table |= wanted
    if "every_epochs" in wanted:
        every = f"{wanted['every_epochs']:,} epochs"
    else:
        table.setdefault("every_updates", max(updates // VALIDATIONS, 10))
        every = f"{table['every_updates']:,} updates"
    reason = f"validation: every {every}"
    if (patience := table.get("patience")) is not None:
        reason = f"{reason}; training stops after {patience} without improvement"
    return Choice({"validation": table}, [f"{reason}; the best model by {table.get('best_by', 'loss')} is kept"])


def _choose_batch(tokens: float, machine: Machine, updates: int) -> int:
    """Returns a usual size of batches that makes about so many updates of these tokens."""
    largest = 4096 if machine.kind == "cpu" else 16_384
    return min(max(64 * round(tokens / updates / 64), 512), largest)


def _measured(table: Tables) -> TransformerConfig:
    """Returns the model whose speed is estimated: the chosen Transformer, or a substitute for another kind."""
    sizes = {"encoder_layers", "decoder_layers", "dim", "heads", "key_dim", "value_dim", "feed_forward_dim"}
    if table["kind"] != "transformer":
        return TransformerConfig(encoder_layers=3, decoder_layers=3, dim=256, heads=8, feed_forward_dim=512)
    return TransformerConfig(**{name: value for name, value in table.items() if name in sizes})


def _rounded(number: float) -> float:
    """Returns a number with two digits."""
    return float(f"{number:.2g}")
