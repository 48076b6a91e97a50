"""The verbs that exchange models with other engines and libraries: export, push and import."""

from pathlib import Path
from typing import Annotated, Any, Literal

import click

from transduce.apps.cli.fields import Help, flag
from transduce.apps.cli.machine_options import set_threads
from transduce.apps.cli.options import Json, Model, Threads, is_given
from transduce.apps.cli.printing import print_json, teller
from transduce.base.errors import InputError

Quantization = Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]
TITLES = {
    "ctranslate2": "CTranslate2",
    "argos": "Argos Translate",
    "firefox": "Firefox",
    "page": "a page",
    "huggingface": "Hugging Face",
}
TARGETS_OF = {
    "quantization": ("ctranslate2", "argos"),
    "sentences": ("ctranslate2", "argos", "firefox", "page"),
    "splitter": ("argos",),
    "engine": ("page",),
    "license": ("huggingface",),
}
"""The targets of an export that each option is for."""
WRITTEN = {"argos": "package", "page": "page"}
"""Names of what an export writes, where it is not a model's folder."""


def export(
    context: click.Context,
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
    from transduce.corpora.lines import read_lines

    for name, targets in TARGETS_OF.items():
        if is_given(context, name) and to not in targets:
            those = " and ".join(TITLES[target] for target in targets)
            raise InputError(f"{flag(name)} is for {those}; leave it out, or change --to")
    set_threads(threads)
    texts = None if sentences is None else list(read_lines(sentences))
    exported: Any
    if to == "huggingface":
        from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface

        exported = export_huggingface(Path(model), output, license)
        report = f"read again: weights, token ids and logits are equal bit for bit\n{exported.describe()}"
    elif to == "firefox":
        from transduce.apps.exchange.firefox.export_firefox import export_firefox

        exported = export_firefox(Path(model), output, _measured(model, texts))
        report = exported.describe()
    elif to == "page":
        from transduce.apps.exchange.page.export_page import export_page
        from transduce.corpora.catalogue.download import announce

        exported = export_page(Path(model), output, _measured(model, texts), engine, announce(teller()))
        report = exported.describe()
    elif to == "argos":
        from transduce.apps.exchange.argos import export_argos

        exported = export_argos(Path(model), output, quantization, texts, splitter)
        report = exported.describe()
    else:
        from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2

        exported = export_ctranslate2(Path(model), output, quantization, texts)
        report = (
            f"{exported.parity.identical} of {exported.parity.sentences} greedy outputs are the same as the model's, "
            f"log-probabilities at most {exported.parity.largest_difference:.2g} nats apart"
        )
    if json:
        print_json({"model": str(output), "export": exported})
        return
    print(report)
    print(f"the {WRITTEN.get(to, 'model')} is in {output}")


def _measured(model: str, texts: list[str] | None) -> list[str]:
    """Returns the text by which an export to Firefox is measured (default: the sources of the run's validation data);
    none for a folder that is in that form already.

    Raises InputError for a model in no run's folder, or one that does not translate."""
    from transduce.base.task_table import check_tool
    from transduce.bundle.bundle_config import read_config
    from transduce.bundle.model_bundle import find_bundle
    from transduce.corpora.splits import open_splits
    from transduce.experiment.recipe import recipe_known_of
    from transduce.inference.engines.engine_table import is_firefox

    path = Path(model)
    if texts is not None or is_firefox(path):
        return texts or []
    check_tool(path, read_config(find_bundle(path)).task, "translator")
    recipe = recipe_known_of(path, "validation data", "give text to measure it by (sentences)")
    return [pair.source for pair in open_splits(recipe.config.data, recipe.folder).validation]


def push(folder: Path, name: str, *, yes: bool = False, private: bool = False, json: Json = False) -> None:
    """Show which files would be uploaded to the Hugging Face hub, and upload them with --yes.

    Example: `transduce push captions-hf ada/captions`

    Args:
        folder: The folder of a model or an export.
        name: Where to: OWNER/NAME.
        yes: Upload; without it, only show what would be uploaded.
        private: Make a new repository private.
    """
    from transduce.apps.exchange.huggingface import pushing
    from transduce.base.verification import CARD

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
        Help("Whether a passage may hold no answer, as in SQuAD 2", flags=("--no-answer/--always-answer",)),
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
    from transduce.apps.exchange.argos import import_argos
    from transduce.apps.exchange.ctranslate2.package import is_package
    from transduce.apps.exchange.firefox.import_firefox import import_firefox
    from transduce.apps.exchange.huggingface.hub import is_on_hub
    from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
    from transduce.corpora.lines import read_lines
    from transduce.inference.engines.engine_table import is_firefox

    set_threads(threads)
    imported: Any
    if revision is not None and not is_on_hub(folder):
        raise InputError("--revision is for models on the hub; leave it out")
    if is_package(folder):
        if no_answer is not None or sentences is not None:
            raise InputError("--no-answer and --sentences are for other models than Argos Translate's; leave them out")
        imported = import_argos(folder, output)
    elif is_firefox(folder):
        if no_answer is not None:
            raise InputError("--no-answer is for models that answer questions; leave it out")
        imported = import_firefox(folder, output, None if sentences is None else list(read_lines(sentences)))
    else:
        if sentences is not None and folder.exists():
            raise InputError("--sentences is for models of Firefox; leave it out")
        imported = import_huggingface(folder, output, no_answer, revision=revision, tell=teller())
    if json:
        print_json({"model": str(output), "import": imported})
        return
    print(imported.describe())
    print(f"the model is in {output}")
