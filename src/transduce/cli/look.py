"""`transduce look`: pictures of a sentence in a model, of trainings, of positions."""

import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transduce.cli.machine import Processor
from transduce.cli.options import (
    OUTPUT,
    From,
    Quiet,
    To,
    ranged,
)
from transduce.cli.search_options import BeamOptions
from transduce.ranges import PositiveInt

if TYPE_CHECKING:
    from transduce.analysis.look import Look
    from transduce.analysis.pictures import Pictures
    from transduce.inference.loading import Reader
    from transduce.search.beam import Beam


def look(
    search: BeamOptions,
    processor: Processor,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL TEXT | RUN...",
            help="A model's or run's folder and a text; or the folders of one run or several.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Look at this translation (or continuation) instead of searching one.")
    ] = None,
    second: Annotated[
        str | None,
        typer.Option(help="The second text, or the passage, where the model reads two; or in TEXT, after a tab."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(*OUTPUT, help="A file that ends in .html, .png, .svg, .pdf or .json (default: open a page)."),
    ] = None,
    positions: Annotated[
        bool, typer.Option("--positions", help="Draw the position encodings of a model, or sinusoidal ones.")
    ] = False,
    to: To = None,
    from_: From = None,
    max_tokens: Annotated[int, ranged(PositiveInt, "With a language model: tokens to generate")] = 24,
    quiet: Quiet = False,
) -> None:
    """Show what a model does with a text: attention, beam search, confidence, and the source tokens that matter.

    For a model that reads texts: attention, its result and confidence, and the tokens that it rests on.

    With folders of runs alone, show their training; it works while they train.

    Example: `transduce look runs/multi30k "Ein Hund schläft." -o look.html`
    """
    from transduce.errors import InputError

    arguments = what or []
    if output is not None:
        _check_output(output)
    if positions:
        if len(arguments) > 1 or target is not None or second is not None:
            raise InputError("--positions takes one model at most, and no sentence")
        _finish(_positions(arguments), output, quiet)
        return
    if not arguments:
        raise InputError("name a model and a sentence, or the folders of runs")
    if target is None and second is None and all(map(_is_folder, arguments)):
        _finish(_training(arguments), output, quiet)
    elif len(arguments) != 2:
        raise InputError(f"{arguments[0]}: expected a model and one sentence, in quotation marks; or folders of runs")
    else:
        _finish(
            _sentence(arguments[0], (arguments[1], second), target, search, max_tokens, processor.device, (to, from_)),
            output,
            quiet,
        )


def _sentence(
    model: str,
    texts: tuple[str, str | None],
    target: str | None,
    search: "Beam",
    max_tokens: int,
    device: str,
    languages: tuple[str | None, str | None],
) -> "Pictures":
    from transduce.errors import InputError
    from transduce.inference.generator import Generator
    from transduce.inference.loading import load
    from transduce.inference.translator import Translator

    tool = load(model, device=device)
    if languages != (None, None) and not isinstance(tool, Translator):
        raise InputError(f"--to and --from are for models that translate, and {model} does not; leave them out")
    if not isinstance(tool, Generator | Translator):
        if target is not None:
            raise InputError(f"--target is for models that write, and {model} only reads; leave it out")
        return _reading(tool, *texts).pictures()
    text, second = texts
    if second is not None:
        raise InputError(f"--second is for models that read two texts, and {model} reads one; leave it out")
    if isinstance(tool, Generator):
        return tool.look(text, target, search, max_tokens).pictures()
    return tool.directed(*languages).look(text, target, search).pictures()


def _reading(tool: "Reader", text: str, second: str | None) -> "Look":
    from transduce.errors import InputError
    from transduce.inference.answerer import Answerer
    from transduce.inference.encoder import Encoder
    from transduce.inference.tagger import Tagger

    reads_two = isinstance(tool, Answerer) or (not isinstance(tool, Encoder | Tagger) and tool.reads_pairs)
    if reads_two and second is None and "\t" in text:
        text, second = text.split("\t", 1)
    if isinstance(tool, Encoder):
        return tool.look(text, second)
    if not reads_two and second is not None:
        raise InputError("--second is for models that read two texts, and this one reads one; leave it out")
    if reads_two and second is None:
        raise InputError("the model reads two texts; give the other with --second, or after a tab")
    if isinstance(tool, Answerer):
        return tool.look(text, second or "")
    if isinstance(tool, Tagger):
        return tool.look(text)
    return tool.look(text if second is None else (text, second))


def _training(runs: Sequence[str]) -> "Pictures":
    from transduce.analysis.pictures import training_pictures
    from transduce.analysis.training_log import read_runs

    return training_pictures(read_runs(runs))


def _positions(models: Sequence[str]) -> "Pictures":
    from transduce.analysis.pictures import position_pictures
    from transduce.analysis.position_vectors import positions_of_model, sinusoidal_positions
    from transduce.bundle import ModelBundle

    if not models:
        return position_pictures(sinusoidal_positions())
    return position_pictures(positions_of_model(ModelBundle.load(Path(models[0])).model, models[0]))


def _is_folder(text: str) -> bool:
    try:
        return bool(text) and Path(text).is_dir()
    except OSError:  # a sentence may be too long for a name
        return False


def _finish(pictures: "Pictures", output: Path | None, quiet: bool) -> None:
    """Writes the file, or a page that is opened in the browser."""
    if output is not None:
        lacking = pictures.save(output)
        if not quiet:
            what = {".html": "a page", ".json": "numbers"}.get(output.suffix.lower(), "a figure")
            print(f"transduce: wrote {output}, {what}", file=sys.stderr)
        if lacking:
            print(f"transduce: {output}: {lacking}", file=sys.stderr)
        return
    with tempfile.NamedTemporaryFile(
        "w", prefix="transduce-look-", suffix=".html", delete=False, encoding="utf-8"
    ) as page:
        page.write(pictures.html())
    opened = webbrowser.open(Path(page.name).as_uri())
    if not quiet or not opened:
        print(f"transduce: the page is {page.name}" + ("" if opened else "; open it in a browser"), file=sys.stderr)


def _check_output(output: Path) -> None:
    from transduce.analysis.pictures import check_ending
    from transduce.errors import InputError
    from transduce.files import check_absent

    check_ending(output)
    check_absent(output, "choose another name")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.absolute().parent}")
