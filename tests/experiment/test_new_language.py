"""A model gets a language that it had not: what it knew stays, the new text is read, and it can learn from there."""

from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from torch.testing import assert_close

import transduce
from m2m100_folder import write_m2m100, write_nllb
from marian_folder import write_marian
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment import add_language
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

GERMAN = [f"Der kleine Hund läuft {number} Mal über das grüne Feld, nicht wahr?" for number in range(60)]
ENGLISH = [f"The small dog 日本 runs {number} times across fields, doesn't it 本?" for number in range(60)]
FRENCH = [f"Le petit chien œuvre {number} fois à travers le pré vert, n'est-ce pas ?" for number in range(60)]
CODES = {"marian": ("de", "en", "fr"), "m2m100": ("de", "en", "xx"), "nllb": ("deu_Latn", "eng_Latn", "wol_Latn")}


@pytest.fixture(scope="module", params=CODES)
def models(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """The kind of a model of Hugging Face, its folder here, and that with another language."""
    transformers, sentencepiece = pytest.importorskip("transformers"), pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "marian":
        write_marian(transformers, sentencepiece, folder / "theirs", (GERMAN, ENGLISH))
    else:
        write = write_m2m100 if request.param == "m2m100" else write_nllb
        write(transformers, sentencepiece, folder / "theirs", [*GERMAN, *ENGLISH])
    import_huggingface(folder / "theirs", folder / "before")
    add_language(
        folder / "before", folder / "after", CODES[request.param][2], FRENCH, pieces=60, keep=[*GERMAN, *ENGLISH]
    )
    return request.param, folder / "before", folder / "after"


@pytest.mark.slow
def test_pieces_keep_their_numbers_and_the_new_text_is_read(models: tuple[str, Path, Path]) -> None:
    before, after = (ModelBundle.load(folder).tokenizers for folder in models[1:])
    for old, new in ((before.source, after.source), (before.target, after.target)):
        assert new.pieces(range(len(old))) == old.pieces(range(len(old)))
        assert len(new) == len(set(new.pieces(range(len(new)))))
        assert sum(map(len, new.encode_batch(FRENCH))) < 0.7 * sum(map(len, old.encode_batch(FRENCH)))
        assert not any(new.unknown in ids for ids in new.encode_batch(FRENCH))
        assert any(old.unknown in ids for ids in old.encode_batch(FRENCH))
        written = [new.decode(ids) for ids in new.encode_batch(FRENCH)]
        assert written == FRENCH
    for old, new, texts in ((before.source, after.source, GERMAN), (before.target, after.target, ENGLISH)):
        known = [
            (text, ids) for text, ids in zip(texts, old.encode_batch(texts), strict=True) if old.unknown not in ids
        ]
        assert known and [ids for _, ids in known] == new.encode_batch([text for text, _ in known])


def test_new_rows_begin_as_means_of_those_that_they_are_made_of(models: tuple[str, Path, Path]) -> None:
    before, after = map(ModelBundle.load, models[1:])
    old, new = before.tokenizers.source, after.tokenizers.source
    known = before.model.state_dict()
    for name, tensor in after.model.state_dict().items():
        assert torch.equal(tensor[: len(known[name])], known[name]), name
    table = after.model.state_dict()["encoder.embedding.table.weight"]
    number = next(number for number in range(len(old), len(new)) if new.pieces([number]) == ["▁chien"])
    assert_close(table[number], table[old.encode("chien")].mean(0))
    rows = list(old.marks.values()) or range(len(old))
    assert_close(table[new.marks[CODES[models[0]][2]]], table[list(rows)].mean(0))


@pytest.mark.parametrize("models", ["m2m100", "nllb"], indirect=True)  # one of one direction gets a token to learn
def test_old_directions_translate_as_before(models: tuple[str, Path, Path]) -> None:
    kind, *folders = models
    source, target, _ = CODES[kind]
    search = Beam(size=1, max_ratio=0, max_extra=12)
    texts, again = (
        [
            each.text
            for each in Translator.load(f, engine="pytorch").translate(GERMAN[:5], search, to=target, from_=source)
        ]
        for f in folders
    )
    assert texts == again


def test_it_learns_the_new_language_and_what_it_has_not_learned_is_remembered(
    models: tuple[str, Path, Path], tmp_path: Path
) -> None:
    kind, _, after = models
    _, target, new = CODES[kind]
    for name, lines in (("a.txt", FRENCH), ("b.txt", ENGLISH)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    pair = {"files": [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")], "source": new, "target": target}
    data: dict[str, Any] = {"directions": [f"{new}-{target}"], "train": [pair], "validation": [pair]}
    if kind != "marian":
        data["language_token"] = "decoder"
    adapters = {"rank": 2}
    training = {"start_from": str(after), "updates": 1, "precision": "float32", "adapters": adapters}
    (tmp_path / "new.toml").write_text(tomli_w.dumps({"data": data, "training": training, "search": {"size": 1}}))
    result = transduce.train(tmp_path / "new.toml", tmp_path / "run")
    start, end = ModelBundle.load(after), ModelBundle.load(result.model)
    name = "encoder.embedding.table.weight"
    counts = start.history["new_languages"][new]
    assert end.history["new_languages"] == {new: counts}
    old_rows = len(start.tokenizers.source) - counts[0]
    before, learned = start.model.state_dict()[name], end.model.state_dict()[name]
    assert torch.equal(before[:old_rows], learned[:old_rows])
    assert not torch.equal(before[old_rows:], learned[old_rows:])
    Translator.load(result.model, engine="pytorch").translate(
        FRENCH[:2], Beam(size=1, max_ratio=0, max_extra=5), to=target, from_=new
    )


@pytest.mark.parametrize("models", ["nllb"], indirect=True)
def test_an_nllb_with_a_new_language_goes_back(models: tuple[str, Path, Path], tmp_path: Path) -> None:
    certificate = export_huggingface(models[2], tmp_path / "again")
    assert certificate.compared_with is not None
    import_huggingface(tmp_path / "again", tmp_path / "back")
    assert "wol_Latn" in ModelBundle.load(tmp_path / "back").config.languages.tokens


@pytest.mark.parametrize("models", ["marian"], indirect=True)
def test_a_model_of_one_direction_says_that_it_is_worse_until_it_is_trained(
    models: tuple[str, Path, Path], tmp_path: Path
) -> None:
    told: list[str] = []
    add_language(models[1], tmp_path / "out", "fr", FRENCH, pieces=5, tell=told.append)
    assert "may be divided otherwise" in told[-2]
    assert "until it is trained, de-en is worse than before" in told[-1] and "train with pairs of de-en" in told[-1]


@pytest.mark.parametrize("models", ["nllb"], indirect=True)
def test_a_language_like_one_that_the_model_lacks_is_refused(models: tuple[str, Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no token of 'zz'"):
        add_language(models[1], tmp_path / "new", CODES["nllb"][2], FRENCH, like="zz")
    assert not (tmp_path / "new").exists()
