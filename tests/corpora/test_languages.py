"""Languages and a run's name are read from the names of files."""

import pytest

from transduce.corpora.languages import languages_of, name_of


@pytest.mark.parametrize(
    ("files", "languages", "name"),
    [
        (["mine.de", "mine.en"], ("de", "en"), "mine"),
        (["data/train.de.gz", "data/train.en.gz"], ("de", "en"), "train"),
        (["corpus.en-de.de", "corpus.en-de.en"], ("de", "en"), "corpus.en-de"),
        (["europarl-v7.de-en.de.xz", "europarl-v7.de-en.en.xz"], ("de", "en"), "europarl-v7.de-en"),
        (["mine.de.txt", "mine.en.txt"], ("de", "en"), "mine"),
        (["train_de.txt", "train_en.txt"], ("de", "en"), "train"),
        (["train-de", "train-en"], ("de", "en"), "train"),
        (["de.txt", "en.txt"], ("de", "en"), "de-en"),
        (["mine.deu", "mine.eng"], ("deu", "eng"), "mine"),
        (["x.pt_BR", "x.pt_PT"], ("pt_BR", "pt_PT"), "x.pt"),
        (["news.de", "speech.en"], ("de", "en"), "de-en"),
        (["pairs.de-en.tsv"], ("de", "en"), "pairs.de-en"),
        (["de-en.jsonl.zst"], ("de", "en"), "de-en"),
        (["pairs.tsv"], ("source", "target"), "pairs"),
        (["train.src", "train.tgt"], ("source", "target"), "train"),
        (["mine.de", "other.de"], ("source", "target"), "source-target"),
        (["this-is.txt", "this-was.txt"], ("source", "target"), "this"),
        (["left", "right"], ("source", "target"), "source-target"),
    ],
)
def test_names_tell_languages_or_nothing(files: list[str], languages: tuple[str, str], name: str) -> None:
    assert languages_of(files) == languages
    assert name_of(files) == name
