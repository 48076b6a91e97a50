"""Documentation says what the program does."""

import re
import runpy
from pathlib import Path

import pytest
from pages import PAGES, ROOT, headings, inline_commands

from transduce.cli.main import app, run


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
