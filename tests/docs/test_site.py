"""The site has every page, its links lead somewhere, and it loads nothing from elsewhere."""

import importlib.util
import json
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT

import transduce

pytest.importorskip("nbclient")
sys.path.append(str(ROOT / "docs/site"))

import build
import charts
import commands
import gallery
import links

CONFIG = tomllib.loads((ROOT / "docs/site/zensical.toml").read_text(encoding="utf-8"))["project"]


def pages_of(navigation: Any) -> list[str]:
    if isinstance(navigation, str):
        return [navigation]
    entries = navigation.values() if isinstance(navigation, dict) else navigation
    return [page for entry in entries for page in pages_of(entry)]


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(pages_of(CONFIG["nav"])) == sorted(build.site_pages())


def test_every_public_name_is_in_the_reference() -> None:
    named = {name for names in build.REFERENCE.values() for name in names.split()}
    assert named == set(transduce.__all__) - {"__version__"}


def test_every_command_and_its_options_have_a_page() -> None:
    page = commands.markdown()
    names = [name for name, _ in commands.commands()]
    assert {"translate", "serve", "data clean", "keys add"} < set(names)
    assert re.findall(r"^## (.*)$", page, re.MULTILINE) == names
    served = page.partition("## serve\n")[2].partition("\n## ")[0]
    assert re.search(r"^\| `--port` \| .*Default: 5000\. \|$", served, re.MULTILINE)
    assert "| `MODELS` |" in served and "transduce serve runs/" in served


def test_links_of_the_front_page_lead_to_pages() -> None:
    text = (ROOT / "docs/site/index.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert target in build.site_pages() or (ROOT / "docs" / target).is_file(), target


def test_links_lead_from_the_repository_to_the_site() -> None:
    assert "](results/adaptation.md#adapting-a-general-model)" in build.text_of(
        ROOT / "docs/adaptation.md", "adaptation.md"
    )
    assert "](../recurrent.md#compared)" in build.text_of(ROOT / "results/captions.md", "results/captions.md")
    assert "](../docs" not in build.text_of(ROOT / "CONTRIBUTING.md", "CONTRIBUTING.md")


def test_indented_commands_become_fences_and_nothing_else_changes() -> None:
    text = "One:\n\n    transduce a\n\n    transduce b\n\nTwo\n\n- item\n  more\n"
    assert build.fenced(text) == "One:\n\n```sh\ntransduce a\n\ntransduce b\n```\n\nTwo\n\n- item\n  more\n"


@pytest.mark.parametrize("chart", charts.CHARTS, ids=lambda chart: chart.title)
def test_a_chart_draws_the_numbers_of_its_table(chart: charts.Chart) -> None:
    rows = charts.rows_of(chart)
    assert len(rows) >= 3 and any(len(bars) == len(chart.columns) for _, bars in rows)
    picture = charts.draw(chart)
    for label, bars in rows:
        assert all(f">{bar.shown}<" in picture for bar in bars), label
        assert all(bar.interval is None or bar.interval[0] <= bar.value <= bar.interval[1] for bar in bars), label


def test_a_chart_of_a_table_that_is_gone_is_an_error() -> None:
    with pytest.raises(ValueError, match="no table"):
        charts.rows_of(
            charts.Chart("", "", "results/captions.md", "multi30k-words, German to English", ("no such column",))
        )


def test_broken_links_anchors_and_things_from_elsewhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text(
        '<h1 id="top">A</h1><a href="sub/">b</a><a href="sub/#b">b</a><a href="sub/#c">c</a><a href="gone.html">d</a>'
        '<a href="https://example.org">e</a><img src="https://example.org/x.png"><a href="#top">f</a>'
        '<a href="../x">g</a>'
    )
    (tmp_path / "sub/index.html").write_text('<h1 id="b">B</h1>')
    report = links.check(tmp_path)
    assert report.pages == 2 and report.links == 8
    wrong = [problem.removeprefix("index.html: ") for problem in report.problems]
    assert wrong == [
        "sub/#c has no such anchor",
        "gone.html leads nowhere",
        "loads https://example.org/x.png",
        "../x leads nowhere",
    ]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("zensical") is None, reason="zensical is not installed (the extra docs)")
def test_the_site_is_built_without_a_warning_and_all_links_lead_somewhere(tmp_path: Path) -> None:
    pictures, course = tmp_path / "gallery", tmp_path / "course"
    pictures.mkdir()
    for exhibit in gallery.EXHIBITS:
        (pictures / f"{exhibit.name}.html").write_text("<p>a page</p>")
    tokens = {"tokens": ["a", "<b>"]}
    attention = [{"part": "cross", "weights": [[[0.25, 0.75], [1.0, 0.0]]]}]
    look = {"attention": attention, "source": tokens, "target": tokens}
    (pictures / "transformer.json").write_text(json.dumps(look))
    shutil.copytree(ROOT / "docs/course", course)  # notebooks that were not run are pages without outputs
    report = build.build(tmp_path, pictures, course)
    assert report.problems == [] and report.pages > 50 and report.links > 4000
    found = json.loads((tmp_path / "site/search.json").read_text(encoding="utf-8"))
    assert "minimum Bayes risk" in json.dumps(found)
