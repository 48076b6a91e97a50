"""`transduce generate`: go on with a text by a language model."""

from typing import TYPE_CHECKING, Annotated

import typer

from transduce import ranges
from transduce.cli.machine import Machine
from transduce.cli.messages import teller
from transduce.cli.options import OUTPUT, Json, Quiet, ranged
from transduce.cli.search_options import GenerationOptions

if TYPE_CHECKING:
    from transduce.inference.generator import Generation


def generate(
    model: Annotated[str, typer.Argument(help="A language model's or a run's folder.", show_default=False)],
    search: GenerationOptions,
    machine: Machine,
    prompt: Annotated[str, typer.Argument(help="The prompt; - reads one prompt per line from standard input.")] = "",
    max_tokens: Annotated[int, ranged(ranges.PositiveInt, "Maximum number of generated tokens")] = 200,
    stop: Annotated[
        list[str] | None, typer.Option(help="Stop string, not included in the output; \\n is a line end; repeatable.")
    ] = None,
    output: Annotated[str, typer.Option(*OUTPUT, help="A new file; - is standard output.")] = "-",
    with_: Annotated[
        list[str] | None, typer.Option("--with", help="One more model, whose probabilities are averaged; repeatable.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Continue a prompt with a language model, streaming the text; or continue each line of standard input.

    Example: `transduce generate runs/shakespeare "To be" --sample --temperature 0.8`
    """
    from transduce.cli.output import text_output
    from transduce.cli.streams import lines_of
    from transduce.inference.generator import Generator

    stops = [text.replace("\\n", "\n") for text in stop or ()]
    generator = Generator.load(model, *(with_ or ()), device=machine.device, precision=machine.precision)
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
    if output != "-":
        teller(quiet)(f"written to {output}")


def _render(generation: "Generation", json: bool) -> str:
    if json:
        import msgspec

        return msgspec.json.encode(generation).decode() + "\n"
    return "".join(f"{draft.text}\n" for draft in generation.n_best)
