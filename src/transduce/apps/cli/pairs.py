"""The verbs that read pairs of texts: score, align and shortlist."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from transduce.apps.cli.fields import From, options_from
from transduce.apps.cli.machine_options import MachineOptions, Processor
from transduce.apps.cli.options import Json, LanguageOptions, Model, Quiet
from transduce.apps.cli.printing import as_json, print_json, teller
from transduce.apps.cli.shard_options import Ray
from transduce.base.errors import InputError

if TYPE_CHECKING:
    from transduce.corpora.corpus import Pair
    from transduce.experiment.learn_shortlist import ShortlistSettings

SETTINGS = From("experiment.learn_shortlist.ShortlistSettings", "per_token frequent iterations")


def score(
    model: Model,
    *,
    machine: MachineOptions,
    source: str | None = None,
    target: str | None = None,
    pairs: str | None = None,
    languages: LanguageOptions,
    output: str = "-",
    json: Json = False,
    ray: Ray = None,
    quiet: Quiet = False,
) -> None:
    """Score given pairs, or lines of text with a language model: log-probability in nats, per token, and perplexity.

    The end token is included. With --json: one object with the scores of all pairs and tokens, and the totals.

    Example: `transduce score runs/multi30k --source input.de --target output.en`

    Args:
        source: Text that was translated, one sentence a line.
        target: Its translations, line by line; for a language model, the text to score.
        pairs: Both in one .tsv, .csv or .jsonl file instead.
        output: Where to write; - is standard output. Where patterns name several files, a folder.
        ray: Score each file on a cluster of Ray: its address, auto (default), or local to start one.
    """
    from transduce.apps.cli.output import text_output
    from transduce.base.task_table import TASKS, check_writes
    from transduce.bundle.bundle_config import read_config
    from transduce.bundle.model_bundle import find_bundle
    from transduce.corpora.lines import read_lines
    from transduce.corpora.shards import open_corpus
    from transduce.inference.scorer import Scorer, perplexity

    task = read_config(find_bundle(Path(model))).task
    check_writes(model, task)
    is_text = TASKS[task].tool == "generator"
    if is_text:
        if target is None or source is not None or pairs is not None:
            raise InputError("a language model scores lines of text: give them by --target alone")
        corpus: Iterable[Pair] = (("", line) for line in read_lines(target))
    else:
        files = _given_files(source, target, pairs, "give either --source and --target, or --pairs")
    bundle = machine.open(model)
    if not is_text:
        bundle = bundle.directed(bundle.config.find_direction(languages.to, languages.from_))
        corpus = open_corpus(files, None, (bundle.config.source, bundle.config.target))
    elif languages != LanguageOptions():
        raise InputError("--to and --from are for models that translate; leave them out")
    scorer = Scorer(bundle)
    count, tokens, nats = 0, 0, 0.0
    with text_output(output) as stream:
        stream.write('{"pairs": [\n' if json else "")
        for result in scorer.stream(corpus):
            if json:
                stream.write(("" if count == 0 else ",\n") + as_json(result))
            else:
                stream.write(f"{result.log_probability:.4f}\t{result.per_token:.4f}\t{result.perplexity:.4f}\n")
            count, tokens = count + 1, tokens + len(result.tokens)
            nats += result.log_probability
        per_token = nats / max(tokens, 1)
        if json:
            total = {
                "pairs": count,
                "tokens": tokens,
                "log_probability": nats,
                "per_token": per_token,
                "perplexity": perplexity(per_token),
            }
            stream.write(f'\n], "total": {as_json(total)}}}\n')
    scored = f"{count:,} lines, {tokens:,} tokens" if is_text else f"{count:,} pairs, {tokens:,} target tokens"
    teller(quiet)(f"{scored}: {nats:.2f} nats, {per_token:.4f} a token, perplexity {perplexity(per_token):.3f}")


def align(
    model: Model,
    source: str | None = None,
    target: str | None = None,
    *,
    processor: Processor,
    pairs: str | None = None,
    reverse: str | None = None,
    symmetrize: str = "grow-diag",
    languages: LanguageOptions,
    output: str = "-",
    quiet: Quiet = False,
) -> None:
    """Align the words of translations with those of their sources, in Pharaoh format: 0-0 1-2 ..., counted from 0.

    Words are what white space separates. One attention head aligns: it is chosen on the validation data of the model's
    run, or else on the pairs themselves, and kept with the model.

    Example: `transduce align runs/multi30k input.de output.en -o aligned.txt`

    Args:
        source: Text, one sentence per line.
        target: Its translations, line by line.
        pairs: Both in one .tsv, .csv or .jsonl file instead.
        reverse: A model of the other direction, whose alignments are combined with the first's.
        symmetrize: How two alignments become one: intersection, union or grow-diag.
        output: Where to write; - is standard output.
    """
    from transduce.apps.cli.output import text_output
    from transduce.bundle.bundle_config import read_config
    from transduce.bundle.model_bundle import find_bundle
    from transduce.corpora.shards import open_corpus
    from transduce.experiment.alignment_head import check_symmetrization, open_aligner

    files = _given_files(source, target, pairs, "give either a source and a target file, or --pairs")
    method = check_symmetrization(symmetrize)
    config = read_config(find_bundle(Path(model)))
    corpus = open_corpus(files, None, (config.source, config.target))

    aligner = open_aligner(
        model, reverse, method, corpus, processor.device, teller(quiet), languages.to, languages.from_
    )
    with text_output(output) as stream:
        for line in aligner.stream(corpus):
            stream.write(line + "\n")


def shortlist(
    model: Model,
    *,
    settings: Annotated["ShortlistSettings", options_from(SETTINGS)],
    source: str | None = None,
    target: str | None = None,
    pairs: str | None = None,
    out: Path | None = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a vocabulary shortlist: the likely target tokens of each source token.

    It is learned from the training data of the model's run, unless other text is given.

    Example: `transduce shortlist runs/multi30k`, then `transduce translate runs/multi30k input.de --shortlist`

    Args:
        source: Text to learn from, one sentence a line.
        target: Its translations, line by line.
        pairs: Both in one .tsv, .csv or .jsonl file instead.
        out: The file to write; shortlist.safetensors in the model's folder by default.
    """
    from transduce.corpora.formats import parallel_files
    from transduce.experiment.learn_shortlist import learn_shortlist

    corpus = None
    if (source, target, pairs) != (None, None, None):
        ask = "give --source and --target, or --pairs, or none of them for the training data of the run"
        corpus = parallel_files(_given_files(source, target, pairs, ask))
    learned = learn_shortlist(Path(model), corpus, out, settings, teller(quiet))
    print_json(learned.to_dict()) if json else print(learned.describe())


def _given_files(source: str | None, target: str | None, pairs: str | None, ask: str) -> list[str]:
    """Returns the files of pairs that a command names: two aligned ones, or one; InputError that asks for them."""
    if (pairs is None) == (source is None) or (source is None) != (target is None):
        raise InputError(ask)
    return [pairs] if pairs is not None else [str(source), str(target)]
