"""An M2M100 or NLLB of Hugging Face transformers translates the same here; what cannot be carried over is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from m2m100_folder import write_m2m100, write_nllb
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface, read_bundle
from transduce.base.errors import InputError, TransduceError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

GERMAN = [f"Der kleine Hund läuft {number} Mal über das grüne Feld, nicht wahr?" for number in range(60)]
ENGLISH = [f"The small dog 日本 runs {number} times across fields, doesn't it 本?" for number in range(60)]
ODD = ["", "</s> a<pad>b <unk> c", "__de__ x __fr__", "é ﬁ ½ Ａ \u00a0x\u3000y", "北京 日本 本 日", "☠☠ ☠☠☠ ▁▁x  y"]
KINDS = {
    "m2m100": (write_m2m100, "M2M100Tokenizer", ("de", "en", "fr")),
    "nllb": (write_nllb, "NllbTokenizer", ("deu_Latn", "eng_Latn", "fra_Latn")),
}
Theirs = tuple[Any, Any, Path, tuple[str, str, str]]


@pytest.fixture(scope="module", params=KINDS)
def theirs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Theirs:
    """The model and the tokenizer of transformers, the folder they wrote, and three of its languages."""
    transformers, sentencepiece = pytest.importorskip("transformers"), pytest.importorskip("sentencepiece")
    write, tokenizer, languages = KINDS[request.param]
    folder = tmp_path_factory.mktemp("theirs") / request.param
    model = write(transformers, sentencepiece, folder, [*GERMAN, *ENGLISH])
    return model, getattr(transformers, tokenizer).from_pretrained(folder), folder, languages


@pytest.fixture(scope="module")
def imported(theirs: Theirs) -> ModelBundle:
    folder = theirs[2].parent / "model"
    certificate = import_huggingface(theirs[2], folder)
    assert certificate.compared_with is not None
    assert certificate.largest_difference < 1e-4
    return ModelBundle.load(folder)


@pytest.fixture
def folder(theirs: Theirs, tmp_path: Path) -> Path:
    copy = tmp_path / theirs[2].name
    copy.mkdir()
    for file in theirs[2].iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def test_token_ids_are_those_of_their_tokenizer_and_a_source_begins_with_its_language(
    theirs: Theirs, imported: ModelBundle
) -> None:
    _, tokenizer, _, (source, target, _) = theirs
    texts = [*GERMAN, *ENGLISH, *ODD]
    ours = imported.tokenizers.source
    assert ours.encode_batch(texts) == tokenizer(texts, add_special_tokens=False)["input_ids"]
    tokenizer.src_lang = source
    directed = imported.directed(imported.config.find_direction(target, source))
    assert [[*ids, ours.eos] for ids in directed.read(texts)] == tokenizer(texts)["input_ids"]
    assert directed.marks.begin == tokenizer.convert_tokens_to_ids(imported.config.languages.tokens[target])


@pytest.mark.parametrize("size", [1, 3])
def test_outputs_are_those_of_generate_in_each_direction(size: int, theirs: Theirs, imported: ModelBundle) -> None:
    model, tokenizer, _, languages = theirs
    ours = imported.tokenizers.target
    never = [ours.pad, ours.bos, ours.unknown, *ours.marks.values()]
    beam = Beam(size=size, length_penalty=0.0, max_ratio=0, max_extra=19)
    for source, target in ((languages[0], languages[1]), (languages[0], languages[2]), (languages[1], languages[0])):
        tokenizer.src_lang = source
        begin = ours.marks[target]
        with torch.inference_mode():
            rows = model.generate(
                **tokenizer(GERMAN[:5], return_tensors="pt", padding=True),
                forced_bos_token_id=begin,
                num_beams=size,
                max_length=21,
                length_penalty=0.0,
                early_stopping=size > 1,
                forced_eos_token_id=ours.eos,
                do_sample=False,
                bad_words_ids=[[token] for token in never],
            ).tolist()
        assert all(row[:2] == [ours.eos, begin] for row in rows)
        expected = [ours.decode([token for token in row[2:] if token not in (ours.eos, ours.pad)]) for row in rows]
        found = Translator(imported).translate(GERMAN[:5], beam, to=target, from_=source)
        assert [translation.text for translation in found] == expected


def test_out_and_in_again_is_the_same_bit_for_bit(theirs: Theirs, imported: ModelBundle, tmp_path: Path) -> None:
    _, tokenizer, folder, _ = theirs
    certificate = export_huggingface(folder.parent / "model", tmp_path / "again")
    assert certificate.compared_with is not None
    assert certificate.largest_difference < 1e-4
    before, after = (load_file(place / "model.safetensors") for place in (folder, tmp_path / "again"))
    assert all(torch.equal(before[name], tensor) for name, tensor in after.items())
    for name in ("vocab.json", "sentencepiece.bpe.model"):
        if (tmp_path / "again" / name).exists():
            old, new = ((place / name).read_bytes() for place in (folder, tmp_path / "again"))
            assert old == new if name.endswith("model") else json.loads(old) == json.loads(new)
    again, _ = read_bundle(tmp_path / "again")
    assert again.config == imported.config
    search = json.loads((tmp_path / "again" / "generation_config.json").read_text())
    assert (search["num_beams"], search["max_length"]) == (5, 40)
    texts = [*GERMAN, *ODD]
    assert type(tokenizer).from_pretrained(tmp_path / "again")(texts).input_ids[-1]
    assert again.tokenizers.source.encode_batch(texts) == imported.tokenizers.source.encode_batch(texts)


def test_a_language_must_be_named_and_known(imported: ModelBundle) -> None:
    translator = Translator(imported)
    source, target = imported.config.languages.sources[:2]
    with pytest.raises(InputError, match="choose one"):
        translator.translate("x")
    with pytest.raises(InputError, match="does not write 'xx'"):
        translator.translate("x", to="xx", from_=source)
    with pytest.raises(InputError, match="say which this is"):
        translator.translate("x", to=target)
    with pytest.raises(InputError, match="both"):
        translator.translate("x", to=target, from_=target)


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        ("config.json", {"tie_word_embeddings": False}, "tie_word_embeddings"),
        ("config.json", {"decoder_ffn_dim": 24}, "decoder_ffn_dim"),
        ("config.json", {"decoder_start_token_id": 5}, "decoder_start_token_id"),
        ("config.json", {"pad_token_id": 0}, "pad_token_id"),
        ("config.json", {"bad_words_ids": [[3]]}, "bad_words_ids"),
        ("config.json", {"activation_function": "tanh"}, "activation_function"),
        ("config.json", {"vocab_size": 20}, "vocab_size"),
        ("tokenizer_config.json", {"language_codes": "mine", "legacy_behaviour": True}, "language_codes|legacy"),
    ],
)
def test_what_cannot_be_carried_over_is_named(folder: Path, file: str, change: dict[str, Any], named: str) -> None:
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(TransduceError, match=named):
        read_bundle(folder)


def test_a_folder_without_its_tokenizer_is_refused(folder: Path) -> None:
    for name in ("sentencepiece.bpe.model", "tokenizer.json"):
        (folder / name).unlink(missing_ok=True)
    with pytest.raises(InputError, match="imported with its tokenizer"):
        read_bundle(folder)
