"""Exports a model to CTranslate2; the folder is kept only if it translates as the model does."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from transduce.apps.exchange.ctranslate2.ctranslate2_engine import CTranslate2Engine
from transduce.apps.exchange.ctranslate2.ctranslate2_model import adds_source_end, require_ctranslate2, vocabulary_of
from transduce.apps.exchange.ctranslate2.ctranslate2_specification import make_specification, what_cannot_run
from transduce.base.errors import CheckpointError, InputError
from transduce.base.files import check_absent, new_folder
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import ModelBundle, find_bundle, save_tokenizers
from transduce.bundle.probe import read_probe
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.engine import Engine
from transduce.inference.engines.exported import Export, Parity, Quantization
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.quality.quality_model import keep_quality
from transduce.models.transformer import Transformer, TransformerConfig
from transduce.search.beam import Beam

POSITIONS = 4096
"""The fewest rows of position tables, which CTranslate2 needs; four times the longest source if that is more."""

TOLERANCE = 1e-3  # nats an output, as for a bundle's probe
SAMPLES = 32
GREEDY = Beam(size=1, length_penalty=1, max_ratio=1, max_extra=20)  # the penalty changes the scores alone


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
    export = export_bundle(bundle, folder, quantization, samples_of(bundle, model, texts))
    keep_quality(bundle.folder, folder)
    return export


def load_exportable(model: Path, to: str = "CTranslate2") -> ModelBundle:
    """Loads the bundle of a model or a run; InputError if CTranslate2 does not support it (all reasons are listed)."""
    bundle = ModelBundle.load(model)
    check_tool(model, bundle.config.task, "translator")
    if problems := what_cannot_be_exported(bundle):
        raise InputError(f"{model} cannot be exported to {to}: {'; '.join(problems)}")
    return bundle


def export_bundle(
    bundle: ModelBundle, folder: Path, quantization: Quantization, samples: Sequence[list[int]]
) -> Export:
    """Writes the folder of an exported model, and compares both models' translations of samples.

    Args:
        bundle: an exportable bundle.
        folder: the folder to write, in place of an older one.
        quantization: the type in which weights are stored.
        samples: token ids of sentences.

    Raises CheckpointError, and writes nothing, if an export in float32 translates differently.
    """
    with new_folder(folder) as new:
        bundle.describe(new)
        save_tokenizers(bundle.tokenizers, bundle.config.tokenizer, new)
        longest, parity = write_ctranslate2(bundle, quantization, samples, new, folder)
        return Export.write(new, "ctranslate2", require_ctranslate2().__version__, quantization, longest, parity)


def write_ctranslate2(
    bundle: ModelBundle, quantization: Quantization, samples: Sequence[list[int]], folder: Path, shown: Path
) -> tuple[int | None, Parity]:
    """Writes CTranslate2's files into a folder, and compares both models' translations of samples.

    Args:
        bundle: an exportable bundle.
        quantization: the type in which weights are stored.
        samples: token ids of sentences.
        folder: the folder to write to.
        shown: the path that errors name.

    Returns the most tokens of a source or an output (None for no limit), and the comparison. Raises CheckpointError if
    an export in float32 translates differently.
    """
    longest = _longest(bundle)
    _write(require_ctranslate2().specs, bundle, longest, quantization, folder)
    engine = CTranslate2Engine(folder, bundle.tokenizers, longest, torch.device("cpu"))
    parity = _compare(bundle, PyTorchEngine(bundle), engine, samples)
    differs = parity.identical < parity.sentences or parity.largest_difference > TOLERANCE
    if quantization == "float32" and differs:
        raise CheckpointError(
            f"{shown} is not written: of {parity.sentences} sample sentences CTranslate2 translated "
            f"{parity.identical} as the model does, with log-probabilities up to {parity.largest_difference:.2g} nats "
            f"apart; expected all to be equal, within {TOLERANCE} nats"
        )
    return longest, parity


def samples_of(bundle: ModelBundle, model: Path, texts: Sequence[str] | None) -> list[list[int]]:
    """Returns token ids to compare on: those of texts, or the bundle's own probes and random tokens."""
    if texts is None:
        return _samples(bundle, read_probe(find_bundle(model)).source)
    encoded = bundle.for_probe.read([text.strip() for text in texts if text.strip()])
    samples = [ids[: bundle.config.longest_source] for ids in encoded if ids]
    if not samples:
        raise InputError("there is no sentence to compare on: the text is blank")
    return samples


def what_cannot_be_exported(bundle: ModelBundle) -> list[str]:
    """Lists the properties of a model that CTranslate2 does not support; none for an ordinary Transformer."""
    problems = []
    kind = bundle.config.model.__struct_config__.tag
    if not isinstance(bundle.config.model, TransformerConfig):
        problems.append(f'model.kind = "{kind}": CTranslate2 export supports encoder-decoder Transformers only')
    else:
        problems += what_cannot_run(bundle.config.model)
    for side, tokenizer in (("source", bundle.tokenizers.source), ("target", bundle.tokenizers.target)):
        pieces = vocabulary_of(tokenizer)
        if unnamed := pieces.count(""):
            problems.append(f"the {side} tokenizer leaves {unnamed:,} of its {len(pieces):,} ids without a token")
    return problems


def _longest(bundle: ModelBundle) -> int | None:
    config = bundle.config.model_as(TransformerConfig)
    if config.positions == "rotary":
        return None
    return config.max_positions if config.positions == "learned" else max(POSITIONS, 4 * bundle.config.longest_source)


def _write(specs: Any, bundle: ModelBundle, longest: int | None, quantization: Quantization, folder: Path) -> None:
    config = bundle.config.model_as(TransformerConfig)
    assert isinstance(bundle.model, Transformer)
    specification = make_specification(specs, config, bundle.model, longest)
    target = bundle.tokenizers.target
    if config.decoder_start == "zeros":
        specification.decoder.embeddings.weight[target.bos] = 0  # which is read first, and never again
    specification.register_source_vocabulary(vocabulary_of(bundle.tokenizers.source))
    specification.register_target_vocabulary(vocabulary_of(target))
    names = specification.config
    names.unk_token, names.bos_token, names.eos_token = target.pieces([target.unknown, target.bos, target.eos])
    names.decoder_start_token = _first_read(bundle, config)
    names.add_source_eos = adds_source_end(bundle.tokenizers)
    names.layer_norm_epsilon = bundle.model.decoder.layers[0].around_feed_forward.norm.eps
    specification.validate()
    specification.optimize(quantization=quantization)
    specification.save(str(folder))


def _first_read(bundle: ModelBundle, config: TransformerConfig) -> str | None:
    """Returns the decoder's first token; None if it is the token of a language, which each request names."""
    target, languages = bundle.tokenizers.target, bundle.config.languages
    if config.first_token is not None:
        return target.pieces([config.first_token])[0]
    return None if languages is not None and languages.place == "decoder" else target.pieces([target.bos])[0]


def _samples(bundle: ModelBundle, probes: Sequence[list[int]]) -> list[list[int]]:
    """Returns a bundle's own sentences, and random tokens of all lengths up to the longest source."""
    generator = torch.Generator().manual_seed(1)
    tokenizer = bundle.tokenizers.source
    specials = {tokenizer.pad, tokenizer.bos, tokenizer.eos, *tokenizer.marks.values()}
    ordinary = torch.tensor([token for token in range(len(tokenizer)) if token not in specials])
    lengths = torch.linspace(1, bundle.config.longest_source, SAMPLES - len(probes)).long().tolist()
    drawn = [ordinary[torch.randint(len(ordinary), (length,), generator=generator)].tolist() for length in lengths]
    return [*probes, *drawn]


def _compare(bundle: ModelBundle, ours: Engine, theirs: Engine, samples: Sequence[list[int]]) -> Parity:
    """Compares both engines' greedy outputs."""
    begin = bundle.for_probe.marks.begin
    pieces = [Piece(source, prefix=[], required=[], banned=[], begin=begin) for source in samples]
    constraints = Constraints(bundle.tokenizers.target)
    best = [[hypotheses[0] for hypotheses in engine.search(pieces, constraints, GREEDY)] for engine in (ours, theirs)]
    outputs = zip(*best, strict=True)
    differences = [abs(a.log_probability - b.log_probability) for a, b in outputs if a.tokens == b.tokens]
    return Parity(sentences=len(samples), identical=len(differences), largest_difference=max(differences, default=0.0))
