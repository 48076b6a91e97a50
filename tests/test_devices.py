"""Which device a name stands for, on machines with and without GPUs."""

import pytest
import torch

from transduce.base.devices import find_device
from transduce.base.errors import ConfigError
from transduce.training.distributed import local_device


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRANSDUCE_DEVICE", "LOCAL_WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)


def machine(monkeypatch: pytest.MonkeyPatch, gpus: int, has_mps: bool = False) -> None:
    """Let PyTorch claim to have found so much; what is put there needs no memory."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: None)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: has_mps)
    monkeypatch.setattr(torch, "empty", lambda size, device: None)


@pytest.mark.parametrize(("gpus", "has_mps", "expected"), [(0, False, "cpu"), (2, True, "cuda"), (0, True, "mps")])
def test_auto_is_a_gpu_where_there_is_one(
    gpus: int, has_mps: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, gpus, has_mps)
    assert find_device() == torch.device(expected)


def test_what_auto_stands_for_can_be_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, 2)
    monkeypatch.setenv("TRANSDUCE_DEVICE", "cuda:1")
    assert find_device() == torch.device("cuda:1")
    assert find_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "gpus", "processes", "error"),
    [
        ("toaster", 0, 1, "unknown device 'toaster'; expected auto, cpu, cuda"),
        ("", 0, 1, "unknown device ''; expected auto, cpu, cuda"),
        ("cuda:x", 1, 1, "unknown device 'cuda:x'"),
        ("meta", 0, 1, "device meta: Transduce does not compute on it; expected auto, cpu, cuda"),
        ("xla", 0, 1, "device xla: Transduce does not compute on it"),
        ("cuda", 0, 1, "device cuda: PyTorch finds no CUDA GPU here; choose cpu, or leave device out"),
        ("mps", 0, 1, "device mps: this machine or this PyTorch has none; choose cpu, or leave device out"),
        ("cuda:2", 2, 1, "device cuda:2: this machine has 2 GPUs, numbered from cuda:0"),
        ("cuda:0", 2, 2, "device cuda:0 is one GPU for 2 processes; choose cuda, and each takes one of its own"),
        ("cuda", 1, 2, "2 processes need 2 GPUs, but this machine has 1; start at most 1, or use device cpu"),
        ("auto", 1, 2, "2 processes need 2 GPUs, but this machine has 1"),
    ],
)
def test_a_device_that_is_missing_or_has_too_few_for_the_processes_is_one_line(
    name: str, gpus: int, processes: int, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(monkeypatch, gpus)
    with pytest.raises(ConfigError) as raised:
        find_device(name, processes)
    assert str(raised.value).startswith(error) and "\n" not in str(raised.value)


def test_mps_is_for_one_process_and_auto_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, 0, has_mps=True)
    with pytest.raises(ConfigError, match="device mps is for one process, not for 2"):
        find_device("mps", 2)
    assert find_device("auto", 2) == torch.device("cpu")


def test_each_process_of_a_machine_takes_a_gpu_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, 3)
    assert local_device("auto", 3) == torch.device("cuda")  # others are not started yet
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert local_device("auto") == torch.device("cuda:2")
    with pytest.raises(ConfigError, match="one GPU for 3 processes"):
        local_device("cuda:1")
