"""`transduce look`: pictures of a sentence in a model, of trainings, of positions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from transduce.apps.cli.machine_options import Processor
from transduce.apps.cli.options import LanguageOptions, Quiet
from transduce.apps.cli.printing import teller
from transduce.apps.cli.search_options import BeamOptions
from transduce.base.errors import InputError
from transduce.base.files import check_absent
from transduce.base.ranges import PositiveInt

if TYPE_CHECKING:
    from transduce.analysis.look_at_phrases import PhraseLook
    from transduce.analysis.look_at_text import Look
    from transduce.analysis.pictures import Pictures
    from transduce.analysis.teaching_pairs import PairSearch
    from transduce.analysis.why import Why
    from transduce.inference.request import Request
    from transduce.search.beam import Beam


def look(
    what: Annotated[list[str] | None, "MODEL TEXT | RUN..."] = None,
    *,
    search: BeamOptions,
    processor: Processor,
    target: str | None = None,
    second: str | None = None,
    context: list[str] | None = None,
    why: str | None = None,
    instead: str | None = None,
    output: Path | None = None,
    over_training: bool = False,
    positions: bool = False,
    probe: str | None = None,
    languages: LanguageOptions,
    max_tokens: PositiveInt = 24,
    quiet: Quiet = False,
) -> None:
    """Show what a model does with a text: attention, beam search, confidence, and the source tokens that matter.

    For a model that reads texts: attention, its result and confidence, and the tokens that it rests on.

    With folders of runs alone, show their training; it works while they train.

    With --why, the causes of one word of a translation: other words, heads, and the training pairs that taught it.

    With --over-training, a table and curves over the checkpoints of RUN: TEXT's translation, the answer to --why,
    the selectivity of --probe, and how well attention aligns.

    Example: `transduce look runs/multi30k "Ein Hund schläft." -o look.html`

    Args:
        what: A model's or run's folder and a text; or the folders of one run or several.
        target: Look at this translation (or continuation) instead of searching one.
        second: The second text, or the passage, where the model reads two; or in TEXT, after a tab.
        context: A sentence before TEXT, for a model that reads context; repeatable, the nearest last.
        why: A word of the translation: tell why it stands there, and not another.
        instead: With --why: the word that might have stood there (default: the next most probable one).
        output: A file that ends in .html, .png, .svg, .pdf or .json (default: open a page).
        over_training: Ask all checkpoints of RUN the same; probes read its validation sources, not a file.
        positions: Draw the position encodings of a model, or sinusoidal ones.
        probe: Print how well each layer tells this of the words of a file given as TEXT (of --target FILE in the
            decoder): position, length, next, or a file with a tag for each word. Output: .png, .svg or .pdf.
        max_tokens: With a language model: tokens to generate.
    """
    from transduce.analysis.look_at_phrases import PhraseLook
    from transduce.analysis.pictures import training_pictures
    from transduce.analysis.training_log import read_runs
    from transduce.inference.request import Request

    arguments = what or []
    if output is not None:
        _check_output(output)
    if instead is not None and why is None:
        raise InputError("--instead goes with --why WORD; say which word it is instead of")
    if why is not None and probe is not None and not over_training:
        raise InputError("--why and --probe exclude each other; leave one of them out")
    if probe is not None and not over_training:
        _probe(arguments, probe, target, output, processor.device)
        return
    if over_training:
        from transduce.apps.cli.listing import print_list
        from transduce.experiment import over_checkpoints

        if len(arguments) != 2 or second is not None or positions:
            raise InputError("--over-training takes a run's folder and one sentence, in quotation marks")
        line, label = Request(arguments[1], before=tuple(context or ())), None if probe is None else _label(probe)
        given = (arguments[0], line, why, instead, label, target, search)
        checkpoints = over_checkpoints.over_training(*given, **vars(languages), device=processor.device)
        rows = [each.row() for each in checkpoints]
        print_list({column: [row[column] for row in rows] for column in rows[0]}, wrapped=["writes"])
        pictures = over_checkpoints.over_training_pictures(arguments[0], checkpoints)
    elif positions:
        if len(arguments) > 1 or target is not None or second is not None or context or why is not None:
            raise InputError("--positions takes one model at most, and no sentence")
        pictures = _positions(arguments)
    elif not arguments:
        raise InputError("name a model and a sentence, or the folders of runs")
    elif target is None and second is None and why is None and all(map(_is_folder, arguments)):
        pictures = training_pictures(read_runs(arguments))
    elif len(arguments) != 2:
        raise InputError(f"{arguments[0]}: expected a model and one sentence, in quotation marks; or folders of runs")
    else:
        model, text = arguments
        before = tuple(context or ())
        seen: PhraseLook | Look | Why
        if why is None:
            seen = _look_at(model, processor.device, text, second, before, target, search, max_tokens, languages)
        else:
            asked, line = (why, instead), Request(text, before=before)
            seen = _ask_why(model, processor.device, line, asked, target, search, languages, quiet)
        pictures = seen.pictures()
        if why is not None or (output is None and isinstance(seen, PhraseLook)):
            print(seen)
    if output is not None:
        _write(pictures, output, quiet)
    else:
        _open(pictures, quiet)


def _look_at(
    model: str,
    device: str,
    text: str,
    second: str | None,
    before: tuple[str, ...],
    target: str | None,
    search: "Beam",
    max_tokens: int,
    languages: LanguageOptions,
) -> "Look | PhraseLook":
    from transduce.inference.answerer import Answerer
    from transduce.inference.classifier import Classifier
    from transduce.inference.generator import Generator
    from transduce.inference.loading import load
    from transduce.inference.request import Request
    from transduce.inference.text_encoder import Encoder
    from transduce.inference.translator import Translator

    tool = load(model, device=device)
    if languages != LanguageOptions() and not isinstance(tool, Translator):
        raise InputError(f"--to and --from are for models that translate, and {model} does not; leave them out")
    reads_two = isinstance(tool, Answerer) or (isinstance(tool, Classifier) and tool.reads_pairs)
    if second is not None and not (reads_two or isinstance(tool, Encoder)):
        raise InputError(f"--second is for models that read two texts, and {model} reads one; leave it out")
    if before and (not isinstance(tool, Translator) or tool.bundle.config.context is None):
        raise InputError(f"--context is for models that read context, and {model} does not; leave it out")
    if target is not None and not isinstance(tool, Generator | Translator):
        raise InputError(f"--target is for models that write, and {model} only reads; leave it out")
    if reads_two and second is None:
        text, tab, second = text.partition("\t")
        if not tab:
            raise InputError("the model reads two texts; give the other with --second, or after a tab")
    if isinstance(tool, Generator):
        return tool.look(text, target, search, max_tokens)
    if isinstance(tool, Translator):
        return tool.directed(languages.to, languages.from_).look(Request(text, before=before), target, search)
    if isinstance(tool, Encoder):
        return tool.look(text, second)
    if isinstance(tool, Answerer):
        return tool.look(text, second or "")
    return tool.look((text, second)) if isinstance(tool, Classifier) and second is not None else tool.look(text)


def _ask_why(
    model: str,
    device: str,
    line: "Request",
    asked: tuple[str, str | None],
    target: str | None,
    search: "Beam",
    languages: LanguageOptions,
    quiet: bool,
) -> "Why":
    from transduce.experiment.training_pairs import open_training_pairs
    from transduce.inference.loading import load
    from transduce.inference.translator import Translator
    from transduce.inference.why_word import why

    translator = load(model, device=device)
    if not isinstance(translator, Translator):
        raise InputError(f"--why is for models that translate, and {model} does not; leave it out")
    if line.before and translator.bundle.config.context is None:
        raise InputError(f"--context is for models that read context, and {model} does not; leave it out")
    translator = translator.directed(languages.to, languages.from_)

    def pairs() -> "PairSearch":
        return open_training_pairs(model, translator.single_model(), teller(quiet))

    return why(translator, line, *asked, target, search, pairs)


def _positions(models: Sequence[str]) -> "Pictures":
    from transduce.analysis.pictures import position_pictures
    from transduce.analysis.position_vectors import positions_of_model, sinusoidal_positions
    from transduce.bundle.model_bundle import ModelBundle

    if not models:
        return position_pictures(sinusoidal_positions())
    return position_pictures(positions_of_model(ModelBundle.load(Path(models[0])).model, models[0]))


def _probe(arguments: Sequence[str], label: str, targets: str | None, picture: Path | None, device: str) -> None:
    """Prints a table of probes, and draws it."""
    from transduce.analysis.plots import check_picture, plot_probes
    from transduce.analysis.probes import probe
    from transduce.corpora.lines import read_lines
    from transduce.inference.loading import load

    if len(arguments) != 2:
        raise InputError("--probe takes a model and a file of its sources")
    if picture is not None:
        check_picture(picture)
    model, sources = arguments
    outputs = None if targets is None else list(read_lines(targets))
    probes = probe(load(model, device=device), list(read_lines(sources)), _label(label), outputs)
    print(f"{'place':24} accuracy  control  selectivity")
    for found in probes:
        print(f"{found.place:24} {found.accuracy:8.3f} {found.control:8.3f} {found.selectivity:12.3f}")
    print(f"the most frequent label: {probes[0].majority:.3f}, of {probes[0].tested:,} words")
    if picture is not None:
        plot_probes(probes, picture)


def _label(given: str) -> Sequence[str]:
    """Returns the name of a label, or the lines of a file of tags."""
    from typing import get_args

    from transduce.analysis.probes import Label
    from transduce.corpora.lines import read_lines

    return given if given in get_args(Label) else list(read_lines(given))


def _is_folder(text: str) -> bool:
    try:
        return bool(text) and Path(text).is_dir()
    except OSError:  # a sentence may be too long for a name
        return False


def _write(pictures: "Pictures", output: Path, quiet: bool) -> None:
    lacking = pictures.save(output)
    kind = {".html": "a page", ".json": "numbers"}.get(output.suffix.lower(), "a figure")
    teller(quiet)(f"wrote {output}, {kind}")
    if lacking:
        teller()(f"{output}: {lacking}")


def _open(pictures: "Pictures", quiet: bool) -> None:
    """Opens a page in the browser."""
    import tempfile
    import webbrowser

    with tempfile.NamedTemporaryFile(
        "w", prefix="transduce-look-", suffix=".html", delete=False, encoding="utf-8"
    ) as page:
        page.write(pictures.html())
    opened = webbrowser.open(Path(page.name).as_uri())
    teller(quiet and opened)(f"the page is {page.name}" + ("" if opened else "; open it in a browser"))


def _check_output(output: Path) -> None:
    from transduce.analysis.pictures import check_ending

    check_ending(output)
    check_absent(output, "choose another name")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.absolute().parent}")
