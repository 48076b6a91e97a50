"""Compares logits after patches with those by TransformerLens and by plain hooks of transformers, on a tiny Marian of
random weights that `export --to huggingface` writes.

Each place of each layer, and each head, gets at one token the value that it has for another pair.

Run: python benchmarks/transformer_lens_check.py; it needs sentencepiece from the dev extra.
"""

import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from peers.environments import interpreter

TESTS, PEER = Path(__file__).parents[1] / "tests", Path(__file__).parent / "peers" / "patch_transformer_lens.py"
sys.path.insert(0, str(TESTS))
LAYERS, HEADS, DIM, LENGTH, AT = 2, 3, 12, 9, 4
ATTENTIONS = {"encoder": {"attention": "attn"}, "decoder": {"attention": "self_attn", "cross_attention": "cross_attn"}}
THEIRS = {"attn": "self_attn", "self_attn": "self_attn", "cross_attn": "encoder_attn"}
"""Modules of transformers by the names of TransformerLens."""


def _patches() -> list[tuple[str, int | None, tuple[str, str, bool, int, int]]]:
    """A place and a head of ours, and theirs: the hook, the module, whether its input is meant, and the values."""
    found: list[tuple[str, int | None, tuple[str, str, bool, int, int]]] = []
    for side, layer in itertools.product(ATTENTIONS, range(LAYERS)):
        ours, lens, module = f"{side}.layers.{layer}.", f"{side}_blocks.{layer}.", f"model.{side}.layers.{layer}"
        found.append((ours + "after", None, (lens + "hook_out", module, False, 0, DIM)))
        found.append((ours + "feed_forward", None, (lens + "mlp.out.hook_out", module + ".fc2", False, 0, DIM)))
        for part, name in ATTENTIONS[side].items():
            whole, hook = f"{module}.{THEIRS[name]}", f"{lens}{name}."
            found.append((ours + part, None, (hook + "hook_out", whole, False, 0, DIM)))
            for head in range(HEADS):
                values = hook + "o.hook_in", whole + ".out_proj", True, head * DIM // HEADS, (head + 1) * DIM // HEADS
                found.append((f"{ours}{part}.heads", head, values))
    return found


def _export(folder: Path) -> Any:
    import sentencepiece
    import transformers

    from marian_folder import write_marian
    from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
    from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
    from transduce.bundle.model_bundle import ModelBundle

    lines = (TESTS / "small_corpus.tsv").read_text(encoding="utf-8").splitlines()
    sides = list(zip(*(line.split("\t")[:2] for line in lines), strict=True))
    shape = {"encoder_layers": LAYERS, "decoder_layers": LAYERS, "d_model": DIM}
    write_marian(transformers, sentencepiece, folder / "random", sides, size=300, **shape)
    import_huggingface(folder / "random", folder / "ours")
    export_huggingface(folder / "ours", folder / "exported")
    return ModelBundle.load(folder / "ours")


def main() -> None:
    import transduce

    with tempfile.TemporaryDirectory() as place:
        folder, patches = Path(place), _patches()
        bundle = _export(folder)
        rows = torch.randint(5, 200, (2, 2, LENGTH), generator=torch.Generator().manual_seed(1))  # [pairs, sides, time]
        rows[:, 0, -1], rows[:, 1, 0] = bundle.special.source_eos, bundle.special.target_bos
        ours = []
        for name, head, _ in patches:
            with torch.no_grad(), transduce.intervene(bundle) as edit:
                recording = edit.record(name)
                _logits(bundle, rows[1])
            with torch.no_grad(), transduce.intervene(bundle) as edit:
                edit.patch(name, recording, at=AT, heads=head)
                ours.append(_logits(bundle, rows[0]))
        asked = {"pairs": rows.tolist(), "at": AT, "patches": [theirs for *_, theirs in patches]}
        (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
        subprocess.run([interpreter("transformer-lens"), PEER, place], check=True)
        theirs = {name: np.load(folder / f"{name}.npy") for name in ("TransformerLens", "transformers")}
        plain = _logits(bundle, rows[0])
    print(f"{len(patches)} patches; the largest change of a logit {np.abs(np.stack(ours) - plain).max():.2f}")
    for name, logits in theirs.items():
        print(f"{name}: largest difference {np.abs(np.stack(ours) - logits).max():.2g}")


def _logits(bundle: Any, pair: torch.Tensor) -> Any:
    source = pair[:1]
    memory = bundle.writer.encode(source, torch.ones_like(source, dtype=torch.bool))
    return bundle.writer.decoder(pair[1:], bundle.writer.start(memory))[0][0].numpy()


if __name__ == "__main__":
    with torch.no_grad():
        main()
