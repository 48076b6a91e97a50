"""Times Transduce's translator, from raw text to tokens. Runs in Transduce's own environment: see measurements.py."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

import transduce
from peers.timing import report_translation
from transduce.search.beam import Beam


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    precision, compile = job["precision"], job.get("compile", False)
    translator = transduce.Translator.load(job["transduce_model"], device="cpu", precision=precision, compile=compile)
    beam = Beam(
        size=job["beam_size"],
        length_penalty=job["length_penalty"],
        normalization="power",
        max_ratio=0.0,
        max_extra=job["longest_output"],
    )

    def translate(texts: Sequence[str]) -> list[str]:
        return [translation.text for translation in translator.translate(texts, beam)]

    texts = Path(job["text"]).read_text(encoding="utf-8").split("\n")[:-1]
    form = f"{precision}, compiled" if compile else precision
    report_translation(job, texts, translate, version=transduce.__version__, precision=form)


if __name__ == "__main__":
    main()
