"""MarianMT's folders, with SentencePiece models and a vocabulary, and the models they become."""

from typing import Any

from bad_inputs.damages import append, change, copy, cut, edit_json, edit_tensors, move, remove, reseal, write
from bad_inputs.row import Row, row
from bad_inputs.tables.huggingface import HARMS

IMPORT = "import marian -o new"
WEIGHTS = "marian/model.safetensors"
READ = (
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "source.spm",
    "target.spm",
    "tokenizer_config.json",
)


def _config(name: str, words: str | tuple[str, ...], **values: Any) -> Row:
    return row(f"a Marian: {name}", IMPORT, 2, words, edit_json("marian/config.json", lambda tree: tree | values))


def _named(name: str, words: str | tuple[str, ...], **values: Any) -> Row:
    damage = edit_json("marian/tokenizer_config.json", lambda tree: tree | values)
    return row(f"a Marian's tokenizer: {name}", IMPORT, 2, words, damage)


def _vocabulary(name: str, words: str | tuple[str, ...], edit: Any) -> Row:
    return row(f"a Marian's vocabulary: {name}", IMPORT, 2, words, edit_json("marian/vocab.json", edit))


def _model(name: str, words: str | tuple[str, ...], edit: Any) -> Row:
    return row(f"a Marian's SentencePiece model: {name}", IMPORT, 2, words, change("marian/source.spm", edit))


def _bring(name: str, words: str | tuple[str, ...], *damages: Any, source: str = "marian/source.spm") -> Row:
    """A SentencePiece model that a recipe names."""
    command = "train own.toml tokenizer.file=mine.model --out new -q"
    return row(f"own SentencePiece model: {name}", command, 2, words, copy(source, "mine.model"), *damages)


def _renumbered(tree: dict[str, int], first: str, new: str) -> dict[str, int]:
    return {new if piece == first else piece: number for piece, number in tree.items()}


ROWS = [
    *(
        row(f"a Marian's {file}: {harm}", IMPORT, 2, file, damage(f"marian/{file}"))
        for file in (*READ, "vocab.json")
        for harm, damage in HARMS.items()
    ),
    *(
        row(
            f"a Marian without {file}",
            IMPORT,
            2,
            (f"marian has no {file}", "with its tokenizer"),
            remove(f"marian/{file}"),
        )
        for file in ("source.spm", "target.spm", "vocab.json")
    ),
    row(
        "a Marian with a pickle", IMPORT, 2, ("a pickle", "save_pretrained"), move(WEIGHTS, "marian/pytorch_model.bin")
    ),
    row("a Marian without weights", IMPORT, 2, "marian has no weights", remove(WEIGHTS)),
    row(
        "a Marian with the vocabulary as a model",
        IMPORT,
        2,
        "source.spm",
        copy("marian/vocab.json", "marian/source.spm"),
    ),
    _model("of words", "is a word model of SentencePiece", lambda content: content + b"\x12\x02\x18\x03"),
    _model("with spaces after words", "treat_whitespace_as_suffix", lambda content: content + b"\x12\x03\xc0\x01\x01"),
    _model("of no kind that there is", "source.spm: not a model", lambda content: content + b"\x12\x02\x18\x09"),
    _model("with a piece that is none", "source.spm: not a model", lambda content: content + b"\x0a\x00"),
    _model(
        "with a piece of two kinds", "source.spm: not a model", lambda content: content + b"\x0a\x04\x0a\x02\xff\xfe"
    ),
    _model("with a byte", "a byte, which cannot be", lambda content: content + b"\x0a\x0a\x0a\x06<0x41>\x18\x06"),
    _model(
        "with a score that is none", "source.spm", lambda content: content + b"\x0a\x08\x0a\x01x\x15\x00\x00\xc0\x7f"
    ),
    _model("with a damaged table of characters", "source.spm", lambda content: content + b"\x1a\x04\x12\x02ab"),
    _vocabulary("of nothing", "vocab.json", lambda tree: {}),
    _vocabulary("that is a list", "vocab.json", lambda tree: list(tree)),
    _vocabulary("of words for numbers", "vocab.json", lambda tree: dict.fromkeys(tree, "x")),
    row(
        "a Marian's vocabulary: without pieces",
        IMPORT,
        2,
        "its tokenizer has 3 tokens, but vocab_size is",
        write("marian/vocab.json", '{"</s>": 0, "<unk>": 1, "<pad>": 2}'),
        edit_json(
            "marian/config.json",
            lambda tree: tree | {"pad_token_id": 2, "decoder_start_token_id": 2, "bad_words_ids": None},
        ),
    ),
    _vocabulary("with one number for all", "its ids are not 0 to", lambda tree: dict.fromkeys(tree, 0)),
    _vocabulary("with a number left out", "its ids are not 0 to", lambda tree: tree | {"x": len(tree) + 1}),
    _vocabulary("with one more", "but vocab_size is", lambda tree: tree | {"zzz": len(tree)}),
    _vocabulary(
        "without an end", "no token '</s>', which serves as eos", lambda tree: _renumbered(tree, "</s>", "zzz")
    ),
    _vocabulary("without an unknown", "no token '<unk>'", lambda tree: _renumbered(tree, "<unk>", "zzz")),
    _vocabulary(
        "of target languages", ">>fr<<: a model that writes", lambda tree: _renumbered(tree, "<unk>", ">>fr<<")
    ),
    _named("a language that is a number", "source_lang must be a language such as de", source_lang=5),
    _named("a language that is a path", "source_lang must be a language such as de", source_lang="de/../../x"),
    _named("two vocabularies", "separate_vocabs", separate_vocabs=True),
    _named("another end token", "no token '<end>', which serves as eos", eos_token="<end>"),
    _config("normalised before", "normalize_before is true", normalize_before=True),
    _config("normalised at the end", "add_final_layer_norm is true", add_final_layer_norm=True),
    _config("with normal embeddings", "normalize_embedding is true", normalize_embedding=True),
    _config("with learned positions", "static_position_embeddings is false", static_position_embeddings=False),
    _config("with embeddings of its own", "share_encoder_decoder_embeddings", share_encoder_decoder_embeddings=False),
    _config("untied", "tie_word_embeddings is false", tie_word_embeddings=False),
    _config("with other heads in its decoder", "decoder_attention_heads is 2", decoder_attention_heads=2),
    _config(
        "whose heads do not divide its width",
        "encoder_attention_heads",
        encoder_attention_heads=5,
        decoder_attention_heads=5,
    ),
    _config("of an odd width", "d_model is 15, which is odd", d_model=15),
    _config("of another activation", "activation_function is 'tanh'", activation_function="tanh"),
    _config("that begins past its vocabulary", "decoder_start_token_id is 9,999", decoder_start_token_id=9999),
    _config("that begins with a word", "decoder_start_token_id", decoder_start_token_id="a"),
    _config("that pads with another", "pad_token_id is 1", pad_token_id=1),
    _config("without padding", "pad_token_id", pad_token_id=None),
    _config("that bans words", "bad_words_ids", bad_words_ids=[[3, 4]]),
    _config("with no positions", "max_position_embeddings must be at least 1", max_position_embeddings=0),
    _config("with more layers than weights", "no tensor model.encoder.layers.2.", encoder_layers=3),
    _config("with other sizes than its weights", ("is of shape", "config.json asks for"), d_model=24),
    _config("quantized", "quantization_config", quantization_config={"bits": 4}),
    _config("with another head", "architectures", architectures=["MarianForCausalLM"]),
    row(
        "a Marian's weights: one missing",
        IMPORT,
        2,
        "no tensor final_logits_bias",
        edit_tensors(WEIGHTS, lambda tensors: tensors.pop("final_logits_bias")),
    ),
    *(
        row(f"a Marian taken in: {name}", command, 2, words, damage)
        for command in ("export opus --to huggingface -o out", "translate opus test.en")
        for name, words, damage in (
            (f"no SentencePiece model, {command}", "source.spm is missing", remove("opus/source.spm")),
            (f"a longer one, {command}", "target.spm has changed", append("opus/target.spm", "x")),
            (f"half of one, {command}", "source.spm has changed", cut("opus/source.spm")),
            (f"another, {command}", "source.spm has changed", copy("opus/target.spm", "opus/source.spm")),
            (f"no tokenizer, {command}", "source.json is missing", remove("opus/source.json")),
        )
    ),
    *(_bring(harm, "mine.model", damage("mine.model")) for harm, damage in HARMS.items()),
    _bring("not there", "tokenizer.file: mine.model: no such file", remove("mine.model")),
    _bring("a tokenizer of another library", "mine.model: not a model of SentencePiece", source="own.json"),
    _bring("of characters", "is a char model", append("mine.model", b"\x12\x02\x18\x04")),
    _bring("with two unknown pieces", "2 unknown pieces", append("mine.model", b"\x0a\x07\x0a\x03new\x18\x02")),
    _bring("with a piece twice", "pieces repeated", append("mine.model", b"\x0a\x05\x0a\x03<s>")),
    _bring(
        "with a piece of the user's",
        "'new' is a piece that is user-defined",
        append("mine.model", b"\x0a\x07\x0a\x03new\x18\x04"),
    ),
    row("a Marian into a folder that is there", "export opus --to huggingface -o run", 2, "run exists"),
    row(
        "a Marian taken in without SentencePiece models",
        "export opus --to huggingface -o out",
        2,
        "source tokenizer was not made from a model of SentencePiece",
        edit_json(
            "opus/probe.json",
            lambda tree: [tree["sha256"].pop(f"{side}.spm") for side in ("source", "target")] and None,
        ),
        remove("opus/source.spm"),
        remove("opus/target.spm"),
    ),
    row(
        "a Marian taken in with a SentencePiece model that is none",
        "export opus --to huggingface -o out",
        2,
        "source.spm: not a model of SentencePiece",
        write("opus/source.spm", b"\xff\xff"),
        reseal("opus"),
    ),
]
