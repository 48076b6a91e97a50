"""What is chosen for files fits what they hold and the machine, and is told."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from transduce.base.config import convert
from transduce.corpora.cleaning import selecting_filters
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.facts import CorpusFacts, SideFacts, describe_pairs
from transduce.experiment import TranslationConfig
from transduce.experiment.automatic_cleaning import choose_cleaning
from transduce.experiment.automatic_settings import Choice, choose
from transduce.experiment.machine import Machine
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.transformer import TransformerConfig
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import FIRST, train_tokenizer
from transduce.training.schedules import WarmupStableDecay

PROCESSOR, GPU = Machine("cpu", 1.4e11), Machine("cuda", 4e13)
SIZES = [100, 3_000, 29_000, 170_000, 2_000_000, 40_000_000]


def corpus_of(pairs: int, words: int = 12, scripts: tuple[str, str] = ("Latin", "Latin")) -> CorpusFacts:
    source, target = (SideFacts(pairs * words, 2 * words, (script,), True, 60) for script in scripts)
    return CorpusFacts(pairs, source, target)


def config_of(choice: Choice) -> TranslationConfig:
    data = {"train": ["a", "b"], **choice.tables["data"]}
    return convert({**choice.tables, "data": data}, TranslationConfig, "chosen")


def minutes(choice: Choice, machine: Machine) -> float:
    config = config_of(choice)
    assert config.training.updates is not None
    assert config.batching.target_tokens is not None
    assert isinstance(config.model, TransformerConfig)
    return (
        machine.seconds(
            config.model, config.tokenizer.max_size or 8000, config.training.updates * config.batching.target_tokens
        )
        / 60
    )


def test_more_data_never_mean_a_smaller_model_vocabulary_or_batch_nor_more_dropout() -> None:
    configs = [config_of(choose(corpus_of(pairs), None, GPU, {})) for pairs in SIZES]
    for less, more in pairwise(configs):
        assert less.model.dim <= more.model.dim
        assert less.model.encoder_layers <= more.model.encoder_layers
        assert less.tokenizer.max_size <= more.tokenizer.max_size
        assert less.batching.target_tokens <= more.batching.target_tokens
        if less.model.dim == more.model.dim:
            assert less.model.dropout >= more.model.dropout


def test_a_processor_is_done_within_half_an_hour_and_with_millions_of_pairs_or_a_slow_one_within_two() -> None:
    for pairs in SIZES:
        most = 30 if pairs <= 100_000 else 120  # three passes over 170,000 pairs take 45
        assert minutes(choose(corpus_of(pairs), None, PROCESSOR, {}), PROCESSOR) < most
        slow = Machine("cpu", PROCESSOR.operations / 10)
        assert minutes(choose(corpus_of(pairs), None, slow, {}), slow) < 120


def passes(choice: Choice) -> float:
    """Those that the line about training tells of."""
    (line,) = (line for line in choice.reasons if line.startswith("training: "))
    return float(line.partition(" target tokens, ")[2].partition(" passes ")[0].replace(",", ""))


@pytest.mark.parametrize("slowness", [1, 3, 10, 100])
@pytest.mark.parametrize("pairs", SIZES)
def test_fewer_than_three_passes_are_planned_only_with_what_would_change_it(pairs: int, slowness: int) -> None:
    machine = Machine("cpu", PROCESSOR.operations / slowness)
    choice = choose(corpus_of(pairs), None, machine, {})
    warned = [line for line in choice.reasons if line.startswith("fewer than 3 passes")]
    assert len(warned) == (passes(choice) < 2.99)
    assert all("training.updates=" in line and "GPU" in line for line in warned)


def test_a_measured_speed_that_is_too_low_leaves_a_usual_corpus_its_passes() -> None:
    told = choose(corpus_of(29_000), None, Machine("cpu", PROCESSOR.operations / 12), {})
    assert passes(told) >= 2.99


def test_the_model_is_larger_on_a_gpu_where_there_are_data_for_it() -> None:
    large, small = (config_of(choose(corpus_of(1_000_000), None, machine, {})) for machine in (GPU, PROCESSOR))
    assert large.model.dim > small.model.dim
    assert large.batching.target_tokens > small.batching.target_tokens


@pytest.mark.parametrize("pairs", SIZES)
def test_a_run_is_validated_several_times_and_warms_up_within_it(pairs: int) -> None:
    config = config_of(choose(corpus_of(pairs), None, PROCESSOR, {}))
    assert config.training.updates // config.validation.every_updates >= 5
    rates = [config.optimizer.rate(update, config.training.updates, 0) for update in (1, config.training.updates)]
    assert max(rates) < 0.1 * config.optimizer.highest_rate, "it rises at first, and ends where the decay ends"
    assert (config.validation.best_by, config.validation.patience) == ("chrf", None)


def test_each_choice_is_reported_in_a_line() -> None:
    told = choose(corpus_of(3_000), None, PROCESSOR, {}).reasons
    assert [line.partition(":")[0] for line in told] == [
        *("held out", "vocabulary", "model", "phrases", "training", "validation"),
    ]
    assert "for 72,000 running words" in told[1]
    assert "for 3,000 pairs" in told[2]


def test_phrases_are_not_tried_where_context_is_asked_for() -> None:
    choice = choose(corpus_of(3_000), None, PROCESSOR, {"data": {"context": {"before": 3}}})
    assert not config_of(choice).phrases
    assert "phrases: not learned, since they read no sentences before" in choice.reasons


def test_what_is_asked_for_is_taken_and_the_rest_suits_it() -> None:
    wanted = {"training": {"updates": 40}, "model": {"dim": 64}, "batching": {"target_tokens": 300}}
    choice = choose(corpus_of(3_000), None, PROCESSOR, wanted)
    config = config_of(choice)
    assert (config.training.updates, config.model.dim, config.batching.target_tokens) == (40, 64, 300)
    assert any("40 updates of 300 target tokens" in line and "as asked" in line for line in choice.reasons)


@pytest.mark.parametrize("dim", [1, 2, 24, 54, 100, 101, 130, 512])
def test_any_width_gets_heads_that_divide_it_and_positions_that_suit_these(dim: int) -> None:
    model = config_of(choose(corpus_of(30_000), None, PROCESSOR, {"model": {"dim": dim}})).model
    assert isinstance(model, TransformerConfig)
    assert model.dim == dim
    assert model.heads == max((heads for heads in range(1, 5) if dim % (2 * heads) == 0), default=model.heads)
    assert model.positions == ("sinusoidal" if dim % 2 else "rotary")


@pytest.mark.parametrize("wanted", [{"heads": 3}, {"heads": 7}, {"heads": 30}, {"heads": 3, "key_dim": 5}])
def test_any_number_of_heads_gets_a_width_that_they_divide(wanted: dict[str, int]) -> None:
    model = config_of(choose(corpus_of(30_000), None, PROCESSOR, {"model": wanted})).model
    assert isinstance(model, TransformerConfig)
    assert model.dim % wanted["heads"] == 0
    alone = config_of(choose(corpus_of(30_000), None, PROCESSOR, {})).model
    assert abs(model.dim - alone.dim) <= 2 * wanted["heads"]


def numbers_of(table: Mapping[str, Any], name: str = "") -> dict[str, float]:
    """All numbers among settings, by their dotted names."""
    found: dict[str, float] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            found |= numbers_of(value, f"{name}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[f"{name}{key}"] = value
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "given"), [(PROCESSOR, None), (PROCESSOR, 3), (PROCESSOR, 300), (GPU, None), (GPU, 20)]
)
def test_one_pair_more_changes_no_choice_by_more_than_a_fifth(machine: Machine, given: float | None) -> None:
    wanted = {"training": {"minutes": given}} if given else {}

    def chosen(pairs: int) -> dict[str, float]:
        numbers = numbers_of(choose(corpus_of(pairs), None, machine, wanted).tables)
        return {name: number for name, number in numbers.items() if name != "training.accumulate"}  # computes the same

    def compare(low: int, high: int) -> None:
        """Finds the two neighbours, between two numbers of pairs, at which a choice jumps."""
        less, more = chosen(low), chosen(high)
        jumps = [name for name in less.keys() | more.keys() if name not in less or name not in more]
        jumps += [name for name in less.keys() & more.keys() if abs(more[name] - less[name]) > 0.2 * abs(less[name])]
        if high == low + 1:
            assert not jumps, (low, {name: (less.get(name), more.get(name)) for name in jumps})
        elif jumps:
            compare(low, (low + high) // 2)
            compare((low + high) // 2, high)

    sizes = [round(20 * 1.1**step) for step in range(120)]
    for low, high in pairwise(sizes):
        compare(low, high)


def test_more_time_gives_a_wider_model_or_more_passes_and_a_busy_machine_the_same() -> None:
    few, more = (choose(corpus_of(29_000), None, PROCESSOR, {"training": {"minutes": given}}) for given in (5, 60))
    assert passes(more) > passes(few) and config_of(more).model.dim > config_of(few).model.dim
    busy = Machine(PROCESSOR.kind, PROCESSOR.operations, 4.0)
    assert choose(corpus_of(29_000), None, busy, {}) == choose(corpus_of(29_000), None, PROCESSOR, {})
    assert isinstance(config_of(few).optimizer.schedule, WarmupStableDecay)
    assert (config_of(few).validation.best_by, config_of(few).validation.patience) == ("chrf", None)


def test_a_small_model_learns_at_a_higher_rate() -> None:
    few, more = (config_of(choose(corpus_of(pairs), None, GPU, {})) for pairs in (3_000, 300_000))
    assert few.model.dim < more.model.dim and few.optimizer.learning_rate > more.optimizer.learning_rate


def test_a_schedule_that_is_asked_for_has_its_own_rate_and_length() -> None:
    def optimizer(schedule: dict[str, Any]) -> dict[str, Any]:
        tables = choose(corpus_of(3_000), None, PROCESSOR, {"optimizer": {"schedule": schedule}}).tables
        return dict(tables["optimizer"])

    assert "learning_rate" not in optimizer({"kind": "noam", "dim": 64})
    assert optimizer({"updates": 20})["schedule"]["warmup"] == 5


@pytest.mark.parametrize(
    ("wanted", "scripts", "is_shared"),
    [
        ({"tokenizer": {"source": {"kind": "words"}, "target": {"kind": "bpe"}}}, ("Latin", "Latin"), False),
        ({}, ("Latin", "Cyrillic"), False),
        ({"model": {"tie": "all"}}, ("Latin", "Cyrillic"), True),
        ({"data": {"context": {"side": "both"}}}, ("Latin", "Cyrillic"), True),
    ],
)
def test_sides_share_a_vocabulary_and_a_matrix_if_scripts_and_what_is_asked_for_allow_it(
    wanted: dict[str, Any], scripts: tuple[str, str], is_shared: bool
) -> None:
    config = config_of(choose(corpus_of(3_000, scripts=scripts), None, PROCESSOR, wanted))
    assert config.tokenizer.is_shared == is_shared
    assert isinstance(config.model, TransformerConfig)
    assert config.model.tie == ("all" if is_shared else "target")


def test_a_batch_measured_in_sentences_is_reported_in_them_and_gets_as_many_updates_as_its_tokens_need() -> None:
    choice = choose(corpus_of(3_000), None, PROCESSOR, {"batching": {"sentences": 16}})
    config = config_of(choice)
    assert (config.batching.sentences, config.batching.target_tokens) == (16, None)
    assert any("updates of 16 sentence pairs" in line for line in choice.reasons)
    tokens = round(16 * (1.2 * 12 + 1))
    alike = config_of(choose(corpus_of(3_000), None, PROCESSOR, {"batching": {"target_tokens": tokens}}))
    assert config.training.updates == alike.training.updates
    assert config_of(choose(corpus_of(3_000), None, PROCESSOR, {"batching": {"sentences": 2}})).batching.groups == 2


def test_reports_of_training_and_validation_are_what_was_asked_for() -> None:
    wanted = {"training": {"updates": 1234}, "validation": {"every_epochs": 2, "patience": 7}}
    training, validation = choose(corpus_of(3_000), None, PROCESSOR, wanted).reasons[-2:]
    assert "at most 1,234 updates" in training
    assert "every 2 epochs; training stops after 7 without" in validation


def test_held_out_parts_are_not_drawn_where_files_are_given() -> None:
    shares = [
        choose(corpus_of(3_000), None, PROCESSOR, {"data": data}).tables["data"].keys()
        for data in ({}, {"test": ["a", "b"]}, {"validation": ["a", "b"]})
    ]
    assert [*map(set, shares)] == [{"validation_share", "test_share"}, {"validation_share"}, set()]


def test_a_vocabulary_is_no_larger_than_what_the_text_yields() -> None:
    assert config_of(choose(corpus_of(3_000), 9_000, PROCESSOR, {})).tokenizer.max_size
    choice = choose(corpus_of(3_000), 1_200, PROCESSOR, {})
    assert config_of(choice).tokenizer.max_size is None
    assert any("all subwords that 72,000 running words yield" in line for line in choice.reasons)


def test_a_recurrent_model_that_is_asked_for_has_its_own_sizes() -> None:
    config = config_of(choose(corpus_of(3_000), None, PROCESSOR, {"model": {"kind": "recurrent"}}))
    assert isinstance(config.model, RecurrentConfig)


def kept_by(choice: Choice, pairs: list[SentencePair]) -> list[SentencePair]:
    data = convert({"train": "a.tsv", **choice.tables["data"]}, DataConfig, "chosen")
    return list(ParallelCorpus.of_pairs("pairs", pairs).filtered(selecting_filters(data.cleaning)))


def test_what_is_no_translation_is_left_out_and_the_rest_stays() -> None:
    clean = [SentencePair(f"Ein Hund läuft zum Haus {n}.", f"A dog runs to house {n}.") for n in range(200)]
    dirt = [
        clean[3],
        SentencePair(clean[5].source, " "),
        SentencePair("", clean[7].target),
        SentencePair(clean[11].source, clean[11].source),
        SentencePair(clean[13].source, "Этот сайт использует файлы cookie"),
        SentencePair(clean[17].source, "home login " * 13),
        SentencePair("lang " * 300, "long " * 300),
    ]
    pairs = [*clean, *dirt]
    choice = choose_cleaning(pairs, describe_pairs(pairs, len(pairs)))
    assert kept_by(choice, pairs) == clean
    (line,) = choice.reasons
    for told in ("blank", "equal", "Latin", "words", "duplicates"):
        assert told in line
    read = choose_cleaning(pairs, describe_pairs(pairs, len(pairs)), are_in_context=True)
    assert kept_by(read, pairs) == [*clean, clean[3]], "others follow a pair that came before"
    assert "duplicates" not in read.reasons[0]


def test_languages_without_spaces_are_not_cleaned_by_words() -> None:
    pairs = [
        SentencePair(f"He walks in the large park every single morning {n}.", f"彼は毎朝公園を散歩{n}する。")
        for n in range(50)
    ]
    choice = choose_cleaning(pairs, describe_pairs(pairs, len(pairs)))
    assert kept_by(choice, pairs) == pairs
    assert choice.tables["data"]["max_tokens"] > 50


def test_what_is_read_few_times_is_learned_with_little_dropout() -> None:
    slow = Machine("cpu", PROCESSOR.operations / 30)
    often, seldom = (config_of(choose(corpus_of(20_000), None, machine, {})).model for machine in (PROCESSOR, slow))
    assert isinstance(often, TransformerConfig) and isinstance(seldom, TransformerConfig)
    assert often.attention_dropout > 2 * seldom.attention_dropout
    assert often.dropout > 2 * seldom.dropout


def test_a_little_text_without_spaces_is_not_merged_to_whole_clauses() -> None:
    source, target = (SideFacts(4_000, 14, (script,), script == "Latin", 60) for script in ("Latin", "Han"))
    found = config_of(choose(CorpusFacts(500, source, target), 700, PROCESSOR, {})).tokenizer
    assert not found.is_shared
    assert found.of_source.max_size is None
    assert found.of_target.max_size is not None and found.of_target.max_size < 700
    verbs = ("看见", "购买", "喜欢", "描绘", "找到", "出售")
    objects = ("自行车", "书本", "苹果", "房子", "汽车", "面包", "花朵", "椅子")
    clauses = [f"{verb}{thing}" for verb in verbs for thing in objects]
    size = len(set().union(*clauses)) * 2 + FIRST
    limited = train_tokenizer(SideConfig(max_size=size), clauses)
    assert all(len(limited.encode_batch([clause])[0]) > 1 for clause in clauses)
