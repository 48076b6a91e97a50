"""Logits of a Marian after patches, by TransformerLens and by hooks of transformers: python FOLDER, in a peer's Python.

Reads FOLDER/asked.json and the model in FOLDER/exported, and writes FOLDER/TransformerLens.npy and
FOLDER/transformers.npy, [patches, tokens, vocabulary].
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformer_lens.model_bridge import TransformerBridge
from transformers import MarianMTModel

folder = Path(sys.argv[1])
asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
known, other = ({"input_ids": torch.tensor([s]), "decoder_input_ids": torch.tensor([t])} for s, t in asked["pairs"])


def swap(kept: list[torch.Tensor], first: int, last: int, value: torch.Tensor, hook: Any = None) -> torch.Tensor:
    """Keeps the first value, and puts a part of it into the second."""
    if not kept:
        kept.append(value.clone())
        return value
    changed = value.clone().flatten(2)  # TransformerLens has an axis for heads
    changed[:, asked["at"], first:last] = kept[0].flatten(2)[:, asked["at"], first:last]
    return changed.view_as(value)


def hooked(change: Any, module: Any, given: Any, output: Any = None) -> Any:
    """Changes what a module gives, or takes."""
    value = given if output is None else output
    return (change(value[0]), *value[1:]) if isinstance(value, tuple) else change(value)


@torch.no_grad()
def main() -> None:
    plain = MarianMTModel.from_pretrained(folder / "exported").eval()
    bridge = TransformerBridge.boot_transformers(str(folder / "exported"), device="cpu", dtype=torch.float32)
    logits: dict[str, list[Any]] = {"TransformerLens": [], "transformers": []}
    for lens, name, is_input, first, last in asked["patches"]:
        hooks, module = [(lens, partial(swap, [], first, last))], plain.get_submodule(name)
        change = partial(hooked, partial(swap, [], first, last))
        held = (module.register_forward_pre_hook if is_input else module.register_forward_hook)(change)
        for pair in (other, known):
            source, target = pair.values()
            of_lens = bridge.run_with_hooks(source, fwd_hooks=hooks, decoder_input=target)
            of_hooks = plain(**pair).logits
        held.remove()
        logits["TransformerLens"].append(of_lens[0].numpy())
        logits["transformers"].append(of_hooks[0].numpy())
    for name, values in logits.items():
        np.save(folder / f"{name}.npy", np.stack(values))


main()
