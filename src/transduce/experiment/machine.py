"""Measuring how fast this machine trains, in operations per second of a small Transformer."""

import math
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from transduce.data.batch import SpecialIds, make_batch
from transduce.models.transformer import TransformerConfig, build_transformer
from transduce.objectives.next_token import NextToken
from transduce.objectives.objective import Objective
from transduce.training.precision import WorkingCopy, choose_precision

MODEL = TransformerConfig(
    encoder_layers=3, decoder_layers=3, dim=256, feed_forward_dim=512, positions="rotary", tie="all"
)
VOCABULARY = 4000
SENTENCES, ON_GPU, LENGTH = 64, 1024, 15  # about 1,000 tokens a side (16,000 on a GPU), with the end of each sentence
BOUTS, ENOUGH, PAUSE = 3, 0.4, 0.2  # bouts, seconds of each and between them: one may be disturbed
OF_A_LAYER = 1e6
SHARED_OUT = 0.9  # exponent of the threads, by which their joint speed grows
BUSY = 1.3  # seconds by the clock for one of the processor, from which on other work slows this machine
STEP = 2**0.5  # between speeds: measurements differ by some per cent, and what is chosen by them should not
SPECIAL = SpecialIds(source_pad=0, source_eos=3, target_pad=0, target_bos=2, target_eos=3)


@dataclass(frozen=True)
class Machine:
    """The hardware that trains."""

    kind: str
    """The kind of device, as torch names it: cpu, cuda ..."""
    operations: float
    """Operations of forward and backward passes per second without other work, as `cost_of_a_token` counts them."""
    busy: float = 1.0
    """Seconds by the clock for each that the processor worked for this program: above 1 if it has other work."""

    def seconds(self, model: TransformerConfig, vocabulary: int, tokens: float, source_tokens: float = 1.0) -> float:
        """Returns the seconds that some target tokens take."""
        return tokens * cost_of_a_token(model, vocabulary, source_tokens) / self.operations


def operations_of_a_token(model: TransformerConfig, vocabulary: int, source_tokens: float = 1.0) -> float:
    """Returns the operations of a forward and backward pass for one target token and `source_tokens`: six for each
    weight that is multiplied, without attention's own products."""
    encoder, decoder, memory = _weights(model)
    return 6 * (source_tokens * (encoder + memory) + decoder + model.dim * vocabulary)


def cost_of_a_token(model: TransformerConfig, vocabulary: int, source_tokens: float = 1.0) -> float:
    """Returns the operations that take as long as a target token and `source_tokens` do: products of weights, and
    `OF_A_LAYER` for all else in a layer, whose time is about the same for all usual widths."""
    layers = source_tokens * model.encoder_layers + model.decoder_layers
    return operations_of_a_token(model, vocabulary, source_tokens) + OF_A_LAYER * layers


def weights_of(model: TransformerConfig) -> float:
    """Returns the weights of a model's layers that multiply, without embeddings."""
    return sum(_weights(model))


def _weights(model: TransformerConfig) -> tuple[float, float, float]:
    """Returns the weights that multiply a source token, a target token, and a source token for the decoder."""
    attention, feed_forward = 4 * model.dim**2, 2 * model.dim * model.feed_forward_dim
    encoder = model.encoder_layers * (attention + feed_forward)
    decoder = model.decoder_layers * (1.5 * attention + feed_forward)  # queries and outputs of a token
    return encoder, decoder, model.decoder_layers * attention / 2  # keys and values of a source token


def measure_machine(device: torch.device, processes: int = 1) -> Machine:
    """Trains a small model on random tokens in a few bouts; the fastest step counts.

    On a CPU one thread is measured, in time of the processor, so that other work on the machine changes little; the
    result is rounded, and multiplied by the threads, and by the processes, each of which has its own cores or GPU.
    """
    generator = torch.Generator().manual_seed(1)
    sentences = SENTENCES if device.type == "cpu" else ON_GPU
    source, target = torch.randint(4, VOCABULARY, (2, sentences, LENGTH), generator=generator).tolist()
    batch = make_batch(source, target, SPECIAL).to(device)
    objective: Objective = NextToken(0.1)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        working = WorkingCopy(
            build_transformer(MODEL, VOCABULARY, VOCABULARY).to(device), choose_precision("auto", device)
        )

        def step() -> tuple[float, float]:
            began, worked = time.perf_counter(), time.process_time()
            objective(working.model.train(), batch, None).total.backward()
            working.collect_gradients()
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            working.model.zero_grad()
            return time.perf_counter() - began, time.process_time() - worked

        threads = torch.get_num_threads()
        torch.set_num_threads(1 if device.type == "cpu" else threads)
        try:
            step()  # includes setup, which is not timed
            times: list[tuple[float, float]] = []
            for bout in range(BOUTS):
                time.sleep(PAUSE if bout else 0.0)
                until = time.perf_counter() + ENOUGH
                while time.perf_counter() < until:
                    times.append(step())
        finally:
            torch.set_num_threads(threads)
    operations = processes * sentences * (LENGTH + 1) * cost_of_a_token(MODEL, VOCABULARY)
    clock, worked = zip(*times, strict=True)
    if device.type != "cpu":
        return Machine(device.type, rounded(operations / min(clock)))
    speed = rounded(operations / min(worked))
    return Machine("cpu", threads**SHARED_OUT * speed, max(sum(clock) / sum(worked), 1.0))


def rounded(speed: float) -> float:
    """Returns the nearest speed in steps of `STEP`, so that a machine is the same one at each measurement."""
    return float(STEP ** round(math.log(speed, STEP)))


def describe_machine(device: torch.device, processes: int, precision: torch.dtype) -> str:
    """Describes the hardware that trained a model, for its card: processor or GPU, number of threads or GPUs, and
    precision."""
    if device.type == "cuda":
        name, share = torch.cuda.get_device_name(device), f"{processes} GPU{'s' * (processes > 1)}"
    else:
        threads = torch.get_num_threads() * processes
        name, share = _processor(), f"{threads} thread{'s' * (threads > 1)}"
    return f"{name}, {share}, {str(precision).removeprefix('torch.')}"


def _processor() -> str:
    """Returns the name of the processor, as well as the system knows it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines() if cpuinfo.exists() else []
    named = next((line.partition(":")[2] for line in lines if line.startswith("model name")), "")
    return " ".join(named.split()) or platform.processor() or platform.machine()
