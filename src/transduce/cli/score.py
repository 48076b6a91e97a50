"""`transduce score`: how probable a model finds given translations."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transduce.cli.machine import Machine
from transduce.cli.options import OUTPUT, From, Json, Model, Quiet, To
from transduce.errors import InputError

if TYPE_CHECKING:
    from transduce.corpora.corpus import Pair


def score(
    model: Model,
    machine: Machine,
    source: Annotated[str | None, typer.Option(help="Text that was translated, one sentence a line.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Its translations, line by line; for a language model, the text to score.")
    ] = None,
    pairs: Annotated[str | None, typer.Option(help="Both in one .tsv, .csv or .jsonl file instead.")] = None,
    to: To = None,
    from_: From = None,
    output: Annotated[str, typer.Option(*OUTPUT, help="Where to write; - is standard output.")] = "-",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score given pairs, or lines of text with a language model: log-probability in nats, per token, and perplexity.

    The end token is included. With --json: one object with the scores of all pairs and tokens, and the totals.

    Example: `transduce score runs/multi30k --source input.de --target output.en`
    """
    import msgspec

    from transduce.bundle import find_bundle
    from transduce.bundle_config import read_config
    from transduce.cli.output import text_output
    from transduce.corpora.formats import parallel_files, read_lines
    from transduce.inference.scorer import Scorer, perplexity
    from transduce.task_table import check_writes

    corpus: Iterable[Pair]
    task = read_config(find_bundle(Path(model))).task
    check_writes(model, task)
    is_text = task == "language"
    if is_text:
        if target is None or source is not None or pairs is not None:
            raise InputError("a language model scores lines of text: give them by --target alone")
        corpus = (("", line) for line in read_lines(target))
    else:
        if (pairs is None) == (source is None) or (source is None) != (target is None):
            raise InputError("give either --source and --target, or --pairs")
        corpus = parallel_files([pairs] if pairs is not None else [str(source), str(target)])
    bundle = machine.open(model)
    if not is_text:
        bundle = bundle.directed(bundle.config.find_direction(to, from_))
    elif to is not None or from_ is not None:
        raise InputError("--to and --from are for models that translate; leave them out")
    scorer = Scorer(bundle)
    count, tokens, nats = 0, 0, 0.0
    with text_output(output) as stream:
        stream.write('{"pairs": [\n' if json else "")
        for found in scorer.stream(corpus):
            if json:
                stream.write(("" if count == 0 else ",\n") + msgspec.json.encode(found).decode())
            else:
                stream.write(f"{found.log_probability:.4f}\t{found.per_token:.4f}\t{found.perplexity:.4f}\n")
            count, tokens = count + 1, tokens + len(found.tokens)
            nats += found.log_probability
        per_token = nats / max(tokens, 1)
        if json:
            total = {
                "pairs": count,
                "tokens": tokens,
                "log_probability": nats,
                "per_token": per_token,
                "perplexity": perplexity(per_token),
            }
            stream.write(f'\n], "total": {msgspec.json.encode(total).decode()}}}\n')
    if not quiet:
        scored = f"{count:,} lines, {tokens:,} tokens" if is_text else f"{count:,} pairs, {tokens:,} target tokens"
        print(
            f"transduce: {scored}: {nats:.2f} nats, {per_token:.4f} a token, perplexity {perplexity(per_token):.3f}",
            file=sys.stderr,
        )
