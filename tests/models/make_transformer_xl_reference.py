"""Writes transformer_xl_reference.json: what the last release of Hugging Face transformers with a Transformer-XL gives.

Not a test. In an environment of its own: `pip install transformers==4.35.2 torch`, then
`python tests/models/make_transformer_xl_reference.py > tests/models/transformer_xl_reference.json`.
"""

import json
import math
from typing import Any

import torch
from transformers import TransfoXLConfig, TransfoXLLMHeadModel

SEGMENTS, TIME, ROWS, VOCABULARY, MEMORY = 3, 5, 2, 23, 6
SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "d_model": 12,
    "d_embed": 12,
    "n_head": 3,
    "d_head": 5,
    "d_inner": 17,
    "n_layer": 2,
    "mem_len": MEMORY,
    "clamp_len": -1,
    "same_length": True,
    "dropout": 0.0,
    "dropatt": 0.0,
}
CASES: dict[str, dict[str, Any]] = {
    "plain": {"cutoffs": [], "div_val": 1},
    "adaptive": {"cutoffs": [7, 11], "div_val": 2, "proj_share_all_but_first": False},
}


def fill(number: int, size: int) -> torch.Tensor:
    """The weights of the tensor of this number, in the order of their names; made without a random generator."""
    return torch.tensor([0.4 * math.sin(1.7 * i + number) for i in range(size)])


def tokens() -> torch.Tensor:
    return torch.tensor(
        [[(7 * i + 5 * row + i * i) % VOCABULARY for i in range(SEGMENTS * TIME)] for row in range(ROWS)]
    )


def losses(case: dict[str, Any]) -> list[list[float]]:
    """-log p of each token but the first of each segment, from all before it that the memory reaches."""
    config = TransfoXLConfig(**SIZES, **case)
    config.tie_projs = [True] * (len(case["cutoffs"]) + 1)
    model = TransfoXLLMHeadModel(config).eval()
    with torch.no_grad():
        for number, (name, parameter) in enumerate(sorted(model.named_parameters())):
            parameter.copy_(fill(number, parameter.numel()).view_as(parameter))
            if name == "crit.out_layers.0.bias" and not case["cutoffs"]:
                parameter.zero_()  # a bias that ours has not
        memory, found = None, []
        for segment in tokens().split(TIME, 1):
            output = model.transformer(segment, mems=memory)
            memory = output.mems
            found.append(model.crit(output.last_hidden_state, segment, keep_order=True).view(ROWS, -1))
    return torch.cat(found, 1).tolist()


if __name__ == "__main__":
    print(json.dumps({name: losses(case) for name, case in CASES.items()}, indent=1))
