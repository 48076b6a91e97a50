"""The precision of forward and backward passes, with float32 master weights."""

import copy
from typing import Literal

import torch
from torch import nn

Precision = Literal["auto", "float32", "bfloat16"]


def choose_precision(precision: Precision, device: torch.device) -> torch.dtype:
    """Returns bfloat16 if asked for, or with `auto` if the device multiplies it natively; else float32."""
    if precision != "auto":
        return torch.bfloat16 if precision == "bfloat16" else torch.float32
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float32
    capabilities = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    native = device.type == "cpu" and (capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
    return torch.bfloat16 if native else torch.float32


class WorkingCopy:
    """A model at the precision of forward and backward passes, beside the float32 masters that the optimiser updates.

    In float32 it is the model itself; otherwise its gradients are accumulated in float32 on the masters.
    """

    def __init__(self, masters: nn.Module, dtype: torch.dtype) -> None:
        self.is_same = dtype == torch.float32
        self.masters = masters
        self.model = masters if self.is_same else copy.deepcopy(masters).to(dtype)
        self._pairs = list(zip(masters.parameters(), self.model.parameters(), strict=True))

    def collect_gradients(self) -> None:
        """Adds the copy's gradients to the masters', and clear them."""
        if self.is_same:
            return
        begun, new, added = [], [], []
        for master, working in self._pairs:
            if working.grad is None:
                continue
            if master.grad is None:
                master.grad = torch.empty_like(master)
                begun.append(master.grad)
                new.append(working.grad)
            else:
                added.append((master.grad, working.grad))
            working.grad = None
        if begun:
            torch._foreach_copy_(begun, new)
        if added:
            sums, parts = (list(tensors) for tensors in zip(*added, strict=True))
            if parts[0].device.type == "cuda":  # where sums of two types take a kernel for each tensor
                wide = [torch.empty_like(part, dtype=torch.float32) for part in parts]
                torch._foreach_copy_(wide, parts)
                parts = wide
            torch._foreach_add_(sums, parts)

    def forget_gradients(self) -> None:
        """Removes all gradients."""
        for model in (self.masters, self.model):
            model.zero_grad()

    @torch.no_grad()
    def refresh(self) -> None:
        """Copy the masters' weights."""
        if not self.is_same:
            torch._foreach_copy_([working for _, working in self._pairs], [master for master, _ in self._pairs])
