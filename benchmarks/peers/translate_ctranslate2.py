"""Times CTranslate2 with a model that `transduce export` wrote. Runs in its own environment: see measurements.py."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import ctranslate2

from peers.timing import read_tokens, report_translation


def main() -> None:
    job = json.loads(sys.argv[1])
    exported = Path(job["ctranslate2_model"])
    if refusal := exported.with_suffix(".refusal").read_text(encoding="utf-8"):
        sys.exit(f"transduce export: {refusal}")
    model = next(exported.rglob("model.bin")).parent
    translator = ctranslate2.Translator(
        str(model), compute_type=job["precision"], inter_threads=1, intra_threads=job["threads"]
    )

    def translate(sentences: Sequence[list[str]]) -> list[str]:
        results = translator.translate_batch(
            [[*sentence, "<eos>"] for sentence in sentences],
            max_batch_size=job["batch"],
            beam_size=job["beam_size"],
            length_penalty=job["length_penalty"],
            max_decoding_length=job["longest_output"],
            disable_unk=True,
        )
        return [" ".join(result.hypotheses[0]) for result in results]

    version = ctranslate2.__version__
    report_translation(job, read_tokens(job), translate, version=version, precision=job["precision"])


if __name__ == "__main__":
    main()
