"""A model of a few updates that, like one trained for long, ends its outputs and gives forbidden tokens no weight."""

from dataclasses import replace
from pathlib import Path

import msgspec
import torch

from transduce.bundle import ModelBundle
from transduce.inference.engines.ctranslate2.model import never_written
from transduce.models.families import build_model


def biased(run: Path, bias: float) -> ModelBundle:
    """A run's model, with a likelier end, and a number as the bias of tokens that no output may have."""
    bundle = ModelBundle.load(run)
    config = msgspec.structs.replace(bundle.config.model, output_bias=True)
    model = build_model(config, len(bundle.tokenizers.source), len(bundle.tokenizers.target))
    model.load_state_dict(bundle.model.state_dict(), strict=False)
    forbidden = list(never_written(bundle.tokenizers.target, allow_unknown=False))
    with torch.no_grad():
        model.decoder.output.bias[bundle.tokenizers.target.eos] = 1.5  # type: ignore[index, union-attr]
        model.decoder.output.bias[forbidden] = bias  # type: ignore[index, union-attr]
    return replace(bundle, config=msgspec.structs.replace(bundle.config, model=config), model=model.eval())
