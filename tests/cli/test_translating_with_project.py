"""`transduce translate --project`."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from small_corpus import small_corpus
from transduce.apps.projects.general import General
from transduce.apps.projects.knowledge import Knowledge
from transduce.apps.projects.learner import Learner
from transduce.apps.projects.project import ADAPTERS, SETTINGS, Project
from transduce.apps.projects.project_settings import LearningSettings, ProjectSettings
from transduce.apps.projects.snapshots import Snapshot, Snapshots, model_key, segment_keys, with_adapter
from transduce.base.config import to_toml
from transduce.bundle.model_bundle import ModelBundle, find_bundle, identity
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.text.glossary import Entry, Glossary

pytest.importorskip("rapidfuzz")
Transduce = Callable[..., tuple[int, str, str]]
LINES = ["The dog sleeps.", "The cat runs."]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in the working folder, with a segment and a term, beside texts to translate."""
    monkeypatch.chdir(tmp_path)
    with closing(Project.create("shop", ProjectSettings(source="en", target="de"))) as project:
        project.store.confirm("The dog sleeps.", "", "Der Köter pennt.")
        project.replace_glossary(Glossary([Entry("cat", "Bruder")]))
    Path("new.en").write_text("".join(f"{line}\n" for line in LINES))
    Path("new.md").write_text("# The dog sleeps.\n\nThe cat runs.\n")
    return Path("shop")


def test_documents_take_the_memory_and_lines_the_terms(transduce: Transduce, tiny_run: Path, shop: Path) -> None:
    status, _, err = transduce("translate", tiny_run, "new.md", "-o", "out.md", "--project", shop)
    assert status == 0 and "shop: 1 translations, 1 terms; the model has learned nothing yet" in err
    document = Path("out.md").read_text(encoding="utf-8")
    assert document.startswith("# Der Köter pennt.\n") and "Bruder" in document
    status, out, err = transduce("translate", tiny_run, "new.en", "--project", shop)
    assert status == 0 and "1 of 1 required phrases satisfied" in err
    assert "Köter" not in out and "Bruder" in out.splitlines()[1]


def test_files_that_are_named_take_the_place_of_the_projects(transduce: Transduce, tiny_run: Path, shop: Path) -> None:
    Path("own.tsv").write_text("dog\tHund\n")
    Path("memory.tsv").write_text("The dog sleeps.\tEr schläft.\n", encoding="utf-8")
    arguments = ("translate", tiny_run, "--project", shop, "--glossary", "own.tsv")
    status, out, err = transduce(*arguments, "new.en")
    assert status == 0 and "Hund" in out.splitlines()[0] and "Bruder" not in out.splitlines()[1], err
    status, _, err = transduce(*arguments, "new.md", "-o", "out.md", "--memory", "memory.tsv")
    assert status == 0 and Path("out.md").read_text(encoding="utf-8").startswith("# Er schläft.\n"), err


@pytest.mark.slow
def test_the_model_is_as_the_project_has_taught_it(
    transduce: Transduce, tiny_run: Path, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transduce.apps.projects.learner.MOST_LOST", 1000.0)
    bundle, general = ModelBundle.load(tiny_run), General(small_corpus(30))
    settings = LearningSettings(rank=4, alpha=32.0, learning_rate=0.03, most_forgotten=1000.0)
    (shop / SETTINGS).write_text(to_toml(ProjectSettings(source="en", target="de", learning=settings)))
    with closing(Project.open(shop)) as project:
        for pair in small_corpus(211)[-8:]:
            project.store.confirm(pair.source, "", pair.target)
        segments = project.store.segments()
    learner = Learner(ModelBundle.load(tiny_run), settings, general, shop / ADAPTERS)
    learned = learner.learn(segments)
    taught = Translator(with_adapter(bundle, learned.adapter, learner.adapters.scale))
    search = Beam(size=2)
    expected = [translation.text for translation in taught.translate(LINES, search)]
    assert expected != [translation.text for translation in Translator(bundle).translate(LINES, search)]

    Path("none.tsv").write_text("whale\tWal\n")
    arguments = ("translate", tiny_run, "new.en", "--project", shop, "--glossary", "none.tsv", "--beam-size", "2")
    status, out, err = transduce(*arguments)
    assert status == 0 and "has learned 9 segments" in err
    assert out.splitlines() == expected
    next(bundle.model.parameters()).data += 1
    bundle.save(Path("other"), [("The dog sleeps.", "Der Hund schläft.")])
    assert "nothing yet" in Knowledge.read(shop, "other").describe()
    for path in (shop / ADAPTERS).iterdir():
        path.write_bytes(path.read_bytes()[:-9])
    assert "the model has learned nothing yet" in transduce(*arguments)[2]


def test_what_a_project_learns_changes_what_an_output_depends_on(shop: Path, tiny_run: Path) -> None:
    before = Knowledge.read(shop, tiny_run).content
    assert before == Knowledge.read(shop, tiny_run).content
    with closing(Project.open(shop)) as project:
        segment = project.store.confirm("The cat runs.", "", "Die Katze rennt.")
        assert Knowledge.read(shop, tiny_run).content != before
        project.store.take_back(segment.id)
    assert Knowledge.read(shop, tiny_run).content == before
    with closing(Project.open(shop)) as project:
        keys = segment_keys("", project.store.segments())
    learns = model_key(identity(find_bundle(tiny_run)), LearningSettings())
    Snapshots(shop / ADAPTERS, 1).write(Snapshot(1, keys[1], "", learns, 2.0, "", {}), keys)
    assert Knowledge.read(shop, tiny_run).content != before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--with", "run"], "teaches one model"),
        (["--then", "run"], "teaches one model"),
        (["--to", "fr"], "from en to de; leave --from and --to out"),
        (["--sample"], "the glossary of the project: required phrases go with a plain beam"),
    ],
)
def test_what_a_project_does_not_go_with(
    transduce: Transduce, tiny_run: Path, shop: Path, options: list[str], words: str
) -> None:
    status, out, err = transduce("translate", tiny_run, "new.en", "--project", shop, *options)
    assert (status, out) == (2, "") and words in err


def test_a_project_of_other_languages_is_refused(transduce: Transduce, tiny_run: Path, shop: Path) -> None:
    Project.create("other", ProjectSettings(source="fr", target="de")).close()
    status, _, err = transduce("translate", tiny_run, "new.en", "--project", "other")
    assert status == 2 and "other is from fr to de, and the model from en to de" in err


def test_an_exported_model_is_refused(transduce: Transduce, tiny_run: Path, shop: Path) -> None:
    pytest.importorskip("ctranslate2")
    assert transduce("export", tiny_run, "--to", "ctranslate2", "-o", "exported")[0] == 0
    status, out, err = transduce("translate", "exported", "new.en", "--project", shop)
    assert (status, out) == (
        2,
        "",
    ) and "a project teaches a model as it was trained; exported is an exported model" in err
