"""Asks each checkpoint of a run: what it translates, why a word, what a probe reads, how well attention aligns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

from transduce.analysis.alignment import SAMPLE, AlignmentHead
from transduce.analysis.pictures import Pictures, training_pictures
from transduce.analysis.probes import Label, Probe, probe
from transduce.analysis.training_log import Curves, Series
from transduce.analysis.why import Why
from transduce.base.errors import InputError
from transduce.base.task_table import check_tool
from transduce.corpora.corpus import SentencePair
from transduce.experiment.alignment_head import validation_pairs
from transduce.experiment.recipe import recipe_known_of
from transduce.inference.details import find_head
from transduce.inference.request import Request
from transduce.inference.translator import Translator
from transduce.inference.why_word import why
from transduce.search.beam import Beam
from transduce.training.checkpoint import BUNDLE, whole_checkpoints

PROBED = 300
"""The number of validation sources that are probed."""
SHOWN = 100
"""The most characters of a translation in a table: early checkpoints repeat themselves."""


@dataclass(frozen=True)
class CheckpointFindings:
    """Findings at one checkpoint of a run."""

    updates: int
    writes: str
    """The model's own translation at this checkpoint."""
    why: Why | None
    probes: list[Probe]
    head: AlignmentHead | None
    """The head whose attention aligns best; None for a model without attention to its source."""

    def figures(self) -> dict[str, float]:
        """Returns the numbers by name: nats, selectivity and agreement."""
        figures = {f"selectivity, {each.place}": each.selectivity for each in self.probes}
        if self.head is not None:
            figures["agreement of attention"] = self.head.agreement
        if self.why is not None:
            figures[f"nats, {self.why.word.text} less {self.why.other.text}"] = self.why.difference
        return figures

    def row(self) -> dict[str, str]:
        """Returns the row of a table by its columns."""
        row = {"updates": f"{self.updates:,}"}
        if self.why is not None:
            cause = self.why.cause
            row["difference"] = f"{self.why.difference:+.2f}"
            row["because of"] = "–" if cause is None else f"{cause.text} {cause.left_out:+.2f}"
        if self.probes:
            best = max(self.probes, key=lambda each: each.selectivity)
            row["selectivity"] = f"{best.selectivity:.2f} {best.place}"
        if (head := self.head) is not None:
            row["attention"] = f"{head.agreement:.0%} layer {head.layer + 1}, head {head.head + 1}"
        return row | {"writes": shorten(self.writes, SHOWN, placeholder=" …")}


def over_training(
    run: str | Path,
    text: str | Request,
    word: str | None = None,
    instead: str | None = None,
    label: Label | Sequence[str] | None = None,
    target: str | None = None,
    search: Beam | None = None,
    *,
    to: str | None = None,
    from_: str | None = None,
    device: str = "auto",
) -> list[CheckpointFindings]:
    """Returns what each checkpoint of a translation run does, the oldest first; one model is loaded at a time.

    The last checkpoint gives what is not given: the target, and the next most probable word. A label is probed on the
    run's first validation sources; tags have a line for each. See `transduce.why` and `transduce.probe`.

    Raises InputError for fewer than two checkpoints, for a model that does not translate, and as `why` and `probe` do;
    DataError where the run's data are gone.
    """
    recipe = recipe_known_of(Path(run), "checkpoints", "name a run's folder")
    assert recipe.run is not None
    check_tool(str(run), recipe.config.task, "translator")
    checkpoints, found = whole_checkpoints(recipe.run), list[CheckpointFindings]()
    if len(checkpoints) < 2:
        raise InputError(
            f"{run} has {len(checkpoints) or 'no'} checkpoint, and a change needs two; train with, for example, "
            "checkpoint.keep_last = 20"
        )
    known, pairs = PROBED if label is None or isinstance(label, str) else len(label), list[SentencePair]()
    for folder in reversed(checkpoints):
        translator = Translator.load(folder / BUNDLE, device=device, engine="pytorch").directed(to, from_)
        bundle, answer = translator.single_model(), None
        pairs = pairs or validation_pairs(recipe, bundle, max(SAMPLE, known))
        sources, sample = [pair.source for pair in pairs], pairs[:SAMPLE]
        writes = translator.translate(text, search).text
        target = writes if target is None else target
        if word is not None:
            instead = instead or why(translator, text, word, None, target, brief=True).other.text
            answer = why(translator, text, word, instead, target)
        probes = [] if label is None else probe(bundle, sources[:known], label)
        targets = bundle.tokenizers.target.encode_batch([pair.target for pair in sample])
        head = find_head(bundle, bundle.read(sources[:SAMPLE]), targets)
        found.append(CheckpointFindings(int(folder.name), writes, answer, probes, head))
        del translator, bundle  # before the next one is loaded
    return found[::-1]


def over_training_pictures(run: str, found: Sequence[CheckpointFindings]) -> Pictures:
    """Makes pictures of the findings' numbers over the updates, and of what each word does that is once the cause."""
    answers = [each.why for each in found if each.why is not None]
    causes = sorted({answer.words.index(answer.cause) for answer in answers if answer.cause is not None})
    figures = {name: [each.figures()[name] for each in found] for name in found[0].figures()}
    for number in causes:
        name = f"nats that go without {answers[0].words[number].text} (word {number + 1})"
        figures[name] = [answer.words[number].left_out for answer in answers]
    updates = [each.updates for each in found]
    return training_pictures([Curves(run, {name: Series(updates, values) for name, values in figures.items()})])
