"""Runs the notebooks of the course, and writes them as pages of the site.

python docs/site/notebooks.py build/course            # at full size: the executed notebooks
python docs/site/notebooks.py build/course --small     # as tests and the site run them
"""

import argparse
import base64
import hashlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from html import unescape
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).parents[2]
COURSE = ROOT / "docs" / "course"
SOLUTION = re.compile(r"```python\n(.*?)```", re.DOTALL)
FRAME = re.compile(r'<iframe srcdoc="(.*?)"[^>]*></iframe>', re.DOTALL)


def tagged(cell: Any, tag: str) -> bool:
    """Returns True for a cell with this tag."""
    return tag in cell.metadata.get("tags", ())


def small(notebook: Any) -> Any:
    """Replaces the code of cells tagged `sizes` by what their metadata have for a small run, and takes fewer pairs."""
    for cell in notebook.cells:
        cell.source = cell.metadata["small"] if tagged(cell, "sizes") else cell.source.replace("(20_000,", "(4_000,")
    return notebook


def solved(notebook: Any) -> Any:
    """Replaces the code of cells tagged `exercise` by the solution in the next cell tagged `solution`."""
    open_exercise = None
    for cell in notebook.cells:
        if tagged(cell, "exercise"):
            open_exercise = cell
        elif tagged(cell, "solution") and open_exercise is not None:
            open_exercise.source = "\n".join(SOLUTION.findall(cell.source))
    return notebook


def without_checks(notebook: Any) -> Any:
    """Makes cells tagged `exercise` or `check` text: a page shows them, and the reader runs them."""
    for cell in notebook.cells:
        if tagged(cell, "exercise") or tagged(cell, "check"):
            cell.cell_type, cell.source = "markdown", f"```python\n{cell.source}\n```"
            for key in ("outputs", "execution_count"):
                cell.pop(key, None)
    return notebook


def execute(notebook: Any, folder: Path, timeout: int = 3600) -> Any:
    """Runs a notebook in a folder, with this source tree, in one thread; a cell may take `timeout` seconds."""
    changes = {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "IPYTHONDIR": str(folder / ".ipython"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
    }
    client = nbclient.NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        coalesce_streams=True,  # what is printed line after line is one output
        resources={"metadata": {"path": str(folder)}},
    )
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        client.execute()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return notebook


def processor_seconds() -> float:
    """Returns the processor time of finished children, in seconds: what kernels took, whatever ran beside them."""
    times = os.times()
    return times.children_user + times.children_system


def run_course(out: Path, is_small: bool, names: Iterable[str] = ()) -> list[Path]:
    """Runs the notebooks that have changed since they were last run into a folder, and returns their executed copies.

    A copy made at full size is kept for the site, too.
    """
    out.mkdir(parents=True, exist_ok=True)
    copies = []
    for path in sorted(COURSE.glob("[0-9]*.ipynb")):
        copy, stamp = out / path.name, out / f"{path.stem}.sha256"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        copies.append(copy)
        kept = stamp.read_text().split() if stamp.exists() else ["", ""]
        is_current = kept[0] == digest and (is_small or kept[1] == "full")
        if path.stem not in names if names else is_current:
            continue
        notebook = without_checks(nbformat.read(path, 4))
        began, processors = time.perf_counter(), processor_seconds()
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(execute(small(notebook) if is_small else notebook, Path(folder)), copy)
        stamp.write_text(f"{digest} {'small' if is_small else 'full'}\n")
        print(
            f"{path.name}: {time.perf_counter() - began:.0f} s, {processor_seconds() - processors:.0f} s of a core",
            flush=True,
        )
    return copies


def page(executed: Path, name: str, files: Path) -> str:
    """Returns an executed notebook as Markdown; writes its pictures and framed pages into a folder beside the page."""
    notebook = nbformat.read(executed, 4)
    files.mkdir(parents=True, exist_ok=True)
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(details(cell.source))
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += [shown(output, files, f"{number}-{i}") for i, output in enumerate(cell.outputs)]
    download = f"[This page is a notebook: download it]({name}.ipynb){{ .notebook }}"
    first, _, rest = "\n\n".join(parts).partition("\n")
    return f"{first}\n\n{download}\n{rest}\n"


def details(text: str) -> str:
    """Returns a cell's text; Markdown within a foldout is read as Markdown."""
    return formulas(text.replace("<details>", '<details markdown="1">'))


def formulas(text: str) -> str:
    """Returns a text whose formulas between dollar signs are MathML, which browsers show without a script."""
    from latex2mathml.converter import convert

    def block(match: re.Match[str]) -> str:
        return f'<div class="formula">{convert(match[1].strip(), display="block")}</div>'

    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.DOTALL)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\$\$(.+?)\$\$", block, parts[i], flags=re.DOTALL)
        parts[i] = re.sub(r"\$([^$\n]+)\$", lambda match: convert(match[1]), parts[i])
    return "".join(parts)


def shown(output: Any, files: Path, stem: str) -> str:
    """Returns one output of a cell as Markdown."""
    if output.output_type == "stream":
        return output_text(output.text)
    data = output.get("data", {})
    if "image/png" in data:
        (files / f"{stem}.png").write_bytes(base64.b64decode(data["image/png"]))
        return f"![Output of the cell above]({files.name}/{stem}.png){{ .output }}"
    if html := data.get("text/html"):
        if frame := FRAME.search(html):
            (files / f"{stem}.html").write_text(unescape(frame[1]), encoding="utf-8")
            return f'<iframe class="look" src="{files.name}/{stem}.html" loading="lazy" title="Output"></iframe>'
        return f'<div class="output">{" ".join(html.split())}</div>'
    return output_text(data.get("text/plain", ""))


def output_text(text: str) -> str:
    """Returns what a cell printed, as a block of text."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip()
    return f"```{{ .text .output }}\n{text}\n```" if text else ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    run_course(options.out, options.small, options.names)
