"""The verbs that exchange models with other engines and libraries: export, push and import."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from transduce.cli.machine import set_threads
from transduce.cli.messages import print_json, teller
from transduce.cli.options import Json, Model, Threads, given_options
from transduce.errors import InputError

Quantization = Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]
WRITTEN = {"argos": "package", "page": "page"}
"""Names of what an export writes, where it is not a model's folder."""


def export(
    context: typer.Context,
    model: Model,
    *,
    output: Path,
    to: Literal["ctranslate2", "argos", "firefox", "page", "huggingface"] = "ctranslate2",
    quantization: Quantization = "float32",
    sentences: str | None = None,
    splitter: Path | None = None,
    engine: Path | None = None,
    license: str | None = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Export a model to another engine or library, and compare what both make of samples.

    Example: `transduce export runs/multi30k --to ctranslate2 -o multi30k-fast`

    Args:
        output: The folder to write, for Argos Translate the package (.argosmodel), for a page its file (.html).
        to: Target engine or library.
        quantization: CTranslate2 and Argos Translate: how weights are stored: int8 is a quarter as large; how fast it
            is depends on the processor.
        sentences: CTranslate2, Argos Translate and Firefox: text to compare both models on, one sentence per line, for
            Firefox also to measure activations by; default: the model's own samples, for Firefox the run's validation
            data.
        engine: Page: npm package of its engine, a file .tgz (default: fetched once, by npm where it is installed).
        splitter: Argos Translate: sentence splitter to pack, of MiniSBD (.onnx) or Stanza (a folder).
        license: Hugging Face: licence named by the model's card, such as apache-2.0 (default: the run's).
    """
    from transduce.config import Settings

    set_threads(threads)
    exported: Settings
    if license is not None and to != "huggingface":
        raise InputError("--license is for Hugging Face; leave it out, or export to that")
    if splitter is not None and to != "argos":
        raise InputError("--splitter is for Argos Translate; leave it out, or export to that")
    if engine is not None and to != "page":
        raise InputError("--engine is for a page; leave it out, or export to that")
    if to == "huggingface":
        if refused := given_options(context, ("to", "output", "license", "threads", "json")):
            raise InputError(
                f"{', '.join(refused)}: for CTranslate2 and Argos Translate; leave out, or export to these"
            )
        from transduce.exchange.huggingface.exporting import export_huggingface

        exported = certificate = export_huggingface(Path(model), output, license)
        report = f"read again: weights, token ids and logits are equal bit for bit\n{certificate.describe()}"
    elif to in ("firefox", "page"):
        if "--quantization" in given_options(context, ()):
            raise InputError("--quantization: models of Firefox are of 8 bits; leave it out")
        from transduce.exchange.firefox.exporting import export_firefox

        if to == "page":
            from transduce.corpora.catalogue.download import announce
            from transduce.exchange.page.writing import export_page

            exported = page = export_page(Path(model), output, _measured(model, sentences), engine, announce(teller()))
            report = page.describe()
        else:
            exported = student = export_firefox(Path(model), output, _measured(model, sentences))
            report = student.describe()
    else:
        from transduce.corpora.formats import read_lines

        texts = None if sentences is None else list(read_lines(sentences))
        if to == "argos":
            from transduce.exchange.argos import export_argos

            exported = package = export_argos(Path(model), output, quantization, texts, splitter)
            report = package.describe()
        else:
            from transduce.exchange.ctranslate2 import export_ctranslate2

            exported = folder = export_ctranslate2(Path(model), output, quantization, texts)
            report = (
                f"{folder.parity.identical} of {folder.parity.sentences} greedy outputs are the same as the model's, "
                f"log-probabilities at most {folder.parity.largest_difference:.2g} nats apart"
            )
    if json:
        print_json({"model": str(output), "export": exported})
        return
    print(report)
    print(f"the {WRITTEN.get(to, 'model')} is in {output}")


def _measured(model: str, sentences: str | None) -> list[str]:
    """Returns the text by which an export to Firefox is measured; none for a folder that is in that form already."""
    from transduce.corpora.formats import read_lines
    from transduce.exchange.firefox.importing import is_firefox
    from transduce.experiment.validation_text import validation_sources

    if sentences is not None:
        return list(read_lines(sentences))
    return [] if is_firefox(Path(model)) else validation_sources(Path(model))


def push(folder: Path, name: str, *, yes: bool = False, private: bool = False, json: Json = False) -> None:
    """Show which files would be uploaded to the Hugging Face hub, and upload them with --yes.

    Example: `transduce push captions-hf ada/captions`

    Args:
        folder: The folder of a model or an export.
        name: Where to: OWNER/NAME.
        yes: Upload; without it, only show what would be uploaded.
        private: Make a new repository private.
    """
    from transduce.exchange.huggingface import pushing
    from transduce.verification import CARD

    upload = pushing.plan_upload(folder, name)
    if not json:
        width = max(len(f"{size:,}") for size in upload.files.values())
        for file, size in upload.files.items():
            print(f"{size:{width},}  {file}")
        print(f"{sum(upload.files.values()):,} bytes in {len(upload.files)} files, for {name}")
        if not upload.names_license:
            print(f"no licence is named in {CARD}; `transduce export --license` names one")
    address = pushing.push(upload, private) if yes else None
    if json:
        print_json({"name": name, "files": upload.files, "uploaded": address})
    elif address is None:
        print("nothing is uploaded; --yes uploads it")
    else:
        print(f"uploaded to {address}")


def import_(
    folder: Path,
    *,
    output: Path,
    revision: str | None = None,
    no_answer: Annotated[
        bool | None,
        typer.Option("--no-answer/--always-answer", help="Whether a passage may hold no answer, as in SQuAD 2."),
    ] = None,
    sentences: str | None = None,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Import GPT-2, BERT, XLNet, MarianMT, M2M100 or NLLB of Hugging Face transformers, by name or from a folder, or a
    model of Firefox Translations or Argos Translate, and compare both.

    Example: `transduce import Helsinki-NLP/opus-mt-de-en -o models/de-en`

    Args:
        folder: OWNER/NAME of a model on the hub, a folder of Hugging Face transformers, one with the files of a model
            of Firefox, or a file .argosmodel.
        output: The model's folder to write.
        revision: Hub: branch, tag or commit (default: the main branch as it is now).
        sentences: Firefox: text to compare both models on, one sentence per line; default: random tokens.
    """
    from transduce.config import Settings
    from transduce.exchange.argos import import_argos
    from transduce.exchange.firefox.importing import import_firefox, is_firefox
    from transduce.exchange.huggingface.hub import is_on_hub
    from transduce.exchange.huggingface.importing import import_huggingface
    from transduce.inference.engines.ctranslate2.package import is_package

    set_threads(threads)
    certificate: Settings
    if revision is not None and not is_on_hub(folder):
        raise InputError("--revision is for models on the hub; leave it out")
    if is_package(folder):
        if no_answer is not None or sentences is not None:
            raise InputError("--no-answer and --sentences are for other models than Argos Translate's; leave them out")
        package = import_argos(folder, output)
        certificate, report = package, package.describe()
    elif is_firefox(folder):
        from transduce.corpora.formats import read_lines

        if no_answer is not None:
            raise InputError("--no-answer is for models that answer questions; leave it out")
        student = import_firefox(folder, output, None if sentences is None else list(read_lines(sentences)))
        certificate, report = student, student.describe()
    else:
        if sentences is not None and Path(folder).exists():
            raise InputError("--sentences is for models of Firefox; leave it out")
        theirs = import_huggingface(folder, output, no_answer, revision=revision, tell=teller())
        certificate, report = theirs, theirs.describe()
    if json:
        print_json({"model": str(output), "import": certificate})
        return
    print(report)
    print(f"the model is in {output}")
