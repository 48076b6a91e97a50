"""Requests a second, and times to answer, of `transduce serve`, of LibreTranslate's own server, and of the smallest
FastAPI app around CTranslate2, its engine.

    python benchmarks/serving_load.py --model runs/quickstart

All servers have the same weights and run at once, and are loaded in turns; one request in five has twelve sentences,
the others have one. A load ends after --requests or --seconds. Every answer is compared with that of `transduce
translate` with the same model. Without --model, the quickstart's is trained first.
"""

import argparse
import sys
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch

import transduce
from peers.environments import NotInstalledError, interpreter
from peers.load import Answer, Ask, Job
from peers.measurements import Spread, paired
from peers.report import describe_machine, table
from peers.serving import (
    begin_load,
    draw_texts,
    end_load,
    free_port,
    make_asks,
    read_sentences,
    started,
    transduce_serve,
)
from transduce.apps.exchange.argos import export_argos
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.apps.exchange.ctranslate2.package import ENDING
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment import load_recipe
from transduce.inference.engines.inference_precision import InferencePrecision
from transduce.training.observers import Lines

LIBRETRANSLATE = "LibreTranslate"
APP = "FastAPI and CTranslate2"
PEERS = (LIBRETRANSLATE, APP)
TEXTS = 500
WARM_UP = 16
"""Requests to each server that are not counted."""


@dataclass(frozen=True)
class Contender:
    """A row of the table: a server, and the model whose translations its answers must be."""

    name: str
    command: list[str]
    port: int
    model: Path
    precision: InferencePrecision = "float32"


@dataclass(frozen=True)
class Measured:
    """A load of one server in one round."""

    seconds: float
    answers: list[Answer]

    @property
    def speed(self) -> float:
        """Requests a second."""
        return len(self.answers) / self.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, help="a run or model; default: the quickstart's, trained first")
    parser.add_argument(
        "--sentences", type=Path, help="text to translate, a sentence a line; default: the quickstart's"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/bench/serving"))
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--requests", type=int, default=2000, help="of a load")
    parser.add_argument("--seconds", type=float, default=30.0, help="after which a load begins no request")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--without-peers", action="store_true", help="only servers of Transduce")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = options.out.absolute()
    model = (options.model or train(folder / "run")).absolute()
    contenders = contenders_of(model, folder, options.threads, not options.without_peers)
    config = ModelBundle.load(model).config
    texts = draw_texts(read_sentences(options.sentences, TEXTS), TEXTS)
    asks = {one.name: make_asks(texts, one.model, one.precision, (config.source, config.target)) for one in contenders}
    found: dict[tuple[str, int], dict[int, Measured]] = {}
    with ExitStack() as stack:
        for number, one in enumerate(contenders):
            log = folder / "logs" / f"{number}.log"
            stack.enter_context(started(one.command, one.port, options.threads, log))
        for one in contenders:
            end_load(begin_load(Job(one.port, 8, asks[one.name], WARM_UP, options.seconds), folder / "job.json"))
        for number in range(options.rounds):
            for clients in options.clients:
                for one in contenders:
                    job = Job(one.port, clients, asks[one.name], options.requests, options.seconds)
                    measured = Measured(*end_load(begin_load(job, folder / "job.json")))
                    found.setdefault((one.name, clients), {})[number] = measured
                    tell(f"round {number + 1}, {one.name}, {clients} clients: {measured.speed:.1f} requests a second")
    print(make_table(found, asks))
    print(f"{describe_machine(options.threads)} Rounds: {options.rounds}.")
    mistaken = {name for (name, _), rounds in found.items() if name not in PEERS and mistakes(list(rounds.values()))}
    if mistaken:
        sys.exit(f"wrong answers: {', '.join(sorted(mistaken))}")


def train(run: Path) -> Path:
    """The model of `transduce quickstart`."""
    if not (run / "model").exists():
        transduce.train(load_recipe("quickstart"), run, resume=run.exists(), observers=[Lines(sys.stderr)])
    return run


def exported(model: Path, folder: Path) -> Path:
    """The model for CTranslate2."""
    if not folder.exists():
        export_ctranslate2(model, folder)
    return folder


def contenders_of(model: Path, folder: Path, threads: int, with_peers: bool) -> list[Contender]:
    """All servers, each with a port of its own."""
    ours, int8, pytorch, app, libre = (free_port() for _ in range(5))
    contenders = [
        Contender("transduce serve, float32", transduce_serve(model, ours, threads), ours, model),
        Contender(
            "transduce serve, int8", transduce_serve(model, int8, threads, "--precision", "int8"), int8, model, "int8"
        ),
        Contender(
            "transduce serve, PyTorch", transduce_serve(model, pytorch, threads, "--engine", "pytorch"), pytorch, model
        ),
    ]
    if not with_peers:
        return contenders
    weights = exported(model, folder / "exported")
    app_command = [sys.executable, "-m", "peers.serve_ctranslate2", str(weights), str(app), str(threads)]
    contenders.append(Contender(APP, app_command, app, weights))
    try:
        contenders.append(libretranslate(model, folder / "argos", libre, threads))
    except NotInstalledError as error:
        tell(f"{LIBRETRANSLATE}: {error}")
    return contenders


def libretranslate(model: Path, folder: Path, port: int, threads: int) -> Contender:
    """LibreTranslate's server with the model as its only package."""
    python = interpreter("libretranslate")
    if not folder.exists():
        package = folder.with_suffix(ENDING)
        if not package.exists():
            export_argos(model, package)
        with zipfile.ZipFile(package) as archive:
            archive.extractall(folder)
    command = [str(python), "-m", "peers.serve_libretranslate", str(folder), str(port), str(threads)]
    return Contender(LIBRETRANSLATE, command, port, model)


def make_table(found: dict[tuple[str, int], dict[int, Measured]], asks: dict[str, list[Ask]]) -> str:
    """A row a server and number of clients: requests a second, how long answers took, and how many were right."""
    peers = [peer for peer in PEERS if peer in asks]
    head = ["", "clients", "requests a second", *(f"times {peer}" for peer in peers), "50th percentile, ms", "95th"]
    rows = [[*head, "99th", "95th of one sentence", "same as `transduce translate`"]]
    for (name, clients), rounds in found.items():
        loads = list(rounds.values())
        answers = [answer for load in loads for answer in load.answers]
        short = [answer for answer in answers if "\\n" not in asks[name][answer.ask].body]
        rows.append(
            [
                name,
                str(clients),
                Spread.of([load.speed for load in loads]).show(",.1f"),
                *("" if name in PEERS else times(rounds, found[peer, clients]) for peer in peers),
                *(f"{percentile(answers, share):,.1f}" for share in (0.5, 0.95, 0.99)),
                f"{percentile(short, 0.95):,.1f}",
                f"{len(answers) - mistakes(loads):,} of {len(answers):,}",
            ]
        )
    return table(rows)


def times(rounds: dict[int, Measured], theirs: dict[int, Measured]) -> str:
    """Requests a second of one server as a multiple of another's, round by round."""
    own, other = ({number: load.speed for number, load in loads.items()} for loads in (rounds, theirs))
    ratio = paired(own, other)
    return ratio.show(".2f") if ratio else ""


def percentile(answers: Sequence[Answer], share: float) -> float:
    """Milliseconds within which a share of the answers came."""
    seconds = sorted(answer.seconds for answer in answers)
    return 1000 * seconds[min(int(share * len(seconds)), len(seconds) - 1)] if seconds else float("nan")


def mistakes(loads: Sequence[Measured]) -> int:
    """Answers that were wrong, or did not come."""
    return sum(answer.mistake is not None for load in loads for answer in load.answers)


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
