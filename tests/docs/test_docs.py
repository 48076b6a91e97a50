"""Documentation says what the program does."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from pages import PAGES, ROOT, examples, headings, inline_commands

from transduce.apps.cli.main import app, run


def test_the_settings_page_is_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "docs/make_settings.py"), run_name="__main__")
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_anchor_is_a_heading(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert anchor in headings(page.parent / target if target else page), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_option_of_a_command_in_a_sentence_exists(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for command in inline_commands(page):
        words = command.split()
        verbs = words[1:3] if words[1] == "data" else words[1:2]
        run(lambda verbs=verbs: app([*verbs, "--help"]))  # type: ignore[misc]
        text = capsys.readouterr().out
        assert text, command
        for word in words[2:]:
            if word.startswith("-"):
                assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text), command


def test_the_readme_says_what_to_type_before_its_first_picture_and_no_command_has_a_placeholder() -> None:
    commands = [example.text for example in examples(ROOT / "README.md") if example.kind in ("command", "python")]
    top = (ROOT / "README.md").read_text(encoding="utf-8").partition("![")[0]
    assert sum(command.splitlines()[0] in top for command in commands) >= 5
    assert not [command for command in commands if re.search(r"<\w[\w ]*>", command)]


def test_how_many_pairs_it_takes_is_what_was_measured() -> None:
    readme, results = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "results/few_pairs.md"))
    rows = {
        row[0]: row[1:]
        for row in (re.findall(r"[^|]+", line) for line in readme.splitlines())
        if row and row[0].strip() in ("sentence pairs", "BLEU of unseen sentences", "minutes on one core")
    }
    counts, scores, minutes = ([cell.strip() for cell in cells if cell.strip()] for cells in rows.values())
    for count, score, minute in zip(counts, scores, minutes, strict=True):
        row = re.search(rf"^\| {count}(?:, from above)? \| ([\d.]+), [\d,]+, ([\d.]+) \|(.*)\|", results, re.MULTILINE)
        assert row is not None, count
        found, lasted = float(row[1]), float(row[2])
        if phrases := re.match(r" ([\d.]+) \[.*\], (\d+)", row[3]):
            found, lasted = float(phrases[1]), float(phrases[2]) / 60
        assert int(score.partition(":")[0]) == round(found) and int(minute) == round(lasted)


def test_the_demo_installs_what_it_needs_alone_and_setup_goes_on_from_there(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)

    def installed(target: str) -> list[str]:
        planned = subprocess.run(
            ["make", "--dry-run", target], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return re.findall(r"--editable '\.\[(.*?)\]'", planned.stdout)

    assert installed("demo") == ["train"]
    first, second = installed("setup")
    assert first == "train" and {"train", "dev"} < set(second.split(","))
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/trains").touch()
    assert installed("demo") == [] and installed("setup") == [second]


LINES, WIDTH = 4500, 120


def test_the_pages_are_short_and_their_lines_fit_a_screen() -> None:
    pages = [ROOT / "README.md", ROOT / "RESULTS.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md")]
    lines = {page: page.read_text(encoding="utf-8").splitlines() for page in [*pages, *(ROOT / "results").glob("*.md")]}
    wide = [
        f"{page.name}:{number}"
        for page, text in lines.items()
        for number, line in enumerate(text, 1)
        if len(line) > WIDTH and not line.startswith("|") and "](" not in line
    ]
    assert not wide
    assert sum(map(len, lines.values())) <= LINES


def test_every_file_that_the_map_names_exists() -> None:
    files = [path.as_posix() for folder in ("src", "tests", "docs") for path in (ROOT / folder).rglob("*.py")]
    named = set(re.findall(r"[\w/]+\.py\b", (ROOT / "docs/architecture.md").read_text(encoding="utf-8")))
    assert not [name for name in named if not any(file.endswith(f"/{name}") for file in files)]
