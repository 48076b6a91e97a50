"""Documentation says what the program does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from transduce.cli.main import app, run

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "RESULTS.md"]


def test_the_settings_page_is_the_code() -> None:
    made = subprocess.run([sys.executable, ROOT / "docs/make_settings.py"], capture_output=True, text=True, check=True)
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == made.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def commands() -> list[str]:
    found = []
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            match = re.match(r"\s{4,}(?:.*\| )?(transduce .*)", line)
            if match:
                found.append(re.split(r"\s+#|\s+\|", match[1])[0])
    return sorted(set(found))


@pytest.mark.parametrize("command", commands())
def test_every_option_in_a_documented_command_exists(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    words = command.split()
    run(lambda: app([words[1], "--help"]))
    text = capsys.readouterr().out
    for word in words[2:]:
        if word.startswith("-"):
            assert re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text), word


def test_the_settings_of_the_readmes_recipe_are_settings(tmp_path: Path) -> None:
    from transduce.experiment import load_recipe

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    recipe = re.search(r"```toml\n(.*?)```", readme, re.DOTALL)
    assert recipe
    (tmp_path / "mine.toml").write_text(recipe[1], encoding="utf-8")
    assert load_recipe(str(tmp_path / "mine.toml")).config.training.updates == 1200
