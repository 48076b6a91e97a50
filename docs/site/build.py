"""Builds the site: gathers its pages in build/docs, and Zensical writes build/site.

python docs/site/build.py            # everything: the gallery is trained and the course is run, where they changed
python docs/site/build.py --pages    # pages alone, with the gallery and the course as they are
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import charts
import commands
import links
import notebooks
from gallery import make_all
from gallery import markdown as gallery_page

import transduce

ROOT = Path(__file__).parents[2]
DOCS, HERE, BUILD = ROOT / "docs", ROOT / "docs" / "site", ROOT / "build"
OUTSIDE = ("RESULTS.md", "CHANGELOG.md", "CONTRIBUTING.md")
"""Pages at the repository's root that the site has, too."""
PICTURES = (".png", ".svg", ".jpg")
LINK = re.compile(r"(!?\[[^]]*\])\(([^)\s]+)\)")

REFERENCE = {
    "Loading and using models": (
        "load Translator Translation Request Scorer DocumentTranslator Generator Generation Classifier "
        "Tagger Answerer Encoder"
    ),
    "Search": "Beam DiverseBeam Sampling MinimumBayesRisk",
    "Training": "train plan load_recipe TranslationConfig LanguageConfig distill backtranslate",
    "Measuring": "evaluate compare",
    "Causes": "intervene places probe why over_training",
    "Pairs and errors": "SentencePair TransduceError",
}
"""Public names of the package by the pages of the reference, in their order."""
PARTS = {
    "Parts of models": (
        "nn.attention nn.self_attention nn.source_attention nn.relative_attention nn.scores nn.focus "
        "nn.recurrence nn.masks "
        "nn.positions nn.layers nn.permutation nn.ssru"
    ),
    "Losses and objectives": "objectives.objective objectives.next_token objectives.masked_words nn.losses",
    "Looking inside": (
        "analysis.look_at_text analysis.recorded_attention analysis.attribution analysis.plots analysis.mask_picture"
    ),
}
"""Modules by the pages of the reference."""


def reference_pages() -> Iterator[tuple[str, str]]:
    """Yields the name and the text of each page of the API, which mkdocstrings fills from docstrings."""
    for title, names in REFERENCE.items():
        members = (f"::: {transduce._MODULES[name]}.{name}" for name in names.split())
        yield f"api/{slug(title)}.md", f"# {title}\n\nNames of `transduce`.\n\n" + "\n\n".join(members) + "\n"
    for title, modules in PARTS.items():
        members = (
            f"::: transduce.{module}\n    options:\n      show_root_full_path: true" for module in modules.split()
        )
        yield f"api/{slug(title)}.md", f"# {title}\n\n" + "\n\n".join(members) + "\n"


def slug(title: str) -> str:
    """Returns a title as part of an address."""
    return title.lower().replace(" ", "-")


def written_pages() -> dict[str, Path]:
    """Returns the files of pages that people wrote, by their names in the site."""
    pages = {path.name: path for path in sorted(DOCS.glob("*.md"))}
    pages |= {name: ROOT / name for name in OUTSIDE}
    pages |= {f"results/{path.name}": path for path in sorted((ROOT / "results").glob("*.md"))}
    pages["pages.md"], pages["index.md"] = DOCS / "index.md", HERE / "index.md"
    pages["course/index.md"] = DOCS / "course" / "README.md"
    return pages


def course_pages() -> dict[str, Path]:
    """Returns the notebooks of the course by the names of their pages."""
    return {f"course/{path.stem}.md": path for path in sorted((DOCS / "course").glob("[0-9]*.ipynb"))}


def site_pages() -> set[str]:
    """Returns the names of all pages of the site."""
    made = {"gallery.md", "charts.md", "commands.md", *(name for name, _ in reference_pages())}
    return made | written_pages().keys() | course_pages().keys()


def text_of(path: Path, name: str) -> str:
    """Returns a written page as the site has it: links lead to the site's pages, commands can be copied."""
    folder = path.parent

    def link(match: re.Match[str]) -> str:
        target, _, anchor = match[2].partition("#")
        if "://" in target or not target:
            return match[0]
        return (
            f"{match[1]}({new}{'#' * bool(anchor)}{anchor})"
            if (new := moved(folder, target))
            else match[1].strip("![]")
        )

    def moved(folder: Path, target: str) -> str | None:
        file = (folder / target).resolve()
        for page, written in (written_pages() | course_pages()).items():
            if file == written:
                return "../" * name.count("/") + page
        inside = file.relative_to(DOCS).as_posix() if file.is_relative_to(DOCS) else None
        return "../" * name.count("/") + inside if inside and file.suffix in PICTURES else None

    parts = re.split(r"(^```.*?^```$)", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [part if folder == HERE else fenced(LINK.sub(link, part)) for part in parts[::2]]
    return "".join(parts)


def fenced(text: str) -> str:
    """Returns a text whose indented blocks are fences of commands, which the site colours and lets a reader copy."""
    return re.sub(
        r"(?<=\n\n)((?:    .*\n|\n(?=    ))+)",
        lambda block: "```sh\n" + re.sub(r"^    ", "", block[1], flags=re.MULTILINE).rstrip() + "\n```\n",
        text,
    )


def attention_picture(look: dict[str, Any]) -> str:
    """Returns the cross-attention of the last layer, mean over heads, as SVG in the colours of the page."""
    weights = [layer for layer in look["attention"] if layer["part"] == "cross"][-1][
        "weights"
    ]  # [head, target, source]
    rows = [
        [sum(head[i][j] for head in weights) / len(weights) for j in range(len(weights[0][0]))]
        for i in range(len(weights[0]))
    ]
    across, down = look["source"]["tokens"], look["target"]["tokens"]
    size, left, top = 22, 82, 66
    square = '<rect x="{}" y="{}" width="{}" height="{}" rx="2" opacity="{:.3f}"/>'
    marks = [
        square.format(left + j * size, top + i * size, size - 1, size - 1, max(weight, 0.04))
        for i, row in enumerate(rows)
        for j, weight in enumerate(row)
    ]
    slanted = '<text transform="translate({} {}) rotate(-50)">{}</text>'
    marks += [slanted.format(left + j * size + 15, top - 6, escape(token)) for j, token in enumerate(across)]
    label = '<text x="{}" y="{}" text-anchor="end">{}</text>'
    marks += [label.format(left - 6, top + i * size + 15, escape(token)) for i, token in enumerate(down)]
    box = f"0 0 {left + len(across) * size + 30} {top + len(down) * size}"
    title = 'role="img" aria-label="Attention of a translation"'
    return f'<svg class="attention" viewBox="{box}" {title}>{"".join(marks)}</svg>'


def gather(pages: Path, gallery: Path, course: Path) -> None:
    """Writes all pages and their files into an empty folder."""
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(DOCS, pages, ignore=lambda folder, names: [name for name in names if not name.endswith(PICTURES)])
    for name, path in written_pages().items():
        write(pages / name, text_of(path, name))
    index = pages / "index.md"
    look = json.loads((gallery / "transformer.json").read_text(encoding="utf-8"))
    index.write_text(
        index.read_text(encoding="utf-8").replace("{{ attention }}", attention_picture(look)), encoding="utf-8"
    )
    for name, text in reference_pages():
        write(pages / name, text)
    write(pages / "charts.md", charts.markdown())
    write(pages / "commands.md", commands.markdown())
    write(pages / "gallery.md", gallery_page())
    shutil.copytree(gallery, pages / "gallery", ignore=shutil.ignore_patterns("*.json"))
    for name, path in course_pages().items():
        stem = path.stem
        write(pages / name, notebooks.page(course / path.name, stem, pages / "course" / f"{stem}_files"))
        shutil.copy(path, pages / "course" / path.name)
    shutil.copy(HERE / "style.css", pages / "style.css")


def build(folder: Path, gallery: Path, course: Path) -> links.Report:
    """Builds `site` in a folder from the gallery's pages and the executed notebooks, and follows its links.

    A warning of Zensical's ends the program with its status.
    """
    gather(folder / "docs", gallery, course)
    config = (HERE / "zensical.toml").read_text(encoding="utf-8")
    write(folder / "zensical.toml", config.replace('"src"', json.dumps(str(ROOT / "src"))))
    shutil.rmtree(folder / "site", ignore_errors=True)
    zensical = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", "zensical.toml"]
    if status := subprocess.run(zensical, cwd=folder, check=False).returncode:
        sys.exit(status)
    return links.check(folder / "site")


def write(path: Path, text: str) -> None:
    """Writes a page, and its folder where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Builds the site as the command line says, and prints how many pages and links it has, and the seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", action="store_true", help="train and run nothing")
    began = time.perf_counter()
    if not parser.parse_args().pages:
        make_all(BUILD / "gallery")
        notebooks.run_course(BUILD / "course", is_small=False)
    report = build(BUILD, BUILD / "gallery", BUILD / "course")
    print("\n".join(report.problems))
    print(f"{report.pages} pages, {report.links:,} links, {time.perf_counter() - began:.0f} s: {BUILD / 'site'}")
    sys.exit(bool(report.problems))


if __name__ == "__main__":
    main()
