"""`transduce generate`: go on with a text by a language model."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from transduce import ranges
from transduce.cli.options import OUTPUT, Device, InferencePrecision, Json, Quiet, Threads, ranged

if TYPE_CHECKING:
    from transduce.inference.generator import Generation


def generate(
    context: typer.Context,
    model: Annotated[str, typer.Argument(help="A language model's or a run's folder.", show_default=False)],
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads one prompt per line from standard input.")] = "",
    max_tokens: Annotated[int, ranged(ranges.PositiveInt, "Maximum number of generated tokens")] = 200,
    stop: Annotated[
        list[str] | None, typer.Option(help="Stop string, not included in the output; \\n is a line end; repeatable.")
    ] = None,
    output: Annotated[str, typer.Option(*OUTPUT, help="A new file; - is standard output.")] = "-",
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample at random instead of greedy or beam search.")
    ] = False,
    temperature: Annotated[
        float, ranged(ranges.Temperature, "Softmax temperature; below 1 favours likely tokens")
    ] = 1.0,
    top_k: Annotated[int, ranged(ranges.NonNegativeInt, "Sample from the k most likely tokens; 0 for all")] = 0,
    top_p: Annotated[
        float,
        ranged(ranges.PositiveShare, "Sample from the smallest set of tokens with this total probability (nucleus)"),
    ] = 1.0,
    min_p: Annotated[float, ranged(ranges.Share, "Least share of the likeliest token's probability")] = 0.0,
    seed: Annotated[int, ranged(ranges.Seed, "Random seed of sampling")] = 1,
    beam_size: Annotated[int, ranged(ranges.BeamSize, "Hypotheses followed at once; 1 is greedy search")] = 1,
    length_penalty: Annotated[float, ranged(ranges.LengthPenalty, "Exponent of length normalisation (0: off)")] = 0.6,
    groups: Annotated[int, ranged(ranges.BeamSize, "Groups of diverse beam search; 1 for plain beam search")] = 1,
    diversity: Annotated[
        float,
        ranged(ranges.NonNegativeFloat, "With --groups: penalty, in nats, for a token that an earlier group chose"),
    ] = 0.5,
    n_best: Annotated[int, ranged(ranges.NBest, "Print the N best texts, or N samples, for each prompt")] = 1,
    no_repeat_ngram: Annotated[int, ranged(ranges.NonNegativeInt, "Do not repeat n-grams of this size (0: off)")] = 0,
    repetition_penalty: Annotated[
        float, ranged(ranges.RepetitionPenalty, "Factor of the log-probability of tokens that were written (1: off)")
    ] = 1.0,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Let the model write `<unk>` where it has no word.")
    ] = False,
    with_: Annotated[
        list[str] | None, typer.Option("--with", help="One more model, whose probabilities are averaged; repeatable.")
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a prompt with a language model, streaming the text; or continue each line of standard input.

    Example: `transduce generate runs/shakespeare "To be" --sample --temperature 0.8`
    """
    from transduce.cli.model import set_threads
    from transduce.cli.output import text_output
    from transduce.cli.search_options import make_search
    from transduce.cli.streams import lines_of
    from transduce.inference.generator import Generator

    set_threads(threads)
    search = make_search(context)
    stops = [text.replace("\\n", "\n") for text in stop or ()]
    generator = Generator.load(model, *(with_ or ()), device=device, precision=precision)
    with text_output(output) as stream:
        if prompt != "-" and search.rows == 1 and not json:
            pieces = generator.stream(prompt, search, max_tokens, stops)
            stream.write(generator.prompt_text(prompt))
            for piece in pieces:
                stream.write(piece)
                stream.flush()
            stream.write("\n")
            return
        for prompts in [[prompt]] if prompt != "-" else lines_of("-"):
            for generation in generator.generate(prompts, search, max_tokens, stops):
                stream.write(_render(generation, json))
    if not quiet and output != "-":
        print(f"transduce: written to {output}", file=sys.stderr)


def _render(generation: "Generation", json: bool) -> str:
    if json:
        import msgspec

        return msgspec.json.encode(generation).decode() + "\n"
    return "".join(f"{draft.text}\n" for draft in generation.n_best)
