"""Exports a model to CTranslate2; the folder is kept only if it translates as the model does."""

from collections.abc import Sequence
from pathlib import Path

from transduce.apps.exchange.ctranslate2.model import require_ctranslate2
from transduce.apps.exchange.ctranslate2.writing import export_bundle, samples_of, what_cannot_be_exported
from transduce.base.errors import InputError
from transduce.base.files import check_absent
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.engines.exported import Export, Quantization


def export_ctranslate2(
    model: Path, folder: Path, quantization: Quantization = "float32", texts: Sequence[str] | None = None
) -> Export:
    """Writes the folder, and compares both models' translations of sample sentences.

    Args:
        model: the folder of a model or a run.
        folder: the folder to write; must not exist.
        quantization: the type in which weights are stored.
        texts: sentences to compare on (default: the model's own probes and random tokens).

    Raises:
        InputError: if CTranslate2 is not installed or does not support the model (all reasons are listed), or if the
            folder exists.
        CheckpointError: if the model is damaged, or if an export in float32 translates differently.
    """
    require_ctranslate2()
    check_absent(folder)
    bundle = load_exportable(model)
    return export_bundle(bundle, folder, quantization, samples_of(bundle, model, texts))


def load_exportable(model: Path, to: str = "CTranslate2") -> ModelBundle:
    """Loads the bundle of a model or a run; InputError if CTranslate2 does not support it (all reasons are listed)."""
    bundle = ModelBundle.load(model)
    check_tool(model, bundle.config.task, "translator")
    if problems := what_cannot_be_exported(bundle):
        raise InputError(f"{model} cannot be exported to {to}: {'; '.join(problems)}")
    return bundle
