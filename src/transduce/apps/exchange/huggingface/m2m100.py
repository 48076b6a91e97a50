"""M2M100 (Fan et al. 2021) and NLLB (NLLB Team 2022): Transformers that translate many languages into each other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from transduce.apps.exchange.huggingface.config_json import Fields
from transduce.apps.exchange.huggingface.family import unlike
from transduce.apps.exchange.huggingface.m2m100_tokenizers import (
    BEGIN,
    END,
    PADDING,
    language_tokens,
    read_tokenizers,
    write_tokenizers,
)
from transduce.apps.exchange.huggingface.marian import ACTIVATIONS, Marian, same_layers, settings_of
from transduce.apps.exchange.huggingface.tensor_names import Same, linear
from transduce.base.errors import InputError
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.directions import MANY, LanguageTokens
from transduce.models.transformer import TransformerConfig
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import TokenizerConfig


class M2M100(Marian):
    """M2M100 and NLLB, whose settings and weights have the names of MarianMT's."""

    model_type = "m2m_100"
    title = "M2M100 and NLLB"
    architectures = ("M2M100ForConditionalGeneration",)
    settings = settings_of("relu", scales=True, attention_dropout=0.1)
    fixed: ClassVar = {
        "tie_word_embeddings": True,
        "pad_token_id": PADDING,
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "decoder_start_token_id": END,
    }
    unwritten: ClassVar = {}
    choices: ClassVar = {
        "positions": "fairseq",
        "norm": "pre",
        "tie": "all",
        "output_bias": False,
        "first_token": END,
        "decoder_start": "token",
        "decoder_recurrence": "none",
    }
    has_even_dim = False  # the positions require it already
    added = 2  # its language and its end

    def is_of(self, config: BundleConfig) -> bool:
        """Returns True if a bundle has a Transformer that translates in several directions."""
        return isinstance(config.model, TransformerConfig) and config.languages is not None

    def read_bundle(self, fields: Fields, model: TransformerConfig) -> dict[str, Any]:
        """See Family."""
        if fields.values.get("bad_words_ids"):
            raise InputError(f"{fields.path}: bad_words_ids bans words, which cannot be carried over")
        languages = LanguageTokens(place="decoder", tokens=language_tokens(fields.path.parent))
        return {"source": MANY, "target": MANY, "longest_source": self.read_longest(fields), "languages": languages}

    def problems(self, config: BundleConfig) -> list[str]:
        """Lists the settings that M2M100 does not have, in words."""
        languages = config.languages
        assert languages is not None  # as an M2M100 has
        wrong = unlike("M2M100", config.model, self.choices, ACTIVATIONS.values())
        if languages.place != "decoder":
            wrong.append(f"data.language_token is {languages.place!r}, where M2M100 has 'decoder'")
        return wrong

    def write_own(self, bundle: ModelBundle) -> dict[str, Any]:
        """See Family."""
        return {**self.write_common(bundle), "decoder_layerdrop": 0.0, "encoder_layerdrop": 0.0}

    def write_search(self, bundle: ModelBundle) -> dict[str, Any]:
        """See Family."""
        return self.write_length(bundle)

    def same(self, config: BundleConfig) -> list[Same]:
        """Lists the tensors that are the same."""
        norms = [pair for side in ("encoder", "decoder") for pair in linear(f"{side}.norm", f"model.{side}.layer_norm")]
        return [*norms, *same_layers(config.model_as(TransformerConfig))]

    def read_tokenizers(self, folder: Path, fields: Fields) -> tuple[Tokenizers, TokenizerConfig]:
        """See Family."""
        return read_tokenizers(folder, fields)

    def write_tokenizers(self, folder: Path, bundle: ModelBundle) -> None:
        """See Family."""
        write_tokenizers(folder, bundle)

    def their_inputs(self, tokens: Tensor) -> Mapping[str, Tensor]:
        """Returns the same row, with the first token for their decoder, which ours adds by itself."""
        everything = torch.ones_like(tokens)  # a row may hold the token of padding
        first = tokens.new_full((len(tokens), 1), END)
        return {"input_ids": tokens, "attention_mask": everything, "decoder_input_ids": torch.cat([first, tokens], 1)}

    def their_outputs(self, output: Any) -> Tensor:
        """See Family."""
        return super().their_outputs(output)[:, 1:]
