"""`look`, `align` and the details of `translate`, from the command line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from transduce.analysis.alignment import FILE, AlignmentHead
from transduce.experiment import load_recipe, train

Command = Callable[..., tuple[int, str, str]]
SHORT = ("--max-ratio", "0.5", "--max-extra", "4")


@pytest.fixture(scope="module")
def back(recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the other direction."""
    run = tmp_path_factory.mktemp("runs") / "back"
    files = {part: [f"{stem}.de", f"{stem}.en"] for part, stem in (("train", "train"), ("validation", "dev"))}
    changes = [f"data.{part}={json.dumps(names)}" for part, names in files.items()]
    swapped = [*changes, 'data.test=["test.de","test.en"]', "data.source=de", "data.target=en", "training.updates=5"]
    train(load_recipe(str(recipe_file), swapped), run)
    return run


def test_a_sentence_becomes_a_page_and_numbers(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    for ending in (".html", ".json"):
        status, _, errors = transduce(
            *("look", tiny_run, "The dog sleeps.", "--target", "Der Hund schläft.", "-o", tmp_path / f"look{ending}")
        )
        assert status == 0, errors
    page = (tmp_path / "look.html").read_text(encoding="utf-8")
    assert str(tiny_run) in page
    facts = json.loads((tmp_path / "look.json").read_text())
    assert facts["target"]["text"] == "Der Hund schläft."
    assert facts["search"] is None


def test_training_is_shown_while_a_run_goes(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    log = (tiny_run / "log.jsonl").read_bytes()
    (tmp_path / "going").mkdir()
    (tmp_path / "going" / "log.jsonl").write_bytes(log[: len(log) // 2])  # in the middle of a line
    status, _, errors = transduce("look", tiny_run, tmp_path / "going", "-o", tmp_path / "runs.json")
    assert status == 0, errors
    whole, half = json.loads((tmp_path / "runs.json").read_text())["runs"]
    reported = [json.loads(line) for line in log.splitlines() if b'"loss":' in line and b"validation" not in line]
    assert whole["series"]["loss"] == {"x": [r["update"] for r in reported], "y": [r["loss"] for r in reported]}
    assert whole["series"]["loss"]["x"][: len(half["series"]["loss"]["x"])] == half["series"]["loss"]["x"]
    assert {"validation loss", "perplexity", "learning rate", "gradient norm"} <= whole["series"].keys()


def test_probes_are_printed_and_drawn(transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path) -> None:
    picture = tmp_path / "probes.svg"
    status, table, errors = transduce("look", tiny_run, corpus / "dev.en", "--probe", "position", "-o", picture)
    assert status == 0, errors
    lines = [line.split() for line in table.splitlines()]
    assert lines[0] == ["place", "accuracy", "control", "selectivity"]
    assert lines[1][0] == "encoder.embedding" and 0 <= float(lines[1][1]) <= 1
    assert table.endswith(" words\n") and "layers.0.after" in picture.read_text()


def test_checkpoints_are_asked_the_same(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    asked = ("look", tiny_run, "The dog sleeps.", "--target", "Der Hund schläft.", "--over-training", "--why", "Hund")
    status, table, errors = transduce(*asked, "--probe", "position", "-o", tmp_path / "changes.json")
    assert status == 0, errors
    assert table.split()[:3] == ["updates", "difference", "because"]
    (run,) = json.loads((tmp_path / "changes.json").read_text())["runs"]
    updates = sorted(int(each.name) for each in (tiny_run / "checkpoints").iterdir())
    assert len(updates) > 1 and all(each["x"] == updates for each in run["series"].values())
    (name,) = (name for name in run["series"] if name.startswith("nats, Hund less "))
    last = tiny_run / "checkpoints" / f"{updates[-1]:06d}" / "bundle"
    alone = (*asked[:5], "--why", "Hund", "--instead", name.split()[-1], "-o", tmp_path / "last.json")
    assert transduce("look", last, *alone[2:])[0] == 0
    facts = json.loads((tmp_path / "last.json").read_text())
    assert run["series"][name]["y"][-1] == pytest.approx(facts["difference"], abs=1e-5)
    assert {"agreement of attention", "selectivity, encoder.embedding"} <= run["series"].keys()
    one = shutil.copytree(tiny_run, tmp_path / "one")
    for update in updates[:-1]:
        shutil.rmtree(one / "checkpoints" / f"{update:06d}")
    status, _, errors = transduce("look", one, *asked[2:])
    assert status == 2 and "has 1 checkpoint, and a change needs two" in errors


def test_a_run_that_diverged_is_shown_as_far_as_it_has_numbers(transduce: Command, tmp_path: Path) -> None:
    lines = ('{"update":1,"loss":3.5}', '{"update":2,"validation":{"loss":null,"perplexity":null},"best":false}')
    (tmp_path / "log.jsonl").write_text("".join(f"{line}\n" for line in lines))
    for ending in ("json", "html", "svg"):
        status, _, errors = transduce("look", tmp_path, "-o", tmp_path / f"run.{ending}")
        assert (status, errors.count("\n")) == (0, 1)
        assert errors.startswith(f"transduce: wrote {tmp_path / f'run.{ending}'}, ")
    (run,) = json.loads((tmp_path / "run.json").read_text())["runs"]
    assert run["series"]["loss"] == {"x": [1], "y": [3.5]}
    assert run["series"]["validation loss"] == {"x": [2], "y": [None]}


def test_positions_are_drawn(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    for number, model in enumerate(((), (tiny_run,))):
        status, _, errors = transduce("look", "--positions", *model, "-o", tmp_path / f"{number}.json")
        assert status == 0, errors
        facts = json.loads((tmp_path / f"{number}.json").read_text())
        assert facts["by_distance"][0] == pytest.approx(1)
        assert max(facts["by_distance"][1:]) < 1


def test_pairs_are_aligned_line_by_line(transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "in.en").write_text("The dog sleeps.\n\nA cat.\n", encoding="utf-8")
    (tmp_path / "in.de").write_text("Der Hund schläft.\nNichts.\nEine Katze.\n", encoding="utf-8")
    status, output, errors = transduce("align", tiny_run, tmp_path / "in.en", tmp_path / "in.de")
    assert status == 0, errors
    first, second, third = output.splitlines()
    assert second == ""
    for line, words in ((first, 3), (third, 2)):
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert links == sorted(set(links))
        assert all(i < words and j < words for i, j in links)
    head = AlignmentHead.load(tiny_run / "model")
    assert head is not None
    again = transduce("align", tiny_run, tmp_path / "in.en", tmp_path / "in.de")
    assert again == (0, output, "")  # the head is kept
    (tiny_run / "model" / FILE).unlink()


def test_two_directions_are_combined(transduce: Command, tiny_run: Path, back: Path, corpus: Path) -> None:
    found = {}
    for method in ("intersection", "grow-diag", "union"):
        command = ("align", tiny_run, corpus / "test.en", corpus / "test.de", "--reverse", back)
        status, output, errors = transduce(*command, "--symmetrize", method, "-q")
        assert status == 0, errors
        found[method] = [set(line.split()) for line in output.splitlines()]
    for small, grown, large in zip(*found.values(), strict=True):
        assert small <= grown <= large
    assert any(small < large for small, large in zip(found["intersection"], found["union"], strict=True))
    (tiny_run / "model" / FILE).unlink()


def test_details_come_when_they_are_asked_for(transduce: Command, tiny_run: Path, corpus: Path) -> None:
    plain = transduce("translate", tiny_run, corpus / "test.en", "--json", *SHORT)[1].splitlines()
    detailed = transduce("translate", tiny_run, corpus / "test.en", "--json", "--details", *SHORT)[1].splitlines()
    for line, more in zip(map(json.loads, plain), map(json.loads, detailed), strict=True):
        details = more.pop("details")
        assert more == line
        assert [0 <= token["probability"] <= 1 for token in details["tokens"]]
        assert " ".join(details["words"]) == line["text"]


def test_words_are_explained_with_their_probability(transduce: Command, tiny_run: Path, corpus: Path) -> None:
    status, output, errors = transduce("translate", tiny_run, corpus / "test.en", "--explain", "-q", *SHORT)
    assert status == 0, errors
    assert " %)" in output
    assert len(output.splitlines()) == len((corpus / "test.en").read_text().splitlines())
