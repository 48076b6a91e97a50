"""The configuration of Hugging Face's Marian for a Transformer of Transduce's."""

from typing import Any

import transformers


def marian_config(model: dict[str, Any], source_vocabulary: int, target_vocabulary: int) -> "transformers.MarianConfig":
    """Marian's positions are always sinusoids, and it normalises after each sublayer."""
    assert model["norm"] == "post", "Marian normalises after each sublayer"
    return transformers.MarianConfig(
        vocab_size=source_vocabulary,
        decoder_vocab_size=target_vocabulary,
        share_encoder_decoder_embeddings=model["tie"] == "all",
        tie_word_embeddings=model["tie"] != "none",
        d_model=model["dim"],
        encoder_layers=model["encoder_layers"],
        decoder_layers=model["decoder_layers"],
        encoder_attention_heads=model["heads"],
        decoder_attention_heads=model["heads"],
        encoder_ffn_dim=model["feed_forward_dim"],
        decoder_ffn_dim=model["feed_forward_dim"],
        activation_function=model["activation"],
        dropout=model["dropout"],
        attention_dropout=model["dropout"],
        activation_dropout=model["dropout"],
        scale_embedding=model["scale_embeddings"],
        max_position_embeddings=512,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
    )
