"""MarianMT's folders, with SentencePiece models and a vocabulary, and the models they become."""

from typing import Any

from bad_inputs.damages import append, change, copy, edit_json, empty, remove
from bad_inputs.row import Row, row

IMPORT = "import marian -o new"


def _config(words: str | tuple[str, ...], **values: Any) -> Row:
    return row(IMPORT, words, edit_json("marian/config.json", lambda tree: tree | values))


def _named(words: str | tuple[str, ...], **values: Any) -> Row:
    damage = edit_json("marian/tokenizer_config.json", lambda tree: tree | values)
    return row(IMPORT, words, damage)


def _vocabulary(words: str | tuple[str, ...], edit: Any) -> Row:
    return row(IMPORT, words, edit_json("marian/vocab.json", edit))


def _model(words: str | tuple[str, ...], edit: Any) -> Row:
    return row(IMPORT, words, change("marian/source.spm", edit))


def _bring(words: str | tuple[str, ...], *damages: Any, source: str = "marian/source.spm") -> Row:
    """A SentencePiece model that a recipe names."""
    command = "train own.toml tokenizer.file=mine.model --out new -q"
    return row(command, words, copy(source, "mine.model"), *damages)


def _renumbered(tree: dict[str, int], first: str, new: str) -> dict[str, int]:
    return {new if piece == first else piece: number for piece, number in tree.items()}


ROWS = [
    row("import marian -o new", "generation_config.json", empty("marian/generation_config.json")),
    row("import marian -o new", ("marian has no source.spm", "with its tokenizer"), remove("marian/source.spm")),
    _model("is a word model of SentencePiece", lambda content: content + b"\x12\x02\x18\x03"),
    _model("treat_whitespace_as_suffix", lambda content: content + b"\x12\x03\xc0\x01\x01"),
    _model("source.spm: not a model", lambda content: content + b"\x12\x02\x18\x09"),
    _model("a byte, which cannot be", lambda content: content + b"\x0a\x0a\x0a\x06<0x41>\x18\x06"),
    _vocabulary("its ids are not 0 to", lambda tree: dict.fromkeys(tree, 0)),
    _vocabulary("no token '<unk>'", lambda tree: _renumbered(tree, "<unk>", "zzz")),
    _vocabulary(">>fr<<: a model that writes", lambda tree: _renumbered(tree, "<unk>", ">>fr<<")),
    _named("source_lang must be a language such as de", source_lang=5),
    _named("separate_vocabs", separate_vocabs=True),
    _config("d_model is 15, which is odd", d_model=15),
    _config("decoder_start_token_id is 9,999", decoder_start_token_id=9999),
    _config("bad_words_ids", bad_words_ids=[[3, 4]]),
    _bring("mine.model", empty("mine.model")),
    _bring("mine.model: not a model of SentencePiece", source="own.json"),
    _bring("is a char model", append("mine.model", b"\x12\x02\x18\x04")),
    _bring("'new' is a piece that is user-defined", append("mine.model", b"\x0a\x07\x0a\x03new\x18\x04")),
    row(
        "export opus --to huggingface -o out",
        "source tokenizer was not made from a model of SentencePiece",
        edit_json(
            "opus/probe.json",
            lambda tree: [tree["sha256"].pop(f"{side}.spm") for side in ("source", "target")] and None,
        ),
        remove("opus/source.spm"),
        remove("opus/target.spm"),
    ),
    _config("pad_token_id", pad_token_id=None),
    _config("max_position_embeddings must be at least 1", max_position_embeddings=0),
]
