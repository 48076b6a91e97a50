"""A model of a few updates that, like one trained for long, ends its outputs and gives forbidden tokens no weight."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import torch

from transduce.apps.exchange.ctranslate2.ctranslate2_model import never_written
from transduce.bundle.model_bundle import ModelBundle
from transduce.models.families import build_model
from transduce.text.tokenizer import Tokenizer


def biased(run: Path, bias: float) -> ModelBundle:
    """A run's model, with a likelier end, and a number as the bias of tokens that no output may have."""
    bundle = ModelBundle.load(run)
    config = msgspec.structs.replace(bundle.config.model, output_bias=True)
    model = build_model(config, len(bundle.tokenizers.source), len(bundle.tokenizers.target))
    model.load_state_dict(bundle.model.state_dict(), strict=False)
    forbid(model, bundle.tokenizers.target, bias)
    return replace(bundle, config=msgspec.structs.replace(bundle.config, model=config), model=model.eval())


@torch.no_grad()
def forbid(model: Any, target: Tokenizer, bias: float = -30.0) -> None:
    """Makes the end likelier, and gives tokens that no output may have a number as their bias."""
    model.decoder.output.bias[target.eos] = 1.5
    model.decoder.output.bias[list(never_written(target, allow_unknown=False))] = bias
