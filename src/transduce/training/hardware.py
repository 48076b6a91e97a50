"""GPUs by name, as their makers publish them, and what an update takes on one."""

from dataclasses import dataclass
from typing import Literal

GpuName = Literal["a100", "h100", "h200", "b200", "l4", "l40s", "rtx4090"]
GIB = 2**30


@dataclass(frozen=True)
class Gpu:
    """A GPU as its maker publishes it."""

    title: str
    peak: float
    """Operations a second of bfloat16 matrix products, without sparsity."""
    bandwidth: float
    """Bytes a second from and to its memory."""
    memory: int
    """Memory, in GiB."""
    link: float
    """Bytes a second from and to other GPUs of its machine, both ways together."""


GPUS: dict[GpuName, Gpu] = {
    "a100": Gpu("NVIDIA A100 SXM 80 GB", 312e12, 2.039e12, 80, 600e9),
    "h100": Gpu("NVIDIA H100 SXM", 989.5e12, 3.35e12, 80, 900e9),
    "h200": Gpu("NVIDIA H200 SXM", 989.5e12, 4.8e12, 141, 900e9),
    "b200": Gpu("NVIDIA B200", 2250e12, 8.0e12, 180, 1800e9),
    "l4": Gpu("NVIDIA L4", 121e12, 300e9, 24, 64e9),
    "l40s": Gpu("NVIDIA L40S", 362e12, 864e9, 48, 64e9),
    "rtx4090": Gpu("NVIDIA GeForce RTX 4090", 165.2e12, 1.008e12, 24, 64e9),
}
"""Sources: NVIDIA's data sheets of A100 (2022), H100 and H200 (2024), DGX B200, L4 and L40S, and its whitepaper on the
Ada architecture. Where they give peaks with sparsity, these are half of them; L4, L40S and RTX 4090 are linked by PCIe
4.0 x16."""

SHARE_OF_PEAK, SHARE_OF_BANDWIDTH, LAUNCH = 0.5, 0.7, 8e-6
"""Assumed: the shares of peak and bandwidth that kernels reach, and the seconds in which the host starts one."""
CUDA_GIB, LOST = 1, 0.1
"""Assumed: GiB that CUDA and its libraries take, and the share of the rest that is lost to fragmentation."""


@dataclass(frozen=True)
class Seconds:
    """The seconds of an update by what takes them; the GPU computes while the host starts later kernels."""

    products: float
    """Matrix products and attention, at the assumed share of the peak."""
    traffic: float
    """Other kernels, which read and write memory at the assumed share of its bandwidth."""
    exchange: float
    """Gradients between GPUs in a ring, after the last backward pass."""
    launches: float
    """The host's starting of kernels."""

    @property
    def total(self) -> float:
        """Seconds of an update."""
        return max(self.products + self.traffic, self.launches) + self.exchange

    @property
    def bound(self) -> str:
        """The bound that takes longest."""
        if self.launches > self.products + self.traffic:
            return "launches"
        return "matrix products" if self.products >= self.traffic else "memory traffic"


def seconds_of(gpu: Gpu, operations: int, traffic: int, launches: int, gradients: int, gpus: int) -> Seconds:
    """Returns the seconds of an update with these operations, bytes and launches on each GPU, whose gradients have so
    many bytes."""
    return Seconds(
        operations / (gpu.peak * SHARE_OF_PEAK),
        traffic / (gpu.bandwidth * SHARE_OF_BANDWIDTH),
        2 * (gpus - 1) / gpus * gradients / (gpu.link / 2),
        launches * LAUNCH,
    )


def usable(memory: float) -> float:
    """Returns the bytes for tensors on a GPU of this many GiB."""
    return (memory - CUDA_GIB) * (1 - LOST) * GIB
