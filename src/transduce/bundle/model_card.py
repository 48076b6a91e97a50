"""Model cards in Markdown: a model's description, training, sample outputs and weaknesses."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from docsegments.language_codes import english_name
from transduce.base.task_table import TASKS
from transduce.base.version import VERSION
from transduce.bundle.bundle_config import BundleConfig

SAMPLES = 3
LONGEST = 160  # characters shown of a text
PARTS = "parts"
"""Key in a bundle's history of the scores of parts of its test set; see `Part`."""
LICENSE, NOT_STATED = "license", "not stated"
IDENTIFIER = re.compile(r"[a-z0-9][a-z0-9.+-]*")
"""Pattern of licences, as the Hugging Face hub spells them."""
NOT_TOLD = ("n_best", "max_ratio", "max_extra", "min_ratio", "allow_unknown", "repetition_penalty", "normalization")
"""Settings of a search that cards leave out."""
WORDS = {"bleu": "BLEU", "chrf": "chrF", "ter": "TER", "f1": "F1", "size": "beam of"}


def model_card(
    config: BundleConfig, sizes: tuple[int, int], parameters: int, history: Mapping[str, Any], use: str
) -> str:
    """Returns the model card, for people, as Markdown.

    Args:
        config: the settings of its bundle.
        sizes: the number of its source and target tokens.
        parameters: the number of its parameters.
        history: the facts on its training; unknown ones are left out, except the licence.
        use: indented code that uses it.
    """
    family, tokenizer = config.model.__struct_config__.tag, config.tokenizer
    kinds = " and ".join(dict.fromkeys((tokenizer.of_source.kind, tokenizer.of_target.kind)))
    tokens = f"{sizes[1]:,} tokens" if tokenizer.is_shared else f"{sizes[0]:,} source and {sizes[1]:,} target tokens"
    facts = "\n".join(f"| {name} | {_cell(value)} |" for name, value in _facts(history))
    sections = [
        f"# {title(config)}",
        f"{TASKS[config.task].title.capitalize()} made with Transduce {VERSION}: {family}, "
        f"{parameters:,} parameters, {tokens} ({kinds}).",
        use,
        f"| | |\n| --- | --- |\n{facts}",
        *_samples(history.get("samples")),
        "## What it is bad at",
        *_weaknesses(history.get(PARTS)),
        "It works best on text similar to what it learned from, and may be wrong without a sign of it. Have important "
        "outputs checked by a person.",
    ]
    return "\n\n".join(sections) + "\n"


def title(config: BundleConfig) -> str:
    """Returns the languages of a model, by their names."""
    if config.languages is None:
        return " to ".join(dict.fromkeys(english_name(code) for code in (config.source, config.target)))
    if config.languages.directions is None:
        return f"{len(config.languages.tokens)} languages"
    return ", ".join(config.languages.directions)


def _facts(history: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields the table's lines of known facts."""
    learned = ": ".join(filter(None, (_plain(history.get("data")), _plain(history.get("trained_on")))))
    if learned:
        yield "learned from", learned
    if imported := history.get("imported"):
        yield "imported from", _plain(imported)
    if languages := history.get("new_languages"):
        yield "new languages", ", ".join(languages)
    if added := history.get("new_words"):
        yield "new words", " and ".join(f"{count:,}" for count in dict.fromkeys(added))
    if of := history.get("average_of"):
        yield "average of", f"the checkpoints {_plain(of)}"
    if steps := _training(history):
        yield "training", steps
    for name, heading in (("machine", "machine"), ("finished", "date"), ("seed", "seed")):
        if history.get(name) is not None:
            yield heading, _plain(history[name])
    for name, heading in (("before", "validation before"), ("validation", "validation"), ("test", "test")):
        if history.get(name):
            yield heading, _plain(history[name])
    yield "licence", _plain(history.get(LICENSE)) or NOT_STATED


def _training(history: Mapping[str, Any]) -> str:
    facts = [f"{history['updates']:,} updates"] if history.get("updates") else []
    if passes := history.get("epochs"):
        facts.append(f"{passes:,} whole pass{'es' if passes > 1 else ''} over the data")
    if seconds := history.get("seconds"):
        facts.append(f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{max(seconds / 60, 0.1):.1f} minutes")
    return ", ".join(facts)


def _samples(samples: object) -> Iterator[str]:
    """Yields a table of a few validation texts, with their references and the model's outputs."""
    if not isinstance(samples, Sequence) or not samples:
        return
    names = [name for name in ("source", "reference", "output") if any(sample.get(name) for sample in samples)]
    headings = {"source": "source", "reference": "reference", "output": "this model"}
    lines = [f"| {' | '.join(headings[name] for name in names)} |", f"|{' --- |' * len(names)}"]
    for sample in samples[:SAMPLES]:
        lines.append(f"| {' | '.join(_cell(_shortened(str(sample.get(name, '')))) for name in names)} |")
    yield "## Samples"
    yield "\n".join(lines)


def _weaknesses(parts: object) -> Iterator[str]:
    """Yields lines on long texts and rare words, from the test set."""
    if not isinstance(parts, Mapping):
        yield "Not measured."
        return
    lengths, words = parts.get("lengths", ()), parts.get("words", ())
    if len(lengths) > 1:
        items = (f"{_range(part)} words {part['bleu']:.1f} ({part['sentences']:,} sentences)" for part in lengths)
        yield f"BLEU by the length of the source: {', '.join(items)}."
    if words:
        items = (f"{_times(part)} {100 * part['recall']:.0f} % ({part['words']:,} words)" for part in words)
        yield f"Words of the references that it finds, by how often it had seen them in training: {', '.join(items)}."
    if len(lengths) < 2 and not words:
        yield "Not measured."


def _range(part: Mapping[str, Any]) -> str:
    most = part.get("at_most")
    return f"{part['at_least']} or more" if most is None else f"{part['at_least']} to {most}"


def _times(part: Mapping[str, Any]) -> str:
    return "never" if part.get("at_most") == 0 else f"{_range(part)} times"


def _plain(value: Any) -> str:
    """Returns a value in words: files without folders, numbers in four digits, settings without those that are off."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        described = (
            f"{WORDS.get(key, key.replace('_', ' '))} {_plain(item)}"
            for key, item in value.items()
            if key not in NOT_TOLD and item not in (0, None, False, "")
        )
        return ", ".join(described)
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value))
    return f"{value:.4g}" if isinstance(value, float) else re.sub(r"[^\s,|]++", _without_folder, str(value))


def _without_folder(match: re.Match[str]) -> str:
    """Returns the name of a file or folder, without its path on this machine; keeps web addresses."""
    return match[0] if ":/" in match[0] else match[0].rstrip("/").rpartition("/")[2]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
