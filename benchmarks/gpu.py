"""Measures Transduce on one NVIDIA GPU, beside other toolkits, within ten minutes: `python benchmarks/gpu.py`

1. Updates of the Transformer base and big with 37,000 tokens in the vocabulary, on made-up sentence pairs in batches of
   25,000 target tokens: Transduce without and with `training.compile`, and transformers' MarianMTModel of these sizes.
   Batches hold pairs of similar length, so that padding, which Transduce leaves out on a GPU, costs Marian little.
2. Beam search of 500 made-up sentences by the base model with random weights; outputs are as long as their sources, so
   that all do the same work: kernel by kernel, in CUDA graphs (`compile`), and as one text in batches by free memory.
   CTranslate2 runs the same weights.
3. The recipe multi30k, or as many of its updates as fit into a minute.

A figure is the median of three rounds after a warm-up, by the wall clock, with the GPU waited for. The share of the
peak counts the matrix products of Transduce's updates for all systems, and takes a large product in the precision of
training for the peak. Each part has a process and a time limit of its own; what fails is one line of the table.
"""

import argparse
import gc
import json
import multiprocessing
import os
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from gpu_parts.decoding import decode
from gpu_parts.measuring import TINY, Figures, Part, Scale
from gpu_parts.minute import train_for_a_minute
from gpu_parts.training import train
from peers.report import describe_machine, table
from transduce.base.devices import find_device
from transduce.base.errors import ConfigError

PARTS: dict[str, tuple[Part, float]] = {
    "Training, base": (partial(train, "base"), 120),
    "Training, big": (partial(train, "big"), 140),
    "Beam search": (decode, 170),
    "A minute of training": (train_for_a_minute, 130),
}
"""Parts, and the seconds after which each is ended: ten minutes together."""
AT_EXIT = 5
"""Seconds in which a process may end by itself."""


@dataclass(frozen=True)
class Result:
    """The figures of a measurement, or the reason why there are none."""

    part: str
    name: str
    figures: Figures
    failure: str | None = None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/gpu"), help="folder of gpu.md and gpu.json")
    parser.add_argument("--device", help="device to measure (default: the GPU)")
    parser.add_argument(
        "--tiny", action="store_true", help="small models and few sentences, to try the benchmark itself"
    )
    options = parser.parse_args()
    if options.device is None and not torch.cuda.is_available():
        print("PyTorch finds no CUDA GPU here; try the benchmark with --device cpu --tiny", file=sys.stderr)
        raise SystemExit(2)
    try:
        device = find_device(options.device or "cuda")
    except ConfigError as error:
        parser.error(str(error))
    scale = TINY if options.tiny else Scale()
    if options.tiny:
        os.environ["TORCH_COMPILE_DISABLE"] = "1"  # compiling takes minutes, of a small model too
    options.out.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for part, (measure, limit) in PARTS.items():
        for result in run_part(part, measure, limit, scale, device):
            results.append(result)
            print(f"{result.part}, {result.name}: {result.failure or show(result.figures)}", flush=True)
            write(results, device, options.out)
    print(f"\n{(options.out / 'gpu.md').read_text(encoding='utf-8')}", end="")


def run_part(part: str, measure: Part, limit: float, scale: Scale, device: torch.device) -> Iterator[Result]:
    """Yields the results of a part, which runs in a process of its own and is ended after a number of seconds."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_all, args=(sender, part, measure, scale, device))
    process.start()
    sender.close()  # so that the end of the process ends the connection
    deadline = time.monotonic() + limit
    try:
        while receiver.poll(max(deadline - time.monotonic(), 0)):
            if (result := receiver.recv()) is None:
                process.join(AT_EXIT)
                return
            yield result
        yield Result(part, "the rest", {}, f"stopped after {limit:g} seconds")
    except EOFError:
        process.join()
        yield Result(part, "the rest", {}, f"its process ended with status {process.exitcode}")
    finally:
        process.kill()
        process.join()


def _send_all(sender: Connection, part: str, measure: Part, scale: Scale, device: torch.device) -> None:
    """Sends a result for each measurement of a part, and None after the last."""
    for name, work in measure(scale, device):
        try:
            result = Result(part, name, work())
        except Exception as error:  # of another toolkit, of CUDA, of a missing package: it is that measurement's result
            reason = next(iter(str(error).splitlines()), "")
            result = Result(part, name, {}, textwrap.shorten(f"{type(error).__name__}: {reason}", 160))
        sender.send(result)
        gc.collect()  # a model, which has cycles, must not take memory of the next
        if device.type == "cuda":
            torch.cuda.empty_cache()
    sender.send(None)


def show(figures: Figures) -> str:
    return ", ".join(f"{name} {number(figure)}" for name, figure in figures.items())


def number(figure: float) -> str:
    """Three digits, or all before the point."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"


def write(results: Sequence[Result], device: torch.device, out: Path) -> None:
    """A table for each part, and all as JSON."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    machine = f"{name}; {describe_machine(torch.get_num_threads())} PyTorch {torch.__version__}."
    text = f"{machine}\n"
    for part in dict.fromkeys(result.part for result in results):
        of_part = [result for result in results if result.part == part]
        columns = list(dict.fromkeys(name for result in of_part for name in result.figures)) or [""]
        rows = [["", *columns]]
        for result in of_part:
            cells = [number(result.figures[name]) if name in result.figures else "" for name in columns]
            rows.append([result.name, *([result.failure, *cells[1:]] if result.failure else cells)])
        text += f"\n### {part}\n\n{table(rows)}"
    (out / "gpu.md").write_text(text, encoding="utf-8")
    tree = {"machine": machine, "results": [asdict(result) for result in results]}
    (out / "gpu.json").write_text(json.dumps(tree, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
