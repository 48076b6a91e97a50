"""The benchmark of a GPU runs to its end, at small sizes on a CPU, whatever of it fails or hangs."""

import json
import multiprocessing
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

import gpu
from gpu_parts import measuring
from gpu_parts.measuring import TINY, Figures, Measurement, Scale

CPU = torch.device("cpu")
SYSTEMS = ["a large matrix product", "Transduce", "transformers' Marian", "Transduce, compiled"]
PRECISIONS = ("float32", "bfloat16")
DECODERS = [
    f"Transduce, {precision}{way}" for precision in PRECISIONS for way in ("", ", graphs", ", batches by memory")
]
DECODERS += [f"CTranslate2, {precision}" for precision in PRECISIONS]


def lacking_a_package() -> Figures:
    raise ImportError("No module named 'elsewhere'\nand a second line")


def dying() -> Figures:
    os._exit(3)


def part(scale: Scale, device: torch.device) -> Iterator[Measurement]:
    yield "fails", lacking_a_package
    yield "works", lambda: {"sentences a second": 1234.5}
    yield "dies", dying


@pytest.mark.thorough
def test_the_whole_benchmark_runs_on_a_cpu_at_small_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import transformers.models.marian.modeling_marian  # noqa: F401  # once for all parts

    forks = multiprocessing.get_context("fork")  # each part would import for longer than it works
    monkeypatch.setattr(measuring, "ROUNDS", 1)
    monkeypatch.setattr(measuring, "WARM_UP", 1)
    monkeypatch.setattr(gpu, "multiprocessing", SimpleNamespace(get_context=lambda _: forks))
    monkeypatch.setenv("TORCH_COMPILE_DISABLE", "1")
    monkeypatch.setattr(sys, "argv", ["gpu.py", "--device", "cpu", "--tiny", "--out", str(tmp_path)])
    with torch._dynamo.config.patch(disable=True):  # it has read the environment already
        gpu.main()
    results = json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))["results"]
    figures = {(result["part"], result["name"]): result["figures"] for result in results}
    expected = [(f"Training, {shape}", name) for shape in ("base", "big") for name in SYSTEMS]
    expected += [("Beam search", name) for name in DECODERS] + [("A minute of training", "Transduce, reverse")]
    assert list(figures) == expected
    failed = [result["name"] for result in results if result["failure"]]
    assert failed in ([], ["CTranslate2, bfloat16"])  # which not every CPU has
    assert all(min(numbers.values()) > 0 for (_, name), numbers in figures.items() if name not in failed)
    for shape in ("base", "big"):
        peak = figures[f"Training, {shape}", "a large matrix product"]["TFLOP/s"]
        for name in SYSTEMS[1:]:
            numbers = figures[f"Training, {shape}", name]
            assert numbers["share of the peak, %"] == pytest.approx(100 * numbers["TFLOP/s"] / peak)


@pytest.mark.slow
def test_a_part_goes_on_after_a_failure_and_ends_with_its_process(tmp_path: Path) -> None:
    results = list(gpu.run_part("Part", part, 120, TINY, CPU))
    assert [(result.name, result.failure) for result in results] == [
        ("fails", "ImportError: No module named 'elsewhere'"),
        ("works", None),
        ("the rest", "its process ended with status 3"),
    ]
    gpu.write(results, CPU, tmp_path)
    table = (tmp_path / "gpu.md").read_text(encoding="utf-8").partition("### Part\n\n")[2]
    assert table == (
        "|  | sentences a second |\n| --- | ---: |\n| fails | ImportError: No module named 'elsewhere' |\n"
        "| works | 1,234 |\n| the rest | its process ended with status 3 |\n"
    )


def test_a_part_is_ended_after_its_time() -> None:
    (result,) = gpu.run_part("Part", part, 0, TINY, CPU)
    assert (result.name, result.failure) == ("the rest", "stopped after 0 seconds")


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_without_a_gpu_and_a_device_it_ends_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["gpu.py"])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == "PyTorch finds no CUDA GPU here; try the benchmark with --device cpu --tiny\n"
