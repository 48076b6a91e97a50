"""A project's adapter is a function of the segments alone, and updates that make the model worse are undone."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import transduce.apps.projects.learner
from small_corpus import small_corpus
from transduce.apps.projects.general import General
from transduce.apps.projects.learner import Learner
from transduce.apps.projects.lessons import Learned
from transduce.apps.projects.project_settings import LearningSettings
from transduce.apps.projects.snapshots import Snapshot, Snapshots, read_snapshot, with_adapter
from transduce.base.errors import ConfigError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import SentencePair
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

pytestmark = pytest.mark.slow

SETTINGS = {"rank": 4, "learning_rate": 0.01, "checks": 7, "most_forgotten": 1000.0}


def settings(**changes: object) -> LearningSettings:
    """Settings for a tiny model."""
    return LearningSettings(**{**SETTINGS, **changes})  # type: ignore[arg-type]


@pytest.fixture
def general() -> General:
    """Pairs that a model should not forget."""
    return General(small_corpus(30))


@pytest.fixture
def segments() -> list[SentencePair]:
    """What a person confirmed."""
    return small_corpus(211)[-13:]


def learner(run: Path, general: General, folder: Path | None = None, **changes: object) -> Learner:
    """A learner that begins anew, or with a folder's snapshots."""
    return Learner(ModelBundle.load(run), settings(**changes), general, folder)


def equal(one: Learned, other: Learned) -> bool:
    """Returns True for the same adapter, bit for bit."""
    assert one.adapter.keys() == other.adapter.keys()
    return all(torch.equal(tensor, other.adapter[name]) for name, tensor in one.adapter.items())


@pytest.mark.parametrize("changes", [{}, {"most_forgotten": 0.01, "learning_rate": 0.02}], ids=["loose", "bounded"])
def test_the_same_segments_give_the_same_adapter_however_they_come(
    tiny_run: Path, general: General, segments: list[SentencePair], tmp_path: Path, changes: dict[str, float]
) -> None:
    """At once, one by one, and each by a learner that knows only what the last one wrote; also where bounds are met."""
    segments = segments[:7]
    at_once = learner(tiny_run, general, **changes).learn(segments)
    alone = learner(tiny_run, general, tmp_path / "one", **changes)
    for number in range(len(segments)):
        one_by_one = alone.learn(segments[: number + 1])
        restarted = learner(tiny_run, general, tmp_path / "other", **changes).learn(segments, 1)
        assert restarted.position == number + 1
    assert equal(at_once, one_by_one)
    assert equal(at_once, restarted)
    assert any(tensor.abs().max() > 0 for name, tensor in at_once.adapter.items() if name.endswith(".up"))


@pytest.mark.slow
@pytest.mark.parametrize("taken", [(0,), (4,), (2, 6, 7)], ids=str)
def test_taking_a_segment_back_equals_never_having_learned_it(
    tiny_run: Path, general: General, segments: list[SentencePair], tmp_path: Path, taken: Sequence[int]
) -> None:
    """The first, one that was held out, and several with the last."""
    segments = segments[:8]
    rest = [segment for number, segment in enumerate(segments) if number not in taken]
    having = learner(tiny_run, general, tmp_path)
    having.learn(segments)
    assert equal(having.learn(rest), learner(tiny_run, general).learn(rest))
    assert equal(learner(tiny_run, general, tmp_path).learn(rest), having.learn(rest))


def test_only_the_segments_after_a_snapshot_are_learned_again(
    tiny_run: Path, general: General, segments: list[SentencePair], tmp_path: Path
) -> None:
    """A lesson that a snapshot holds keeps the seconds that it took."""
    before = learner(tiny_run, general, tmp_path).learn(segments)
    after = learner(tiny_run, general, tmp_path).learn(segments[:-1])
    assert [lesson.seconds for lesson in after.lessons[:12]] == [lesson.seconds for lesson in before.lessons[:12]]


def test_an_adapter_depends_on_model_settings_and_general_pairs(
    tiny_run: Path, general: General, segments: list[SentencePair]
) -> None:
    """A snapshot of other ones is not taken."""
    key = learner(tiny_run, general).learn(segments[:1]).key
    assert key != learner(tiny_run, general, seed=2).learn(segments[:1]).key
    assert key != learner(tiny_run, General(small_corpus(29))).learn(segments[:1]).key


def test_a_damaged_snapshot_is_made_again(
    tiny_run: Path, general: General, segments: list[SentencePair], tmp_path: Path
) -> None:
    """Whichever byte is wrong, and if all are lost."""
    before = learner(tiny_run, general, tmp_path).learn(segments)
    newest = max(tmp_path.iterdir())
    data = bytearray(newest.read_bytes())
    data[-5] ^= 1
    newest.write_bytes(data)
    again = learner(tiny_run, general, tmp_path)
    assert equal(again.learn(segments), before)
    assert read_snapshot(newest) is not None
    for path in tmp_path.iterdir():
        path.unlink()
    assert equal(learner(tiny_run, general, tmp_path).learn(segments), before)


def test_old_snapshots_are_few_and_stale_ones_removed(
    tiny_run: Path, general: General, segments: list[SentencePair], tmp_path: Path
) -> None:
    """One of every third segment, and the newest."""
    learner(tiny_run, general, tmp_path).learn(segments)
    assert sorted(int(path.name[:7]) for path in tmp_path.iterdir()) == [3, 6, 9, 12, 13]
    learner(tiny_run, general, tmp_path).learn(segments[:8])
    assert sorted(int(path.name[:7]) for path in tmp_path.iterdir()) == [3, 6, 8]
    learner(tiny_run, general, tmp_path).learn([])
    assert not list(tmp_path.iterdir())


def test_snapshots_that_were_removed_while_a_learner_has_the_state_are_written_again(
    tiny_run: Path, general: General, segments: list[SentencePair], tmp_path: Path
) -> None:
    """The folder may be removed at any time."""
    own = learner(tiny_run, general, tmp_path / "adapters")
    own.learn(segments[:2])
    for path in (tmp_path / "adapters").iterdir():
        path.unlink()
    own.learn(segments[:2])
    assert len(list((tmp_path / "adapters").iterdir())) == 1


def test_snapshots_of_many_segments_are_few_and_near_the_newest(tmp_path: Path) -> None:
    """Wherever a segment is taken back, at most as many as came after it, and a few, are learned again."""
    snapshots, keys = Snapshots(tmp_path, 2), [f"{number:016d}" for number in range(301)]
    for position in range(1, 301):
        snapshots.write(Snapshot(position, keys[position], "", "", 1.0, "", {}), keys)
        positions = sorted(int(path.name[:7]) for path in tmp_path.iterdir())
        assert positions[-1] == position and len(positions) <= 4 * (position.bit_length() + 1)
        for taken in range(1, position):
            before = max((known for known in positions if known < taken), default=0)
            assert taken - before <= position - taken + 4


def test_held_out_segments_are_never_learned(tiny_run: Path, general: General, segments: list[SentencePair]) -> None:
    """Another target of each fifth one changes nothing but the checks."""
    other = list(segments)
    for number in (4, 9):
        other[number] = SentencePair(segments[number].source, segments[0].target)
    learned = learner(tiny_run, general).learn(segments)
    assert [lesson.kind for lesson in learned.lessons].count("held out") == 2
    assert equal(learned, learner(tiny_run, general).learn(other))
    assert not equal(learned, learner(tiny_run, general).learn([segments[1], segments[0], *segments[2:]]))


def test_segments_are_learned_and_what_was_lost_on_general_text_is_known(
    tiny_run: Path, general: General, segments: list[SentencePair]
) -> None:
    """The loss of each falls, and that of general pairs is compared with the model's own."""
    learned = learner(tiny_run, general).learn(segments)
    taught = [lesson for lesson in learned.lessons if lesson.kind == "learned"]
    assert sum(lesson.after < lesson.before for lesson in taught) > 0.8 * len(taught)
    assert learned.checks[-1].general != 0
    search = transduce.apps.projects.learner.Beam(size=1)
    assert (
        learned.lessons[0].static == Translator(ModelBundle.load(tiny_run)).translate(segments[0].source, search).text
    )


def test_the_first_updates_are_small(tiny_run: Path, general: General, segments: list[SentencePair]) -> None:
    """Steps of Adam are at first as long as the rate, which would undo the first groups of many projects."""
    first = learner(tiny_run, general, steps=1, weight_decay=0.0).learn(segments[:1])
    longest = max(tensor.abs().max().item() for name, tensor in first.adapter.items() if name.endswith(".up"))
    assert 0 < longest <= 1.01 * SETTINGS["learning_rate"] / transduce.apps.projects.learner.WARM_UP


def test_updates_that_lose_too_much_on_general_text_are_undone(
    tiny_run: Path, general: General, segments: list[SentencePair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a rate that ruins the model: nothing is left of any group, and the reason is told."""
    monkeypatch.setattr(transduce.apps.projects.learner, "REPLAYED_GENERAL", 0)
    monkeypatch.setattr(transduce.apps.projects.learner, "MOST_LOST", 0.01)
    learned = learner(tiny_run, general, learning_rate=1.0).learn(segments[:7])  # three groups, and one held out
    assert len(learned.checks) == 3
    assert all("general text" in check.undone for check in learned.checks)
    assert all(lesson.is_undone for lesson in learned.lessons if lesson.kind == "learned")
    assert all(tensor.abs().max() == 0 for name, tensor in learned.adapter.items() if name.endswith(".up"))


def test_an_adapter_that_forgot_too_much_little_by_little_is_made_smaller_and_goes_on_learning(
    tiny_run: Path, general: General, segments: list[SentencePair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No group is to blame, so none is undone; what is left is within the bound after each check."""
    monkeypatch.setattr(Learner, "_reason", lambda *_: "")
    monkeypatch.setattr(transduce.apps.projects.learner, "REPLAYED_GENERAL", 0)
    learned = learner(tiny_run, general, learning_rate=0.05, most_forgotten=0.01).learn(segments)
    assert all(check.general <= 0.01 for check in learned.checks)
    assert any(check.shrunk < 1 for check in learned.checks)
    assert any(tensor.abs().max() > 0 for name, tensor in learned.adapter.items() if name.endswith(".up"))


def test_predictions_on_general_text_stay_as_they_were_by_its_weight(
    tiny_run: Path, general: General, segments: list[SentencePair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A heavier one keeps log-probabilities of general pairs nearer to those of the model without an adapter."""
    base, pairs = ModelBundle.load(tiny_run), [(pair.source, pair.target) for pair in general.pairs]
    before = [score.log_probability for score in Translator(base).score(pairs)]
    moved = []
    for weight in (1e-3, 10.0):
        monkeypatch.setattr(transduce.apps.projects.learner, "GENERAL_WEIGHT", weight)
        own = learner(tiny_run, general)
        adapted = with_adapter(base, own.learn(segments).adapter, own.adapters.scale)
        after = [score.log_probability for score in Translator(adapted).score(pairs)]
        moved.append(sum(abs(end - begin) for begin, end in zip(before, after, strict=True)))
    assert moved[1] < 0.5 * moved[0]


def test_updates_that_lose_too_much_on_held_out_segments_are_undone(
    tiny_run: Path, general: General, segments: list[SentencePair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments of nonsense after good ones; the adapter is as if the undone group had never been learned."""
    monkeypatch.setattr(transduce.apps.projects.learner, "FEWEST_CHECKS", 1)
    nonsense = [SentencePair(segment.source, "Hund " * 9) for segment in segments[8:]]
    wrong = [*segments[:8], *nonsense]
    for name, value in {"REPLAYED_GENERAL": 0, "MOST_LOST": 0.05, "HOLD_OUT": 4}.items():
        monkeypatch.setattr(transduce.apps.projects.learner, name, value)
    changes = {"learning_rate": 0.05, "replayed": 0}
    learned = learner(tiny_run, general, **changes).learn(wrong)
    undone = [check for check in learned.checks if "held-out segments" in check.undone]
    assert undone
    before = learner(tiny_run, general, **changes).learn(wrong[: undone[0].first])
    after = learner(tiny_run, general, **changes).learn(wrong[: undone[0].position])
    assert equal(before, after)


def test_segments_that_are_too_long_are_left_out(
    tiny_run: Path, general: General, segments: list[SentencePair]
) -> None:
    """The others are learned."""
    long = SentencePair("the dog " * 200, "der Hund")
    learned = learner(tiny_run, general).learn([long, *segments[:2]])
    assert [lesson.kind for lesson in learned.lessons] == ["left out", "learned", "learned"]


def test_a_model_with_the_adapter_gives_what_was_learned_and_leaves_the_other_as_it_was(
    tiny_run: Path, general: General, segments: list[SentencePair]
) -> None:
    """Probabilities of the merged model are those of the learner's; the base shares what is not adapted."""
    base, pairs = ModelBundle.load(tiny_run), [(segment.source, segment.target) for segment in segments]
    before = [score.log_probability for score in Translator(base).score(pairs)]
    own = learner(tiny_run, general)
    learned = own.learn(segments)
    adapted = with_adapter(base, learned.adapter, own.adapters.scale)
    scores = [score.log_probability for score in Translator(adapted).score(pairs)]
    assert scores == pytest.approx([-nats for nats, _ in own.losses(segments)], abs=1e-3)
    assert scores != pytest.approx(before, abs=1e-3)
    assert [score.log_probability for score in Translator(base).score(pairs)] == before
    adapted_names = {name.rpartition(".")[0] for name in learned.adapter}
    for name, parameter in base.model.named_parameters():
        is_shared = adapted.model.get_parameter(name) is parameter
        assert is_shared == (name.removesuffix(".weight") not in adapted_names)


def test_general_files_are_pairs_or_sources_alone(tiny_run: Path, corpus: Path) -> None:
    """Without a target file, targets are the model's own translations; without any file, the probe is the check."""
    bundle = ModelBundle.load(tiny_run)
    pairs = General.read(("dev.en", "dev.de"), corpus, bundle)
    alone = General.read(("dev.en",), corpus, bundle)
    assert pairs.pairs[0].source == alone.pairs[0].source
    assert alone.pairs[0].target == Translator(bundle).translate(alone.pairs[0].source, Beam(size=1)).text
    probe = General.read((), corpus, bundle)
    assert not probe.is_replayed and 0 < len(probe.pairs) <= 4
    with pytest.raises(ConfigError, match="3 files"):
        General.read(("dev.en", "dev.de", "dev.en"), corpus, bundle)
