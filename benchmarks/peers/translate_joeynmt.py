"""Times JoeyNMT with our weights. Runs in JoeyNMT's environment: see measurements.py."""

import json
import sys
import tempfile
from collections.abc import Sequence

import torch
from importlib_metadata import version
from joeynmt.config import parse_global_args
from joeynmt.prediction import predict, prepare

from peers.joeynmt_settings import settings
from peers.timing import read_tokens, report_translation, sorted_by_length


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    with tempfile.TemporaryDirectory() as folder:
        arguments = parse_global_args(settings(job, folder), rank=0, mode="translate")
        model, _, _, stream = prepare(arguments, rank=0, mode="translate")
        for module in model.modules():
            if isinstance(module, torch.nn.LayerNorm):
                module.eps = 1e-5  # as where the weights were trained; JoeyNMT's own is 1e-6

        def translate(sentences: Sequence[list[str]]) -> list[str]:
            order = sorted_by_length(sentences)
            stream.reset_cache()
            for place in order:
                stream.set_item(" ".join(sentences[place]))
            found = predict(
                model, stream, arguments.device, arguments.n_gpu, args=arguments.test, autocast=arguments.autocast
            )[3]
            outputs = [""] * len(sentences)
            for place, tokens in zip(order, found, strict=True):
                outputs[place] = " ".join(token for token in tokens if token != "<eos>")
            return outputs

        report_translation(job, read_tokens(job), translate, version=version("joeynmt"), precision="float32")


if __name__ == "__main__":
    main()
