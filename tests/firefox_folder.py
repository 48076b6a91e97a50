"""A student of random weights, with a SentencePiece model trained on a few lines, written as an export has it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch

from transduce.apps.exchange.firefox.alphas import collect_multipliers
from transduce.apps.exchange.firefox.student_files import StudentPaths, student_config
from transduce.apps.exchange.firefox.write_student import write_student
from transduce.base.verification import checksums
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import EXPORT, ModelBundle
from transduce.inference.engines import exported
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.models.families import build_model
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import SideConfig, TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizer


def make_student(texts: Sequence[Sequence[str]], size: int = 120, **settings: Any) -> ModelBundle:
    """Return a student from English to German, with a vocabulary of each list of texts, or one for both."""
    sides = [
        train_tokenizer(SideConfig(kind="sentencepiece", max_size=size + 13 * i, normalize="NFKC"), each)
        for i, each in enumerate(texts)
    ]
    tokenizers = Tokenizers(sides[0], sides[-1])
    torch.manual_seed(3)
    sizes = {"dim": 64, "heads": 2, "feed_forward_dim": 128, "encoder_layers": 2, "decoder_layers": 1}
    model_config = msgspec.structs.replace(student_config(**sizes, is_shared=len(sides) == 1), **settings)
    model = build_model(model_config, len(tokenizers.source), len(tokenizers.target))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, 0, parameter.shape[1] ** -0.5)
    config = BundleConfig(
        format=FORMAT,
        source="en",
        target="de",
        model=model_config,
        tokenizer=TokenizerConfig(kind="sentencepiece", normalize="NFKC", shared=len(sides) == 1),
        longest_source=100,
    )
    return ModelBundle(config, model.eval(), tokenizers)


def random_shortlist(tokenizers: Tokenizers) -> Shortlist:
    source, target = tokenizers.source, tokenizers.target
    lists = torch.randint(2, len(target) - 2, (len(source), 5), generator=torch.Generator().manual_seed(1))
    always = torch.tensor([target.pad, target.bos, target.eos, target.unknown, 7, 11])
    return Shortlist(lists, always, len(target))


def write_firefox(folder: Path, texts: Sequence[str]) -> None:
    """Write the folder of an export, which no engine has tried."""
    bundle = make_student([texts])
    folder.mkdir()
    bundle.describe(folder)
    multipliers = collect_multipliers(bundle, bundle.tokenizers.source.encode_batch(texts[:3]))
    write_student(
        bundle, multipliers, random_shortlist(bundle.tokenizers), StudentPaths.of(folder, "ende", is_shared=True)
    )
    export = exported.Export(
        format=exported.FORMAT,
        engine="fxtranslate",
        version="0.5.0",
        quantization="int8",
        longest=128,
        parity=exported.Parity(sentences=1, identical=1, largest_difference=0.0),
        sha256=checksums(folder),
    )
    (folder / EXPORT).write_bytes(msgspec.json.encode(export))
