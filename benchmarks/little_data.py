"""What helps where data are little: options of training alone and together on Multi30k, at equal time.

    python benchmarks/little_data.py --out runs/bench/little-data

Every cell is the recipe multi30k with an option, trained for the same time with every seed: first a few updates are
timed in turns with the recipe's, which tells how many there are in that time. The option of each group that has a
higher BLEU on the validation data than the recipe goes into the last cell, together; the cell that is best there is
decoded in other ways too. So the test data choose nothing. They are scored at the end, and compared by paired tests
over the sentences of all seeds: these tell what chance in the choice of sentences may do, not in that of seeds. What
is finished is not done again, what was stopped goes on.

A quarter of an hour for each training, two seeds: a night on two cores. Two trainings of a thread each get more out
of two cores than one of two threads: time all options, train one seed by each of two processes, then make the table.

    python benchmarks/little_data.py --threads 1 --until timed
    python benchmarks/little_data.py --threads 1 --until trained --seeds 1 &
    python benchmarks/little_data.py --threads 1 --until trained --seeds 2
    python benchmarks/little_data.py --threads 1

To try it: `--minutes 0.2 --seeds 1 --only "dropout 0.3" --tested 20`.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import msgspec
import torch

import transduce
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split
from transduce.evaluation.metric import SentenceCounts
from transduce.evaluation.significance import Difference, compare_counts
from transduce.evaluation.translations import count_bleu
from transduce.experiment import load_recipe, sweep
from transduce.experiment.sweep import Combination
from transduce.search.beam import Beam
from transduce.search.choices import DecisionRule, MinimumBayesRisk
from transduce.training.observers import Lines, Observer

RECIPE = "multi30k"
GROUPS: dict[str, dict[str, list[str]]] = {  # of options that exclude each other
    "dropout": {"dropout 0.3": ["model.dropout=0.3"]},
    "averaging": {"moving average": ["training.moving_average=0.999"]},
    "embeddings": {
        "target embeddings and output layer shared": ["model.tie=target"],
        "nothing shared": ["model.tie=none"],
    },
    "size": {
        "narrow": ["model.dim=192", "model.feed_forward_dim=384", "model.heads=6"],
        "narrowest": ["model.dim=128", "model.feed_forward_dim=256", "model.heads=4", "optimizer.learning_rate=5e-3"],
        "wide feed-forward": ["model.feed_forward_dim=1024"],
        "six layers": ["model.encoder_layers=6", "model.decoder_layers=6"],
    },
    "vocabulary": {"4,000 subwords": ["tokenizer.size=4000"]},
    "schedule": {
        "cosine": ["optimizer.schedule.kind=cosine"],
        "inverse square root": ["optimizer.schedule.kind=inverse_square_root"],
        "rate 2e-3": ["optimizer.learning_rate=2e-3"],
    },
}
HELPED = "what helped, together"
RULES: dict[str, DecisionRule] = {
    "beam of 4": Beam(),
    "beam of 12": Beam(size=12),
    "minimum Bayes risk, beam of 16": MinimumBayesRisk(),
}
WARMUP = 0.3  # of the updates, as in the recipe
TIMED = 8  # updates of a turn, to learn how many there are in a time
TURNS = 3
VALIDATIONS = 5


@dataclass(frozen=True)
class Cell:
    """A recipe trained with all seeds."""

    name: str
    updates: int
    seconds_per_update: float
    runs: list[Path]
    perplexity: float
    validation: SentenceCounts
    """BLEU of all seeds on the validation data, by which cells are chosen."""
    test: SentenceCounts


@dataclass(frozen=True)
class Bench:
    """What all cells share."""

    out: Path
    languages: tuple[str, str]
    seeds: list[int]
    minutes: float
    tested: int | None
    """Sentences of the validation and test data at most."""

    @property
    def direction(self) -> list[str]:
        return [f"data.source={self.languages[0]}", f"data.target={self.languages[1]}"]

    def pairs(self, split: str) -> list[SentencePair]:
        return list(open_split("multi30k", split, *self.languages))[: self.tested]

    def cell(self, name: str, changes: list[str]) -> Cell:
        """The trainings of a cell and their scores."""
        trained = self.train(name, changes)
        runs = [one.run for one in trained.trained]
        perplexity = trained.mean("perplexity")
        if any(one.score is None for one in trained.trained) or perplexity is None:
            raise SystemExit(f"{name} has diverged; leave it out by --only, or lower its rate")
        validation, test = (self.bleu(runs, split, Beam(), "beam") for split in ("val", "test_2016_flickr"))
        return Cell(name, *self.length(name, changes), runs, perplexity, validation, test)

    def train(self, name: str, changes: list[str]) -> Combination:
        """A cell's trainings with all seeds."""
        updates, seconds = self.length(name, changes)
        overrides = of_length([*self.direction, *changes], updates)
        print(f"{name}: {updates:,} updates of {seconds:.2f} s", file=sys.stderr)
        folder = self.out / file_name(name)
        found = sweep(RECIPE, {}, self.seeds, folder, overrides, observers=lambda: [Lines(sys.stderr)], tell=tell)
        return found.cells[0]

    def length(self, name: str, changes: list[str]) -> tuple[int, float]:
        """How many updates of a cell there are in the time, and the seconds of one."""
        seconds = self._seconds_per_update(self.out / file_name(name), changes)
        return max(round(60 * self.minutes / seconds), VALIDATIONS), seconds

    def bleu(self, runs: Sequence[Path], split: str, rule: DecisionRule, name: str) -> SentenceCounts:
        """BLEU of the translations that all seeds' models make of a split; each sentence counts once."""
        pairs = self.pairs(split)
        outputs = [translate(run, f"{split}-{name}", [pair.source for pair in pairs], rule)[0] for run in runs]
        return SentenceCounts.summed([count_bleu(one, [pair.target for pair in pairs]) for one in outputs])

    def _seconds_per_update(self, folder: Path, changes: list[str]) -> float:
        """Kept in a file: the recipe's, times what an update of the cell takes against one of the recipe's."""
        kept = folder / "seconds-per-update.json"
        if not kept.exists():
            folder.mkdir(parents=True, exist_ok=True)
            if changes:
                ratios = [self._time(folder, changes) / self._time(folder, []) for _ in range(TURNS)]
                found = self._seconds_per_update(self.out / "recipe", []) * median(ratios)
            else:
                found = median(self._time(folder, []) for _ in range(TURNS))
            kept.write_bytes(msgspec.json.encode(found))
        return msgspec.json.decode(kept.read_bytes(), type=float)

    def _time(self, folder: Path, changes: list[str]) -> float:
        """Seconds of an update now, in a run that is made for it; its few outputs are a token long."""
        speed = Speed()
        short = ["search.size=1", "search.max_ratio=0.0", "search.max_extra=1", f"training.report_every={TIMED // 2}"]
        short += [f"{table}.every_updates={TIMED}" for table in ("validation", "checkpoint")]
        recipe = load_recipe(RECIPE, [*of_length([*self.direction, *changes], TIMED), *short])
        transduce.train(recipe, folder / "timed", observers=[speed], overwrite=True, tell=lambda line: None)
        return speed.seconds[-1]


class Speed(Observer):
    """An observer that remembers how long the updates of a report take: processor time a thread, so that other work on
    the machine counts for little."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._update, self._time = 0, time.process_time()

    def report(self, report: Any) -> None:
        now = time.process_time()
        self.seconds.append((now - self._time) / (report.update - self._update) / torch.get_num_threads())
        self._update, self._time = report.update, now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/little-data"))
    parser.add_argument("--languages", nargs=2, default=["de", "en"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--tested", type=int, help="sentences of validation and test data at most, for a try")
    wanted = {name: changes for group in GROUPS.values() for name, changes in group.items()}
    parser.add_argument("--only", nargs="*", choices=wanted, metavar="OPTION", help="the recipe is always trained")
    parser.add_argument("--until", choices=["timed", "trained"], help="stop after that; no table, and nothing together")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    bench = Bench(options.out, tuple(options.languages), options.seeds, options.minutes, options.tested)
    if options.only is not None:
        wanted = {name: wanted[name] for name in options.only}
    if options.until:
        work = bench.length if options.until == "timed" else bench.train
        for name, changes in {"recipe": [], **wanted}.items():
            work(name, changes)
        return
    cells = {"recipe": bench.cell("recipe", [])}
    for name, changes in wanted.items():
        cells[name] = bench.cell(name, changes)
        show(cells, options.out)
    helped = what_helped(cells)
    if len(helped) > 1:
        name = f"{HELPED}: {', '.join(helped)}"  # and so the folder: others may help when more is tried
        cells[name] = bench.cell(name, [change for own in helped.values() for change in own])
    best = max(cells.values(), key=lambda cell: cell.validation.score)
    table = show(cells, options.out) + "\n" + rules_of(bench, best)
    (options.out / "table.md").write_text(table, encoding="utf-8")
    print(table, end="")


def of_length(changes: list[str], updates: int) -> list[str]:
    """The recipe with changes and a schedule of so many updates."""
    kinds = [change.partition("=")[2] for change in changes if change.startswith("optimizer.schedule.kind=")]
    others = [change for change in changes if not change.startswith("optimizer.schedule.kind=")]
    warmup, every = max(round(WARMUP * updates), 1), max(updates // VALIDATIONS, 1)
    schedule = f"{{kind='{kinds[0] if kinds else 'linear'}', warmup={warmup}}}"
    return [
        *others,
        f"training.updates={updates}",
        f"optimizer.schedule={schedule}",
        f"validation.every_updates={every}",
        f"checkpoint.every_updates={every}",
    ]


def file_name(name: str) -> str:
    return name.replace(": ", "_").replace(", ", "_").replace(" ", "-")


def what_helped(cells: dict[str, Cell]) -> dict[str, list[str]]:
    """The best option of each group whose BLEU on the validation data is above the recipe's."""
    helped = {}
    for group in GROUPS.values():
        tried = [name for name in group if name in cells]
        best = max(tried, key=lambda name: cells[name].validation.score, default=None)
        if best is not None and cells[best].validation.score > cells["recipe"].validation.score:
            helped[best] = group[best]
    return helped


def translate(run: Path, name: str, sources: list[str], rule: DecisionRule) -> tuple[list[str], float]:
    """Translations by a run's model, kept in a file, and the seconds that they took."""
    file = run / f"{file_name(name)}-{len(sources)}.json"
    if not file.exists():
        translator = transduce.Translator.load(run)
        began = time.perf_counter()
        outputs = [found.text for found in translator.translate(sources, rule)]
        file.write_bytes(msgspec.json.encode((outputs, time.perf_counter() - began)))
    return msgspec.json.decode(file.read_bytes(), type=tuple[list[str], float])


def show(cells: dict[str, Cell], out: Path) -> str:
    """A row a cell, the best on the validation data first; also kept in a file."""
    recipe = cells["recipe"]
    lines = [
        "| | updates | time each | validation perplexity | validation BLEU | test BLEU | against the recipe | p |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in sorted(cells.values(), key=lambda cell: -cell.validation.score):
        against = None if cell is recipe else difference(cell.test, recipe.test)
        times = cell.seconds_per_update / recipe.seconds_per_update
        row = [cell.name, f"{cell.updates:,}", f"{times:.2f}", f"{cell.perplexity:.2f}"]
        row += [f"{cell.validation.score:.2f}", f"{cell.test.score:.2f}", *told(against)]
        lines.append(f"| {' | '.join(row)} |")
    table = "\n".join([*lines, "", f"BLEU of all seeds' outputs, beam of 4: `{recipe.test.signature}`", ""])
    (out / "table.md").write_text(table, encoding="utf-8")
    return table


def rules_of(bench: Bench, cell: Cell) -> str:
    """A row a way of decoding with a cell's models."""
    lines = [
        f"Ways of decoding, with the models of: {cell.name}",
        "",
        "| | seconds for the test set | validation BLEU | test BLEU | against the beam of 4 | p |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    sources, beam = [pair.source for pair in bench.pairs("test_2016_flickr")], None
    for name, rule in RULES.items():
        validation, test = (bench.bleu(cell.runs, split, rule, name) for split in ("val", "test_2016_flickr"))
        seconds = mean(translate(run, f"test_2016_flickr-{name}", sources, rule)[1] for run in cell.runs)
        against = None if beam is None else difference(test, beam)
        beam = beam or test
        row = [name, f"{seconds:.1f}", f"{validation.score:.2f}", f"{test.score:.2f}", *told(against)]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def difference(own: SentenceCounts, baseline: SentenceCounts) -> Difference:
    return compare_counts(own.counts, baseline.counts, own.score_rows)


def told(against: Difference | None) -> tuple[str, str]:
    """A difference with its interval, and p by bootstrap and by approximate randomisation."""
    if against is None:
        return "", ""
    low, high = against.interval
    p = f"{against.bootstrap_p:.3f}, {against.randomization_p:.3f}"
    return f"{against.difference:+.2f} [{low:+.2f}, {high:+.2f}]", p


def tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
