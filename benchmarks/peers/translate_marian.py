"""Times Hugging Face's Marian with our weights. Runs in its own environment: see measurements.py."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
import transformers
from torch.nn.utils.rnn import pad_sequence

from peers.marian_config import marian_config
from peers.timing import read_tokens, report_translation, sorted_by_length

PAD, UNKNOWN, BOS, EOS = 0, 1, 2, 3


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    source, target = (
        Path(job[name]).read_text(encoding="utf-8").split("\n")[:-1]
        for name in ("source_vocabulary", "target_vocabulary")
    )
    ids = {token: number for number, token in enumerate(source)}
    model = transformers.MarianMTModel(marian_config(job["model"], len(source), len(target))).eval()
    missing, unexpected = model.load_state_dict(torch.load(job["marian_weights"], weights_only=True), strict=False)
    strange = [name for name in missing if "embed_positions" not in name and name != "final_logits_bias"]
    assert not strange and not unexpected, f"missing {strange}, unexpected {unexpected}"

    @torch.inference_mode()
    def translate(sentences: Sequence[list[str]]) -> list[str]:
        outputs = [""] * len(sentences)
        order = sorted_by_length(sentences)
        for start in range(0, len(order), job["batch"]):
            places = order[start : start + job["batch"]]
            rows = [torch.tensor([*(ids[token] for token in sentences[place]), EOS]) for place in places]
            padded = pad_sequence(rows, batch_first=True, padding_value=PAD)
            found = model.generate(
                padded,
                attention_mask=padded != PAD,
                num_beams=job["beam_size"],
                length_penalty=job["length_penalty"],
                max_new_tokens=job["longest_output"],
                suppress_tokens=[PAD, UNKNOWN, BOS],
            )
            for place, row in zip(places, found.tolist(), strict=True):
                outputs[place] = " ".join(target[token] for token in row if token not in (PAD, BOS, EOS))
        return outputs

    report_translation(job, read_tokens(job), translate, version=transformers.__version__, precision="float32")


if __name__ == "__main__":
    main()
